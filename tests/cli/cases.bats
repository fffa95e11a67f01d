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

@test "edges print the same from the kernel" { run_file edges.txt; }

@test "what the newest scripts use prints the same from the kernel" { run_file language.txt; }

@test "what its documents say prints the same from the kernel" { run_file newest.txt; }

@test "functions of its documents print the same from the kernel" { run_file newest_functions.txt; }

@test "types and shapes of its documents print the same from the kernel" { run_file newest_types.txt; }
@test "newer forms print the same from the kernel" { run_file newest_forms.txt; }

@test "single statements print the same from the kernel" { run_file statements.txt; }

@test "the words of bpftrace 0.17 print the same from the kernel" { run_file dialect.txt; }

@test "functions print the same from the kernel" { run_file functions.txt; }

@test "long texts print the same from the kernel" { run_file long.txt; }

@test "structs print the same from the kernel" { run_file structs.txt; }

@test "scripts as people write them print the same from the kernel" { run_file scripts.txt; }

@test "statements of SQL print the same from the kernel" { run_file sql.txt; }

@test "statements of SQL print the same where loops are calls" { NOPAL_NO_FEATURES=may_goto run_file sql.txt; }

@test "maps print the same where loops are calls" { NOPAL_NO_FEATURES=may_goto run_file maps.txt; }
