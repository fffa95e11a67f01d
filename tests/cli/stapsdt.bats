# libstapsdt's interface: layouts, numbers, symbols, contracts; programs made for it run unchanged.
load ../helpers

setup() {
	library=$BUILD/libstapsdt.so.0
	[ -e "$library" ] || skip "libstapsdt.so.0 is not built"
}

old_program() {
	need_program cc
	cc -O1 -Wall -I"$ROOT/tests/programs" -o "$BATS_TEST_TMPDIR/old" "$ROOT/tests/programs/stapsdt_old.c" -ldl
}

@test "structures and numbers are those of libstapsdt, in C and C++, behind errno.h" {
	need_program cc
	cc -std=c11 -Wall -Wextra -I"$ROOT/include" -o "$BATS_TEST_TMPDIR/c" "$ROOT/tests/programs/stapsdt_header.c"
	command -v g++ >/dev/null || skip "C is fine; C++ needs g++"
	g++ -std=c++11 -x c++ -Wall -I"$ROOT/include" -o "$BATS_TEST_TMPDIR/cc" "$ROOT/tests/programs/stapsdt_header.c"
}

@test "the library shows its eight functions and nothing else" {
	need_program nm
	[ "$(nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | grep -v '^__\(a\|ub\|ms\)san' | sort | tr '\n' ' ')" = \
		"probeFire probeIsEnabled providerAddProbe providerDestroy providerInit providerLoad providerUnload providerUseMemfd " ]
	readelf -d "$library" | grep -q 'SONAME.*libstapsdt.so.0'
}

@test "a program made for libstapsdt finds all contracts kept" {
	[ -z "${SAN:-}" ] || skip "a library with sanitizers cannot be loaded by a program without"
	old_program
	run "$BATS_TEST_TMPDIR/old" "$library"
	[ "$status" = 0 ]
	[ "$output" = $'ready\ndone' ]
}

@test "its probes are traced with str() and a negative int" {
	need_tracing
	[ -z "${SAN:-}" ] || skip "a library with sanitizers cannot be loaded by a program without"
	old_program
	"$BATS_TEST_TMPDIR/old" "$library" 10000 >"$BATS_TEST_TMPDIR/printed" 3>&- &
	pid=$!
	awaits grep -q ready "$BATS_TEST_TMPDIR/printed"
	run timeout 60 "$NOPAL" -q -p "$pid" -e 'usdt::pythonapp:firstProbe { printf("%s %d\n", str(arg0), arg1); exit() }'
	[ "$output" = "a text -7" ]
	if command -v bpftrace >/dev/null; then
		run timeout 60 bpftrace -p "$pid" -e 'usdt::pythonapp:firstProbe { printf("%s %d\n", str(arg0), arg1); exit() }'
		[[ "$output" == *"a text -7"* ]]
	fi
	kill $pid
	wait $pid
	grep -q "Probe fired!" "$BATS_TEST_TMPDIR/printed"
	[ "$(tail -1 "$BATS_TEST_TMPDIR/printed")" = "done" ]
}

@test "dlclose without providerDestroy leaves no mapping behind" {
	need_program cc
	[ -z "${SAN:-}" ] || skip "a library with sanitizers cannot be loaded by a program without"
	cc -O1 -Wall -o "$BATS_TEST_TMPDIR/rounds" "$ROOT/tests/programs/stapsdt_rounds.c" -ldl
	run "$BATS_TEST_TMPDIR/rounds" "$library"
	[ "$output" = "0 mappings more" ]
}

@test "no leak and no error under valgrind" {
	need_program valgrind
	[ -z "${SAN:-}" ] || skip "not with sanitizers"
	old_program
	run valgrind -q --leak-check=full --errors-for-leak-kinds=definite --error-exitcode=9 "$BATS_TEST_TMPDIR/old" "$library"
	[ "$status" = 0 ]
}
