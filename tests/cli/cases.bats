# tests/cases/run/ in the kernel: the scripts that tests/unit/cases.c gives to the interpreter trace a
# real tick here, and must print the same.
load ../helpers

setup() {
	need_tracing
	cd "$BATS_TEST_TMPDIR" || return
	private tick >/dev/null
}

# Text without blank lines at either end and blanks behind its last line, as tests/unit/cases.c compares.
without_blank_ends() {
	awk 'NF { for (; empty; empty--) if (some) print ""; empty = 0; print; some = 1; next } { empty++ }' |
		sed '$s/ *$//'
}

# The case that lies in the directory $1.
run_case() {
	local args=()
	touch "$1/fire" "$1/out"
	sed 's|^tick|./tick|' "$1/fire" >fires
	without_blank_ends <"$1/out" >expected
	[ ! -e "$1/args" ] || read -r -a args <"$1/args"
	timeout 60 "$NOPAL" -q -c 'sh fires' "$1/script" "${args[@]}" 2>messages | without_blank_ends >printed
	# Older kernels may refuse what is long, in our words.
	! grep -q 'is too complex for this kernel: ' messages || return 0
	diff -u expected printed && return
	echo "^ $(cat "$1/name")"
	cat messages
	return 1
}

# Every case of one file; all that fail are shown.
run_file() {
	local failed=0
	mkdir cases
	"$BUILD/help/split_cases" "$ROOT/tests/cases/run/$1" cases
	for case in cases/*; do
		run_case "$case" || failed=$((failed + 1))
	done
	[ "$failed" = 0 ]
}

@test "first cases print the same from the kernel" { run_file first.txt; }

@test "maps print the same from the kernel" { run_file maps.txt; }

@test "numbers print the same from the kernel" { run_file numbers.txt; }

@test "text prints the same from the kernel" { run_file text.txt; }

@test "edges print the same from the kernel" { run_file edges.txt; }

@test "long texts print the same from the kernel" { run_file long.txt; }
