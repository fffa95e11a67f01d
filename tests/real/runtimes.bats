# Python, the JVM, libstdc++, PHP, Ruby, a 32-bit program: counts equal what the program itself counts.
load ../helpers

setup() {
	need_tracing
	cd "$BATS_TEST_TMPDIR"
}

@test "python: gc__start and gc__done, by generation" {
	[ -x /usr/bin/python3.11 ] || skip "needs the Debian package python3.11"
	readelf -n /usr/bin/python3.11 | grep -q gc__start || skip "this python has no probes"
	cat >gc.py <<-'PY'
		import gc, sys
		counts = [0, 0, 0]
		def seen(phase, info):
		    if phase == "start":
		        counts[info["generation"]] += 1
		gc.callbacks.append(seen)
		for i in range(2000):
		    x = []; x.append(x)
		for g in (0, 1, 2, 2):
		    gc.collect(g)
		gc.disable()
		sys.stderr.write("%d %d %d\n" % tuple(counts))
	PY
	"$NOPAL" -q -e 'usdt:/usr/bin/python3.11:python:gc__start { @[arg0] = count(); @n = count() }
		usdt:/usr/bin/python3.11:python:gc__done { @done = count() }' \
		-c "/usr/bin/python3.11 -S gc.py" >out 2>err
	cat out err
	# What happened before the callback was there, and at exit, is in neither count of the callback.
	read -r young middle old < <(tail -1 err)
	[ "$(sed -n 's/^@\[1\]: //p' out)" -ge "$middle" ]
	start=$(sed -n 's/^@n: //p' out)
	[ "$start" = "$(sed -n 's/^@done: //p' out)" ]
	[ "$start" -ge $((young + middle + old)) ]
}

@test "python: between two marks gc__start equals gc.get_stats()" {
	[ -x /usr/bin/python3.11 ] || skip "needs the Debian package python3.11"
	readelf -n /usr/bin/python3.11 | grep -q gc__start || skip "this python has no probes"
	cp /usr/bin/python3.11 python
	cat >gc.py <<-'PY'
		import gc, sys
		gc.disable()
		print("ready", flush=True)
		sys.stdin.readline()
		before = [s["collections"] for s in gc.get_stats()]
		for i in range(37): gc.collect(0)
		for i in range(11): gc.collect(1)
		for i in range(5): gc.collect(2)
		print(*[s["collections"] - b for s, b in zip(gc.get_stats(), before)], flush=True)
		sys.stdin.readline()
	PY
	mkfifo go
	PYTHONHOME=/usr ./python -S gc.py <go >counts 3>&- &
	target=$!
	exec 8>go
	until grep -q ready counts; do sleep 0.05; done
	start_tracer "usdt:$PWD/python:python:gc__start { @[arg0] = count() }" -p $target
	echo >&8
	until [ "$(wc -l <counts)" = 2 ]; do sleep 0.05; done
	stop_tracer
	echo >&8
	cat counts "$output_file"
	[ "$(tail -1 counts)" = "$(sed -n 's/^@\[0\]: //p' "$output_file") $(sed -n 's/^@\[1\]: //p' "$output_file") $(sed -n 's/^@\[2\]: //p' "$output_file")" ]
}

@test "the JVM: all sites of libjvm at once, classes counted as -Xlog counts them" {
	jvm=$(ls -d /usr/lib/jvm/java-17-openjdk-*/ 2>/dev/null | head -1)
	[ -x "${jvm}bin/java" ] || skip "needs the Debian package openjdk-17-jre-headless"
	lib=$(readlink -f "${jvm}lib/server/libjvm.so")
	sites=$(readelf -n "$lib" | grep -c 'Provider:')
	probes=$(readelf -n "$lib" | sed -n 's/.*Provider: //p; s/.*Name: //p' | paste - - | sort -u | wc -l)
	"$NOPAL" -v -e "usdt:$lib:*:* { @[probe] = count() }" -c "${jvm}bin/java -Xshare:off -XX:+UseSerialGC \
		-Xlog:class+load:file=classes.log -version" >out 2>err
	head -3 err
	grep -q "Attached $probes probes" err
	grep -q ", $sites sites: loaded" err
	loaded=$(sed -n "s|^@\[usdt:$lib:hotspot:class__loaded\]: ||p" out)
	logged=$(grep -c 'source:' classes.log)
	echo "probe $loaded, log $logged"
	[ "$loaded" = "$logged" ]
}

@test "the JVM: names by pointer and length" {
	jvm=$(ls -d /usr/lib/jvm/java-17-openjdk-*/ 2>/dev/null | head -1)
	[ -x "${jvm}bin/java" ] || skip "needs the Debian package openjdk-17-jre-headless"
	lib=$(readlink -f "${jvm}lib/server/libjvm.so")
	"$NOPAL" -q -e "usdt:$lib:hotspot:class__loaded { printf(\"%s\\n\", str(arg0, arg1)) }" \
		-c "${jvm}bin/java -Xshare:off -Xlog:class+load:file=classes.log -version" >out 2>err
	sed -n 's/.*\] \([^ ]*\) source:.*/\1/p' classes.log | sed 's/[+/]0x[0-9a-f]*$//' | tr . / | sort >logged
	grep -v '^$' out | sed 's/[+/]0x[0-9a-f]*$//' | sort >seen
	diff seen logged | head -5
	cmp seen logged
}

@test "libstdc++: each throw and each catch" {
	need_program g++
	lib=$(g++ -print-file-name=libstdc++.so.6)
	readelf -n "$(readlink -f "$lib")" | grep -q throw || skip "this libstdc++ has no probes"
	cat >throw.cc <<-'CC'
		#include <stdexcept>
		#include <cstdio>
		int main() {
			int caught = 0;
			for (int i = 0; i < 1234; i++)
				try { throw std::runtime_error("x"); } catch (const std::exception &) { caught++; }
			std::fprintf(stderr, "%d\n", caught);
		}
	CC
	g++ -O2 -o throw throw.cc
	run_traced "usdt:$(readlink -f "$lib"):libstdcxx:throw { @throw = count() } usdt:$(readlink -f "$lib"):libstdcxx:catch { @catch = count() }" ./throw
	[[ "$output" == *"@catch: 1234"* ]]
	[[ "$output" == *"@throw: 1234"* ]]
}

@test "libstdc++ by its bare name" {
	need_program g++
	echo 'int main() { try { throw 1; } catch (int) { } }' >throw.cc
	g++ -O2 -o throw throw.cc
	run_traced 'usdt:libstdc++.so.6:libstdcxx:throw { @throw = count() }' ./throw
	[[ "$output" == *"@throw: 1"* ]]
}

@test "PHP: functions by name" {
	php=$(ls /usr/bin/php8.? 2>/dev/null | head -1)
	[ -n "$php" ] || skip "needs the Debian package php-cli"
	readelf -n "$php" | grep -q function__entry || skip "this php has no probes"
	cat >calls.php <<-'PHP'
		<?php
		function prickly($i) { return $i + 1; }
		function pear($i) { return prickly($i) * 2; }
		for ($i = 0; $i < 300; $i++) pear($i);
		for ($i = 0; $i < 21; $i++) prickly($i);
	PHP
	export USE_ZEND_DTRACE=1
	run_traced "usdt:$php:php:function__entry { @entry[str(arg0)] = count() } usdt:$php:php:function__return { @return[str(arg0)] = count() }" \
		"$php -n calls.php"
	[[ "$output" == *"@entry[pear]: 300"* ]]
	[[ "$output" == *"@entry[prickly]: 321"* ]]
	[[ "$output" == *"@return[prickly]: 321"* ]]
}

@test "Ruby: C methods by class and name" {
	lib=$(ls /usr/lib/*/libruby-3.?.so.3.? 2>/dev/null | head -1)
	[ -n "$lib" ] || skip "needs the Debian package ruby"
	need_program ruby
	readelf -n "$(readlink -f "$lib")" | grep -q cmethod__entry || skip "this ruby has no probes"
	run_traced "usdt:$(readlink -f "$lib"):ruby:cmethod__entry { @[str(arg0), str(arg1)] = count() }" \
		"ruby --disable-gems -e 'i = 0; while i < 777; \"cactus\".upcase; i += 1; end'"
	[[ "$output" == *"@[String, upcase]: 777"* ]]
}

@test "a 32-bit program" {
	for cc in "i686-linux-gnu-gcc -static" "gcc -m32 -static" "gcc -m32"; do
		${cc%% *} ${cc#* } -O2 -I"$ROOT/include" -o tick32 "$ROOT/tests/targets/tick.c" 2>/dev/null && break
	done
	[ -x tick32 ] && ./tick32 word a || skip "needs a compiler for 32-bit programs (gcc-i686-linux-gnu)"
	run_traced "usdt:$PWD/tick32:tick:word { printf(\"%s %d\\n\", str(arg0), arg1) }" "$PWD/tick32 word one three"
	[ "$output" = $'one 3\nthree 5' ]
	run_traced "usdt:$PWD/tick32:tick:loop { @ = count(); @sum = sum(arg0) }" "$PWD/tick32 loop 1000 2"
	[[ "$output" == *"@: 2000"* ]]
	[[ "$output" == *"@sum: 999000"* ]]
}
