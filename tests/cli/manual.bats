# The manual pages: their markup, and that they describe every option, command and function.
bats_require_minimum_version 1.5.0
load ../helpers

@test "mandoc finds nothing to warn about" {
	need_program mandoc
	for page in "$ROOT"/man/*.[1-9]; do
		grep -q '^\.Dd ' "$page" || { echo "$page is not written in mdoc"; return 1; }
	done
	run mandoc -T lint -W warning "$ROOT"/man/*.[1-9]
	echo "$output"
	[ -z "$output" ]
}

@test "each tag of user mode is in nopal-user-mode(7), and no other" {
	cd "$ROOT"
	grep -rhoE '"user-mode-[a-z0-9-]+"' src cmd | tr -d '"' | sort -u >"$BATS_TEST_TMPDIR/said"
	sed -n 's/^\.It Li \(user-mode-.*\)/\1/p' man/nopal-user-mode.7 | sort >"$BATS_TEST_TMPDIR/listed"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/said")" -ge 39 ]
	diff "$BATS_TEST_TMPDIR/said" "$BATS_TEST_TMPDIR/listed"
}

# The options that a help text names, a line each: -p, --pid.
options_in() {
	grep -oE '(^  |, |   )--?[A-Za-z][A-Za-z-]*' | grep -oE -- '--?[A-Za-z].*' | sort -u
}

# has_options PAGE LEAST: each option of standard input is in man/PAGE; there are at least LEAST.
has_options() {
	local page=$1 option missing=
	cat >"$BATS_TEST_TMPDIR/options"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/options")" -ge "$2" ]
	sed -E 's/\\//g; /Fl /s/ , -([a-z])/ , --\1/g; s/Fl /-/g' "$ROOT/man/$page" >"$BATS_TEST_TMPDIR/page"
	while read -r option; do
		grep -qE -- "(^|[^a-z-])$option([^a-z-]|$)" "$BATS_TEST_TMPDIR/page" || missing="$missing $option"
	done <"$BATS_TEST_TMPDIR/options"
	echo "man/$page lacks:$missing"
	[ -z "$missing" ]
}

# check_manual PAGE COMMAND...: each option that COMMAND prints is in man/PAGE.
check_manual() {
	"$NOPAL" "${@:2}" | options_in | has_options "$1" 5
}

@test "the options of scripts are in nopal(1)" {
	check_manual nopal.1 --help-script
}

# The options of all commands that trace are in nopal(1), and named by each page; a page has its own.
# bats test_tags=deep
@test "the options of each command are in its page" {
	cd "$BATS_TEST_TMPDIR"
	local command checked=0
	comm -12 <("$NOPAL" count --help | options_in) <("$NOPAL" latency --help | options_in) >shared
	has_options nopal.1 20 <shared
	for command in $("$NOPAL" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
		[ "$command" != provider ] || continue
		"$NOPAL" $command --help | options_in >options_of
		[ "$(comm -12 options_of shared | wc -l)" -lt 15 ] || comm -23 options_of shared >own
		[ "$(comm -12 options_of shared | wc -l)" -ge 15 ] || cp options_of own
		has_options nopal-$command.1 1 <own
		checked=$((checked + 1))
	done
	[ $checked -ge 17 ]
}

@test "help: each command by two ways, its page, and a word that is none" {
	for command in $("$NOPAL" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
		[ "$("$NOPAL" help $command)" = "$("$NOPAL" $command --help)" ]
		"$NOPAL" help $command | tail -1 | grep -qx "Manual page: nopal-$command(1)"
		[ $command = provider ] || grep -q "nopal-$command 1" "$ROOT/man/nopal.1"
	done
	run "$NOPAL" help tarce
	[ "$status" = 2 ]
	[[ "$output" == *"did you mean 'trace'?"* ]]
}

@test "the options of list are in nopal-list(1)" {
	check_manual nopal-list.1 list --help
}

@test "the options of provider are in dtrace(1)" {
	check_manual dtrace.1 provider --help
}

@test "every command is in nopal(1)" {
	for command in $("$NOPAL" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
		grep -q "^\.It Cm $command$" "$ROOT/man/nopal.1" || { echo "man/nopal.1 lacks $command"; return 1; }
	done
}

@test "options that need another one" {
	run "$NOPAL" -e 'BEGIN { }' --follow
	[ "$status" = 2 ]
	[[ "$output" == *"--follow needs -p"* ]]
	run "$NOPAL" count --exit-status -p 1 usdt:a:b:c
	[ "$status" = 2 ]
	[[ "$output" == *"--exit-status needs -c"* ]]
}

@test "a process and a command cannot be combined" {
	for command in "-e 1" "count usdt:a:b:c" "hist usdt:a:b:c arg0" "trace usdt:a:b:c"; do
		run "$NOPAL" $command -p 1 -c true
		[ "$status" = 2 ]
		[[ "$output" == *"-p and -c cannot be combined"* ]]
	done
}

@test "a script says what its options are" {
	run --separate-stderr "$NOPAL" -e 'BEGIN { print(getopt("limit", 10, "lines")); print(getopt("all")); print(getopt("to", "x", "a name")); }' -- --help
	[ "$status" = 0 ]
	[ "$output" = 'Options of -e:
  --limit=10  lines
  --all
  --to="x"    a name' ]
	# shellcheck disable=SC2154
	[ "$stderr" = "" ]
	run "$NOPAL" --dump=program -e 'BEGIN { }' -- --help
	[ "$status" = 0 ]
	[ "$output" = "-e has no options" ]
	run "$NOPAL" -q -e 'BEGIN { print(getopt("help")); exit(); }' -- --help
	[ "$output" = true ]
}

@test "a script is warned of, unless the user wants no warnings" {
	run --separate-stderr "$NOPAL" -q --no-warnings -e 'BEGIN { print(1); 5; exit(); 6 }'
	[ "$output" = 1 ]
	# shellcheck disable=SC2154
	[ "$stderr" = "" ]
}

# in_page HEADER PAGE: every function that the header declares is in the page's synopsis.
in_page() {
	local names name missing=
	names=$(sed -e 's|//.*||' -e '/^ \*/d' "$ROOT/include/nopal/$1" | grep -v 'typedef\|inline' | grep -oE '^[a-z].*\bnopal_[a-z_]+\(' |
		grep -oE 'nopal_[a-z_]+\(' | tr -d '(' | sort -u)
	[ -n "$names" ]
	for name in $names; do
		grep -q "^\.Fn $name\b" "$ROOT/man/$2" || missing="$missing $name"
	done
	echo "man/$2 lacks:$missing"
	[ -z "$missing" ]
}

# The program of a page, built; $program is its path.
build_example() {
	sed -n '/^\.Sh EXAMPLES/,/^\.Ed/p' "$ROOT/man/$1" | sed -e '/^\./d' -e 's/\\e/\\/g' >"$BATS_TEST_TMPDIR/example.c"
	program=$BATS_TEST_TMPDIR/example
	cc -Wall -Wextra -Werror -I"$ROOT/include" -o "$program" "$BATS_TEST_TMPDIR/example.c" ${SAN:+-fsanitize=address,undefined} \
		"$BUILD/libnopal.a" -liberty -ldw -lelf -lz -lpthread
}

@test "the differences from bpftrace are listed as the tests have them" {
	"$ROOT/scripts/compatibility" --check
}

@test "the functions of the public headers are in their pages" {
	in_page sites.h nopal-sites.3
	in_page runtime.h nopal-runtime.3
	in_page trace.h nopal-trace.3
	in_page diag.h nopal-trace.3
	in_page show.h nopal-trace.3
}

@test "the example of nopal-sites(3) lists probes" {
	build_example nopal-sites.3
	run "$program" "$TARGETS/tick"
	[[ "$output" == *tick:word* ]]
}

@test "the example of nopal-trace(3) traces a command" {
	need_tracing
	build_example nopal-trace.3
	tick=$(private tick)
	run "$program" "usdt:$tick:tick:loop { @ = count() }" "$tick loop 7"
	[[ "$output" == *"@: 7"* ]]
}
