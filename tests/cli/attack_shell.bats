#!/usr/bin/env bats
# A traced program against root's shell: the words that it fires are words for system(), never commands.
load ../helpers

HOSTILE=('a; touch pwned' '$(touch pwned)' '`touch pwned`' "'; touch pwned; '" '"; touch pwned; "' '$(touch pwned)"`touch pwned`"'
	'\"; touch pwned; \"' "\\'; touch pwned; '" 'x & touch pwned &' '${1}' '*' "a  b")

setup() {
	need_tracing
	cd "$BATS_TEST_TMPDIR" || return 1
	touch file
}

# system_of COMMAND [MORE]: what COMMAND prints for each word; MORE are further values.
system_of() {
	run timeout 60 "$NOPAL" -q --unsafe -e "usdt:$TARGETS/tick:tick:word { system(\"$1\", str(arg0)${2-}) }" \
		-c "xargs -0 -a words $TARGETS/tick word"
	echo "$output"
	[ ! -e pwned ]
}

words() {
	printf '%s\0' "${HOSTILE[@]}" >words
}

@test "a word of a traced program is a command for system()" {
	words
	system_of "printf '<%%s>\\\\n' %s"
	[ "$output" = "$(printf '<%s>\n\n' "${HOSTILE[@]}")" ]
}

@test "a word of a traced program is a command for system() in double quotes" {
	words
	system_of "printf '<%%s>\\\\n' \\\"-%s-\\\""
	[ "$output" = "$(printf '<-%s->\n\n' "${HOSTILE[@]}")" ]
}

@test "a word of a traced program is a command for system() in single quotes" {
	words
	system_of "printf '<%%s>\\\\n' '-%s-'"
	[ "$output" = "$(printf '<-%s->\n\n' "${HOSTILE[@]}")" ]
}

@test "a word of a traced program is a command for system() in a command's quotes" {
	words
	system_of "echo \\\"\$(printf '%%s' %s)\\\" \\\\\\\\%s # it's %s" ", str(arg0), str(arg0)"
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -ge ${#HOSTILE[@]} ]
}

@test "numbers, texts and their order are as printf has them" {
	run timeout 60 "$NOPAL" -q --unsafe -e "usdt:$TARGETS/tick:tick:word { system(\"echo %d %s-%s %c%% %5s. %x\", arg1, str(arg0), comm, 65, str(arg0), 255) }" \
		-c "$TARGETS/tick word ab"
	echo "$output"
	[ "$output" = "2 ab-tick A%    ab. ff" ]
}
