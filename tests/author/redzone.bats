# A traced probe changes nothing for the program: not the memory below its stack pointer, not its flags.
load ../helpers

CALLS=1000000

build() {
	need_program "${1%% *}"
	$1 -O2 -I"$ROOT/include" "$ROOT/tests/author/redzone.c" -o "$BATS_TEST_TMPDIR/redzone"
}

# The red zone is in use at all: a store below the stack pointer, in a function that does not move it.
uses_red_zone() {
	[ "$(uname -m)" = x86_64 ] || return 0
	objdump -d --no-show-raw-insn "$BATS_TEST_TMPDIR/redzone" | awk '/<(below|edge)>:/ { on = 1 }
		/^$/ { on = 0 } on && /mov.*,-0x[0-9a-f]*\(%rsp/ { n++ } END { exit n < 3 }'
}

traced_by_bpftrace() {
	need_program bpftrace
	need_tracing
	run timeout 100 bpftrace -B full -e "usdt:$BATS_TEST_TMPDIR/redzone:red:* { @[probe] = count(); @all = count() }" \
		-c "$BATS_TEST_TMPDIR/redzone $CALLS"
	[ "$status" = 0 ]
	[[ "$output" == *"$CALLS calls, 0 wrong"* ]]
	[[ "$output" == *"@all: $CALLS"* ]]
}

traced_by_nopal() {
	need_tracing
	run_traced "usdt:$BATS_TEST_TMPDIR/redzone:red:* { @all = count(); @sum = sum(arg0 % 2) }" \
		"$BATS_TEST_TMPDIR/redzone $CALLS"
	[ "$status" = 0 ]
	[[ "$output" == *"$CALLS calls, 0 wrong"* ]]
	[[ "$output" == *"@all: $CALLS"* ]]
}

@test "gcc -O2 uses the red zone, and is right untraced" {
	build gcc
	uses_red_zone
	"$BATS_TEST_TMPDIR/redzone" $CALLS
}

@test "gcc -O2, traced by bpftrace: 0 wrong of $CALLS" {
	build gcc
	traced_by_bpftrace
}

@test "clang -O2, traced by bpftrace: 0 wrong of $CALLS" {
	build clang
	uses_red_zone
	traced_by_bpftrace
}

@test "gcc -O2, traced by nopal: 0 wrong of $CALLS" {
	build gcc
	traced_by_nopal
}

@test "clang -O2, traced by nopal: 0 wrong of $CALLS" {
	build clang
	traced_by_nopal
}
