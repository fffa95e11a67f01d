# What people read: comments, messages, manual pages, documents. tests/words/patterns lists phrasings that are
# translated idiom, invented or ambiguous, each with what to write instead.
load ../helpers

setup() {
	need_program perl
	cd "$ROOT"
}

# The files that people read. A tree that git does not know has no list of them.
texts() {
	git ls-files 'src/*.[ch]' src/MODULES 'cmd/*.[ch]' 'include/*.h' 'man/*' '*.md' 'examples/*' 'scripts/*' 'bench/*' \
		'bindings/*.[ch]' 'data/providers/*' 'packaging/*' Makefile
}

@test "worn-out phrasings" {
	texts >/dev/null 2>&1 || skip "not a git checkout"
	run bash -c "$(declare -f texts); texts | xargs tests/words/scan"
	echo "$output"
	[ "$status" = 0 ]
	[ -z "$output" ]
}

@test "worn-out phrasings in what commands say of themselves" {
	for command in --help --help-script "list --help" "trace --help" "count --help" "hist --help" "provider --help" "doctor --help"; do
		# shellcheck disable=SC2086
		"$NOPAL" $command
	done >"$BATS_TEST_TMPDIR/help"
	run tests/words/scan "$BATS_TEST_TMPDIR/help"
	echo "$output"
	[ "$status" = 0 ]
}

@test "documents name files that exist" {
	local missing=
	for file in $(grep -ohE '`[a-z_]+/[a-z_0-9/]+\.(c|h|bats)`' README.md doc/*.md doc/*/*.md | tr -d '`' | sort -u); do
		[ -e "$file" ] || [ -e "src/$file" ] || [ -e "include/$file" ] || [ -e "tests/$file" ] || missing="$missing $file"
	done
	echo "missing:$missing"
	[ -z "$missing" ]
}

@test "links of documents lead to files" {
	local file link missing=
	for file in README.md CONTRIBUTING.md doc/*.md doc/*/*.md bench/*.md; do
		for link in $(grep -ohE '\]\([^)# ]+' "$file" | sed 's/^](//'); do
			[[ "$link" == *:* ]] || [ -e "$(dirname "$file")/$link" ] || missing="$missing $file:$link"
		done
	done
	echo "missing:$missing"
	[ -z "$missing" ]
}
