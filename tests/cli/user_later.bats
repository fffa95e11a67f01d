# User mode as root: sites of libraries and programs that come later, and that user mode does not reach. The kernel traces
# them in the same run, from their first instruction on.
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

not_left_out() {
	! grep -q 'cannot be traced in user mode' <<<"$output" || false
}

@test "two adjacent sites of a library: both are the kernel's" {
	two_probes
	script='{ @[probe] = count(); @n = count(); @s = sum(arg0); @h = lhist(arg0, 0, 10, 10) }'
	for probes in "usdt:$dir/two:two:*" 'usdt:*:two:*'; do
		traces "$dir/plugin load $dir/two" "$probes $script"
		grep -q 'two:first\]: 10$' <<<"$output"
		grep -q 'two:second\]: 10$' <<<"$output"
		grep -qx '@n: 20' <<<"$output"
		grep -qx '@s: 90' <<<"$output"
		grep -q '^\[0, 10) *20 ' <<<"$output"
		not_left_out
	done
}

@test "their records come in the order of their times" {
	two_probes
	traces "$dir/plugin load $dir/two" "usdt:$dir/two:two:first { printf(\"first %d\n\", arg0) } usdt:$dir/two:two:second { printf(\"second %d\n\", arg0) }"
	grep -E '^(first|second) ' <<<"$output" >"$dir/records"
	for i in $(seq 0 9); do printf 'first %d\nsecond %d\n' $i $i; done | cmp - "$dir/records"
	not_left_out
}

@test "a clause with a map that only one engine can have goes with all its sites, while the map is empty" {
	two_probes
	traces "$dir/plugin load $dir/two" "usdt:$dir/two:two:* { @last = arg0; @seen[probe]++ }"
	grep -qx '@last: 9' <<<"$output"
	[ "$(grep -c '^@seen.*two:\(first\|second\)\]: 10$' <<<"$output")" = 2 ]
	not_left_out
	# And with it clauses that share its map, or a site, also in several processes.
	traces "sh -c 'for i in 1 2 3; do echo | $dir/plugin load $dir/two; done'" "END { clear(@start) }
		usdt:$dir/two:two:first { @start[tid] = arg0 + 1 } usdt:$dir/two:two:second /@start[tid]/ { @pairs = sum(@start[tid] - arg0); delete(@start[tid]) } usdt:$dir/two:two:first { @n = count() }"
	grep -qx '@pairs: 30' <<<"$output"
	grep -qx '@n: 30' <<<"$output"
	not_left_out
}

@test "... and stays in user mode when it is not, with one warning for each site" {
	two_probes
	traces "sh -c 'for i in 1 2; do echo | $dir/plugin load $dir/two; done'" "BEGIN { @last = 77 } usdt:$dir/two:two:* { @last = arg0 } usdt:$dir/two:two:* { @other = max(arg0) }"
	grep -qx '@last: 9' <<<"$output"
	grep -qx '@other: 9' <<<"$output"
	says user-mode-skipped "warning: 1 of 2 sites cannot be traced in user mode"
	[ "$(grep -c 'cannot be traced in user mode' <<<"$output")" = 1 ]
	says user-mode-skipped "--kernel traces them; beside user mode the kernel takes sites whose clauses only count in their maps"
	# A clause of the tracer uses it, too.
	traces "$dir/plugin load $dir/two" "END { @last += 1000 } usdt:$dir/two:two:* { @last = arg0 }"
	grep -qx '@last: 1009' <<<"$output"
	says user-mode-skipped "1 of 2 sites cannot be traced in user mode"
}

@test "a site that one process reaches and a later one does not: no event is missed or counted twice" {
	count=${STRESS:+30000000}
	count=${count:-2000000}
	traces "sh -c '$dir/crowd $dir/uplib $count & sleep 0.2; $dir/crowd $dir/uplib 1000 full; wait'" "usdt:$dir/uplib:up:in { @n = count(); @s = sum(arg0) }"
	grep -qx "@n: $((count + 1000))" <<<"$output"
	grep -qx "@s: $((count * (count - 1) / 2 + 499500))" <<<"$output"
	not_left_out
	traces "sh -c '$dir/crowd $dir/uplib 20000 & $dir/crowd $dir/uplib 1000 full; wait'" "usdt:$dir/uplib:up:in { printf(\"at %d\n\", arg0) }"
	[ "$(grep -c '^at ' <<<"$output")" = 21000 ]
}

# as_the_kernel COMMAND SCRIPT: both count the same.
as_the_kernel() {
	timeout 100 "$NOPAL" -q --kernel -c "$1" -e "$2" </dev/null | grep '^@' | sort >"$dir/kernel"
	traces "$1" "$2"
	grep '^@' <<<"$output" | sort | diff "$dir/kernel" -
	not_left_out
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
	grep -qx '@\[seen\]: 200' <<<"$output"
}

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
		"usdt:$jvm:hotspot:thread__st* /str(arg0, 4) == \"mine\"/ { @t[str(arg0, 4)] = count() } usdt:$jvm:hotspot:vm__*, usdt:$jvm:hotspot_jni:*JavaVM* { @[probe] = count() } usdt:$jvm:* { @any = max(1) }"
	grep -qx '@t\[mine\]: 100' <<<"$output"
	[ "$(grep -c '^@.*JavaVM' <<<"$output")" -ge 2 ]
	run timeout 100 "$NOPAL" -v --user -c "$java -Xint -version" -e "usdt:$jvm:* { @n = count() }"
	echo "$output"
	# There is hardly anything free above it, so many sites are the kernel's; but not all.
	sites=$(sed -n 's/^nopal_uprobe: .* \([0-9]*\) sites*: loaded.*/\1/p' <<<"$output" | head -1)
	[ "$sites" -gt 0 ]
	[ "$sites" -lt 500 ]
}
