# tests/cases/run/ in the kernel: the scripts that tests/unit/cases.c gives to the interpreter trace a
# real tick here, and must print the same.
load ../helpers

setup() {
	need_tracing
	cd "$BATS_TEST_TMPDIR" || return
	private tick >/dev/null
}

# The part of the current case that begins with "NAME:", without its margin.
part() {
	awk -v name="$1:" '
		index($0, name) == 1 { on = 1; print substr($0, 9); next }
		/^[a-z]+:/ { on = 0 }
		on { print substr($0, 9) }' case
}

# Text without blank lines at either end and blanks behind its last line, as tests/unit/cases.c compares.
without_blank_ends() {
	awk 'NF { for (; empty; empty--) if (some) print ""; empty = 0; print; some = 1; next } { empty++ }' |
		sed '$s/ *$//'
}

run_case() {
	local title=$1 args
	part script >script
	part fire | sed 's|^tick|./tick|' >fires
	part out | without_blank_ends >expected
	read -r -a args <<<"$(part args)"
	timeout 60 "$NOPAL" -q -c 'sh fires' script "${args[@]}" 2>messages | without_blank_ends >printed
	# Older kernels may refuse what is long, in our words.
	! grep -q 'is too complex for this kernel: ' messages || return 0
	diff -u expected printed && return
	echo "^ $title"
	cat messages
	return 1
}

# Every case of one file; all that fail are shown.
run_file() {
	local failed=0 count=0
	csplit -sz -f one- "$ROOT/tests/cases/run/$1" '/^-- /' '{*}'
	for file in one-*; do
		grep -q '^-- ' "$file" || continue
		mv "$file" case
		run_case "$(sed -n '1s/^-- //p' case)" || failed=$((failed + 1))
		count=$((count + 1))
	done
	[ "$count" -gt 0 ] && [ "$failed" = 0 ]
}

@test "first cases print the same from the kernel" { run_file first.txt; }

@test "maps print the same from the kernel" { run_file maps.txt; }

@test "numbers print the same from the kernel" { run_file numbers.txt; }

@test "text prints the same from the kernel" { run_file text.txt; }

@test "edges print the same from the kernel" { run_file edges.txt; }

@test "long texts print the same from the kernel" { run_file long.txt; }
