# The sources as a whole: who may use whom, sizes of functions and folders, format. scripts/lint adds the warnings of both compilers.
load ../helpers

setup() {
	cd "$ROOT"
}

need_git() {
	git ls-files >/dev/null 2>&1 || skip "not a git checkout"
}

@test "a module uses only modules above it" {
	scripts/modules
}

@test "files, functions and folders keep their shape" {
	need_git
	scripts/shape
}

@test "a measure of src that is above its limit is named" {
	need_git
	printf 'ring 1 1 # files\nfolder-files 1000 25\n' >"$BATS_TEST_TMPDIR/limits"
	LIMITS="$BATS_TEST_TMPDIR/limits" run scripts/measures
	[ "$status" -eq 1 ]
	[ "$(grep -c "it has grown" <<<"$output")" -eq 1 ]
	[[ "$output" == *"ring "*" 1       1  it has grown: see scripts/measures -v"* ]]
}

# Other versions of clang-format break other lines.
@test "sources are formatted" {
	need_git
	[[ "$(clang-format --version 2>&1)" == *" version 14."* ]] || skip "needs clang-format 14"
	git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror
}
