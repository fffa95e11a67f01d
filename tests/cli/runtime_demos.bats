# The demonstration programs, in C and in each language that has bindings, as the tools for static probes see them.
load ../helpers

# demo COMMAND...: start it, its standard input open. Its pid is $program.
demo() {
	mkfifo "$BATS_TEST_TMPDIR/in"
	"$@" <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	program=$!
	exec 7>"$BATS_TEST_TMPDIR/in"
}

# has_probe PROVIDER NAME ARGUMENTS: nopal, readelf and tplist see it in $program, where on x86-64 its operands are like ARGUMENTS.
has_probe() {
	local image
	for _ in $(seq 200); do
		"$NOPAL" list -p "$program" 2>/dev/null | grep -qx "usdt:\"/memfd:nopal:$1 (deleted)\":$1:$2" && break
		sleep 0.05
	done
	"$NOPAL" list -p "$program" | grep -qx "usdt:\"/memfd:nopal:$1 (deleted)\":$1:$2"
	image=$(find "/proc/$program/fd" -lname "/memfd:nopal:$1*" | head -1)
	run readelf -n "$image"
	[[ $output == *"Provider: $1"*"Name: $2"* ]]
	[ "$(uname -m)" != x86_64 ] || grep -qx " *Arguments: $3" <<<"$output"
	tplist=$(command -v tplist-bpfcc || command -v tplist) || skip "the rest needs tplist"
	[ "$(id -u)" = 0 ] || skip "the rest needs root"
	run "$tplist" -p "$program"
	[ "$status" = 0 ] || skip "tplist does not run here: $output"
	grep -qx ".*/fd/[0-9]* $1:$2" <<<"$output"
}

@test "C: pair has two 64-bit arguments" {
	demo "$TARGETS/runtime" demo 30
	has_probe capp pair '8@%rdi 8@%rsi'
}

@test "Python: firstProbe has a pointer and an int32" {
	[ -e "$BUILD/python/lib/nopal/_nopal.abi3.so" ] || skip "the Python package was not built: needs python3-dev and python3-setuptools"
	PYTHONPATH=$BUILD/python/lib demo /usr/bin/python3 "$ROOT/bindings/python/examples/first_probe.py"
	has_probe pythonapp firstProbe '8@%rdi -4@%rsi'
}

@test "Node.js: firstProbe has an int and a string" {
	[ -e "$ROOT/bindings/node/usdt.node" ] || skip "the Node.js addon was not built: needs nodejs and its headers"
	demo node "$ROOT/bindings/node/examples/first-probe.js"
	has_probe nodeProvider firstProbe '-4@%rdi 8@%rsi'
}

@test "Ruby: the latency of a method is a probe of the class" {
	[ -d "$BUILD/ruby/nopal" ] || skip "the Ruby extension was not built: needs ruby-dev"
	demo ruby -I "$BUILD/ruby" -I "$ROOT/bindings/ruby/lib" "$ROOT/bindings/ruby/examples/latency.rb" ON
	has_probe shop order '8@%rdi -\?8@%rsi'
}
