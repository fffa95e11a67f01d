# User mode: what a program may be. Each of these was harmed, or traced wrongly, or is refused by its name.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	dir=$(mktemp -d /tmp/nopal-programs.XXXXXX)
	chmod 755 "$dir"
	cd "$dir"
}

teardown() {
	[ -z "${target:-}" ] || kill -9 "$target" 2>/dev/null || true
	[ -z "${dir:-}" ] || rm -rf "$dir"
}

# user COMMAND SCRIPT: what a traced command and its script print.
user() {
	run timeout 60 "$NOPAL" -q --user -c "$1" -e "$2"
	echo "$output"
}

@test "a program with alignment checks on ended by SIGBUS when a text was read" {
	user "$TARGETS/aligned 4000" 'usdt:aligned:texts {
		@image[str(arg0), comm] = count(); @heap[str(arg1)] = sum(arg3); @stack[str(arg2, 6)] = count();
		@stacks[ustack(4)] = count(); @raw[buf(arg1, 5)] = count(); @both = hist(arg3);
		@text[str(arg0) == "in the image"] = count();
		if (arg3 == 3999) { printf("%s %s %d %s\n", str(arg2), str(arg1, 5), *(uint16 *)(arg0 + 1), probe); } }
		usdt:aligned:odd { @odd = sum(arg0); @wide = sum(arg1) }'
	[ "$status" = 0 ]
	[[ $output == *held* ]]
	[[ $output == *"@image[in the image, aligned]: 500"* ]]
	[[ $output == *"@heap[on the heap]: 7998000"* ]]
	[[ $output == *"@stack[on th]: 4000"* || $output == *"@stack[on the]: 4000"* ]]
	[[ $output == *"@text[true]: 500"* ]]
	[[ $output == *"@odd: 7998000"* ]]
	[[ $output == *"@wide: 7998000"* ]]
	[[ $output == *"on the stack on th"* ]]
}

# needs SCRIPT: the bytes of stack that it needs below the stack pointer of the probe; a record has `< >` around it.
needs() {
	timeout 60 "$NOPAL" -q --user -c "$TARGETS/depth" -e "$1" | grep -xE '[0-9]+'
}

# bats test_tags=deep
@test "trampolines took more stack than small stacks have: at most 900 bytes" {
	for tunables in glibc.pthread.rseq=1 glibc.pthread.rseq=0; do
		export GLIBC_TUNABLES=$tunables
		for script in '{ @ = count() }' '{ @[arg0] = count() }' '{ @[str(arg1)] = hist(arg0) }' '{ @[str(arg1), str(arg2), tid, comm] = count() }' \
			'{ printf("<%d>\n", arg0) }' '{ printf("<%s %s %d %d>\n", str(arg1), str(arg2), arg0, nsecs) }' \
			'{ printf("<%s %s %s %d %d %d %d %d>\n", str(arg1, 56), str(arg2, 56), str(arg1, 40), arg0, arg1, arg2, arg3, uid) }' \
			'{ @[arg0] = count() } usdt:depth:at { @b[str(arg1)] = sum(arg0); printf("<%s>\n", str(arg2)) }' \
			'{ @s[tid] = nsecs } usdt:depth:at { @l = hist(nsecs - @s[tid]); delete(@s[tid]) }' '{ @[ustack, arg0] = count() }'; do
			bytes=$(needs "usdt:depth:at $script")
			echo "$bytes $script"
			# Less than the red zone: nothing ran.
			[ "$bytes" -gt 128 ]
			[ "$bytes" -le 900 ]
		done
	done
}

# with_clock NAME COMMAND...: in a mount namespace where the kernel seems to have this clock; $dir/clock says which.
with_clock() {
	[ "$(id -u)" = 0 ] || skip "needs root, for a mount namespace"
	echo "$1" >"$dir/clock"
	run timeout 60 unshare -m sh -c 'mount --bind "$1" /sys/devices/system/clocksource/clocksource0/current_clocksource && shift && exec "$@"' \
		- "$dir/clock" "${@:2}"
	echo "$output"
}

nobody() {
	echo setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all
}

@test "a machine whose CPU does not promise that the time stamp counter never stops was refused" {
	cp "$TARGETS/tick" "$dir"
	for clock in tsc kvm-clock; do
		with_clock $clock $(nobody) "$NOPAL" -q -c "./tick word a b" -e 'usdt:tick:word { printf("%s %d\n", str(arg0), nsecs > 0) }'
		[ "$status" = 0 ]
		[ "$(grep -c '^[ab] 1$' <<<"$output")" = 2 ]
	done
}

@test "a kernel whose clock is not the time stamp counter: counts, and no times" {
	cp "$TARGETS/tick" "$dir"
	with_clock hpet $(nobody) "$NOPAL" -q -c "./tick word a b a" -e 'usdt:tick:word { @[str(arg0)] = count() } END { printf("end %d\n", 1) }'
	[ "$status" = 0 ]
	[[ $output == *"end 1"* ]]
	[[ $output == *"@[a]: 2"* ]]
	for clause in 'printf("%d\n", arg1)' '@ = hist(nsecs)'; do
		with_clock hpet $(nobody) "$NOPAL" -q -c "./tick word a" -e "usdt:tick:word { $clause }"
		[ "$status" = 1 ]
		says engine "by the CPU's time stamp counter, which is not the kernel's clock here: see 'nopal doctor'"
	done
	with_clock hpet "$NOPAL" doctor
	[[ $output == *"its clock      no   the kernel's clock is 'hpet'"* ]]
}

@test "... and for root the kernel has the clauses that need a time, in the same run" {
	need_tracing
	with_clock acpi_pm "$NOPAL" -q --user -c "$TARGETS/tick word a b a" \
		-e "usdt:$TARGETS/tick:tick:word { @[str(arg0)] = count() } usdt:$TARGETS/tick:tick:word { printf(\"%s %d\\n\", str(arg0), nsecs > 0) }"
	[ "$status" = 0 ]
	[ "$(grep -c '^[ab] 1$' <<<"$output")" = 3 ]
	[[ $output == *"@[a]: 2"* ]]
}

@test "a kernel that stops using the time stamp counter while a session runs is mentioned" {
	with_clock tsc sh -c "(sleep 1.5; echo hpet >$dir/clock) & exec '$NOPAL' -q --user -c \"$TARGETS/tick loop 40 1 100000\" -e 'usdt:tick:loop { @ = count() }'"
	says user-mode-clock "its clock any more, but 'hpet'"
}

# start_strict USER HOW: $target, which waits for a line to descriptor 8, in $dir.
start_strict() {
	cp "$TARGETS/strict" "$dir"
	mkfifo -m 666 "$dir/go"
	# shellcheck disable=SC2046
	if [ "$1" = root ]; then ./strict "$2" 1000 <go >printed 3>&- & else $(nobody) ./strict "$2" 1000 <go >printed 3>&- & fi
	target=$!
	exec 8>go
	awaits grep -q ready printed
	! grep -q "^no" printed || skip "this kernel has $(grep ^no printed)"
}

# trace_by_number USER SCRIPT: a session that begins and ends, then one that sees the target fire.
trace_by_number() {
	local session as=
	[ "$1" = root ] || as=$(nobody)
	for session in 1 2; do
		: >told
		__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 $as "$NOPAL" -q --user -p "$target" -e "$2" >out 2>told 3>&- 8>&- &
		tracer=$!
		awaits grep -q ATTACHED told
		[ $session = 2 ] || kill -INT $tracer
		[ $session = 2 ] || wait $tracer || true
	done
}

@test "programs whose memory must not become executable, or must not change at all, and stopped ones" {
	[ "$(id -u)" = 0 ] || skip "needs root, to be several users"
	for user in root nobody; do
		for how in mdwe seal held; do
			rm -f go
			start_strict $user $how
			[ $how != held ] || kill -STOP "$target"
			trace_by_number $user 'usdt:strict:fire { @[str(arg1)] = count(); @sum = sum(arg0) }'
			[ $how != held ] || kill -CONT "$target"
			echo >&8
			wait "$target"
			wait $tracer
			cat out told
			grep -q alive printed
			grep -qx '@\[on the heap\]: 1000' out
			grep -qx '@sum: 499500' out
		done
	done
}

@test "systemd's MemoryDenyWriteExecute: root traces it, and why text is unreadable is true; others get an error" {
	[ "$(id -u)" = 0 ] || skip "needs root, to be several users"
	start_strict root filter
	trace_by_number root 'usdt:strict:fire { @[str(arg1)] = count(); @sum = sum(arg0) }'
	echo >&8
	wait "$target"
	wait $tracer
	cat out told
	grep -q alive printed
	grep -qx '@\[(unreadable)\]: 1000' out
	grep -qx '@sum: 499500' out
	grep -q "warning: 1000 reads failed: no system call may be made in the process (seccomp, userfaultfd)" told
	rm -f go
	start_strict nobody filter
	run $(nobody) "$NOPAL" -p "$target" -e 'usdt:strict:fire { @ = count() }'
	[ "$status" = 1 ]
	says user-mode-filter "it has a system call filter (seccomp), which only root can suspend"
}

@test "a program under strace or gdb: an error for an ordinary user, and the kernel's for root, in one line" {
	[ "$(id -u)" = 0 ] || skip "needs root, to be several users"
	need_program strace
	start_strict nobody held
	strace -f -o /dev/null -p "$target" 2>attached 3>&- 8>&- &
	awaits grep -q attached attached
	run $(nobody) "$NOPAL" -q -p "$target" -e 'usdt:strict:fire { @ = count() }'
	echo "$output"
	[ "$status" = 1 ]
	says user-mode-traced "is debugging it"
	start_tracer "usdt:strict:fire { @ = count() }" -q --user -p "$target"
	echo >&8
	wait $tracer
	cat "$output_file" "$messages"
	grep -qx '@: 1000' "$output_file"
	[ "$(grep -c warning "$messages")" = 1 ]
	grep -q "is debugging it" "$messages"
}

# This machine's CPU need not have it: the kernel seems to say that the process does.
@test "a program with a shadow stack: an error for an ordinary user, and the kernel's for root" {
	[ "$(id -u)" = 0 ] || skip "needs root, to be several users"
	start_strict nobody held
	{ cat "/proc/$target/status"; printf 'x86_Thread_features:\tshstk wrss \n'; } >status
	run unshare -m sh -c 'mount --bind status "/proc/$1/status" && shift && exec "$@"' - "$target" \
		$(nobody) "$NOPAL" -q -p "$target" -e 'usdt:strict:fire { @ = count() }'
	echo "$output"
	[ "$status" = 1 ]
	says user-mode-shadow-stack "it has a shadow stack (CET), which user mode does not support"
	__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 unshare -m sh -c 'mount --bind status "/proc/$1/status" && shift && exec "$@"' - "$target" \
		"$NOPAL" -q --user -p "$target" -e 'usdt:strict:fire { @ = count() }' >out 2>told 3>&- 8>&- &
	tracer=$!
	awaits grep -q ATTACHED told
	echo >&8
	wait $tracer
	cat out told
	grep -qx '@: 1000' out
	grep -q "warning: .*it has a shadow stack" told
}

@test "a program that makes its own code writable seemed to have ended before it was traced" {
	[ "$(id -u)" = 0 ] || skip "needs root, to be several users"
	cp "$TARGETS/strict" "$dir"
	for as in "" "$(nobody)"; do
		echo >go
		$as "$NOPAL" -q --user -c "./strict text 1000" -e 'usdt:strict:fire { @ = count() }' <go >out 2>told
		cat out told
		grep -q alive out
		grep -qx '@: 1000' out
		[ ! -s told ]
	done
}

@test "a program that valgrind runs died of the first probe" {
	need_program valgrind
	tick=$(private tick)
	valgrind -q --tool=none "$tick" loop 3000 1 1000 >/dev/null 3>&- &
	target=$!
	awaits grep -q tick "/proc/$target/maps"
	run "$NOPAL" --engine=native -p $target -e "usdt:$tick:tick:loop { @n = count() }"
	[ "$status" = 1 ]
	says user-mode-valgrind "cannot trace process $target in user mode: valgrind runs it"
	wait $target
	run "$NOPAL" --engine=native -c "sh -c 'valgrind -q --tool=none $tick loop 10; echo status \$?'" -e "usdt:$tick:tick:loop { @n = count() }"
	echo "$output"
	[[ "$output" == *"status 0"* ]]
	says user-mode-child "valgrind runs it"
}
