# A part of the matrix (tests/real/harmless): sessions that end in every way, in a PIE with jumps forward and back, in one with nops of 10 bytes, with
# semaphores, and with signals at 10 kHz. `make check-all` runs all of it.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	[ "$(id -u)" = 0 ] || skip "needs root, for --user"
	need_program python3
	[ -e /usr/include/x86_64-linux-gnu/sys/sdt.h ] || skip "needs systemtap-sdt-dev"
}

@test "traced again and again, programs live, compute what they should, and keep nothing of it; counts are exact" {
	run "$ROOT/tests/real/harmless" --short
	echo "$output"
	[ "$status" = 0 ]
	[[ "$output" == *" sessions of 4 programs, 0 exceptions"* ]]
}
