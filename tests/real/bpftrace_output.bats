# Maps, histograms, printf and JSON to the character as bpftrace prints them. What 0.17 prints, as the newest has it, is
# kept in tests/cases/bpftrace; tests/bpftrace_goldens writes it.
load ../helpers

setup() {
	cd "$BATS_TEST_TMPDIR"
	for file in "$ROOT"/tests/cases/bpftrace/*.txt; do
		mkdir "$(basename "$file" .txt)"
		"$BUILD/help/split_cases" "$file" "$(basename "$file" .txt)"
	done
}

# compare KEY OPTIONS...: run every script and show each difference.
compare() {
	local key=$1 bad=0
	shift
	for case in */1; do
		timeout 20 "$NOPAL" --unsafe "$@" "$case/script" >printed 2>messages || {
			echo "$case: status $?"
			cat messages
			bad=1
		}
		diff -u "$case/$key" printed || bad=1
	done
	return $bad
}

@test "text is bpftrace's" {
	need_tracing
	compare text
}

# 0.17: buffers in JSON | text | `[97,-1]` | as the newest
@test "JSON is bpftrace's" {
	need_tracing
	compare json -f json
}

# 0.17: empty lines | after a table of `avg` or `stats`, and for a map without entries | only after a histogram | as the
#   newest
# bats test_tags=deep
@test "the kept output is what the installed bpftrace prints, as the newest has it" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	need_program bpftrace
	bpftrace --version | grep -q 'v0\.17' || skip "needs bpftrace 0.17"
	mkdir new
	"$ROOT/tests/bpftrace_goldens" new
	diff -ru "$ROOT/tests/cases/bpftrace" new
}
