# User mode: the traced process runs the script itself. As root with --user, and as an ordinary user without capabilities.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	[ "$(id -u)" = 0 ] || skip "needs root, to be several users"
	dir=$(mktemp -d /tmp/nopal-user.XXXXXX)
	cp "$TARGETS/tick" "$TARGETS/plugin" "$TARGETS/pluglib" "$dir"
	chmod 755 "$dir"
	chown nobody "$dir"/*
	tick=$dir/tick
	mkfifo -m 666 "$dir/go"
}

teardown() {
	[ -z "${target:-}" ] || kill -9 "$target" 2>/dev/null || true
	[ -z "${dir:-}" ] || rm -rf "$dir"
}

# as_nobody COMMAND...: with no capability, in a directory of its own.
as_nobody() {
	(cd "$dir" && setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all timeout 60 "$@")
}

# A traced program that waits for a line: $target.
start_target() {
	"$@" <"$dir/go" >"$dir/printed" 3>&- &
	target=$!
	exec 8>"$dir/go"
	sleep 0.2
}

start_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all "$@" <"$dir/go" >"$dir/printed" 3>&- &
	target=$!
	exec 8>"$dir/go"
	sleep 0.2
}

go_on() {
	echo >&8
	wait $target || true
	wait $tracer
}

@test "-c: every event is counted, as root with --user" {
	run timeout 60 "$NOPAL" -q --user -c "$tick loop 5000 4" -e "usdt:$tick:tick:loop { @n = count(); @sum = sum(arg0); @by = hist(arg0) }"
	echo "$output"
	[[ $output == *"@n: 20000"* ]]
	[[ $output == *"@sum: 49990000"* ]]
}

@test "-c: an ordinary user traces a program of its own" {
	run as_nobody "$NOPAL" -q -c "./tick word a b a" -e 'usdt:tick:word { printf("%s %d\n", str(arg0), arg1); @[str(arg0)] = count() }'
	echo "$output"
	[ "$(grep -c '^[ab] 1$' <<<"$output")" = 3 ]
	[[ $output == *"@[a]: 2"* ]]
}

@test "-p: a process that is killed for any system call is traced, and lives" {
	start_target "$TARGETS/sealed"
	timeout 60 "$NOPAL" -q --user -p "$target" -e 'usdt:sealed:fire { @[str(arg0), comm, pid == 0] = count(); @far[str(arg1)] = sum(arg2); @t[tid != 0] = count() }' >"$dir/out" 2>&1 &
	tracer=$!
	sleep 2
	echo >&8
	wait $target
	wait $tracer
	cat "$dir/out"
	grep -q alive "$dir/printed"
	grep -q '^@\[near, (unreadable), false\]: 1000$' "$dir/out"
	grep -q '^@far\[(unreadable)\]: 499500$' "$dir/out"
}

@test "-p: an ordinary user traces a process of its own, which never notices" {
	start_nobody "$tick" wait loop 3000 3
	setpriv --reuid=65534 --regid=65534 --clear-groups bash -c \
		"exec '$NOPAL' -v -p $target -e 'usdt:$tick:tick:loop { @[tid] = count() }'" \
		>"$dir/out" 2>"$dir/err" 3>&- &
	tracer=$!
	sleep 1
	go_on
	cat "$dir/out" "$dir/err"
	[ "$(grep -c ']: 3000$' "$dir/out")" = 3 ]
	grep -qE 'stopped for [0-9.]+ ms, one of them for [0-9.]+ ms' "$dir/err"
}

@test "another user's process is refused" {
	start_target "$tick" wait loop 1
	run as_nobody "$NOPAL" -p $target -e "usdt:$tick:tick:loop { @ = count() }"
	echo "$output"
	[ "$status" = 1 ]
	[[ $output == *"process $target"* ]]
	[[ $output == *"root"* ]]
}

has_ended_child() {
	ended=$(pgrep -P $target) && grep -q '^State:.Z' "/proc/$ended/status"
}

# The child ends when its parent is a program that does not wait for it.
@test "what is no process with a program: one that has ended, a thread, a thread of the kernel" {
	(sleep 1 & exec sleep 30) 3>&- &
	target=$!
	awaits has_ended_child
	for command in "doctor -p" clean; do
		run "$NOPAL" $command "$ended"
		[ "$status" = 1 ]
		says no-process "process $ended has ended"
		run "$NOPAL" $command 2
		says no-process "process 2 has ended, or is a thread of the kernel"
	done
	kill $target
	start_target "$tick" loop 1 2 20000000
	thread=$(ls "/proc/$target/task" | tail -1)
	[ "$thread" != $target ] || thread=$(ls "/proc/$target/task" | head -1)
	run "$NOPAL" -p "$thread" -e "usdt:$tick:tick:loop { @ = count() }"
	[ "$status" = 1 ]
	says no-process "it is a thread, not a process"
}

@test "a process whose main thread has ended, while others run" {
	need_program python3
	python3 -c 'import ctypes, threading, time; threading.Thread(target=time.sleep, args=(30,)).start(); ctypes.CDLL(None).pthread_exit(None)' 3>&- &
	target=$!
	for _ in $(seq 100); do
		! grep -q '^State:.*zombie' /proc/$target/status || break
		sleep 0.1
	done
	run "$NOPAL" doctor -p $target
	[ "$status" = 1 ]
	says user-mode-main "its main thread has ended"
}

# Limits of the process: it lives, and is traced, or the message says what it cannot do.
@test "a process that has reached its limits" {
	traced='@n: 50'
	while read -r limit wanted; do
		start_target "$tick" wait loop 50
		awaits grep -qs '^0 0x0 ' /proc/$target/syscall # it reads: its libraries are loaded
		prlimit "$limit" --pid $target
		"$NOPAL" --user -p $target -e "usdt:$tick:tick:loop { @n = count() }" >"$dir/out" 2>&1 3>&- 8>&- &
		tracer=$!
		for _ in $(seq 100); do
			! grep -q 'Attached\|error' "$dir/out" || break
			sleep 0.1
		done
		echo >&8
		wait $target
		wait $tracer || true
		echo "$limit: $(cat "$dir/out")"
		grep -qE "$wanted" "$dir/out"
		exec 8>&-
	done <<-END
		--fsize=0 $traced
		--nofile=3 open files.*the kernel traces it
		--nofile=3 $traced
		--nofile=5 $traced
		--as=8000000 $traced
		--as=2600000 addresses.*the kernel traces it
		--as=2600000 $traced
		--data=100000 data.*the kernel traces it
		--stack=100000 the stack.*the kernel traces it
		--core=0 $traced
		--memlock=0 $traced
		--nproc=1 $traced
		--sigpending=0 $traced
	END
}

@test "a tracer that cannot open a file traces, or says so" {
	start_target "$tick" loop 2000000 1 50
	for limit in --nofile={6..16} --fsize=0; do
		run timeout -s INT 1 prlimit "$limit" "$NOPAL" --user -q -p $target -e "usdt:$tick:tick:loop { @n = count() }"
		echo "$limit: $status $output"
		[[ $output == *"@n: "* || $output == *"Too many open files"* || $output == *"File too large"* ]]
	done
	kill -0 $target
}

@test "user mode needs a process" {
	run timeout 20 "$NOPAL" --user -e "usdt:$tick:tick:loop { @ = count() }"
	[ "$status" = 1 ]
	says user-mode-process "user mode traces one process: choose it with -p"
	run as_nobody "$NOPAL" --kernel -c "./tick loop 1" -e 'usdt:tick:loop { @ = count() }'
	[ "$status" = 1 ]
	[[ $output == *"permission denied"* ]]
}

@test "what only the kernel knows moves the clause there, or is refused" {
	run timeout 60 "$NOPAL" -q --user -c "$tick loop 100" -e "usdt:$tick:tick:loop { @n = count() } usdt:$tick:tick:loop { @k[kstack(1)] = count() }"
	echo "$output"
	[[ $output == *"@n: 100"* ]]
	[[ $output == *"]: 100"* ]]
		run as_nobody "$NOPAL" -c "./tick loop 100" -e "usdt:tick:loop { @[kstack] = count() }"
	[ "$status" = 1 ]
	says undoable "the engine 'native' cannot do this"
}

@test "sites that user mode does not reach are the kernel's, in the same run and in the same maps" {
	cp "$TARGETS/mixed" "$dir"
	run timeout 60 "$NOPAL" -v --user -e "usdt:$dir/mixed:* { @[probe] = count(); @s = sum(arg0); @t[str(arg1)] = max(arg0); @h = lhist(arg0, 0, 1000, 1000); if (arg0 == 5) { printf(\"%s at 5\n\", str(arg1)) } }" \
		-c "$dir/mixed 1000" <<<""
	echo "$output"
	grep -q '^nopal_uprobe: .* 1 site: loaded' <<<"$output"
	grep -q 'mixed:easy\]: 1000$' <<<"$output"
	grep -q 'mixed:hard\]: 1000$' <<<"$output"
	grep -qx '@s: 999000' <<<"$output"
	grep -qx '@t\[easy\]: 999' <<<"$output"
	grep -qx '@t\[hard\]: 999' <<<"$output"
	grep -q '^\[0, 1000) *2000 ' <<<"$output"
	[ "$(grep -cE '^(easy|hard) at 5$' <<<"$output")" = 2 ]
	says user-mode-kernel "1 of 2 sites is traced by the kernel: mixed:hard"
}

@test "records of the kernel and of user mode come in the order of their times" {
	cp "$TARGETS/mixed" "$dir"
	run timeout 60 "$NOPAL" -q --user -e "usdt:$dir/mixed:* { printf(\"%s %d\n\", str(arg1), arg0) } interval:ms:1 { @turns = count() }" -c "$dir/mixed 10000" <<<""
	grep -E '^(easy|hard) ' <<<"$output" >"$dir/records"
	for i in $(seq 0 9999); do printf 'easy %d\nhard %d\n' $i $i; done | diff - "$dir/records" | head
	[ "$(wc -l <"$dir/records")" = 20000 ]
	for i in $(seq 0 9999); do printf 'easy %d\nhard %d\n' $i $i; done | cmp - "$dir/records"
}

@test "a map that a clause reads has one owner: the kernel, if one site is the kernel's" {
	cp "$TARGETS/mixed" "$dir"
	run timeout 60 "$NOPAL" -v --user -e "usdt:$dir/mixed:mixed:easy { @last = arg0 } usdt:$dir/mixed:mixed:hard { @sum = sum(arg0 == @last); @n = count() }" \
		-c "$dir/mixed 1000" <<<""
	echo "$output"
	grep -qx '@sum: 1000' <<<"$output"
	grep -qx '@n: 1000' <<<"$output"
}

@test "a clause of the kernel at a site that user mode must have alone: both clauses are the kernel's" {
	[ -e /usr/include/x86_64-linux-gnu/sys/sdt.h ] || skip "no header with 1-byte nops"
	cc -O2 -o "$dir/old" "$ROOT/tests/targets/tick.c" -lpthread
	run timeout 60 "$NOPAL" --user -e "usdt:$dir/old:tick:loop { @n = count() } usdt:$dir/old:tick:loop { @k[kstack(1)] = count() }" -c "$dir/old loop 1000 2"
	echo "$output"
	grep -qx '@n: 2000' <<<"$output"
	grep -qx ']: 2000' <<<"$output"
	says user-mode-kernel "warning: 1 of 1 site is traced by the kernel"
	[ "$(grep -c warning <<<"$output")" = 1 ]
}

# near_probes: a program with up to six probes without an instruction between them, which fires each as often as its argument says.
near_probes() {
	[ -e /usr/include/x86_64-linux-gnu/sys/sdt.h ] || skip "no header with 1-byte nops"
	{
		echo '#include <stdio.h>'
		echo '#include <stdlib.h>'
		echo '#include "/usr/include/x86_64-linux-gnu/sys/sdt.h"'
		echo 'volatile long sum;'
		for n in 1 2 3 4 5 6; do
			echo "__attribute__((noinline)) void group$n(long i) {"
			for k in $(seq $n); do echo "DTRACE_PROBE1(near, g${n}_$k, i);"; done
			echo "sum += i * $n; }"
		done
		echo 'int main(int argc, char **argv) { getchar(); for (long i = 0; i < atol(argv[1]); i++) {'
		for n in 1 2 3 4 5 6; do echo "group$n(i);"; done
		echo '} printf("%ld\n", sum); return 0; }'
	} >"$dir/near.c"
	cc -O2 -o "$dir/near" "$dir/near.c"
}

@test "probes whose nops follow each other: the kernel and user mode share them, and none is missed" {
	near_probes
	start_target "$dir/near" 1000
	start_tracer "usdt:$dir/near:near:* { @[probe] = count() }" --user -p $target
	go_on
	cat "$output_file" "$messages"
	[ "$(cat "$dir/printed")" = 10489500 ]
	[ "$(grep -c ']: 1000$' "$output_file")" = 21 ]
	# Without the kernel, the warning counts those that are missed, and no more.
	run as_nobody "$NOPAL" -c "$dir/near 1000" -e "usdt:$dir/near:near:* { @[probe] = count() }" <<<""
	echo "$output"
	missed=$(sed -n 's/.*warning: \([0-9]*\) of 21 sites cannot be traced.*/\1/p' <<<"$output")
	[ "$(grep -c ']: 1000$' <<<"$output")" = $((21 - ${missed:-0})) ]
}

# bats test_tags=deep
@test "breakpoints on several instructions after a site" {
	near_probes
	for _ in 1 2 3; do
		start_nobody "$dir/near" 20000000
		setpriv --reuid=65534 --regid=65534 --clear-groups "$NOPAL" -p $target -e "usdt:$dir/near:near:* { @n = count() }" >"$dir/out" 2>"$dir/err" 3>&- 8>&- &
		tracer=$!
		sleep 1
		echo >&8
		for _ in 1 2 3; do
			timeout -s INT 1 "$NOPAL" -q --kernel -p $target -e "usdt:$dir/near:near:g*_2, usdt:$dir/near:near:g*_3, usdt:$dir/near:near:g*_4 { @n = count() }" >"$dir/kernel" 2>&1 || true
			cat "$dir/kernel"
			grep -q '@n: [1-9]' "$dir/kernel"
			kill -0 $target
		done
		kill $target
		wait $target || true
		wait $tracer || true
		cat "$dir/err"
		says user-mode-shadowed "put breakpoints on" "$dir/err"
	done
}

@test "the event at which a clause ends the run is seen by all clauses of the site" {
	for engine in kernel user; do
		run timeout 60 "$NOPAL" --$engine -c "$tick loop 1000" -e "usdt:$tick:tick:loop { @before = count() } usdt:$tick:tick:loop /arg0 == 7/ { exit() } usdt:$tick:tick:loop { @after = count() }"
		echo "$engine: $output"
		grep -qx '@before: 8' <<<"$output"
		grep -qx '@after: 8' <<<"$output"
	done
}

@test "children of fork: left alone with -p, traced with --follow and -c" {
	start_target "$tick" wait fork 100
	start_tracer "usdt:$tick:tick:loop { @n = count() }" --user -p $target
	go_on
	grep -q '^@n: 100$' "$output_file"
	rm -f "$dir/go"; mkfifo "$dir/go"
	start_target "$tick" wait fork 100
	start_tracer "usdt:$tick:tick:loop { @[pid] = count() }" --user --follow -p $target
	go_on
	cat "$output_file"
	[ "$(grep -c ']: 100$' "$output_file")" = 2 ]
	grep -q "^@\[$target\]: 100$" "$output_file"
}

@test "--follow: children that the process has already are left alone, as the kernel leaves them" {
	cp "$tick" "$dir/old"
	for engine in kernel user; do
		start_target sh -c "'$dir/old' loop 3000 1 1000 & read x; '$tick' loop 10; exit 0"
		timeout 60 "$NOPAL" --$engine --follow -p $target -e "usdt:$tick:tick:loop { @new = count() } usdt:$dir/old:tick:loop { @old = count() }" >"$dir/out" 2>&1 3>&- 8>&- &
		tracer=$!
		for _ in $(seq 100); do
			! grep -q Attached "$dir/out" || break
			sleep 0.1
		done
		sleep 0.3
		go_on
		cat "$dir/out"
		! grep -q '@old: [1-9]' "$dir/out" || false
		exec 8>&-
	done
}

@test "a library that is loaded later is traced from its first instruction, by an ordinary user" {
	start_nobody "$dir/plugin" load "$dir/pluglib"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$NOPAL" -p $target -e "usdt:$dir/pluglib:plug:in { @ = count() }" >"$dir/out" 2>"$dir/err" 3>&- &
	tracer=$!
	sleep 1
	go_on
	cat "$dir/out" "$dir/err"
	! grep -q error "$dir/err" || false
	grep -qx '@: 10' "$dir/out"
}

@test "sites that cannot be traced, in a library that is loaded later" {
	[ -e /usr/include/x86_64-linux-gnu/sys/sdt.h ] || skip "no header with 1-byte nops"
	cat >"$dir/late.c" <<-'END'
		#include "/usr/include/x86_64-linux-gnu/sys/sdt.h"
		volatile long sum;
		void plug(int n) { DTRACE_PROBE1(late, first, n); DTRACE_PROBE1(late, second, n); sum += n; }
	END
	cc -O2 -shared -fPIC -o "$dir/late" "$dir/late.c"
	for path in "$dir/late" '*'; do
		run as_nobody "$NOPAL" -c "$dir/plugin load $dir/late" -e "usdt:$path:late:* { @ = count() }" <<<""
		echo "$output"
		[ "$(grep -c 'of 2 sites cannot be traced in user mode' <<<"$output")" = 1 ]
		says user-mode-skipped "1 of 2 sites" || says user-mode-skipped "2 of 2 sites"
	done
}

@test "a library that is loaded and unloaded again and again" {
	count=${STRESS:+20000}
	count=${count:-300}
	cp "$TARGETS/reload" "$dir"
	start_target "$dir/reload" "$dir/pluglib" $count
	start_tracer "usdt:$dir/pluglib:plug:in { @ = count() }" --user -p $target
	go_on
	cat "$output_file" "$messages" "$dir/printed"
	grep -qx "called $count" "$dir/printed"
	grep -qx "@: $count" "$output_file"
}

@test "libraries that are loaded while the tracer gets no CPU: their threads wait for it" {
	cp "$TARGETS/reload" "$dir"
	start_target "$dir/reload" "$dir/pluglib" 300
	start_tracer "usdt:$dir/pluglib:plug:in { @ = count() }" --user -p $target
	echo >&8
	longest=0
	for _ in 1 2 3 4 5; do
		before=$(date +%s%N)
		kill -STOP $tracer
		sleep 0.4
		kill -CONT $tracer
		took=$((($(date +%s%N) - before) / 1000000))
		[ $took -lt $longest ] || longest=$took
		sleep 0.02
	done
	wait $target
	wait $tracer
	cat "$output_file" "$messages" "$dir/printed"
	grep -qx "called 300" "$dir/printed"
	# On a machine so busy that a stop took a second, what is missing is counted.
	grep -qx "@: 300" "$output_file" || { [ $longest -gt 800 ] && says user-mode-waited "threads resumed" "$messages"; }
	! grep -q 'milliseconds later' "$messages"
}

@test "a tracer that stands still for long: threads go on, and it says how often" {
	cp "$TARGETS/reload" "$dir"
	start_target "$dir/reload" "$dir/pluglib" 20
	start_tracer "usdt:$dir/pluglib:plug:in { @ = count() }" --user -p $target
	kill -STOP $tracer
	echo >&8
	sleep 15
	grep -qx "called 20" "$dir/printed"
	kill -CONT $tracer
	wait $target
	wait $tracer
	cat "$output_file" "$messages"
	says user-mode-waited "threads resumed 20 times before their probes were armed" "$messages"
	! grep -q '^@: [1-9]' "$output_file"
}

@test "a pattern for files finds a library that is loaded later before any of its code runs" {
	cp "$TARGETS/reload" "$dir"
	for _ in 1 2 3; do
		run timeout 60 "$NOPAL" --user -c "$dir/reload $dir/pluglib 30" -e 'usdt:*:plug:in { @ = count() }' <<<""
		echo "$output"
		grep -qx '@: 30' <<<"$output"
		! grep -q 'events before that are missing' <<<"$output" || false
		run as_nobody "$NOPAL" -c "./reload ./pluglib 30" -e 'usdt:*:plug:in { @ = count() }' <<<""
		echo "$output"
		grep -qx '@: 30' <<<"$output"
	done
}

@test "a file that a process has mapped very often" {
	need_program python3
	start_target python3 -c 'import mmap, sys
file = open(sys.argv[1], "rb")
maps = [mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC) for _ in range(int(sys.argv[2]))]
input()' "$dir/pluglib" 70
	until [ "$(grep -c pluglib /proc/$target/maps)" -ge 70 ]; do sleep 0.05; done
	start_tracer "usdt:$dir/pluglib:plug:in { @ = count() }" --engine=native -p $target
	go_on
	cat "$messages"
	says user-mode-mappings "mapped more than 64 times at once: only the first 64 are traced" "$messages"
}

@test "doctor -p: how each site can be traced" {
	start_nobody "$tick" wait loop 1
	run as_nobody "$NOPAL" doctor -p $target
	echo "$output"
	[[ $output == *"tick:loop "*"nop10"* ]]
	[[ $output == *" sites can be traced in user mode: "* ]]
	# Nothing is displaced at a probe; these are, and the page says so.
	grep -qE '^  vfork\(\) .* displaced$' <<<"$output"
	grep -qE '^  prctl\(\) .* displaced$' <<<"$output"
	grep -qE '^  loading a library .* return$' <<<"$output"
	run "$NOPAL" doctor -p 999999999
	[ "$status" != 0 ]
}

# mapped: how many mappings of nopal's memory, and of code without a file, the target has.
mapped() {
	grep -cE 'memfd:nopal|r-xp 00000000 00:00 0 +$' "/proc/$target/maps" || true
}

# addresses: KiB of its address space.
addresses() {
	sed -n 's/^VmSize:[^0-9]*//p' "/proc/$target/status"
}

@test "a session unmaps all that it has mapped" {
	start_target "$tick" wait fork 100
	before=$(addresses)
	for _ in 1 2 3 4 5; do
		"$NOPAL" --user -q -p $target -e "usdt:$tick:tick:loop { @n = count() } interval:ms:20 { exit() }"
		[ "$(mapped)" = 0 ]
		[ "$(addresses)" = "$before" ]
	done
	exec 8>&-
}

@test "what killed tracers have left is unmapped by the next one, and by nopal clean" {
	start_target "$tick" wait fork 100
	before=$(addresses)
	for _ in 1 2 3 4 5 6; do
		start_tracer "usdt:$tick:tick:loop { @n = count() }" --user -p $target
		once=${once:-$(addresses)}
		[ "$(addresses)" = "$once" ]
		kill -9 $tracer
		wait $tracer || true
	done
	"$NOPAL" --user -q -p $target -e "usdt:$tick:tick:loop { @n = count() } interval:ms:20 { exit() }"
	[ "$(addresses)" = "$before" ]
	start_tracer "usdt:$tick:tick:loop { @n = count() }" --user -p $target
	kill -9 $tracer
	wait $tracer || true
	"$NOPAL" clean $target
	[ "$(mapped)" = 0 ]
	[ "$(addresses)" = "$before" ]
	exec 8>&-
}

@test "a signal handler that returns to the code of a session when the next has begun" {
	cat >"$dir/late.c" <<-END
		#include <signal.h>
		#include <stdio.h>
		#include <time.h>
		#include <sys/sdt.h>
		static volatile int go = 1;
		static void wait_for_end(int sig)
		{
			struct timespec pause = {4, 0};
			while (nanosleep(&pause, &pause))
				;
			go = 0;
		}
		int main(void)
		{
			long n = 0;
			signal(SIGUSR1, wait_for_end);
			puts("ready");
			fflush(stdout);
			while (go) {
				DTRACE_PROBE1(late, hit, n);
				n++;
			}
			puts("went on");
			return 0;
		}
	END
	cc -O2 -I"$ROOT/include" -o "$dir/late" "$dir/late.c"
	"$dir/late" >"$dir/went" 3>&- &
	target=$!
	awaits test -s "$dir/went"
	# Nearly all its time is spent in the loop of the script.
	start_tracer "usdt:$dir/late:late:hit { \$s = 0; for (\$i : 0..1000) { \$s += \$i; } @s = sum(\$s) }" --user -p $target
	sleep 0.3
	kill -USR1 $target
	sleep 0.3
	stop_tracer
	says user-mode-kept "KiB of nopal's memory stay mapped in 1 process ($target), since a thread may return" "$messages"
	[ "$(mapped)" -gt 0 ]
	"$NOPAL" --user -q -p $target -e "usdt:$dir/late:late:hit { @n = count() } interval:ms:100 { exit() }" 2>"$dir/kept"
	says user-mode-kept "stay mapped in 1 process" "$dir/kept"
	run "$NOPAL" clean $target
	says clean-kept "stay mapped in process $target"
	wait $target
	grep -qx 'went on' "$dir/went"
}

@test "a program that is stopped in the middle of an event: its memory stayed, and no word was said" {
	cat >"$dir/stopped.c" <<-'END'
		#include <sys/sdt.h>
		int main(void)
		{
			for (int n = 0;; n++)
				DTRACE_PROBE1(stopped, hit, n);
		}
	END
	cc -O2 -I"$ROOT/include" -o "$dir/stopped" "$dir/stopped.c"
	"$dir/stopped" 3>&- &
	target=$!
	# Nearly all its time is spent in the loop of the script.
	start_tracer "usdt:$dir/stopped:stopped:hit { \$s = 0; for (\$i : 0..1000) { \$s += \$i; } @s = sum(\$s) }" --user -p $target
	sleep 0.3
	kill -STOP $target
	awaits grep -q '^State:.T' /proc/$target/status
	stop_tracer
	says user-mode-kept "stay mapped in 1 process ($target)" "$messages"
	[ "$(mapped)" -gt 0 ]
	kill -CONT $target
	sleep 0.3
	"$NOPAL" clean $target
	[ "$(mapped)" = 0 ]
}

@test "a handler on another stack, above a handler that returns to the code of a session: nothing on a thread's own stack shows it" {
	cat >"$dir/nest.c" <<-END
		#include <signal.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <time.h>
		#include <unistd.h>
		#include <sys/sdt.h>
		static volatile int go = 1;
		static volatile int inner = 0;
		static void wait_there(int sig) /* on the alternate stack */
		{
			struct timespec pause = {1, 0};
			inner = 1;
			while (access("$dir/over", F_OK))
				nanosleep(&pause, NULL);
			go = 0;
		}
		static void nest(int sig) /* on the stack that the trampoline is on */
		{
			raise(SIGUSR2);
		}
		int main(void)
		{
			stack_t other = {.ss_sp = malloc(65536), .ss_size = 65536};
			struct sigaction action = {.sa_handler = wait_there, .sa_flags = SA_ONSTACK};
			sigaltstack(&other, NULL);
			sigaction(SIGUSR2, &action, NULL);
			signal(SIGUSR1, nest);
			puts("ready");
			fflush(stdout);
			for (long n = 0; go; n++)
				DTRACE_PROBE1(nest, hit, n);
			puts("went on");
			return 0;
		}
	END
	cc -O2 -I"$ROOT/include" -o "$dir/nest" "$dir/nest.c"
	"$dir/nest" >"$dir/went" 3>&- &
	target=$!
	awaits test -s "$dir/went"
	start_tracer "usdt:$dir/nest:nest:hit { \$s = 0; for (\$i : 0..1000) { \$s += \$i; } @s = sum(\$s) }" --user -p $target
	sleep 0.3
	kill -USR1 $target
	sleep 0.3
	stop_tracer
	says user-mode-kept "stay mapped in 1 process ($target)" "$messages"
	: >"$dir/over"
	wait $target
	grep -qx 'went on' "$dir/went"
}

@test "kill -9 of the tracer at random moments, and nopal clean" {
	start_target "$tick" loop 100000000 2 1
	for i in $(seq 10); do
		"$NOPAL" --user -p $target -e "usdt:$tick:tick:loop { @ = count() }" >/dev/null 2>&1 3>&- &
		sleep 0.0$((RANDOM % 9))
		kill -9 $!
		wait $! 2>/dev/null || true
		kill -0 $target
	done
	start_tracer "usdt:$tick:tick:loop { @ = count() }" --user -p $target
	run "$NOPAL" clean $target
	says still-traced "is tracing process $target"
	kill -9 $tracer
	wait $tracer 2>/dev/null || true
	run "$NOPAL" clean $target
	[[ $output == "process $target: "*" restored" ]]
	kill -0 $target
	run "$NOPAL" clean 999999999
	[ "$status" = 1 ]
}

@test "a tracer that was killed, and whose parent does not ask for its status, was taken for one that traces" {
	start_target "$tick" loop 100000000 2 1
	# The shell becomes a program that knows of no child.
	bash -c '"$1" -q --user -p "$2" -e "usdt:$3:tick:loop { @ = count() }" >/dev/null 2>&1 & echo $! >"$4"; exec sleep 60' - "$NOPAL" $target "$tick" "$dir/tracer" 3>&- &
	parent=$!
	sleep 1
	kill -9 "$(cat "$dir/tracer")"
	sleep 0.2
	grep -q '^State:.*zombie' "/proc/$(cat "$dir/tracer")/status"
	run timeout -s INT 1 "$NOPAL" -q --user -p $target -e "usdt:$tick:tick:loop { @ = count() }"
	kill $parent
	echo "$output"
	[[ "$output" == *"@: "[1-9]* ]]
	[[ "$output" != *warning* ]]
}

# poke ADDRESS BYTE: write the first byte of the 10-byte nop after the 1-byte nop at ADDRESS.
poke() {
	printf "$2" | dd of="/proc/$target/mem" bs=1 seek=$(($1 + 1)) conv=notrunc status=none
}

@test "a breakpoint that others put on a site is noticed, and that it is gone" {
	start_target "$tick" wait loop 50
	address=$("$NOPAL" doctor -p $target | awk '/tick:loop/ { print $2 }' | head -1)
	start_tracer "usdt:$tick:tick:loop { @n = count() }" --user -p $target
	poke "$address" '\xcc'
	sleep 0.5
	poke "$address" '\x66'
	sleep 0.5
	go_on
	cat "$output_file"
	says user-mode-shadowed "put breakpoints on 1 site of process $target" "$messages"
	grep -q '^@n: 50$' "$output_file"
}

@test "a breakpoint in the last moment of a run does not go unmentioned" {
	start_target "$tick" loop 100000 1 100
	address=$("$NOPAL" doctor -p $target | awk '/tick:loop/ { print $2 }' | head -1)
	# A look at the sites that is due meanwhile, each 0.1 s, would see the breakpoint: so all is done in
	# a moment, by one program.
	for _ in $(seq 20); do
		start_tracer "usdt:$tick:tick:loop { @n = count() }" --user -p $target
		perl -e 'open(my $mem, "+<", "/proc/$ARGV[0]/mem") or die; sysseek($mem, 1 + hex $ARGV[1], 0);
			kill STOP => $ARGV[2]; syswrite($mem, "\xcc"); kill INT => $ARGV[2]; kill CONT => $ARGV[2]' $target "$address" $tracer
		wait $tracer
		cat "$messages"
		poke "$address" '\x66'
		grep -q 'put breakpoints on 1 site' "$messages" || break
	done
	says user-mode-disturbed "at the end a debugger or a kernel uprobe had breakpoints on 1 site" "$messages"
}

@test "a breakpoint that is there only between two looks does not go unmentioned" {
	start_target "$tick" loop 100000 1 100
	address=$("$NOPAL" doctor -p $target | awk '/tick:loop/ { print $2 }' | head -1)
	start_tracer "usdt:$tick:tick:loop { @n = count() }" --user -p $target
	# The kernel writes the byte of the file when a uprobe is removed.
	for _ in 1 2 3; do
		poke "$address" '\x66'
		sleep 0.3
	done
	kill -INT $tracer
	wait $tracer
	cat "$messages"
	says user-mode-off "on 1 site of process $target for a moment" "$messages"
	[ "$(grep -c 'for a moment' "$messages")" = 1 ]
	! grep -q 'user-mode-shadowed\|until they are removed' "$messages"
}

@test "a child that is too short to be seen does not go unmentioned" {
	run timeout 20 "$NOPAL" --user -c "sh -c '$tick loop 1; true'" -e "usdt:$tick:tick:loop { @n = count() }"
	[[ $output == *"@n: 1"* ]] || [[ $output == *"tracing it begins a few milliseconds later"* ]] ||
		says none-seen "no process that was looked at had these probes"
}

@test "thread numbers of another pid namespace are announced as such" {
	unshare -pf true 2>/dev/null || skip "needs pid namespaces"
	unshare -pf "$tick" wait loop 10 <"$dir/go" >/dev/null 3>&- &
	exec 8>"$dir/go"
	sleep 0.3
	target=$(pgrep -P $!)
	start_tracer "usdt:$tick:tick:loop { @[tid] = count() }" --user -p "$target"
	echo >&8
	wait $tracer
	cat "$output_file"
	says user-mode-namespace "process $target is in another pid namespace" "$messages"
}

@test "a program that a process runs by exec is traced a moment later, where the kernel does not trace it" {
	start_target sh -c "read x; exec '$tick' loop 300 1 1000"
	start_tracer "usdt:$tick:tick:loop { @n = count() }" --engine=native --follow -p $target
	go_on
	cat "$output_file" "$messages"
	says user-mode-begins "programs of '$tick' do not wait until they are traced" "$messages"
	says user-mode-late "began to run another program" "$messages"
	[ "$(sed -n 's/^@n: //p' "$output_file")" -gt 200 ]
}

@test "loops over maps: in the process itself, for an ordinary user, too" {
	run as_nobody "$NOPAL" -q --engine=native -c "./tick word a b c a b a" -e 'usdt:tick:word { @n[str(arg0)] = count(); @last[str(arg0)] = str(arg0); $sum = 0; $keys = 0;
		for ($kv : @n) { $sum += (int64)$kv.1; $keys++ } for ($t : @last) { if ($t.0 != $t.1) { printf("wrong %s\n", $t.0) } } printf("%d of %d\n", $sum, $keys) }'
	echo "$output"
	# Whether the bytes after one of the 7 sites lead to a free address is chance, and a warning where they do not.
	grep -v -e '^$' -e 'it is a 1-byte nop, and the bytes' -e "^hint: 'nopal doctor" <<<"$output" | head -6 | cmp - <(printf '1 of 1\n2 of 2\n3 of 3\n4 of 3\n5 of 3\n6 of 3\n')
	run timeout 60 "$NOPAL" -q --engine=native -c "$tick loop 300 4" -e "usdt:$tick:tick:loop { @c[arg0, tid] = 1; \$n = 0; for (\$kv : @c) { \$n++ } @most = max(\$n); if (arg0 % 3 == 0) { delete(@c[arg0, tid]) } } END { printf(\"%d left\n\", len(@c)); clear(@c) }"
	echo "$output"
	grep -qx '800 left' <<<"$output"
	most=$(sed -n 's/^@most: //p' <<<"$output")
	[ "$most" -ge 800 ] && [ "$most" -le 804 ]
}

@test "pid(init) and tid(init): in the process itself; in a pid namespace only the kernel has them" {
	run timeout 60 "$NOPAL" -q --engine=native -c "$tick fork 10 2" -e "usdt:$tick:tick:loop { @[pid(init) == pid, tid(init) == tid] = count(); @by[pid(init)] = count() }"
	echo "$output"
	[[ $output == *"@[true, true]: 20"* ]]
	[ "$(grep -c '^@by.*: 10$' <<<"$output")" = 2 ]
	unshare -pf true 2>/dev/null || skip "needs pid namespaces"
	unshare -pf "$tick" wait loop 10 <"$dir/go" >/dev/null 3>&- &
	exec 8>"$dir/go"
	sleep 0.3
	target=$(pgrep -P $!)
	run timeout 60 "$NOPAL" --engine=native -p "$target" -e "usdt:$tick:tick:loop { @[tid(init)] = count() }"
	says undoable "the process is in a pid namespace of its own"
	start_tracer "usdt:$tick:tick:loop { @[tid(init)] = count() }" --user -p "$target"
	echo >&8
	wait $tracer
	cat "$output_file"
	grep -qx "@\[$target\]: 10" "$output_file"
}

# counts_of OPTION SCRIPT COMMAND: what the script printed and counted, without warnings.
counts_of() {
	timeout 20 "$NOPAL" -q "$1" -e "$2" -c "$3" 2>"$dir/said" | grep .
	cat "$dir/said" >&2
	! grep warning "$dir/said" | grep -v 'traced by the kernel'
}

# bats test_tags=deep
@test "-c: tracepoints did not see the exec of the command itself" {
	need_tracing
	for probe in tracepoint:sched:sched_process_exec rawtracepoint:sched_process_exec tracepoint:syscalls:sys_enter_execve tracepoint:syscalls:sys_exit_execve; do
		for path in "$tick" '*'; do
			script="$probe { @execs = count(); @both = count() } usdt:$path:tick:loop { @n = count(); @both = count() }"
			[ "$(counts_of --user "$script" "$tick loop 5")" = "$(printf '@both: 6\n@execs: 1\n@n: 5')" ]
			[ "$(counts_of --kernel "$script" "$tick loop 5")" = "$(printf '@both: 6\n@execs: 1\n@n: 5')" ]
		done
	done
	# A child that is not replaced by the shell; and maps that one engine must have.
	script="tracepoint:sched:sched_process_exec { @last = 100; @execs = count() } usdt:$tick:tick:loop { @last++ }"
	[ "$(counts_of --user "$script" "sh -c '$tick loop 5; true'")" = "$(printf '@execs: 2\n@last: 105')" ]
	script='BEGIN { @first = 7 } tracepoint:sched:sched_process_exec { printf("exec\n") }
		usdt::tick:loop { @first++; @start[tid] = nsecs } END { printf("%d\n", @first); clear(@start); clear(@first) }'
	[ "$(counts_of --user "$script" "$tick loop 5")" = "$(printf 'exec\n12')" ]
}

# bats test_tags=deep
@test "-c: sites that user mode does not reach, beside probes in the kernel, which come first" {
	need_tracing
	cp "$TARGETS/mixed" "$dir"
	exec="tracepoint:sched:sched_process_exec { @execs = count() }"
	for path in "$dir/mixed" '*'; do
		all="usdt:$path:mixed:*"
		for script in "$all { @[probe] = count(); @s = sum(arg0) }" \
			"$all { @d[probe, arg0] = 1; @c++ } END { clear(@d) }" \
			"BEGIN { @c = 7 } $all { @c++ }" \
			"$all { @c++ } interval:ms:10 { @c = @c + 0 }" \
			"usdt:$path:mixed:easy { @last = arg0 } usdt:$path:mixed:hard { @sum = sum(arg0 == @last) }"; do
			echo "$script"
			counts_of --kernel "$exec $script" "$dir/mixed 1000" <<<"" >"$dir/kernel"
			counts_of --user "$exec $script" "$dir/mixed 1000" <<<"" >"$dir/user"
			grep -qx '@execs: 1' "$dir/user"
			diff "$dir/kernel" "$dir/user"
		done
	done
}

@test "-c: a command that cannot be traced in user mode, after the kernel has seen its exec" {
	need_tracing
	chmod 711 "$tick" # of another user: without these capabilities root cannot look into it
	can_not() {
		setpriv --bounding-set -sys_ptrace,-dac_override,-dac_read_search --inh-caps=-sys_ptrace,-dac_override,-dac_read_search "$@"
	}
	cp "$TARGETS/tick" "$dir/open"
	run can_not timeout 20 "$NOPAL" -q --user -e "tracepoint:sched:sched_process_exec { @execs = count() } usdt:$dir/open:tick:loop { @n = count() }" -c "sh -c 'exec $tick loop 2'"
	echo "$output"
	grep -qx '@execs: 2' <<<"$output"
	run can_not timeout 20 "$NOPAL" -q --user -e "tracepoint:sched:sched_process_exec { @execs = count() } usdt:$dir/open:tick:loop { @n = count() }" -c "$tick loop 2"
	echo "$output"
	says user-mode-refused "Permission denied: the kernel traces it"
	grep -qx '@execs: 1' <<<"$output"
}
