# tests/cases/run/ in the kernel: the scripts that tests/unit/cases.c gives to the interpreter trace a
# real tick here, and must print the same.
load ../helpers

setup() {
	need_tracing
	cd "$BATS_TEST_TMPDIR" || return
	private tick >/dev/null
}

run_file() {
	"$BUILD/help/run_cases" "$NOPAL" "$ROOT/tests/cases/run/$1"
}

@test "first cases print the same from the kernel" { run_file first.txt; }

@test "maps print the same from the kernel" { run_file maps.txt; }

@test "numbers print the same from the kernel" { run_file numbers.txt; }

@test "text prints the same from the kernel" { run_file text.txt; }

# bats test_tags=deep
@test "edges print the same from the kernel" { run_file edges.txt; }

@test "what the newest scripts use prints the same from the kernel" { run_file language.txt; }

# bats test_tags=deep
@test "what its documents say prints the same from the kernel" { run_file newest.txt; }

# bats test_tags=deep
@test "functions of its documents print the same from the kernel" { run_file newest_functions.txt; }

# bats test_tags=deep
@test "types and shapes of its documents print the same from the kernel" { run_file newest_types.txt; }
# bats test_tags=deep
@test "newer forms print the same from the kernel" { run_file newest_forms.txt; }

# bats test_tags=deep
@test "single statements print the same from the kernel" { run_file statements.txt; }

# bats test_tags=deep
@test "the words of bpftrace 0.17 print the same from the kernel" { run_file dialect.txt; }

# bats test_tags=deep
@test "functions print the same from the kernel" { run_file functions.txt; }

# bats test_tags=deep
@test "long texts print the same from the kernel" { run_file long.txt; }

# bats test_tags=deep
@test "structs print the same from the kernel" { run_file structs.txt; }

# bats test_tags=deep
@test "scripts as people write them print the same from the kernel" { run_file scripts.txt; }

# bats test_tags=deep
@test "statements of SQL print the same from the kernel" { run_file sql.txt; }

# bats test_tags=deep
@test "statements of SQL print the same where loops are calls" { NOPAL_NO_FEATURES=may_goto run_file sql.txt; }

# bats test_tags=deep
@test "maps print the same where loops are calls" { NOPAL_NO_FEATURES=may_goto run_file maps.txt; }
