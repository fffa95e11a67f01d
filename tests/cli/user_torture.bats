# User mode under attack from all sides: either side is killed at any moment, other tracers and debuggers come and go, the program
# is of another libc, static, or in a container. The program never notices, and what is counted is right. STRESS=1 makes it long.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	[ "$(id -u)" = 0 ] || skip "needs root, for --user"
	dir=$(mktemp -d /tmp/nopal-torture.XXXXXX)
	chmod 755 "$dir"
	cp "$TARGETS/tick" "$dir"
	tick=$dir/tick
	mkfifo "$dir/go"
	times=${STRESS:+300}
	times=${times:-6}
}

teardown() {
	for pid in ${target:-} ${tracer:-} ${other:-}; do kill -9 "$pid" 2>/dev/null || true; done
	[ -z "${dir:-}" ] || rm -rf "$dir"
}

# start_target COMMAND...: $target waits for a line.
start_target() {
	"$@" <"$dir/go" >"$dir/printed" 2>&1 3>&- &
	target=$!
	exec 8>"$dir/go"
	sleep 0.2
}

# A moment of up to MS milliseconds.
moment() {
	sleep "$(printf '0.%03d' $((RANDOM % $1)))"
}

# counts NUMBER: let the target go on; it ends well, and NUMBER events are counted.
counts() {
	echo >&8
	wait $target
	target=
	wait $tracer
	cat "$output_file" "$messages"
	grep -qx "@n: $1" "$output_file"
}

@test "the tracer is killed at any moment, again and again, while threads are at its sites" {
	"$tick" loop 9000000000000 3 >"$dir/printed" 2>&1 3>&- &
	target=$!
	for _ in $(seq "$times"); do
		"$NOPAL" --user -q -o /dev/null -p $target -e "usdt:$tick:tick:loop { @[tid] = count(); printf(\"%d %s\\n\", arg0, str(arg1)) }" >/dev/null 2>&1 3>&- &
		tracer=$!
		moment 60
		kill -9 $tracer
		wait $tracer || true
		kill -0 $target
	done
	# The next one undoes what they left, and traces.
	run timeout 60 "$NOPAL" --user -q -p $target -e "usdt:$tick:tick:loop { @n = count() } interval:ms:300 { exit() }"
	echo "$output"
	[ "$(sed -n 's/^@n: //p' <<<"$output")" -gt 1000 ]
	"$NOPAL" --user -q -o /dev/null -p $target -e "usdt:$tick:tick:loop { @n = count() }" 3>&- &
	tracer=$!
	sleep 0.3
	kill -9 $tracer
	wait $tracer || true
	run timeout 20 "$NOPAL" clean $target
	echo "$output"
	[ "$status" = 0 ]
	kill -0 $target
}

@test "the process is killed at any moment: what it fired until then is counted or lost, and the tracer ends well" {
	for _ in $(seq "$times"); do
		"$tick" loop 9000000000000 3 >/dev/null 2>&1 3>&- &
		target=$!
		timeout 60 "$NOPAL" --user -q -o "$dir/out" -p $target -e "usdt:$tick:tick:loop { @n = count(); @by[str(arg1)] = count(); @start[tid] = nsecs; delete(@start[tid]) }" \
			>/dev/null 2>"$dir/err" 3>&- &
		tracer=$!
		moment 80
		kill -9 $target
		wait $target || true
		status=0
		wait $tracer || status=$?
		# It may have been killed before it was traced.
		[ "$status" = 0 ] || grep -qE 'no process|has ended|cannot trace|cannot stop' "$dir/err" || {
			echo "status $status"
			cat "$dir/err"
			false
		}
	done
	target=
}

@test "bpftrace, perf and gdb at the same program" {
	start_target "$tick" wait loop 60000 2 10
	start_tracer "usdt:$tick:tick:loop { @n = count() }" --user -p $target
	echo >&8
	if command -v bpftrace >/dev/null; then
		timeout 60 bpftrace -q -e "usdt:$tick:tick:loop { @b = count(); } interval:ms:300 { exit(); }" -p $target >"$dir/bpftrace" 2>&1 3>&- &
		other=$!
	fi
	for _ in 1 ${STRESS:+2 3}; do
		! command -v gdb >/dev/null || timeout 60 gdb -q -batch -p $target -ex 'info threads' -ex 'break usleep' -ex 'info breakpoints' -ex detach \
			>"$dir/gdb" 2>&1 3>&- || true
		! command -v perf >/dev/null || timeout 60 perf record -q -o "$dir/perf.data" -p $target sleep 0.1 >/dev/null 2>&1 3>&- || true
		kill -0 $target
	done
	[ -z "${other:-}" ] || wait $other || true
	other=
	wait $target
	target=
	wait $tracer
	cat "$output_file" "$messages" "$dir/bpftrace"
	grep -qx '@n: 120000' "$output_file"
}

@test "a child that its parent runs one instruction at a time: it went on for ever at its first event" {
	cat >"$dir/steps.c" <<-'END'
		#include "nopal/sdt.h"
		#include <signal.h>
		#include <stdio.h>
		#include <sys/ptrace.h>
		#include <sys/wait.h>
		#include <unistd.h>
		int main(void)
		{
			int status, steps = 0;
			pid_t child = fork();
			if (!child) {
				ptrace(PTRACE_TRACEME, 0, 0, 0);
				raise(SIGSTOP);
				for (int i = 0; i < 20; i++)
					NOPAL_PROBE(steps, hit, i, "the text");
				_exit(7);
			}
			while (waitpid(child, &status, 0) == child && WIFSTOPPED(status) && ++steps < 10000000)
				ptrace(PTRACE_SINGLESTEP, child, 0, 0);
			printf("%d after %s steps\n", WEXITSTATUS(status), steps > 100 ? "many" : "few");
			return 0;
		}
	END
	cc -O2 -I"$ROOT/include" -o "$dir/steps" "$dir/steps.c"
	hit="usdt:$dir/steps:steps:hit"
	for actions in '@n = count()' '@n = count(); @[str(arg1)] = count()' '@n = count(); @h = hist(arg0)' '@n = count(); @s[arg0] = sum(arg0)' \
		'@n = count(); printf("%d\n", arg0)' '@n = count(); printf("%s %d\n", str(arg1), arg0)' '@n = count(); @last[tid] = nsecs'; do
		run timeout 60 "$NOPAL" --user -q -e "$hit { $actions }" -c "$dir/steps"
		echo "$output"
		[ "$status" = 0 ]
		grep -qx '7 after many steps' <<<"$output"
		grep -qx '@n: 20' <<<"$output"
		[[ "$actions" != *printf* ]] || [ "$(grep -cE '^(the text )?[0-9]+$' <<<"$output")" = 20 ]
		# It inherits all from its parent, so that its debugger is in nobody's way.
		[[ "$output" != *warning* ]]
	done
}

@test "programs of musl and static ones, by pid" {
	for how in "musl-gcc -O2" "musl-gcc -O2 -static" "cc -O2 -static"; do
		command -v ${how%% *} >/dev/null || continue
		$how -I"$ROOT/include" -o "$dir/other" "$ROOT/tests/targets/tick.c" -lpthread 2>"$dir/cc" || continue
		start_target "$dir/other" wait loop 5000 3
		start_tracer "usdt:$dir/other:tick:loop { @n = count(); @t[str(arg1)] = count(); printf(\"%d\\n\", arg0) }" --user -p $target
		counts 15000
		grep -qx '@t\[the quick brown fox\]: 15000' "$output_file"
		[ "$(grep -cE '^[0-9]+$' "$output_file")" = 15000 ] || grep -qi '^lost' "$messages"
		exec 8>&-
	done
}

@test "a program in another mount and pid namespace" {
	mkdir "$dir/root"
	unshare -pmf true || skip "no namespaces here"
	unshare -pmf --mount-proc sh -c "mount -t tmpfs none '$dir/root' && cp '$tick' '$dir/root/tick' && exec '$dir/root/tick' wait loop 5000 2" \
		<"$dir/go" >"$dir/printed" 2>&1 3>&- &
	other=$!
	exec 8>"$dir/go"
	for _ in $(seq 600); do
		target=$(pgrep -P $other -x tick || true)
		[ -z "$target" ] || break
		sleep 0.05
	done
	start_tracer "usdt:$dir/root/tick:tick:loop { @n = count(); @t[str(arg1)] = count() }" --user -p $target
	echo >&8
	wait $tracer
	wait $other
	target= other=
	cat "$output_file" "$messages"
	grep -qx '@n: 10000' "$output_file"
	grep -qx '@t\[the quick brown fox\]: 10000' "$output_file"
}

@test "a process that fills the shared memory with random bytes: one warning, and the tracer ends well" {
	seeds=${STRESS:+100}
	for seed in $(seq "${seeds:-$times}"); do
		start_target "$TARGETS/spoils" "$seed"
		timeout 60 "$NOPAL" --user -q -p $target -e "usdt:$TARGETS/spoils:spoils:fire {
			@[str(arg1)] = count(); @h = hist(arg0); @last[tid] = arg0; printf(\"%d\n\", arg0) }" >"$dir/out" 2>"$dir/err" 3>&- &
		tracer=$!
		until grep -q memfd:nopal /proc/$target/maps; do sleep 0.05; done
		sleep 0.5
		echo >&8
		wait $target
		target=
		cat "$dir/err"
		wait $tracer
		grep -qx alive "$dir/printed"
		[ "$(grep -c 'warning' "$dir/err")" = 1 ]
		says user-mode-written "corrupted by the traced process" "$dir/err"
	done
}

@test "two tracers at once: the second is refused" {
	start_target "$tick" wait loop 1000
	start_tracer "usdt:$tick:tick:loop { @n = count() }" --user -p $target
	run timeout 60 "$NOPAL" --engine=native -p $target -e "usdt:$tick:tick:loop { @n = count() }"
	[ "$status" = 1 ]
	says user-mode-traced "cannot trace process $target in user mode: process $tracer is tracing it already"
	counts 1000
}

@test "two tracers in different pid namespaces: the second is refused, on either side" {
	unshare -pf --mount-proc true 2>/dev/null || skip "needs pid namespaces"
	script="usdt:$tick:tick:loop { @n = count(); }"
	for first in inside outside; do
		# Its first process outlives the tracer, which the kernel would end with it.
		unshare -pf --mount-proc sh -c '"$0" wait loop 1000 3; sleep 2' "$tick" <"$dir/go" >"$dir/printed" 2>&1 3>&- &
		other=$!
		exec 8>"$dir/go"
		sleep 0.5
		target=$(pgrep -P "$(pgrep -P $other)")
		inside=(nsenter -t "$target" -p -m "$NOPAL" --engine=native -q -p 2 -e "$script")
		outside=("$NOPAL" --engine=native -q -p "$target" -e "$script")
		[ $first = inside ] && set -- "${inside[@]}" || set -- "${outside[@]}"
		__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 "$@" >"$dir/out" 2>&1 3>&- &
		tracer=$!
		until grep -q PROBES_ATTACHED "$dir/out"; do sleep 0.05; done
		[ $first = inside ] && set -- "${outside[@]}" || set -- "${inside[@]}"
		run timeout 20 "$@"
		echo "$output"
		[ "$status" = 1 ]
		[[ $output == *"is tracing it already"* ]]
		echo >&8
		exec 8>&-
		wait $tracer
		wait $other
		grep -qx '@n: 3000' "$dir/out"
	done
	target= tracer= other=
}

@test "threads that make children by vfork and posix_spawn all the time" {
	cp "$TARGETS/vforks" "$dir"
	# One with 1-byte nops, as Debian's programs have them.
	! [ -e /usr/include/x86_64-linux-gnu/sys/sdt.h ] || cc -O2 -o "$dir/old" "$ROOT/tests/targets/vforks.c" -lpthread
	for program in "$dir"/vforks "$dir"/old; do
		[ -x "$program" ] || continue
		for how in vfork spawn; do
			start_target "$program" $((50 * times)) 4 100 0 $how
			start_tracer "usdt:$program:vforks:parent { @n = count(); @by[str(arg1)] = count(); printf(\"%d\n\", arg0) }" --user -p $target
			counts $((20000 * times))
			grep -qx "children $((150 * times)) ended, $((50 * times)) called exec" "$dir/printed"
			grep -qx "@by\[the parent\]: $((20000 * times))" "$output_file"
			[ "$(grep -cE '^[0-9]+$' "$output_file")" = $((20000 * times)) ] || grep -qi '^lost' "$messages"
			exec 8>&-
		done
	done
}

# fire_too HOW: children that share the memory of their parents fire, too.
fire_too() {
	start_target "$dir/vforks" $rounds 4 100 100 "$1"
	start_tracer "usdt:$dir/vforks:vforks:* { @n = count(); @by[str(arg1)] = count(); @set[arg0] = arg0; printf(\"%d\n\", arg0) }" \
		--user --ring-size=64M -p $target
	counts $((800 * rounds))
	grep -qx "children $((3 * rounds)) ended, $rounds called exec" "$dir/printed"
	grep -qx "@by\[the parent\]: $((400 * rounds))" "$output_file"
	grep -qx "@by\[the child\]: $((400 * rounds))" "$output_file"
	lost=$(sed -n 's/^Lost \([0-9]*\) event.*/\1/p' "$messages" | head -1)
	[ "$(($(grep -cE '^[0-9]+$' "$output_file") + ${lost:-0}))" = $((800 * rounds)) ]
	exec 8>&-
}

@test "children of vfork fire while other threads do: each event is counted and recorded once" {
	cp "$TARGETS/vforks" "$dir"
	rounds=$((20 * times))
	for how in vfork clone; do
		fire_too $how
	done
}

# come_and_go: tracers of $target.
come_and_go() {
	for turn in $(seq $((2 * times))); do
		"$NOPAL" --user -q -o /dev/null -p $target -e "usdt:$dir/vforks:vforks:* { @[probe] = count(); printf(\"%d %s\n\", arg0, str(arg1)) }" \
			>/dev/null 2>&1 3>&- &
		tracer=$!
		moment 150
		kill -$((turn % 2 ? 9 : 15)) $tracer || true # it may have ended
		wait $tracer || true
		kill -0 $target
	done
	"$NOPAL" clean $target || true
	kill -0 $target
	[ ! -s "$dir/printed" ]
}

@test "tracers come, and are killed, while children of vfork are at the sites" {
	cp "$TARGETS/vforks" "$dir"
	for how in vfork clone; do
		start_target "$dir/vforks" 1000000 4 10 100 $how
		echo >&8
		come_and_go
		exec 8>&-
		kill -9 $target
		wait $target || true
	done
}

@test "a child that was forked while a session began had the descriptors of the session, and files had other numbers" {
	cp "$TARGETS/forker" "$dir"
	start_ready forker
	for _ in $(seq 10); do
		"$NOPAL" -q --user -p $pid -d 100ms -e "usdt::forker:fire { @n = count() }"
	done >"$dir/out"
	echo >&7
	wait $pid
	sort "$printed" | uniq -c
	! grep -qE 'descriptors|number' "$printed" || false
	[ "$(sed -n 's/ children//p' "$printed")" -gt 100 ]
	grep -qE '^@n: [1-9]' "$dir/out"
}

@test "a program whose faults are many was refused: 'its code was changed meanwhile'" {
	start_target "$TARGETS/faulty"
	for _ in $(seq 10); do
		"$NOPAL" -q --user -p $target -d 100ms -e 'usdt::faulty:fire { @n = count() }' >"$dir/out" 2>"$dir/err"
		cat "$dir/out" "$dir/err"
		grep -qE '^@n: [1-9]' "$dir/out"
	done
	echo >&8
	wait $target
	target=
	grep -qx 'all is right' "$dir/printed"
}

@test "a thread that makes pages itself waited for itself for ever, when a text in one was read at its probe" {
	"$TARGETS/faults" </dev/null || skip "needs userfaultfd"
	start_ready faults
	as_before='20 texts are right'
	"$NOPAL" -q --user -p $pid -e 'usdt::faults:page { @[str(arg0)] = count() }' >"$dir/out" 2>"$dir/err" 3>&- 7>&- &
	tracer=$!
	sleep 1
	echo >&7
	awaits grep -qx "$as_before" "$printed"
	kill -INT $tracer
	wait $tracer
	tracer=
	cat "$dir/out" "$dir/err"
	says user-mode-pages "makes pages of its memory itself (userfaultfd)" "$dir/err"
	grep -q '20 reads failed: no system call may be made in the process (seccomp, userfaultfd)' "$dir/err"
	grep -qx '@\[(unreadable)\]: 20' "$dir/out"
	exec 7>&-
	wait $pid
}
