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

teardown() {
	[ -z "${traced:-}" ] || kill "$traced" 2>/dev/null || true
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

@test "python: values of every type arrive exactly in bpftrace" {
	need_tracing
	need_program bpftrace
	start_python "$HERE/tests/values.py"
	timeout -s INT 30 bpftrace -q -e "$VALUES" -p "$traced" >got || true
	diff <(sed '/^$/d' got) <(expected_values)
}
