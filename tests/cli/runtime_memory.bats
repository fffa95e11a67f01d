# The unit tests of run-time probes again, by what finds wrong uses of memory: valgrind and sanitizers.
# STRESS=1 makes it long.
load ../helpers
source "$ROOT/tests/runtime_memory.bash"

export BRIEF=1 # they run without all this too

@test "providers, probes, threads, forks and signals under valgrind" {
	need_program valgrind
	[ -z "${SAN:-}" ] || skip "valgrind and sanitizers exclude each other"
	run $MEMCHECK "$BUILD/unit/runtime_load"
	echo "$output"
	[ "$status" = 0 ]
	# What only a thread knew that a child does not have is lost there.
	run env -u STRESS $MEMCHECK --leak-check=no "$BUILD/unit/runtime_fork"
	echo "$output"
	[ "$status" = 0 ]
}

@test "providers, probes, threads, forks and signals with address and undefined sanitizers" {
	need_program cc
	for unit in runtime_load runtime_fork; do
		LIBS=-lcmocka compile "$ROOT/tests/unit/$unit.c" "$BATS_TEST_TMPDIR/$unit" -fsanitize=address,undefined \
			-fno-sanitize-recover=undefined
		run "$BATS_TEST_TMPDIR/$unit"
		echo "$output"
		[ "$status" = 0 ]
	done
}

@test "providers, probes, threads, forks and signals with the thread sanitizer" {
	need_program cc
	LIBS=-lcmocka compile "$ROOT/tests/unit/runtime_load.c" "$BATS_TEST_TMPDIR/unit" -fsanitize=thread
	TSAN_OPTIONS=die_after_fork=0 run "$BATS_TEST_TMPDIR/unit"
	echo "$output"
	[ "$status" = 0 ]
}
