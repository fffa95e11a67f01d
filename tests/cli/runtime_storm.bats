# Run-time probes under load: 8 threads fire, others load, unload and add, tracers come and go; plain, with
# sanitizers, under valgrind. No value is wrong, no event is missing, nothing is left behind.
# STRESS=1 makes it long (about an hour): 1,000 attachments of each kind, 100,000 providers made and destroyed.
load ../helpers
source "$ROOT/tests/runtime_memory.bash"

# times USUAL LONG: one of them
times() {
	if [ -n "${STRESS:-}" ]; then echo "$2"; else echo "$1"; fi
}

# make_storm NAME [FLAGS...]: compile storm.c; what the compiler says is in NAME.log.
make_storm() {
	compile "$ROOT/tests/programs/storm.c" "$BATS_FILE_TMPDIR/$1" "${@:2}" >"$BATS_FILE_TMPDIR/$1.log" 2>&1
}

# All is made before the first storm: nothing is compiled while one rages.
setup_file() {
	command -v cc >/dev/null || return 0
	make_storm plain &
	make_storm asan -fsanitize=address,undefined -fno-sanitize-recover=undefined &
	make_storm tsan -fsanitize=thread &
	cc -O2 -g -std=gnu11 -D_GNU_SOURCE ${SAN:+-fsanitize=address,undefined} -I"$ROOT/include" \
		-o "$BATS_FILE_TMPDIR/tracer" "$ROOT/tests/programs/storm_tracer.c" "$BUILD/libnopal.a" -liberty -ldw -lelf -lz -lpthread
	wait
}

# Start the storm that was compiled as $KIND (default: plain), as a child of the command $UNDER, with the argument $1.
start_storm() {
	need_tracing
	need_program cc
	cd "$BATS_TEST_TMPDIR"
	cp "$BATS_FILE_TMPDIR/${KIND:-plain}" storm || { cat "$BATS_FILE_TMPDIR/${KIND:-plain}.log"; return 1; }
	mkfifo in
	# shellcheck disable=SC2086
	$UNDER ./storm $1 <in >printed 2>errors 3>&- &
	pid=$!
	exec 7>in
	for _ in $(seq 600); do
		grep -q ready printed && return 0
		kill -0 $pid || break
		sleep 0.1
	done
	cat errors
	return 1
}

# The storm ends as it began: no wrong value, no semaphore raised, no descriptor more, no report of a sanitizer.
end_storm() {
	local ended=$pid
	exec 7>&-
	pid=
	wait "$ended" || { cat errors printed; return 1; }
	sed 's/^/# /' printed >&3
	[ ! -s errors ]
	grep -q '^storm: [1-9][0-9]* events$' printed
}

# trace_storm USUAL LONG [calm]: attach as often, and detach.
trace_storm() {
	start_storm ${3:-}
	run "$BATS_FILE_TMPDIR/tracer" "$pid" "$(times "$1" "$2")" ${3:-}
	sed 's/^/# /' <<<"$output" >&3
	[ "$status" = 0 ]
	[[ "$output" == *" 0 wrong" ]]
	end_storm
}

@test "tracers come and go" {
	trace_storm 6 1000
}

@test "tracers come and go at a program with address and undefined sanitizers" {
	KIND=asan trace_storm 5 1000
}

@test "tracers come and go at a program with the thread sanitizer" {
	KIND=tsan trace_storm 5 1000
}

# What valgrind runs is its own translation of the stub, which has no breakpoints: the probe is enabled, and fires
# into nothing.
@test "tracers come and go at a program under valgrind" {
	need_program valgrind
	UNDER="$MEMCHECK --smc-check=none" trace_storm 5 1000 calm
}

@test "a program under valgrind is not killed by a breakpoint in a stub it has not run yet" {
	need_tracing
	need_program valgrind
	[ -z "${SAN:-}" ] || skip "valgrind and sanitizers exclude each other"
	cd "$BATS_TEST_TMPDIR"
	valgrind -q "$TARGETS/runtime" traced 60 >printed 2>errors 3>&- &
	pid=$!
	for _ in $(seq 200); do
		grep -q ready printed && break
		sleep 0.1
	done
	start_tracer 'usdt::capp:pair { }' -p "$pid" -q
	for _ in $(seq 200); do
		grep -q 'Probe fired!' printed && break
		sleep 0.1
	done
	stop_tracer
	wait "$pid"
	pid=
	grep -q 'Probe fired!' printed
}

@test "tracers are killed" {
	start_storm
	for _ in $(seq "$(times 3 50)"); do
		start_tracer 'usdt::storm:steady { @ = count() } usdt:*:restless:probe { @r = count() }' -p "$pid" -q
		kill -9 "$tracer"
		wait "$tracer" || true
	done
	end_storm
}
