# Messages that no other test brings about, each by its tag (see says in tests/helpers.bash and tests/unit/tags.c).
load ../helpers

setup() {
	cd "$BATS_TEST_TMPDIR"
	private tick >/dev/null
}

@test "a command whose quotes are open" {
	need_tracing
	run timeout 20 "$NOPAL" -q -e 'BEGIN { exit() }' -c "./tick 'word"
	[ "$status" = 1 ]
	says bad-command "cannot split the command './tick 'word' into words"
}

@test "common fields of a tracepoint" {
	need_tracing
	run timeout 20 "$NOPAL" -q -e 'tracepoint:sched:sched_switch { @ = args.common_flags; exit() }'
	[ "$status" = 1 ]
	says hidden-field "hides the common fields of a tracepoint"
}

@test "a clause with more text than a probe has memory for" {
	need_tracing
	run timeout 20 "$NOPAL" -q -e "config = { max_strlen = 65536 }
		usdt:./tick:tick:word { printf(\"$(printf '%%s%.0s' $(seq 20))\", $(printf 'str(arg0), %.0s' $(seq 19)) str(arg0)) }" -c './tick word a'
	[ "$status" = 1 ]
	says too-large "the clause exceeds the scratch memory limit"
}

# Whatever could not be opened is named; which message comes first depends on how many files may be open.
@test "too few open files" {
	local limit
	need_tracing
	for limit in $(seq 4 20); do
		timeout 20 bash -c 'ulimit -n "$1"; shift; exec "$@"' - "$limit" "$NOPAL" -q --follow -p $$ \
			-e 'usdt:*:tick:word { @[str(arg0)] = count(); printf("x") } interval:ms:1 { exit() }' >>said 2>&1 || true
	done
	cat said
	says watch-failed "cannot watch for images that are mapped later: Too many open files" said
	says failed "cannot compile and load the script: Too many open files" said
	says ring "cannot make a ring buffer of " said
	says follow "cannot follow forks by " said
	says verifier "the kernel refuses the program (Too many open files)" said
}

@test "a loop over a map on a kernel without such loops" {
	need_tracing
	NOPAL_NO_FEATURES=for_each run timeout 20 "$NOPAL" -q -e 'BEGIN { @[1] = 1; for ($kv : @) { print($kv); } }'
	[ "$status" = 1 ]
	says no-for-each "this kernel has no loops over maps: Linux 5.13 does"
}

@test "a process that starts others, without --follow" {
	need_tracing
	mkfifo go
	sh -c 'read -r line; ./tick word a; ./tick word b; read -r line' <go 3>&- &
	exec 7>go
	start_tracer 'usdt:./tick:tick:word { @ = count() }' -p $!
	echo >&7
	sleep 0.5
	stop_tracer
	says not-followed "2 processes that were not traced" "$messages"
}

@test "something else is mounted on /proc" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	run unshare -m sh -c 'mount -t tmpfs none /proc && mkdir -p /proc/self/fd && touch $(seq -f /proc/self/fd/%.0f 3 60) &&
		exec timeout 20 "$@"' - "$NOPAL" -q -e 'usdt:./tick:tick:word { }' 9>&-
	[ "$status" = 1 ]
	says other-file "was replaced or written to while it was read"
}

@test "a line feed in the name of a file made the rest of the name look like another message" {
	local name=$'x\nnopal is wrong'
	run "$NOPAL" list "./$name"
	echo "$output"
	grep -qF 'x\x0anopal is wrong' <<<"$output"
	! grep '^nopal is wrong' <<<"$output" || false
	need_tracing
	cp tick "$name"
	run timeout 20 "$NOPAL" -q -e 'usdt:"./x\nnopal is wrong":tick:nothing { exit() }'
	echo "$output"
	[ "$status" = 1 ]
	grep -qF 'x\x0anopal is wrong' <<<"$output"
	! grep '^nopal is wrong' <<<"$output" || false
}

@test "a process that is stopped: events were waited for in silence" {
	local engine tick
	tick=$(private tick)
	"$tick" loop 100000 1 1000 3>&- &
	target=$!
	kill -STOP $target
	awaits grep -q '^State:.T' /proc/$target/status
	for engine in --kernel --user; do
		run timeout 20 "$NOPAL" $engine -q -p $target -e "usdt:$tick:tick:loop { @n = count() } interval:ms:1 { exit() }"
		says process-stopped "process $target is stopped, and fires no probe until it goes on"
		[[ "$output" == *"hint: 'kill -CONT $target', or end the debugger"* ]]
	done
	kill -KILL $target
}
