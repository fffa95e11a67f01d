# What debug information says of a program: names and types of parameters, results, lines, inlined functions.
load ../helpers

# nopal -c on a program with debug information: traced SCRIPT [PROGRAM]
traced() {
	need_tracing
	run --separate-stderr timeout 20 "$NOPAL" -q -e "$1" -c "${2:-$TARGETS/params}"
	[ "$status" -eq 0 ] || echo "$stderr"
}

setup() {
	bats_require_minimum_version 1.5.0
	cd "$BATS_TEST_TMPDIR"
	cp "$TARGETS/params" .
}

@test "parameters have names, types and values" {
	traced 'uprobe:./params:use { printf("%d %s %d %d %d %d\n", args.n, args.text, args.b, args.col, args.yes, args.c == arg0) }' ./params
	[ "$output" = "-3 word 200 5 1 1" ]
	traced 'uprobe:./params:use { print(args.n); print(args.yes); print(str(args.text)) }' ./params
	[ "$output" = $'-3\ntrue\nword' ]
}

@test "parameters after floats and structs are where the calling convention has them" {
	traced 'uprobe:./params:mixed { printf("%d %d %d %d %d", args.a, args.s, args.l3, args.l4, args.last) } uprobe:./params:make { printf(" %d", args.a) }' ./params
	[ "$output" = "-1 -2 5 6 77 40" ]
}

@test "all parameters are printed by their names" {
	traced 'uprobe:./params:use { print(args) } uprobe:./params:mixed { print(args) }' ./params
	[[ "${lines[0]}" =~ ^"{ .c = 0x"[0-9a-f]+', .text = "word", .d = (unreadable), .n = -3, .b = 200, .col = 5, .yes = true }'$ ]]
	[ "${lines[1]}" = "{ .p = (unreadable), .a = -1, .g = (unreadable), .s = -2, .w = (unreadable), .l3 = 5, .l4 = 6, .last = 77 }" ]
}

@test "other compilers and options say the same" {
	need_program gcc
	need_program clang
	for cc in "gcc -O0 -g" "gcc -O2 -gdwarf-4" "clang -O2 -g" "clang -O0 -gdwarf-4"; do
		$cc "$ROOT/tests/targets/params.c" -o other
		traced 'uprobe:./other:use { printf("%d %s %d", args.n, args.text, args.col) } uprobe:./other:mixed { printf(" %d %d %d", args.a, args.s, args.last) } uretprobe:./other:low { printf(" %d", retval) }' ./other
		[ "$output" = "-3 word 5 -1 -2 77 255" ]
	done
}

@test "retval has the type of the function's result" {
	traced 'uretprobe:./params:low { printf("%d ", retval) } uretprobe:./params:mixed { printf("%d ", retval) } uretprobe:./params:name { printf("%s", str(retval)) }' ./params
	[ "$output" = "103 hello255 " ]
}

@test "a separate debug file says it, too" {
	need_program objcopy
	objcopy --only-keep-debug params params.debug
	strip params
	objcopy --add-gnu-debuglink=params.debug params
	traced 'uprobe:./params:use { print(args.n) }' ./params
	[ "$output" = "-3" ]
}

# says no-params without debug information
# says unreadable-arg cannot be read
@test "what is not known of parameters is said" {
	cp params bare
	strip -g bare
	for script in 'print(args.n)' 'print(args)'; do
		run -1 "$NOPAL" --dry-run -e "uprobe:./bare:use { $script }"
		[[ "$output" == *"the parameters of 'uprobe:./bare:use' are not known"*"compile the program with -g"* ]]
	done
	run -1 "$NOPAL" --dry-run -e 'uprobe:./params:use { print(args.txt) }'
	[[ "$output" == *"has no argument 'txt'"*"did you mean 'text'?"*"its arguments: c, text, d, n, b, col, yes"* ]]
	run -1 "$NOPAL" --dry-run -e 'uprobe:./params:use+1 { print(args.n) }' --unsafe
	[[ "$output" == *"is not the start of a function"* ]]
	run -1 "$NOPAL" --dry-run -e 'uprobe:./params:use { print(args.d) }'
	[[ "$output" == *"'d' of 'uprobe:./params:use' cannot be read: it is passed in a vector register"* ]]
	run -1 "$NOPAL" --dry-run -e 'uprobe:./params:use { print(arg14) }'
	[[ "$output" == *"has no arg14"* ]]
}
