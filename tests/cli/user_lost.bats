# User mode: what is not delivered is counted, whatever the reason. Of each kind of loss: delivered + lost = fired.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	[ "$(id -u)" = 0 ] || skip "needs root, for --user"
	dir=$(mktemp -d /tmp/nopal-lost.XXXXXX)
	cp "$TARGETS/tick" "$dir"
	tick=$dir/tick
	mkfifo "$dir/go"
}

teardown() {
	[ -z "${target:-}" ] || kill -9 "$target" 2>/dev/null || true
	[ -z "${other:-}" ] || kill -9 "$other" 2>/dev/null || true
	[ -z "${dir:-}" ] || rm -rf "$dir"
}

# A traced program that waits for a line: $target.
start_target() {
	"$@" <"$dir/go" >"$dir/printed" 3>&- &
	target=$!
	exec 8>"$dir/go"
}

# number PATTERN FILE: the number that \1 is in its first line; 0 if there is none.
number() {
	local found
	found=$(sed -n "s/$1/\1/p" "$2" | head -1)
	echo "${found:-0}"
}

# sums NAME FILE: of all values of a map.
sums() {
	awk -v name="@$1" 'index($0, name "[") == 1 || index($0, name ":") == 1 { n += $NF } END { print n + 0 }' "$2"
}

@test "a ring that is full, since the tracer gets no CPU" {
	start_target "$tick" wait loop 100000 3
	start_tracer "usdt:$tick:tick:loop { printf(\"record %d\\n\", arg0) }" --engine=native -p $target
	kill -STOP $tracer
	echo >&8
	wait $target
	kill -CONT $tracer
	wait $tracer
	lost=$(number '^Lost \([0-9]*\) events.*' <(cat "$output_file" "$messages"))
	delivered=$(grep -c '^record' "$output_file")
	echo "$delivered + $lost"
	[ "$lost" -gt 0 ]
	[ $((delivered + lost)) = 300000 ]
}

@test "more events than the reader takes, since what it writes to is slow" {
	mkfifo "$dir/slow"
	(sleep 2; cat >"$dir/out") <"$dir/slow" 3>&- &
	other=$!
	"$NOPAL" --engine=native -c "$tick loop 400000 2" -e "usdt:$tick:tick:loop { @n = count(); printf(\"record %d %d\\n\", arg0, tid) }" >"$dir/slow" 2>"$dir/err" 3>&-
	wait $other
	other=
	lost=$(number '^Lost \([0-9]*\) events.*' <(cat "$dir/out" "$dir/err"))
	delivered=$(grep -c '^record' "$dir/out")
	echo "$delivered + $lost"
	[ $((delivered + lost)) = 800000 ]
	grep -qx '@n: 800000' "$dir/out"
}

@test "a map that is full" {
	run timeout 60 "$NOPAL" --engine=native -c "$tick loop 1000 3" -e "let @m = percpuhash(10); let @s = hash(10);
		usdt:$tick:tick:loop { @m[arg0] = count(); @s[arg0 % 30]++ }" 3>&-
	echo "$output" | tee "$dir/out"
	lost=$(number '^Lost \([0-9]*\) map updates.*' "$dir/out")
	[ "$lost" -gt 3000 ]
	[ $(($(sums m "$dir/out") + $(sums s "$dir/out") + lost)) = 6000 ]
}

@test "texts that are too long for a key are counted under what there is room for" {
	long=$(printf 'x%.0s' $(seq 3000))
	run timeout 60 "$NOPAL" --engine=native -c "$tick word ${long}1 ${long}2 short" -e "usdt:$tick:tick:word { @m[str(arg0)] = count(); @l[str(arg0, 16)] = count() }" 3>&-
	echo "$output" >"$dir/out"
	[ "$(sums m "$dir/out")" = 3 ]
	[ "$(sums l "$dir/out")" = 3 ]
	[ "$(grep -c '^@m' "$dir/out")" = 2 ]
	grep -qx '@m\[short\]: 1' "$dir/out"
	grep -qx '@l\[x*\(\.\.\)\?\]: 2' "$dir/out"
}

# Threads are preempted in the loop, with their frames.
@test "no scratch memory: such a run has no effect on maps" {
	cat >"$dir/crowd.c" <<-'END'
		#include <pthread.h>
		#include <stdlib.h>
		#include <sys/sdt.h>
		static long times;
		static pthread_barrier_t start;
		static void *run(void *arg)
		{
			pthread_barrier_wait(&start);
			for (long i = 0; i < times; i++)
				DTRACE_PROBE1(crowd, fire, i);
			return arg;
		}
		int main(int argc, char **argv)
		{
			long count = argc > 2 ? atol(argv[1]) : 0;
			pthread_t *threads = calloc(count + 1, sizeof(*threads));
			times = argc > 2 ? atol(argv[2]) : 0;
			pthread_barrier_init(&start, NULL, (unsigned)count);
			for (long i = 0; i < count; i++)
				pthread_create(&threads[i], NULL, run, NULL);
			for (long i = 0; i < count; i++)
				pthread_join(threads[i], NULL);
			return 0;
		}
	END
	cc -O2 -I"$ROOT/include" -o "$dir/crowd" "$dir/crowd.c" -lpthread
	run timeout 100 "$NOPAL" --engine=native -c "$dir/crowd 300 4" -e "usdt:$dir/crowd:crowd:fire {
		@n = count(); @last[arg0]++; \$j = 0; while (\$j < 1000) { \$i = 0; while (\$i < 4000) { \$i++ } \$j++ } @stacks[ustack(127)] = count() }" 3>&-
	echo "$output" | tee "$dir/out"
	lost=$(number '^Lost \([0-9]*\) runs\{0,1\}: no scratch.*' "$dir/out")
	[ "$(($(sums n "$dir/out") + lost))" = 1200 ]
	[ "$(($(sums last "$dir/out") + lost))" = 1200 ]
	[ "$(awk '/^\]: / { n += $2 } END { print n + 0 }' "$dir/out")" = $((1200 - lost)) ]
	[ "$lost" -gt 0 ]
}

@test "a tracer that is late: libraries whose threads did not wait are counted" {
	cp "$TARGETS/reload" "$TARGETS/pluglib" "$dir"
	start_target "$dir/reload" "$dir/pluglib" 200
	start_tracer "usdt:$dir/pluglib:plug:in { @n = count() }" --engine=native -p $target
	kill -STOP $tracer
	echo >&8
	sleep 1.5
	kill -CONT $tracer
	wait $target
	wait $tracer
	cat "$output_file" "$messages"
	# A thread waits when it has loaded the library.
	waited=$(number '.*warning: threads resumed \([0-9]*\) times\{0,1\} before.*' "$messages")
	n=$(number '^@n: \([0-9]*\)' "$output_file")
	[ $((n + waited)) -ge 200 ]
	[ $((n + waited)) -le 201 ]
}

@test "memory of the process where a jump would lead: the site is left out with a warning, or the kernel's" {
	cp "$TARGETS/turns" "$dir"
	start_target "$dir/turns" 1000 stays
	awaits grep -q ready "$dir/printed"
	run timeout 20 "$NOPAL" --engine=native -p $target -e "usdt:$dir/turns:turns:text { @n = count() }"
	says user-mode-none "do not lead to a free address"
	start_tracer "usdt:$dir/turns:turns:text { @n = count() }" --user -p $target
	echo >&8
	wait $target
	wait $tracer
	cat "$output_file" "$messages"
	grep -qx '@n: 1000' "$output_file"
}

# walled SCRIPT COMMAND...: the script traces a program that has no free memory around its libraries; it waits for one line.
walled() {
	start_target env LD_PRELOAD="$TARGETS/walls" "${@:2}"
	awaits grep -q /walls "/proc/$target/maps"
	sleep 0.2
	start_tracer "$1" --engine=native -p $target
	echo >&8
}

@test "no memory around the C library: a filter that it makes ends no process, and a warning says what is unreadable" {
	walled 'usdt:filters:fire { @[str(arg0), str(arg1)] = count() }' "$TARGETS/filters" kill few late
	awaits grep -q ready "$dir/printed"
	echo >&8
	wait $target
	wait $tracer
	cat "$output_file" "$messages"
	grep -qx alive "$dir/printed"
	grep -qx '@\[near, (unreadable)\]: 1000' "$output_file"
	says user-mode-unread "makes system calls by a C library that cannot be changed there" "$messages"
}

@test "no memory around the C library: a warning says that children of vfork() may be missing" {
	walled 'usdt:vforks:* { @[probe] = count() }' "$TARGETS/vforks" 100 1 10 10
	wait $target
	wait $tracer
	cat "$output_file" "$messages"
	grep -qx 'children 75 ended, 25 called exec' "$dir/printed"
	says user-mode-vfork "where it makes children that share its memory" "$messages"
}

@test "no memory around the dynamic loader: a warning says that libraries are traced later" {
	walled "usdt:$TARGETS/pluglib:plug:in { @n = count() }" "$TARGETS/reload" "$TARGETS/pluglib" 20
	wait $target
	wait $tracer
	cat "$output_file" "$messages"
	grep -qx 'called 20' "$dir/printed"
	says user-mode-loader "the dynamic loader of process $target cannot be changed" "$messages"
}

@test "a kernel uprobe at a site: events go to its owner meanwhile, and a warning says so" {
	[ -e /usr/include/x86_64-linux-gnu/sys/sdt.h ] || skip "no header with 1-byte nops"
	cat >"$dir/phases.c" <<-'END'
		#include <stdio.h>
		#include "/usr/include/x86_64-linux-gnu/sys/sdt.h"
		volatile long sum;
		__attribute__((noinline)) static void fire(long i) { DTRACE_PROBE1(phases, fire, i); sum += i; }
		int main(void)
		{
			int done = 0;
			while (getchar() == '\n') {
				for (int i = 0; i < 1000; i++) fire(i);
				printf("done %d\n", ++done); fflush(stdout);
			}
			return 0;
		}
	END
	cc -O2 -o "$dir/phases" "$dir/phases.c"
	for _ in $(seq 30); do # where the kernel has put it decides whether its jump leads to free memory
		start_target "$dir/phases"
		sleep 0.1
		! "$NOPAL" doctor -p $target | grep -q ' 1 of 1 site' || break
		kill $target
		wait $target || true
	done
	start_tracer "usdt:$dir/phases:phases:fire { @n = count() }" --engine=native -p $target 8>&-
	user=$tracer user_output=$output_file user_messages=$messages
	phase() {
		echo >&8
		awaits grep -qx "done $1" "$dir/printed"
	}
	phase 1
	mkdir "$dir/kernel"
	__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 "$NOPAL" --kernel -p $target -e "usdt:$dir/phases:phases:fire { @n = count() }" >"$dir/kernel/out" 2>"$dir/kernel/err" 3>&- 8>&- &
	other=$!
	awaits grep -q PROBES_ATTACHED "$dir/kernel/err"
	phase 2
	sleep 2 # for the tracer to see that it is there
	kill -INT $other
	wait $other
	other=
	sleep 2 # for the tracer to see that it is gone
	phase 3
	exec 8>&-
	wait $target
	wait $user
	cat "$dir/kernel/out" "$user_output" "$user_messages"
	[ $(($(sums n "$dir/kernel/out") + $(sums n "$user_output"))) = 3000 ]
	grep -qx '@n: 1000' "$dir/kernel/out"
	says user-mode-shadowed "events there are missed until they are removed" "$user_messages"
}

@test "what a process must not ask the system is 0, or unreadable, and counted at its place" {
	start_target "$TARGETS/sealed"
	awaits grep -q /sealed "/proc/$target/maps" # its probe is named without a path
	"$NOPAL" --engine=native -q -p $target -e 'usdt:sealed:fire { @u = sum(uid); }
		usdt:sealed:fire { @c[comm] = count(); @g[gid] = count(); @t[tid] = count() }' >"$dir/out" 2>"$dir/err" 3>&- &
	tracer=$!
	awaits grep -q memfd:nopal "/proc/$target/maps"
	sleep 1
	echo >&8
	wait $target
	wait $tracer
	cat "$dir/out" "$dir/err"
	grep -qx '@u: 0' "$dir/out"
	grep -qx '@c\[(unreadable)\]: 1000' "$dir/out"
	grep -qx '@g\[0\]: 1000' "$dir/out"
	grep -qx "@t\[$target\]: 1000" "$dir/out"
	faults='warning: 1000 reads failed: no system call may be made in the process (seccomp, userfaultfd)'
	[ "$(cat "$dir/out" "$dir/err" | grep -c "$faults")" = 3 ]
	grep -q "^-e:1:.*$faults" "$dir/out" "$dir/err"
}
