# nopal --test and --bench: probes that are run on demand.
bats_require_minimum_version 1.5.0
load ../helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	cat >script.bt <<'END'
test:adds { @a = 5; assert(@a == 5, "no"); print("ran"); }
test:alone { @a += 1; if (@a != 1) { return 1; } return 0; }
test:fails { assert(1 == 2, "one is not two"); }
test:returns { if (pid) { return 2; } }
fn half($n : int64) : int64 { return $n / 2; }
test:halves { $n = half(9); return $n - 4; }
test:exits { exit(3); }
bench:count { @[pid] = count(); }
BEGIN { print("begin"); exit() }
END
}

# newest: `--test`, `--bench` | `BEGIN` and other probes, too; the form of the text is not documented | only the test or
#   bench probes, each in a run of its own | a test does not depend on another
@test "each test runs alone, and passes or fails" {
	run --separate-stderr "$NOPAL" --test script.bt
	[ "$status" = 1 ]
	[ "$(sed 's/ in [0-9.]* us$//' <<<"$output")" = "ran
test:adds passed
test:alone passed
test:fails failed
test:returns failed
test:halves passed
test:exits failed" ]
	# shellcheck disable=SC2154
	[ "$stderr" = "script.bt:3:14-46: ERROR: assert failed: one is not two" ]
}

@test "the results of tests and bench probes as JSON" {
	need_program jq
	run --separate-stderr "$NOPAL" --test -f json script.bt
	[ "$status" = 1 ]
	[ "$(jq -c 'select(.type == "test_result") | .data | to_entries[0] | [.key, .value.passed, .value.output, .value.duration > 0]' <<<"$output")" = '["adds",true,"ran\n",true]
["alone",true,"",true]
["fails",false,"",true]
["returns",false,"",true]
["halves",true,"",true]
["exits",false,"",true]' ]
	run --separate-stderr "$NOPAL" --bench -f json script.bt
	[ "$status" = 0 ]
	jq -e '.type == "benchmark_result" and .data.count.average > 0 and .data.count.iters > 10' <<<"$output"
}

@test "a bench probe runs many times, and prints no maps" {
	run --separate-stderr "$NOPAL" --bench script.bt
	[ "$status" = 0 ]
	[[ "$output" =~ ^bench:count\ [0-9.]+\ us,\ the\ average\ of\ [0-9]+\ runs$ ]]
}

@test "tests are not run unasked, but are checked and formatted" {
	run --separate-stderr "$NOPAL" -q script.bt
	[ "$status" = 0 ]
	[ "$output" = begin ]
	run "$NOPAL" check script.bt
	[ "$status" = 0 ]
	[ "$output" = "test:adds
test:alone
test:fails
test:returns
test:halves
test:exits
bench:count
BEGIN" ]
	run "$NOPAL" check -e 'test:a { print($x); }'
	says undefined-variable "variable '\$x' is used before it has a value"
	[ "$("$NOPAL" fmt script.bt | grep -c '^test:')" = 6 ]
	run "$NOPAL" --test -e 'BEGIN { }'
	[ "$status" = 1 ]
	says no-tests "the script has no probe 'test:NAME'"
}

@test "a test with an error fails, and so does a script with one" {
	run "$NOPAL" --test -e 'test:a { print($x); }'
	[ "$status" = 1 ]
	[[ "$output" == *"variable '\$x' is used before it has a value"* ]]
}
