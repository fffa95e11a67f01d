# tests/cases/run/ in the kernel: the scripts that tests/unit/cases.c gives to the interpreter trace a
# real tick here, and must print the same.
load ../helpers

setup() {
	need_tracing
	cd "$BATS_TEST_TMPDIR" || return
	private tick >/dev/null
}

# The text $1 without blank lines at either end and blanks behind its last line: $trimmed.
trim() {
	trimmed=$1
	while [[ $trimmed == $'\n'* ]]; do trimmed=${trimmed#?}; done
	while [[ $trimmed == *[$'\n '] ]]; do trimmed=${trimmed%?}; done
}

# What is fired, as a command for -c. Programs start slowly in an emulator, so a single one needs no shell.
command_of() {
	[ -e "$1/fire" ] || return 0
	mapfile -t fires <"$1/fire"
	fires=("${fires[@]/#tick/.\/tick}")
	command=${fires[0]}
	[ ${#fires[@]} = 1 ] || printf '%s\n' "${fires[@]}" >fires
	[ ${#fires[@]} = 1 ] || command='sh fires'
}

# The case that lies in the directory $1.
run_case() {
	local args=() command=true expected= printed
	command_of "$1"
	[ ! -e "$1/args" ] || read -r -a args <"$1/args"
	[ ! -e "$1/out" ] || expected=$(<"$1/out")
	trim "$expected"
	expected=$trimmed
	printed=$(timeout 60 "$NOPAL" -q -c "$command" "$1/script" "${args[@]}" 2>messages) || true
	trim "$printed"
	[ "$trimmed" != "$expected" ] || return 0
	# Older kernels may refuse what is long, in our words.
	[[ $(<messages) != *'is too complex for this kernel: '* ]] || return 0
	diff -u <(echo "$expected") <(echo "$trimmed")
	echo "^ $(<"$1/name")"
	cat messages
	return 1
}

# Every case of one file; all that fail are shown.
run_file() {
	local failed=0 case
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
