# Command lines and what they answer, from the tables in tests/cases/commands.
load ../helpers

# What the command lines are about: ./tick, which has probes, and other things that users name.
setup() {
	cd "$BATS_TEST_TMPDIR"
	private tick >/dev/null
	mkdir bin
	ln -s "$NOPAL" bin/nopal
	PATH=$PWD/bin:$PATH
}

# check_case: $name, $run, $status, $out and $says hold a case. What is wrong is printed.
check_case() {
	local got code=0 line ok=1
	got=$(timeout 20 bash -c "$run" 2>&1 </dev/null) || code=$?
	[ "$code" = "${status:-0}" ] || { ok=; echo "status $code, not ${status:-0}"; }
	[ -z "$out" ] || [ "$got" = "$out" ] || { ok=; echo "not all of: $out"; }
	while IFS= read -r line; do
		[[ $got == *"$line"* ]] || { ok=; echo "nothing says: $line"; }
	done <<<"$says"
	[ -n "$ok" ] && return
	printf -- '-- %s\n$ %s\n%s\n\n' "$name" "$run" "$got"
	failed=$((failed + 1))
}

# check_cases FILE: every case of the table.
check_cases() {
	local name='' run='' status='' out='' says='' line field='' failed=0 count=0
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		'#'* | '') continue ;;
		'-- '*)
			[ -z "$run" ] || check_case
			name=${line#-- } run='' status='' out='' says='' field=''
			count=$((count + 1))
			;;
		run:* | status:* | tags:*) field='' && declare "${line%%:*}=${line#*: }" ;;
		out:* | says:*) field=${line%%:*} && declare "$field=${line#*: }" ;;
		' '*) declare "$field=${!field}
${line#"${line:0:$((${#field} + 2))}"}" ;;
		*) echo "what is this: $line" && return 1 ;;
		esac
	done <"$1"
	check_case
	echo "$count cases, $failed failed"
	[ "$failed" = 0 ] && [ "$count" -ge "${2:-1}" ]
}

@test "the words of trace, count, hist and stack" {
	check_cases "$ROOT/tests/cases/commands/words.txt" 14
}
