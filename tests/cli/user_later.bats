# User mode as root: sites of libraries and programs that come later, and that user mode does not reach. A warning counts
# them, and names the way that has them; all others are traced.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	need_tracing
	dir=$(mktemp -d /tmp/nopal-later.XXXXXX)
	chmod 755 "$dir"
	cp "$TARGETS/plugin" "$TARGETS/pluglib" "$TARGETS/crowd" "$TARGETS/uplib" "$dir"
}

teardown() {
	[ -z "${dir:-}" ] || rm -rf "$dir"
}

# Two probes without an instruction between them: of a jump at the first, the nop of the second is a part.
two_probes() {
	[ -e /usr/include/x86_64-linux-gnu/sys/sdt.h ] || skip "no header with 1-byte nops"
	cat >"$dir/two.c" <<-'END'
		#include "/usr/include/x86_64-linux-gnu/sys/sdt.h"
		volatile long sum;
		void plug(int n) { DTRACE_PROBE1(two, first, n); DTRACE_PROBE1(two, second, n); sum += n; }
	END
	cc -O2 -shared -fPIC -o "$dir/two" "$dir/two.c"
}

# traces COMMAND SCRIPT: all output is in $output.
traces() {
	run timeout 100 "$NOPAL" --user -c "$1" -e "$2" <<<""
	echo "$output"
	[ "$status" = 0 ]
}

# left_out TEXT: one warning says so, and which way traces these.
left_out() {
	says user-mode-skipped "warning: $1 cannot be traced in user mode"
	says user-mode-skipped "--kernel traces them as root"
	[ "$(grep -c 'cannot be traced in user mode' <<<"$output")" = 1 ]
}

not_left_out() {
	! grep -q 'cannot be traced in user mode' <<<"$output" || false
}

@test "two adjacent sites of a library: the first is traced, and a warning counts the second" {
	two_probes
	script='{ @[probe] = count(); @n = count(); @s = sum(arg0); @h = lhist(arg0, 0, 10, 10) }'
	traces "$dir/plugin load $dir/two" "usdt:$dir/two:two:* $script"
	[ "$(grep -c '^@\[.*two:\(first\|second\)\]: 10$' <<<"$output")" = 1 ]
	grep -qx '@n: 10' <<<"$output"
	grep -qx '@s: 45' <<<"$output"
	grep -q '^\[0, 10) *10 ' <<<"$output"
	left_out "1 of 2 sites"
	# The kernel has both.
	run timeout 100 "$NOPAL" --kernel -c "$dir/plugin load $dir/two" -e "usdt:$dir/two:two:* $script" <<<""
	grep -qx '@n: 20' <<<"$output"
}

@test "... of one that is found once it is mapped: now the kernel had both, now the second was left out" {
	two_probes
	for i in 1 2 3 4 5 6; do
		traces "$dir/plugin load $dir/two" 'usdt:*:two:* { @[probe] = count(); @n = count() }'
		[ "$(grep -c '^@\[.*two:\(first\|second\)\]: 10$' <<<"$output")" = 2 ]
		grep -qx '@n: 20' <<<"$output"
		says user-mode-kernel "2 of 2 sites are traced by the kernel"
		not_left_out
	done
}

@test "... also of one that several programs load, and with maps that one engine must have" {
	two_probes
	for probes in "usdt:$dir/two:two:*" 'usdt:*:two:*'; do
		traces "sh -c 'for i in 1 2 3; do echo | $dir/plugin load $dir/two; done'" "BEGIN { @last = 77 } $probes { @last = arg0 } $probes { @other = max(arg0); @n = count() } END { @last += 1000 }"
		grep -qx '@last: 1009' <<<"$output"
		grep -qx '@other: 9' <<<"$output"
		grep -qx '@n: 30' <<<"$output"
		left_out "1 of 2 sites"
	done
}

@test "... beside a clause that only the kernel can run: the kernel has both from the start, and their records are in order" {
	two_probes
	traces "$dir/plugin load $dir/two" "usdt:$dir/two:two:first { printf(\"first %d\n\", arg0) } usdt:$dir/two:two:second { @k[kstack(1)] = count(); printf(\"second %d\n\", arg0) }"
	grep -E '^(first|second) ' <<<"$output" >"$dir/records"
	for i in $(seq 0 9); do printf 'first %d\nsecond %d\n' $i $i; done | cmp - "$dir/records"
	not_left_out
	says user-mode-kernel "2 of 2 sites are traced by the kernel"
}

@test "a site that one process reaches and a later one does not: it is traced in the first, and a warning says so" {
	count=${STRESS:+30000000}
	count=${count:-2000000}
	traces "sh -c '$dir/crowd $dir/uplib $count & sleep 0.2; $dir/crowd $dir/uplib 1000 full; wait'" "usdt:$dir/uplib:up:in { @n = count(); @s = sum(arg0) }"
	grep -qx "@n: $count" <<<"$output"
	grep -qx "@s: $((count * (count - 1) / 2))" <<<"$output"
	left_out "1 of 1 sites"
	traces "sh -c '$dir/crowd $dir/uplib 20000 & $dir/crowd $dir/uplib 1000 full; wait'" "usdt:$dir/uplib:up:in { printf(\"at %d\n\", arg0) }"
	[ "$(grep -c '^at ' <<<"$output")" = 20000 ]
	left_out "1 of 1 sites"
}

# as_the_kernel COMMAND SCRIPT: both count the same, except at sites that a warning counts.
as_the_kernel() {
	timeout 100 "$NOPAL" -q --kernel -c "$1" -e "$2" </dev/null | grep '^@' | sort >"$dir/kernel"
	traces "$1" "$2"
	! grep 'before their probes were armed' <<<"$output" || skip "the machine is too busy to trace it in time"
	grep '^@' <<<"$output" | sort >"$dir/user"
	said=$(sed -n 's/.*warning: \([0-9]*\) of [0-9]* sites cannot be traced in user mode.*/\1/p' <<<"$output" | awk '{ n += $1 } END { print n + 0 }')
	[ -z "$(comm -13 "$dir/kernel" "$dir/user")" ]
	[ "$(comm -23 "$dir/kernel" "$dir/user" | wc -l)" -le "$said" ]
}

@test "Python in a child: the site of its audit events" {
	python=$(command -v /usr/bin/python3) || skip "no Python"
	python=$(readlink -f "$python")
	"$NOPAL" list "$python" | grep -q python:audit || skip "its probes are not compiled in"
	cat >"$dir/audit.py" <<-'END'
		import sys
		for i in range(100):
		    sys.audit("seen")
	END
	as_the_kernel "sh -c '$python -I $dir/audit.py; $python -I $dir/audit.py'" "usdt:$python:python:audit /str(arg0) == \"seen\"/ { @[str(arg0)] = count() }"
	grep -qx '@\[seen\]: 200' "$dir/kernel"
}

# bats test_tags=deep
@test "the library of a JVM" {
	need_program javac
	java=$(dirname "$(readlink -f "$(command -v javac)")")/java
	jvm=$(readlink -f "$(find "$(dirname "$java")/.." -name libjvm.so | head -1)")
	"$NOPAL" list "$jvm" | grep -q hotspot:thread__start || skip "its probes are not compiled in"
	cat >"$dir/Threads.java" <<-'END'
		public class Threads {
			public static void main(String[] args) throws Exception {
				for (int i = 0; i < 50; i++) {
					Thread t = new Thread(() -> {}, "mine");
					t.start();
					t.join();
				}
			}
		}
	END
	javac -d "$dir" "$dir/Threads.java"
	as_the_kernel "$java -Xint -XX:+UseSerialGC -cp $dir Threads" \
		"usdt:$jvm:hotspot:thread__st* /str(arg0, 4) == \"mine\"/ { @t[probe] = count() } usdt:$jvm:hotspot:vm__*, usdt:$jvm:hotspot_jni:*JavaVM* { @[probe] = count() } usdt:$jvm:* { @any = max(1) }"
	[ "$(grep -c '^@t\[.*: 50$' "$dir/kernel")" = 2 ]
	[ "$(grep -c '^@.*JavaVM' <<<"$output")" -ge 2 ]
	grep -qx '@any: 1' <<<"$output"
}
