#!/usr/bin/env bats
# Stacks of real programs, of Debian's packages as they are (most without frame pointers), are those of gdb, frame by frame
# and as often. STRESS=1: 10,000 samples of each; scripts/compare-gdb-stacks has more programs.
load ../helpers

setup() {
	need_tracing
	need_program gdb
	[ "$(uname -m)" = x86_64 ] || skip "the addresses are of x86-64"
	cd "$BATS_TEST_TMPDIR"
	# A C library of our own: others trace that of the machine. Its loader must match.
	mkdir lib
	cp -L /lib/x86_64-linux-gnu/libc.so.6 lib/
	export NOPAL LD_LIBRARY_PATH=$PWD/lib
	libc=$PWD/lib/libc.so.6
	times=${STRESS:+1000}
	times=${times:-5}
}

# same_as_gdb PROGRAM ARGUMENTS...: at each call of getppid().
same_as_gdb() {
	[ -x "$1" ] || skip "needs $1"
	run "$ROOT/tests/help/compare_stacks" "uprobe:$libc:getppid" '*getppid' "$@"
	echo "$output"
	[ "$status" = 0 ]
	[[ "$output" == *", 0 cut" ]]
}

@test "python: recursion, generators, sort keys, finalisers, callbacks of C" {
	cat >s.py <<-'PY'
		import json, os, re, sys, time
		time.sleep(0.5)  # _json.so has been loaded just now: the tracer has its rows a moment later
		def f(n):
		    return f(n - 1) if n else os.getppid()
		class A:
		    def __lt__(self, other): os.getppid(); return id(self) < 5
		    def __repr__(self): os.getppid(); return "x"
		    def __del__(self): os.getppid()
		def g():
		    yield os.getppid()
		    yield from (os.getppid() for i in range(3))
		for i in range(int(sys.argv[1])):
		    f(i % 20); list(g()); sorted([A(), A(), A()]); repr([A()])
		    json.dumps({"a": A}, default=lambda o: os.getppid())
		    re.sub("a", lambda m: str(os.getppid()), "banana")
	PY
	same_as_gdb /usr/bin/python3.11 s.py "$times"
}

@test "php: recursion, callbacks, objects as text" {
	/usr/bin/php -m 2>/dev/null | grep -q posix || skip "needs php with posix"
	cat >s.php <<-'PHP'
		<?php
		usleep(500000); // posix.so has been loaded just now: the tracer has its rows a moment later
		function f($n) { return $n ? f($n - 1) : posix_getppid(); }
		class B { function __toString() { posix_getppid(); return "b"; } }
		for ($i = 0; $i < $argv[1]; $i++) {
			f($i % 20); $a = [3, 1, 2];
			usort($a, function($x, $y) { posix_getppid(); return $x - $y; });
			array_map(fn($x) => posix_getppid(), [1, 2, 3]);
			$x = "" . new B;
			preg_replace_callback('/a/', fn($m) => (string)posix_getppid(), "banana");
		}
	PHP
	same_as_gdb /usr/bin/php s.php "$times"
}

@test "ruby: blocks, exceptions, fibers" {
	cat >s.rb <<-'RB'
		def f(n) n > 0 ? f(n - 1) : Process.ppid end
		ARGV[0].to_i.times do |i|
			f(i % 20)
			[3, 1, 2].sort { |a, b| Process.ppid; a <=> b }
			"banana".gsub("a") { Process.ppid.to_s }
			begin; raise "x"; rescue; Process.ppid; ensure; Process.ppid; end
			Fiber.new { Process.ppid }.resume
		end
	RB
	same_as_gdb /usr/bin/ruby s.rb "$times"
}

@test "perl: sort, regular expressions, eval" {
	cat >s.pl <<-'PL'
		sub f { my $n = shift; return $n ? f($n - 1) : getppid() }
		for my $i (1 .. $ARGV[0]) {
			f($i % 20); my @a = sort { getppid(); $a <=> $b } (3, 1, 2);
			(my $s = "banana") =~ s/a/getppid()/ge; eval { getppid(); die }; map { getppid() } 1 .. 3;
		}
	PL
	same_as_gdb /usr/bin/perl s.pl "$times"
}

@test "C++: exceptions, destructors, templates; optimised in several ways, static too" {
	need_program g++
	cat >s.cc <<-'CC'
		#include <algorithm>
		#include <cstdlib>
		#include <stdexcept>
		#include <vector>
		#define NI __attribute__((noinline))
		#define AFTER asm volatile("" ::: "memory")
		extern "C" NI void here(long n) { asm volatile("" :: "r"(n) : "memory"); }
		struct D { ~D() { here(7); AFTER; } };
		NI static void thrower(int n) { D d; if (n > 3) throw std::runtime_error("x"); here(n); thrower(n + 1); AFTER; }
		NI static void catcher() { try { thrower(0); } catch (std::exception &) { here(8); } AFTER; }
		template <class T> NI bool less(const T &x, const T &y) { here(13); return x < y; }
		NI static void sorting() { std::vector<int> v; for (int i = 0; i < 20; i++) v.push_back(i * 7 % 20); std::sort(v.begin(), v.end(), less<int>); AFTER; }
		int main(int, char **v) { for (int i = 0; i < atoi(v[1]); i++) { catcher(); sorting(); } return 0; }
	CC
	libc=$PWD/s
	for flags in "-O2 -fomit-frame-pointer" "-O3 -flto" "-Os" "-O0" "-O2 -static" "-O2 -no-pie -fcf-protection"; do
		# shellcheck disable=SC2086
		g++ $flags -o s s.cc
		run "$ROOT/tests/help/compare_stacks" "uprobe:$PWD/s:here" '*here' "$PWD/s" "$times"
		echo "$flags: $output"
		[ "$status" = 0 ]
		[[ "$output" == *", 0 cut" ]]
	done
}

@test "node: random chains of JavaScript are what V8 itself says, through its own code and what it compiles" {
	need_program node
	local node chains=$ROOT/tests/programs/lang/exact.js
	node=$(readlink -f "$(command -v node)")
	nm -D "$node" | grep -q uv_uptime || skip "needs a node that has libuv in it"
	# Nothing is inlined, or callers would have no frame of their own.
	local flags="--perf-basic-prof --interpreted-frames-native-stack"
	flags+=" --max-inlined-bytecode-size=0 --max-inlined-bytecode-size-small=0"
	timeout 300 "$NOPAL" -q -e "uprobe:$node:uv_uptime { print(ustack); }" \
		-c "sh -c 'echo \$\$ >pid; exec $node $flags $chains want $((times * 10 + 50))'" >printed
	rm -f "/tmp/perf-$(cat pid).map"
	awk '/^ *$/ { if (text != "") print text; text = ""; next }
		/^ *\(cut/ { text = text ";" $0 }
		/\/exact\.js:/ {
			name = $1; sub(/^JS:(o?[^[:alnum:]_$-]+)?/, "", name); sub(/.*\./, "", name)
			text = text (text == "" ? "" : ";") (name == "" ? "-" : name)
		}
		END { if (text != "") print text }' printed >got
	[ "$(wc -l <want)" -ge 100 ]
	cmp want got || { diff want got | head -4; false; }
	! grep -q '(cut' printed
}

# Every frame of Java is one of code made at run time, and so are the function that asks and the way into Java.
@test "jvm: with frame pointers each frame of Java is there, without them the stack ends with that reason" {
	need_program javac
	local jvm chains="-XX:-Inline -XX:-UseOnStackReplacement -cp . Exact want $((times * 20))"
	jvm=$(readlink -f "$(dirname "$(readlink -f "$(command -v java)")")/../lib/server/libjvm.so")
	[ -e "$jvm" ] || skip "needs the HotSpot JVM"
	javac -d . "$ROOT/tests/programs/lang/Exact.java"
	timeout 300 "$NOPAL" -q -e "uprobe:$jvm:JVM_HoldsLock { print(ustack(file)); }" \
		-c "java -XX:+PreserveFramePointer $chains" >printed
	awk '/^ *$/ { if (n) print n - 2; n = 0; next } /^ *[0-9a-f]+$/ { n++ } END { if (n) print n - 2 }' printed >got
	[ "$(wc -l <want)" = $((times * 40)) ]
	cmp want got || { diff want got | head -4; false; }
	timeout 300 "$NOPAL" -q -e "uprobe:$jvm:JVM_HoldsLock { @[ustack(file)] = count(); }" -c "java $chains" >got
	grep -q '(cut: code made at run time keeps no frame pointers; of a JVM it does with -XX:+PreserveFramePointer)$' got
	[ "$(grep -c '^@\[' got)" = "$(grep -c '(cut: code made' got)" ]
}
