# User mode, with -c: programs that the command runs are traced from their first instruction. The agent library makes them wait.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	dir=$(mktemp -d /tmp/nopal-agent.XXXXXX)
	chmod 755 "$dir"
	cp "$TARGETS/tick" "$TARGETS/reload" "$TARGETS/pluglib" "$dir"
	tick=$dir/tick
}

teardown() {
	[ -z "${dir:-}" ] || rm -rf "$dir"
}

# traces COMMAND [SCRIPT]: all output is in $output.
traces() {
	run timeout 100 "$NOPAL" --user -c "$1" -e "${2:-usdt:$tick:tick:loop { @n = count() \}}"
	echo "$output"
	[ "$status" = 0 ]
}

# as_nobody COMMAND...: with no capability, in the directory of the test.
as_nobody() {
	run bash -c 'cd "$0" && exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all timeout 60 "$@"' "$dir" "$@"
	echo "$output"
}

@test "programs that a shell runs, one after the other" {
	traces "sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do $tick loop 100; done'"
	grep -qx '@n: 1000' <<<"$output"
	! grep -q 'warning' <<<"$output"
}

@test "many programs at once, in children of children, by vfork too" {
	count=${STRESS:+3000}
	count=${count:-100}
	traces "sh -c 'seq $count | xargs -P 4 -I@ $tick loop 10'"
	grep -qx "@n: $((count * 10))" <<<"$output"
}

@test "a daemon, whose parents end at once, and the programs that it runs" {
	mkfifo "$dir/done"
	cat >"$dir/daemon" <<-END
		#!/bin/sh
		( setsid sh -c '$tick loop 100; $tick loop 100; ( $tick loop 100; echo >$dir/done ) &' & )
		read x <$dir/done
	END
	chmod +x "$dir/daemon"
	for probe in "usdt:$tick:tick:loop" 'usdt:*:tick:loop'; do
		for _ in 1 2 3; do
			traces "$dir/daemon" "$probe { @n = count() }"
			grep -qx '@n: 300' <<<"$output"
		done
	done
}

@test "a process that comes to the agent's socket, and is not the command's, is not traced" {
	cat >"$dir/waits" <<-END
		#!/bin/sh
		echo "NOPAL_AGENT=\${NOPAL_AGENT%/*}" >$dir/name.new
		mv $dir/name.new $dir/name
		read x <$dir/go
		$tick loop 10
	END
	chmod +x "$dir/waits"
	mkfifo "$dir/go"
	timeout 100 "$NOPAL" --user -c "$dir/waits" -e "usdt:$tick:tick:loop { @n = count() }" >"$dir/out" 2>"$dir/messages" 3>&- &
	awaits test -s "$dir/name"
	env "$(cat "$dir/name")/0123456789abcdef0123456789abcdef" LD_PRELOAD="$(dirname "$NOPAL")/nopal-agent.so" "$tick" loop 100
	echo >"$dir/go"
	wait
	cat "$dir/out" "$dir/messages"
	grep -qx '@n: 10' "$dir/out"
}

@test "a tracer that stands still for long: a program goes on after 10 seconds, which is counted" {
	mkfifo "$dir/go"
	messages=$dir/messages
	timeout 100 "$NOPAL" --user -c "sh -c 'echo ready >$dir/ready; read x <$dir/go; $tick loop 10; echo went >$dir/went; $tick loop 100'" \
		-e "usdt:$tick:tick:loop { @n = count() }" >"$dir/out" 2>"$messages" 3>&- &
	awaits test -s "$dir/ready"
	sleep 0.5
	tracer=$(pgrep -P $!)
	kill -STOP $tracer
	stopped=$SECONDS
	echo >"$dir/go"
	awaits test -s "$dir/went"
	waited=$((SECONDS - stopped))
	kill -CONT $tracer
	wait
	cat "$dir/out" "$messages"
	[ $waited -ge 9 ]
	says user-mode-waited "threads resumed 1 time before" "$messages"
	grep -qx '@n: 100' "$dir/out"
}

# bats test_tags=deep
@test "a tracer that stands still for long: a program that has gone on is traced a moment later" {
	mkfifo "$dir/go"
	timeout 100 "$NOPAL" --user -c "sh -c 'echo ready >$dir/ready; read x <$dir/go; $tick loop 8000 1 1000; true'" \
		-e "usdt:$tick:tick:loop { @n = count() }" >"$dir/out" 2>"$dir/messages" 3>&- &
	awaits test -s "$dir/ready"
	sleep 0.5
	tracer=$(pgrep -P $!)
	kill -STOP $tracer
	echo >"$dir/go"
	sleep 13
	kill -CONT $tracer
	wait
	cat "$dir/out" "$dir/messages"
	says user-mode-late "began to run another program" "$dir/messages"
	says user-mode-waited "threads resumed 1 time before" "$dir/messages"
	n=$(sed -n 's/^@n: //p' "$dir/out")
	[ "$n" -gt 0 ] && [ "$n" -lt 8000 ]
}

@test "programs whose probes are named without a path, by an ordinary user" {
	for missing in "" news; do
		export NOPAL_NO_FEATURES=$missing
		as_nobody "$NOPAL" -q -c "sh -c '$tick word a; for i in 1 2 3 4 5 6 7 8 9 10; do $tick word b; done'" \
			-e 'usdt::tick:word { @[str(arg0)] = count() }'
		grep -qx '@\[a\]: 1' <<<"$output"
		grep -qx '@\[b\]: 10' <<<"$output"
		# In few layouts of memory one of the other six sites leads to the heap.
		! grep 'warning: [0-9]' <<<"$output" | grep -v 'sites cannot be traced in user mode' || false
	done
}

# Most end before anybody looks; of one that does not, what is left is traced, and that may be all.
@test "programs without the agent that end at once are counted, by an ordinary user too" {
	for as in "" as_nobody; do
		for probe in "usdt:$tick:tick:loop" usdt::tick:loop 'usdt:*:tick:loop'; do
			${as:-run} timeout 60 "$NOPAL" --user -q -c "sh -c '$tick loop 100; for i in 1 2 3 4 5; do env -i $tick loop 10; done; true'" -e "$probe { @n = count() }"
			echo "$as $probe: $output"
			n=$(sed -n 's/^@n: //p' <<<"$output")
			[ "$n" -ge 100 ]
			missed=$(sed -n 's/.*warning: \([0-9]*\) process.* mapped a file with probes .* ended before .*/\1/p' <<<"$output")
			late=$(grep -c 'began to run another program' <<<"$output" || true)
			more=$(sed -n 's/.*warning: \([0-9]*\) programs in all ran a few milliseconds.*/\1/p' <<<"$output")
			waited=$(sed -n 's/.*warning: threads resumed \([0-9]*\) time.* before .*/\1/p' <<<"$output")
			[ $((150 - n)) -le $(((missed + ${more:-$late} + waited) * 10)) ] || grep -q ' armed ' <<<"$output"
		done
	done
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		traces "sh -c '$tick loop 100; env -i $tick loop 10; true'"
		! grep -q 'mapped a file with probes' <<<"$output" || break
	done
	says user-mode-missed "1 process mapped a file with probes ('$tick'), and ended before it was traced"
}

@test "where the kernel reports nothing, it is said that programs may have been missed" {
	NOPAL_NO_FEATURES=news traces "sh -c '$tick loop 100; env -i $tick loop 10; true'"
	says user-mode-news "did not load nopal-agent.so, and ended within 20 ms"
	NOPAL_NO_FEATURES=news traces "$tick loop 100"
	! grep 'warning' <<<"$output"
}

@test "a command of which no program has the probes" {
	traces "sh -c 'true; /bin/true; env -i /bin/true'"
	! grep 'are missed' <<<"$output" || false
	says no-events "nothing was printed or counted"
	NOPAL_NO_FEATURES=news traces "sh -c 'true; /bin/true; env -i /bin/true'"
	says none-seen "no process that was looked at had these probes"
}

@test "a program without the agent, while others come with theirs" {
	traces "sh -c 'env -i $tick loop 3000 1 200 & for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do $tick loop 1; done; wait'"
	says user-mode-late "began to run another program"
	[ "$(sed -n 's/^@n: //p' <<<"$output")" -gt 1500 ]
}

@test "a daemon without the agent, whose parents end at once" {
	traces "sh -c '$tick loop 1; (env -i setsid $tick loop 3000 1 200 &); sleep 1; true'"
	says user-mode-late "began to run another program"
	[ "$(sed -n 's/^@n: //p' <<<"$output")" -gt 1500 ]
	! grep 'ended before' <<<"$output"
}

@test "programs without the agent that live are traced a moment later, and were not missed" {
	traces "sh -c '$tick loop 100; env -i $tick loop 3000 1 100; true'"
	says user-mode-late "began to run another program"
	! grep 'ended before' <<<"$output"
}

@test "a warning of a run was said only at its end" {
	start_tracer "usdt:$tick:tick:loop { @n = count() }" --user -c "env -i $tick loop 30000 1 1000"
	awaits grep -q '^nopal: warning: process .* began to run another program' "$messages"
	kill -0 $tracer
	stop_tracer
	[ "$(grep -c 'began to run another program' "$messages")" = 1 ]
}

@test "a program that becomes another, and one that loads its library later" {
	traces "sh -c 'exec $tick loop 100'"
	grep -qx '@n: 100' <<<"$output"
	traces "sh -c 'echo | $dir/reload $dir/pluglib 20; true'" "usdt:$dir/pluglib:plug:in { @n = count() }"
	grep -qx '@n: 20' <<<"$output"
}

@test "programs and libraries that a pattern finds" {
	traces "sh -c '$tick loop 10; $tick loop 20; echo | $dir/reload $dir/pluglib 20'" 'usdt:*:plug:in, usdt:*:tick:loop { @[probe] = count() }'
	grep -q 'plug:in\]: 20$' <<<"$output"
	grep -q 'tick:loop\]: 30$' <<<"$output"
	! grep -q 'events before that are missing' <<<"$output" || false
}

static_program() {
	cc -O2 "$1" -I"$ROOT/include" -o "$dir/static" "$ROOT/tests/targets/tick.c" -lpthread || skip "no static libc"
}

# Each prints what it has mapped.
@test "programs that load no library while they run were entered for probes that may come" {
	traces "sh -c 'cat /proc/self/maps; $tick loop 10'" 'usdt:*:tick:loop { @n = count() }'
	! grep -q memfd:nopal <<<"$output" || false
	grep -qx '@n: 10' <<<"$output"
	traces "sh -c '/usr/bin/python3.11 -I -S -c \"print(open(\\\"/proc/self/maps\\\").read())\"'" 'usdt:*:tick:loop { @n = count() }'
	grep -q memfd:nopal <<<"$output"
}

# A conversion of characters, which glibc loads: its constructor fires, then a thread of it 500 times.
@test "a library that only the C library loads is traced a few milliseconds later, which is said" {
	cat >"$dir/slow.c" <<-'END'
		#include <nopal/sdt.h>
		#include <pthread.h>
		#include <unistd.h>
		static void *beat(void *arg)
		{
			for (int i = 0; i < 500; i++) {
				NOPAL_PROBE(conversion, beat, i);
				usleep(1000);
			}
			return arg;
		}
		__attribute__((constructor)) static void begin(void)
		{
			pthread_t thread;
			pthread_create(&thread, NULL, beat, NULL);
		}
		int gconv_init(void) { return 0; }
		int gconv(void) { return 0; }
	END
	echo 'module SLOW// INTERNAL SLOW 1' >"$dir/gconv-modules"
	gcc -O1 -fPIC -shared -I"$ROOT/include" -o "$dir/SLOW.so" "$dir/slow.c" -lpthread
	printf '#include <iconv.h>\n#include <unistd.h>\nint main(void) { iconv_open("UTF-8", "SLOW"); sleep(2); return 0; }\n' |
		gcc -O1 -x c - -o "$dir/convert"
	GCONV_PATH=$dir traces "sh -c '$dir/convert; true'" 'usdt:*:conversion:beat { @n = count() }'
	[[ "$output" =~ @n:\ ([0-9]+) ]]
	[ "${BASH_REMATCH[1]}" -gt 0 ]
	[ "${BASH_REMATCH[1]}" = 500 ] || grep -q '1 image was mapped during the run and armed at most .* later' <<<"$output"
}

@test "programs without the agent: as root the kernel traces them from their first instruction on" {
	for how in -static -static-pie; do
		static_program $how
		# The command itself waits at its entry.
		traces "$dir/static loop 100" "usdt:$dir/static:tick:loop { @n = count() }"
		grep -qx '@n: 100' <<<"$output"
		traces "sh -c 'for i in 1 2 3 4 5; do $dir/static loop 100; $tick loop 10; done'" "usdt:$dir/*:tick:loop { @n = count() } usdt:$dir/static:tick:loop { @last = arg0; @t[tid] = arg0 }"
		grep -qx '@n: 550' <<<"$output"
		grep -qx '@last: 99' <<<"$output"
		[ "$(grep -c '^@t.*: 99$' <<<"$output")" = 5 ]
		! grep 'warning' <<<"$output" | grep -v 'traced by the kernel' || false
	done
}

@test "programs that a process of -p runs: as root the kernel traces them from their first instruction on" {
	mkfifo "$dir/go"
	sh -c "read x; $tick loop 100; $tick loop 100; exec $tick loop 100" <"$dir/go" 3>&- &
	target=$!
	exec 8>"$dir/go"
	start_tracer "usdt:$tick:tick:loop { @n = count() }" --user --follow -p $target
	echo >&8
	wait $target
	wait $tracer
	cat "$output_file" "$messages"
	grep -qx '@n: 300' "$output_file"
	! grep 'warning' "$messages" | grep -v '2 of 2 sites are traced by the kernel' || false
}

@test "programs without the agent, and without the kernel: how many ran before they were traced is said" {
	static_program -static
	run timeout 100 "$NOPAL" --engine=native -c "sh -c '$dir/static loop 3000 1 1000; $dir/static loop 3000 1 1000; true'" -e "usdt:$dir/static:tick:loop { @n = count() }"
	echo "$output"
	[ "$status" = 0 ]
	says user-mode-begins "programs of '$dir/static' do not wait until they are traced"
	says user-mode-late "began to run another program"
	says user-mode-late-programs "2 programs in all ran a few milliseconds before they were traced"
	n=$(sed -n 's/^@n: //p' <<<"$output")
	[ "$n" -gt 3000 ]
	[ "$n" -le 6000 ]
}

# bats test_tags=deep
@test "programs that are built with a sanitizer" {
	for kind in address thread; do
		gcc -fsanitize=$kind -O1 -I"$ROOT/include" -o "$dir/$kind" "$ROOT/tests/targets/tick.c" -lpthread 2>"$dir/cc" || continue
		"$dir/$kind" loop 1 || continue
		traces "sh -c '$dir/$kind loop 100; true'" "usdt:$dir/$kind:tick:loop { @n = count() }"
		grep -qx '@n: 100' <<<"$output"
		traces "$dir/$kind loop 100" "usdt:$dir/$kind:tick:loop { @n = count() }"
		grep -qx '@n: 100' <<<"$output"
	done
}

@test "a program of musl" {
	command -v musl-gcc >/dev/null || skip "no musl-gcc"
	musl-gcc -O2 -I"$ROOT/include" -o "$dir/musl" "$ROOT/tests/targets/tick.c" || skip "no musl"
	traces "sh -c 'for i in 1 2 3; do $dir/musl loop 100; done'" "usdt:$dir/musl:tick:loop { @n = count() }"
	grep -qx '@n: 300' <<<"$output"
	! grep -q 'warning' <<<"$output"
}

@test "what the command preloads stays, and its programs go on when the tracer is killed" {
	[ -z "${SAN:-}" ] || skip "a preloaded library and the address sanitizer exclude each other"
	LD_PRELOAD=$dir/pluglib traces "sh -c 'echo preloads \$LD_PRELOAD; $tick loop 5'"
	grep -q "^preloads .*nopal-agent.so:$dir/pluglib\$" <<<"$output"
	grep -qx '@n: 5' <<<"$output"
	"$NOPAL" --user -q -c "sh -c 'echo \$\$ >$dir/pid; read x <$dir/go; for i in 1 2 3 4 5; do $tick loop 5; done; echo went on >$dir/end'" \
		-e "usdt:$tick:tick:loop { @n = count() }" 3>&- &
	tracer=$!
	mkfifo "$dir/go"
	for _ in $(seq 600); do
		[ ! -s "$dir/pid" ] || break
		sleep 0.05
	done
	sleep 0.3
	kill -9 $tracer
	wait $tracer || true
	echo >"$dir/go"
	for _ in $(seq 600); do
		[ ! -s "$dir/end" ] || break
		sleep 0.05
	done
	grep -q 'went on' "$dir/end"
}

# bats test_tags=deep
@test "hundreds of programs at once are all traced" {
	count=${STRESS:+1000}
	count=${count:-300}
	traces "sh -c 'i=0; while [ \$i -lt $count ]; do $tick loop 10 & i=\$((i + 1)); done; wait'"
	# On a machine so busy that programs waited for 10 seconds, what is missing is counted.
	grep -qx "@n: $((count * 10))" <<<"$output" || says user-mode-waited "threads resumed"
	! grep -q 'milliseconds later' <<<"$output" || says user-mode-waited "threads resumed"
}

# bats test_tags=deep
@test "programs with set-user-ID bits run on, and are not traced by an ordinary user" {
	[ "$(id -u)" = 0 ] || skip "needs root, to be several users"
	cp "$dir/tick" "$dir/suid"
	chmod 4755 "$dir/suid"
	# Each runs for longer than the time after which a program on a busy machine has no agent; others begin and end
	# beside the first, which was counted twice when the kernel reported its exec() after it was looked at.
	as_nobody "$NOPAL" -c "sh -c './suid loop 4000 1 1000 & for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.02; done; wait; ./suid loop 4000 1 1000; ./tick loop 3; true'" \
		-e "usdt:$dir/suid:tick:loop { @s = count() } usdt:$dir/tick:tick:loop { @n = count() }"
	[ "$status" = 0 ]
	says user-mode-child "is not traced: cannot trace process"
	says user-mode-dumpable "has set-user-ID bits or capabilities"
	says user-mode-children "2 processes in all ran programs that were not traced"
	grep -qx '@n: 3' <<<"$output"
	as_nobody "$NOPAL" -c "./suid loop 10" -e "usdt:$dir/suid:tick:loop { @s = count() }"
	[ "$status" = 1 ]
	says command-privileges "cannot start './suid'"
}

@test "a process that must not be debugged, by its own user and by another" {
	[ "$(id -u)" = 0 ] || skip "needs root, for another user"
	cat >"$dir/asks.c" <<-'END'
		#include <stdio.h>
		#include <sys/prctl.h>
		int main(void)
		{
			prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
			puts("ready");
			fflush(stdout);
			getchar();
			return 0;
		}
	END
	cc -o "$dir/asks" "$dir/asks.c"
	mkfifo "$dir/go"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/asks" <"$dir/go" >"$dir/printed" 3>&- &
	target=$!
	exec 8>"$dir/go"
	awaits grep -q ready "$dir/printed"
	as_nobody "$NOPAL" doctor -p $target
	says user-mode-dumpable "lets only root debug it, since its program has set-user-ID bits or capabilities, or it has asked for that"
	run setpriv --reuid=65533 --regid=65533 --clear-groups "$NOPAL" doctor -p $target
	says user-mode-owner "belongs to another user (uid 65534)"
	echo >&8
	wait $target
}

@test "a program that must not be debugged any more runs on, and what it has is traced" {
	[ "$(id -u)" = 0 ] || skip "needs root, to be several users"
	cp "$TARGETS/undebuggable" "$dir"
	for how in "./undebuggable ./pluglib" "sh -c './undebuggable ./pluglib; true'"; do
		as_nobody "$NOPAL" -c "$how" -e "usdt:$dir/undebuggable:undebuggable:hit { @n = count() } usdt:$dir/pluglib:plug:in { @p = count() }"
		[ "$status" = 0 ]
		grep -qx 'went on' <<<"$output"
		grep -qx '@n: 5' <<<"$output"
		says user-mode-shut "maps from now on is not traced: the kernel lets only root debug it now"
	done
}

# bats test_tags=deep
@test "stacks of scripts in more programs than there is room for" {
	traces "sh -c 'i=0; while [ \$i -lt 260 ]; do $tick loop 1; i=\$((i + 1)); done'" "usdt:$tick:tick:loop { @n = count(); @[pystack] = count() }"
	grep -qx '@n: 260' <<<"$output"
	says user-mode-langs "more than 256 programs were traced"
}
