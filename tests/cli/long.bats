# Strings of 64 KiB from a traced program to the output: exact to the last byte.
load ../helpers

setup() {
	need_tracing
	tick=$(private tick)
	cd "$BATS_TEST_TMPDIR"
}

# text LENGTH PATTERN: that many bytes of the pattern again and again.
text() {
	yes "$2" | tr -d '\n' | head -c "$1"
}

# print_words SCRIPT WORD...: what the script prints of tick:word for each of these words.
print_words() {
	local script=$1
	shift
	start_tracer "$script" -q --raw
	"$tick" word "$@"
	stop_tracer
	[ ! -s "$messages" ] || grep -v __BPFTRACE_NOTIFY "$messages" || true
}

# 0.17: `str` | 64 bytes, at most 200 | 1024, at most 65,536 | as the newest
@test "65535 and 65536 bytes arrive whole, one more is cut and marked" {
	whole=$(text 65536 'gr\xc3\xbc\xc3\x9f\xe2\x82\xac ')
	print_words 'config = { max_strlen = 65536 } usdt:./tick:tick:word { printf("%s\n", str(arg0)) }' \
		"${whole::-1}" "$whole" "${whole}x" ""
	printf '%s\n' "${whole::-1}" "$whole" "$whole.." "" | cmp - "$output_file"
}

@test "a length of 65536 in the script is enough" {
	whole=$(text 65536 abcd)
	print_words 'usdt:./tick:tick:word { printf("%s\n", str(arg0, 65536)) }' "${whole::-1}" "$whole" "${whole}x" ""
	printf '%s\n' "${whole::-1}" "$whole" "$whole" "" | cmp - "$output_file"
}

@test "the environment sets the length, too" {
	whole=$(text 65536 abc)
	export NOPAL_MAX_STRLEN=65536
	print_words 'usdt:./tick:tick:word { printf("%s\n", str(arg0)); printf("%s\n", str(arg0, 65536)) }' "$whole"
	printf '%s\n' "$whole" "$whole" | cmp - "$output_file"
}

@test "UTF-8 and control bytes arrive as they are" {
	utf8=$(text 65535 'grüße €')
	control=$(text 65536 $'\001\033[2J\007\177\377x')
	print_words 'usdt:./tick:tick:word { printf("%s\n", str(arg0, 65536)) }' "$utf8" "$control"
	printf '%s\n' "$utf8" "$control" | cmp - "$output_file"
}

@test "a long string is a key, a value, a variable and part of a tuple" {
	whole=$(text 65536 'key €')
	print_words 'usdt:./tick:tick:word { $x = str(arg0, 65536); @n[$x, arg1] = count(); @v = $x; print(($x, 1)) }' \
		"$whole" short "$whole"
	{
		printf '(%s, 1)\n' "$whole" short "$whole"
		printf '\n\n@n[short, 5]: 1\n@n[%s, 65536]: 2\n@v: %s\n' "$whole" "$whole"
	} | cmp - "$output_file"
}

@test "one byte that differs is found wherever it is" {
	whole=$(text 4096 abcdefghijklm)
	words=()
	expected=
	for at in 0 1 8 15 23 31 39 47 55 62 63 64 2047 2048 4031 4032 4088 4095; do
		words+=("$whole" "${whole::at}X${whole:at+1}" "$whole" "$whole")
		expected+=' 1 0 0 1'
	done
	print_words 'usdt:./tick:tick:word { $x = str(arg0, 4096); printf(" %d", $x == @last); @last = $x } END { clear(@last) }' "${words[@]}"
	[ "$(tr -d '\n' <"$output_file")" = " 0${expected# 1}" ]
}

@test "a dozen of the longest strings in one record" {
	whole=$(text 65536 'dozen ')
	values=$(printf ', str(arg0, 65536)%.0s' $(seq 12))
	print_words "usdt:./tick:tick:word { printf(\"$(text 24 %s)\n\"$values) }" "$whole"
	{
		for _ in $(seq 12); do echo -n "$whole"; done
		echo
	} | cmp - "$output_file"
}

@test "long strings that find no room in the ring are counted, and the others are whole" {
	whole=$(text 65536 abcdefghij)
	start_tracer 'usdt:./tick:tick:word { printf("%s\n", str(arg0, 65536)); @ = count() }' -q --ring-size 4096
	kill -STOP $tracer
	until grep -q '^State:.*stopped' "/proc/$tracer/status"; do sleep 0.01; done
	"$tick" word "$whole" "$whole" "$whole" "$whole" "$whole"
	kill -CONT $tracer
	stop_tracer
	grep -qx '@: 5' "$output_file"
	arrived=$(grep -c abcdef "$output_file")
	[ "$arrived" -ge 1 ]
	[ "$arrived" -lt 5 ]
	[ "$(grep abcdef "$output_file" | sort -u)" = "$whole" ]
	grep -q "^Lost $((5 - arrived)) events* (.*--ring-size=4M" "$messages"
}

@test "a string that memory ends is unreadable and said at that place" {
	for denied in '' sleepable; do
		export NOPAL_NO_FEATURES=$denied
		for length in 5000 65535; do
			run_traced 'usdt:./tick:tick:word { printf("%d\n", arg1); printf("<%s>\n", str(arg0, 65536)) }' "$tick edge $length"
			[ "$output" = "$length"$'\n<(unreadable)>' ]
			grep -q -- "-e:1:64: warning: 1 read failed" "$messages"
		done
		run_traced 'usdt:./tick:tick:word { printf("<%s>\n", str(arg0, 65535)) }' "$tick edge 65535"
		[ "$output" = "<$(text 65535 abcdefghijklmnopqrstuvwxyz)>" ]
		! grep -q "read failed" "$messages" || false
	done
}

@test "a long string on pages that nobody has in memory" {
	{
		text 65536 'cold page '
		printf '\0'
	} >cold
	sync cold
	run_traced 'usdt:./tick:tick:word { printf("%s\n", str(arg0, 65536)) }' "$tick cold cold"
	[ "$output" = "$(text 65536 'cold page ')" ]
}

@test "longer than 64 KiB is refused, with the limit" {
	run "$NOPAL" -e 'usdt:./tick:tick:word { print(str(arg0, 65537)) }' -c "$tick word a"
	[ "$status" != 0 ]
	says too-long "-e:1:41: error: 'str' returns at most 65536 bytes"
	[[ "$output" == *"hint: read longer data in pieces"* ]]
	run "$NOPAL" -e 'config = { max_strlen = 65537 } BEGIN { exit() }'
	[ "$status" != 0 ]
	[[ "$output" == *"must be a number from 1 to 65536"* ]]
}
