# The Python package (bindings/python): built, used, and traced from outside.
bats_require_minimum_version 1.5.0
load ../helpers.bash

setup() {
	export PYTHONPATH=$BUILD/python/lib PYTHONDONTWRITEBYTECODE=1
	PYTHON=${PYTHON:-/usr/bin/python3}
	HERE=$ROOT/bindings/python
	[ -x "$PYTHON" ] || skip "needs python3"
	[ -e "$PYTHONPATH/nopal/_nopal.abi3.so" ] || skip "the Python package was not built: needs python3-dev and python3-setuptools"
	cd "$BATS_TEST_TMPDIR"
}

# Start a Python program that says its pid first; it is $traced, its output goes to $said.
start_python() {
	said=$BATS_TEST_TMPDIR/said
	"$PYTHON" "$@" >"$said" 2>&1 3>&- &
	traced=$!
	for _ in $(seq 100); do
		[ -s "$said" ] && return 0
		sleep 0.05
	done
	return 1
}

wait_for() {
	for _ in $(seq 200); do
		grep -q "$1" "$2" && return 0
		sleep 0.05
	done
	cat "$2"
	return 1
}

# Wait until the file stops growing: nobody fires any more.
wait_for_silence() {
	local before=-1 now
	for _ in $(seq 50); do
		now=$(wc -l <"$1")
		[ "$now" = "$before" ] && return 0
		before=$now
		sleep 0.3
	done
	return 1
}

expected_values() {
	cat <<-'END'
	-128 0 -32768 0
	-2147483648 0 -9223372036854775808 0
	127 255 32767 65535
	2147483647 4294967295 9223372036854775807 18446744073709551615
	-1 1 -2 2
	-3 3 1 4
	[żółć 🌵]
	[]
	1 0 fffffffffffffffe -9223372036854775808
	-6 -5 -4 -3 -2 -1
	[/índex] 404
	END
}

# In the words that nopal and bpftrace share.
VALUES='
usdt::values:small { printf("%d %u %d %u\n", arg0, arg1, arg2, arg3) }
usdt::values:large { printf("%d %u %lld %llu\n", arg0, arg1, arg2, arg3) }
usdt::values:texts { printf("[%s]\n", str(arg0)) }
usdt::values:other { printf("%d %d %llx %lld\n", arg0, arg1, arg2, arg3) }
usdt::values:twelve { printf("%d %d %d %d %d %d\n", arg0, arg1, arg2, arg3, arg4, arg5) }
usdt::values:named { printf("[%s] %d\n", str(arg0), arg1) }
usdt::values:done { exit() }'

@test "python: the package's own tests" {
	run "$PYTHON" -m unittest discover -s "$HERE/tests"
	echo "$output"
	[ "$status" = 0 ]
}

# bats test_tags=deep
@test "python: firstProbe says that it fired only while nopal traces it" {
	need_tracing
	start_python "$HERE/examples/first_probe.py" 0.05
	"$NOPAL" list -p "$traced" | grep -q 'pythonapp:firstProbe$'
	start_tracer 'usdt::pythonapp:firstProbe { printf("%s %d\n", str(arg0), arg1) }' -p "$traced"
	wait_for 'Probe fired!' "$said"
	wait_for '^My little probe [0-9]*$' "$output_file"
	stop_tracer
	wait_for_silence "$said"
}

# bats test_tags=deep
@test "python: firstProbe says that it fired only while bpftrace traces it" {
	need_tracing
	need_program bpftrace
	start_python "$HERE/examples/first_probe.py" 0.05
	run timeout -s INT 20 bpftrace -e 'usdt::pythonapp:firstProbe { printf("%s %d\n", str(arg0), arg1); if (arg1 > 5) { exit() } }' -p "$traced"
	[[ $output == *"My little probe "* ]]
	grep -q 'Probe fired!' "$said"
	wait_for_silence "$said"
}

@test "python: readelf shows the note of the image" {
	start_python "$HERE/examples/first_probe.py"
	image=$(find -L "/proc/$traced/fd" -maxdepth 1 -type f 2>/dev/null | while read -r fd; do
		case $(readlink "$fd") in *nopal:pythonapp*) echo "$fd" ;; esac; done)
	run readelf -n "$image"
	[[ $output == *"Provider: pythonapp"*"Name: firstProbe"*"8@"*"-4@"* ]]
}

@test "python: values of every type arrive exactly in nopal" {
	need_tracing
	start_python "$HERE/tests/values.py"
	start_tracer "$VALUES" -p "$traced"
	wait $tracer
	diff "$output_file" <(expected_values)
}

# bats test_tags=deep
@test "python: values of every type arrive exactly in bpftrace" {
	need_tracing
	need_program bpftrace
	export DELAY=3 # it attaches its probes one by one, in an order of its own
	start_python "$HERE/tests/values.py"
	timeout -s INT 30 bpftrace -q -e "$VALUES" -p "$traced" >got || true
	diff <(sed '/^$/d' got) <(expected_values)
}

# bats test_tags=deep
@test "python: floats, counted and long strings arrive exactly in nopal" {
	need_tracing
	start_python "$HERE/tests/values.py"
	start_tracer '
		usdt::values:floats { printf("%llx %llx %llx %llx\n", arg0, arg1, arg2, arg3);
			printf("%.9g %.17g %.17g %.17g\n", arg0, arg1, arg2, arg3) }
		usdt::values:texts { printf("[%s] %d %d %r %d %d\n", str(arg1), arg2, arg1 != 0, buf(arg3, arg4), arg4, arg5 == 0) }
		usdt::values:long_text { printf("%s %d %s\n", str(arg0 + 65530), arg2, str(arg1 + 65530, 6)) }
		usdt::values:twelve { printf("%d %d %d %d %d %d\n", arg6, arg7, arg8, arg9, arg10, arg11) }
		usdt::values:done { exit() }' -p "$traced"
	wait $tracer
	diff "$output_file" - <<-'END'
	[a] 3 1 \xff\x00! 3 1
	[] 0 1  0 0
	xxxxxy 65536 ääyz
	3fc00000 bfb999999999999a 7ff8000000000000 fff0000000000000
	1.5 -0.10000000000000001 nan -inf
	3dcccccd 4340000000000001 1 8000000000000000
	0.100000001 9007199254740994 4.9406564584124654e-324 -0
	7f7fffff 7fefffffffffffff 10000000000000 7ff0000000000000
	3.40282347e+38 1.7976931348623157e+308 2.2250738585072014e-308 inf
	0 1 2 3 4 5
	END
}

# The 64 KiB that values.py fires as str, and as counted text.
long_texts() {
	"$PYTHON" -c 'print("x" * 65535 + "y", "ä" * 32767 + "yz", sep="\n")'
}

# bats test_tags=deep
@test "python: 64 KiB arrive whole in nopal, and add up in bpftrace" {
	need_tracing
	start_python "$HERE/tests/values.py"
	start_tracer 'config = { max_strlen = 65536 } usdt::values:long_text { printf("%s\n%s\n", str(arg0), str(arg1, arg2)) }
		usdt::values:done { exit() }' -p "$traced"
	wait $tracer
	long_texts | cmp - "$output_file"
	need_program bpftrace
	DELAY=3 start_python "$HERE/tests/values.py" # it places the last probe first
	timeout -s INT 30 bpftrace -q -e "usdt::values:long_text { $SUM_64K printf(\"%lx %d\n\", \$sum, arg2) }
		usdt::values:floats { printf(\"%x %lx %lx %lx\n\", arg0, arg1, arg2, arg3) }
		usdt::values:done { exit() }" -p "$traced" >got 2>messages || true
	long_texts | sed -n 1p >long
	diff <(sed '/^$/d' got) - <<-END
	$(sum_64k long) 65536
	3fc00000 bfb999999999999a 7ff8000000000000 fff0000000000000
	3dcccccd 4340000000000001 1 8000000000000000
	7f7fffff 7fefffffffffffff 10000000000000 7ff0000000000000
	END
}

# bats test_tags=deep
@test "python: values of every type arrive exactly in gdb" {
	start_python "$HERE/tests/values.py"
	numbers='$_probe_arg0, $_probe_arg1, $_probe_arg2, $_probe_arg3'
	gdb_prints "$traced" : values:done "values:small \"= %d %u %d %u\n\", $numbers" "values:large \"= %d %u %ld %lu\n\", $numbers" \
		'values:texts "= [%s]\n", (char *)$_probe_arg0' "values:other \"= %d %d %lx %ld\n\", $numbers" \
		"values:twelve \"= %d %d %d %d %d %d\n\", $numbers, \$_probe_arg4, \$_probe_arg5" \
		'values:named "= [%s] %d\n", (char *)$_probe_arg0, $_probe_arg1' "values:floats \"= floats %x %lx %lx %lx\n\", $numbers" \
		'values:long_text "= long %s\n= long %s\n", (char *)$_probe_arg0, (char *)$_probe_arg1' >got
	grep -v '^floats\|^long' got | diff - <(expected_values)
	sed -n 's/^long //p' got | cmp - <(long_texts)
	sed -n 's/^floats //p' got | diff - <(printf '%s\n' '3fc00000 bfb999999999999a 7ff8000000000000 fff0000000000000' \
		'3dcccccd 4340000000000001 1 8000000000000000' '7f7fffff 7fefffffffffffff 10000000000000 7ff0000000000000')
}

# What traced adapters.py is expected to tell: the lines of each kind are in order.
expected_adapters() {
	cat <<-'END'
	entry first 7
	return 1 [(null)]
	entry second 2
	return 1 [(null)]
	entry third 3
	return 1 [(null)]
	entry fourth 4
	return 1 [KeyError]
	20 test adapters.py hello wörld
	40 test adapters.py failed
	> outer
	> inner
	< inner 0
	< outer 0
	> counting
	> inner
	< inner 0
	< counting 0
	> counting
	< counting 0
	> failing
	< failing 1
	END
}

ADAPTERS='
usdt::adapters:work__entry { printf("entry %s %d\n", str(arg0), arg1) }
usdt::adapters:work__return { printf("return %d [%s]\n", arg0 > 1000 && arg0 < 20000000000, str(arg1)) }
usdt::adapters:record { printf("%d %s %s %s\n", arg0, str(arg2), str(arg3), str(arg1)) }
usdt::adapters:function__entry { printf("> %s\n", str(arg1)) }
usdt::adapters:function__return { printf("< %s %d\n", str(arg1), arg3) }
usdt::adapters:done { exit() }'

# All versions of Python here: the same extension, sys.monitoring or sys.setprofile.
# bats test_tags=deep
@test "python: spans, log records and function calls, in every Python here" {
	need_tracing
	for PYTHON in /usr/bin/python3 python3.9 python3.1{0,1,2,3,4} "$(pyenv root 2>/dev/null)"/versions/3.*/bin/python3; do
		"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || continue
		start_python "$HERE/tests/adapters.py"
		start_tracer "$ADAPTERS" -p "$traced"
		wait $tracer
		wait "$traced" || { "$PYTHON" --version; cat "$said"; false; }
		diff <(sed 's|/.*/||; /^Trace/d; /^  /d; /^ZeroD/d' "$output_file") <(expected_adapters)
	done
}

# bats test_tags=deep
@test "python: a span's id pairs entry and return across threads, tasks and generators" {
	need_tracing
	start_python "$HERE/tests/spans.py"
	start_tracer '
		usdt::spans:work__entry { printf("entry %d %s\n", args.span_id, str(arg0)) }
		usdt::spans:work__return { printf("return %d\n", args.span_id) }
		usdt::spans:done { exit() }' -q -p "$traced"
	wait $tracer
	wait "$traced" || { cat "$said"; false; }
	[ "$(awk '/^entry/ { sub(/entry [0-9]* /, ""); print }' "$output_file" | sort | uniq -c | sort -n | tr -s ' \n' ' ')" = \
		" 2 async generator 2 generator 4 thread 8 task " ]
	# Every id entered once and returned once, and not in the order of a stack.
	diff <(awk '/^entry/ { print $2 }' "$output_file" | sort) <(awk '/^return/ { print $2 }' "$output_file" | sort)
	[ "$(awk '/^entry/ { print $2 }' "$output_file" | sort | uniq -d | wc -l)" = 0 ]
	awk '/^entry/ { open[++top] = $2 } /^return/ { if (open[top--] != $2) crossed = 1 } END { exit !crossed }' "$output_file"
}

# bats test_tags=deep
@test "python: gdb stops at a probe and reads its arguments" {
	need_program gdb
	start_python "$HERE/examples/first_probe.py" 0.05
	run timeout 60 gdb -nx -batch -p "$traced" -ex 'break -probe-stap pythonapp:firstProbe' -ex continue \
		-ex 'printf "%s %d\n", (char *)$_probe_arg0, $_probe_argc'
	echo "$output"
	[[ $output == *"My little probe 2"* ]]
}

# bats test_tags=deep
@test "python: the server's spans, records and calls" {
	need_tracing
	need_program curl
	start_python "$HERE/examples/server.py" 0
	wait_for 'port [0-9]' "$said"
	port=$(sed -n 's/.*port //p' "$said")
	start_tracer '
		usdt::web:request__entry { printf("%s %s\n", str(arg0), str(arg1)) }
		usdt::web:record /arg0 >= 40/ { printf("%s\n", str(arg1)) }
		usdt::web:request__return { printf("%d\n", arg0 > 0) }' -p "$traced"
	[ "$(curl -s "localhost:$port/")" = hello ]
	[ "$(curl -s "localhost:$port/missing")" = "nothing here" ]
	for _ in $(seq 100); do # the span ends behind the answer
		[ "$(wc -l <"$output_file")" -ge 5 ] && break
		sleep 0.05
	done
	stop_tracer
	diff "$output_file" - <<-'END'
	GET /
	1
	GET /missing
	no page /missing
	1
	END
}

# bats test_tags=deep
@test "python: one wheel for all versions" {
	"$PYTHON" -c 'import wheel' 2>/dev/null || skip "needs python3-wheel"
	cd "$HERE"
	"$PYTHON" setup.py -q build --build-base "$BUILD/python" --build-lib "$BUILD/python/lib" egg_info --egg-base "$BATS_TEST_TMPDIR" \
		bdist_wheel --skip-build --bdist-dir "$BATS_TEST_TMPDIR/wheel" --dist-dir "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/log" 2>&1 ||
		{ cat "$BATS_TEST_TMPDIR/log"; false; }
	run "$PYTHON" -m zipfile -l "$BATS_TEST_TMPDIR"/nopal-*-cp39-abi3-manylinux_2_*_"$(uname -m)".whl
	echo "$output"
	for file in nopal/__init__.py nopal/_nopal.abi3.so nopal/_nopal.pyi nopal/py.typed stapsdt/__init__.py stapsdt/py.typed; do
		[[ $output == *"$file "* ]]
	done
	[[ $output == *"dist-info/LICENSE "* ]]
	"$PYTHON" -m zipfile -e "$BATS_TEST_TMPDIR"/nopal-*.whl "$BATS_TEST_TMPDIR/unpacked"
	grep -qx "Author: The Nopal authors" "$BATS_TEST_TMPDIR"/unpacked/*/METADATA
}

# bats test_tags=deep
@test "python: the source distribution builds by itself" {
	cd "$HERE"
	"$PYTHON" setup.py -q egg_info --egg-base "$BATS_TEST_TMPDIR" sdist --dist-dir "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/log" 2>&1 ||
		{ cat "$BATS_TEST_TMPDIR/log"; false; }
	cd "$BATS_TEST_TMPDIR"
	tar xf nopal-*.tar.gz
	cd nopal-*/
	ls LICENSE CHANGELOG.md README.md tests/spans.py
	"$PYTHON" setup.py -q build --build-lib "$BATS_TEST_TMPDIR/lib" >"$BATS_TEST_TMPDIR/log" 2>&1 || { cat "$BATS_TEST_TMPDIR/log"; false; }
	PYTHONPATH=$BATS_TEST_TMPDIR/lib "$PYTHON" -c 'import nopal; nopal.Provider("x").probe("y", int)'
}

# bats test_tags=deep
@test "python: the types hold for mypy" {
	need_program mypy
	run mypy --strict --cache-dir "$BATS_TEST_TMPDIR/mypy" "$HERE/src/nopal" "$HERE/src/stapsdt"
	echo "$output"
	[ "$status" = 0 ]
}

# bats test_tags=deep
@test "python: a provider that is made after the tracer began is traced, with texts" {
	need_tracing
	start_tracer 'usdt:*:pylate:request { printf("%s %d\n", str(arg0), arg1); exit() }' -q
	run timeout 20 "$PYTHON" -c 'if True:
		import nopal, time
		with nopal.Provider("pylate") as late:
			request = late.probe("request", str, int)
			end = time.monotonic() + 15
			while not request("late", 7) and time.monotonic() < end:
				time.sleep(0.01)'
	[ "$status" = 0 ]
	wait $tracer
	grep -qx 'late 7' "$output_file"
}

# bats test_tags=deep
@test "python: spans of one event loop overlap, and nopal latency pairs them by their id" {
	cat >"$BATS_TEST_TMPDIR/loop.py" <<-'END'
		import asyncio, os, nopal
		app = nopal.Provider("loopapp")
		spans = {5: app.span("fast"), 20: app.span("slow")}
		app.load()
		print("pid", os.getpid(), flush=True)
		async def work(ms):
		    with spans[ms]():
		        await asyncio.sleep(ms / 1000)
		async def main():
		    for _ in range(100000):
		        await asyncio.gather(*(work(ms) for ms in (5, 20) * 4))
		asyncio.run(main())
	END
	start_python "$BATS_TEST_TMPDIR/loop.py"
	for name in fast slow; do
		run timeout 20 "$NOPAL" latency -q -d 1 -f json -p "$traced" "loopapp:$name"
		echo "$output"
		echo "$output" | jq -rs '.[0].p50_ns' >>"$BATS_TEST_TMPDIR/times"
	done
	kill "$traced"
	# Paired by thread, both take as long.
	[ $(($(tail -n 1 "$BATS_TEST_TMPDIR/times") - $(head -n 1 "$BATS_TEST_TMPDIR/times"))) -gt 8000000 ]
}
