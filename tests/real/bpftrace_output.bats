# Maps, histograms, printf and JSON to the character as bpftrace 0.17 prints them. What it prints is
# kept beside the scripts in tests/cases/bpftrace; tests/bpftrace_goldens writes it.
load ../helpers

CASES=$ROOT/tests/cases/bpftrace

# compare EXTENSION OPTIONS...: run every script and show each difference.
compare() {
	local extension=$1 script name bad=0
	shift
	for script in "$CASES"/*.bt; do
		name=$(basename "$script" .bt)
		timeout 20 "$NOPAL" --unsafe "$@" "$script" >"$BATS_TEST_TMPDIR/$name" 2>"$BATS_TEST_TMPDIR/$name.err" || {
			echo "$name: status $?"
			cat "$BATS_TEST_TMPDIR/$name.err"
			bad=1
		}
		diff -u "$CASES/$name.$extension" "$BATS_TEST_TMPDIR/$name" || bad=1
	done
	return $bad
}

@test "text is bpftrace's" {
	need_tracing
	compare text
}

@test "JSON is bpftrace's" {
	need_tracing
	compare json -f json
}

@test "the kept output is what the installed bpftrace prints" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	need_program bpftrace
	bpftrace --version | grep -q 'v0\.17' || skip "needs bpftrace 0.17"
	"$ROOT/tests/bpftrace_goldens" "$BATS_TEST_TMPDIR"
	for file in "$CASES"/*.text "$CASES"/*.json; do
		diff -u "$file" "$BATS_TEST_TMPDIR/$(basename "$file")"
	done
}
