# What Nopal does in another way than bpftrace, where no other test shows it. The comments are rows of doc/compatibility.md.
bats_require_minimum_version 1.5.0
load ../helpers

setup() {
	need_tracing
	cd "$BATS_TEST_TMPDIR" || return
	private tick >/dev/null
	export TZ=UTC
}

# 0.17: `profile` with `-p` or `-c` | every process | that process | as the newest
@test "profile with -p is of that process" {
	sh -c 'while :; do :; done' 3>&- &
	run timeout 30 "$NOPAL" -q -p $! -e 'profile:hz:99 { @[pid] = count(); if (@n++ > 20) { exit(); } } END { clear(@n) }'
	kill $!
	[ "$(grep -c . <<<"$output")" = 1 ]
	[[ "$output" == *"@[$!]: "* ]]
}

# newest: `strftime`: `%k`, `%l`; `time`: `%f` | nanoseconds, milliseconds; as strftime(3) | hours, as strftime(3);
#   microseconds | is not documented
@test "strftime and time know the letters of strftime(3)" {
	run --separate-stderr "$NOPAL" -q -e 'BEGIN { printf("%s\n", strftime("%k|%l|", 3600000000000)); time("%f|\n"); exit(); }'
	[[ "${lines[0]}" =~ ^[\ 1-2][0-9]\|[\ 1][0-9]\|$ ]]
	[[ "${lines[1]}" =~ ^[0-9]{6}\|$ ]]
}

# newest: `system()` of a command that fails | its output is dropped | its output |
@test "the output of a command that fails is printed" {
	run --separate-stderr "$NOPAL" -q --unsafe -e 'BEGIN { system("echo out; exit 3"); exit(); }'
	[ "$status" = 0 ]
	[ "$output" = out ]
	[ "$stderr" = "error: 'echo out; exit 3' exited with code 3" ]
}

# newest: `--dry-run` | attaches, then ends | compiles and loads, attaches nothing | tells whether a script is right where
#   nothing can be attached
@test "--dry-run attaches nothing" {
	run --separate-stderr timeout 30 "$NOPAL" --dry-run -e 'BEGIN { printf("begin\n"); } usdt:./tick:tick:word { printf("word\n"); }'
	[ "$status" = 0 ]
	[ "$output" = "" ]
}

# newest: a run without maps | ends with two empty lines | ends with its last line | output is what the script prints
# newest: warnings of the compiler | standard output | standard error | output is what the script prints
@test "output is what the script prints: no empty lines at the end, no warnings" {
	run --separate-stderr "$NOPAL" -e 'BEGIN { printf("one\n"); 5; exit(); }'
	[ "$output" = one ]
	[[ "$stderr" == *warning* ]]
	"$NOPAL" -e 'BEGIN { printf("one\n"); exit(); }' 2>/dev/null | wc -l | grep -qx 1
}

# newest: `p && n` of a pointer and a number; `hist(n, 6)`; `lhist` with a negative minimum; `printf("%d", @count)`; `func`
#   in a static probe; `config` and C definitions after macros; `arg6` and more of a function; arguments in the body of a
#   `for` loop; `signal("STOP")` | errors | accepted |
@test "what the newest refuses, and has a meaning, is taken" {
	run --separate-stderr timeout 30 "$NOPAL" -q -c './tick word hello' -e 'macro twice(x) { x * 2 } config = { max_strlen = 8 }
		struct pair { int32 a; int32 b; }
		BEGIN { print(sizeof(struct pair)); @n = count(); @h = hist(5, 6); @l = lhist(-3, -10, 10, 5); }
		usdt:./tick:tick:word { printf("%d %d\n", @n, (int8 *)arg0 && 5); printf("[%s]\n", func);
			for $i : 0..2 { printf("%d\n", arg1 + $i); } }'
	[ "$status" = 0 ]
	[[ "$output" == "8
1 1
["*"]
5
6
"*"@h:
[5]"*"@l:
[-5, 0)"* ]]
}

# newest: keys with blanks in JSON | blanks removed | kept |
# newest: numbers above 2^53 in JSON | strings | numbers, as 0.17 | JSON has no limit for them
@test "JSON keeps blanks in keys, and whole numbers" {
	run "$NOPAL" -q -f json -e 'BEGIN { @["a b", 1 << 60] = 1 << 60; exit(); }'
	[ "$output" = '{"type": "map", "data": {"@": {"a b,1152921504606846976": 1152921504606846976}}}' ]
}

# newest: `-k` with `--no-warnings` | an error with status 1 | with status 2 |
@test "-k and --no-warnings exclude each other" {
	run -2 "$NOPAL" -k --no-warnings -e 'BEGIN { }'
	[[ "$output" == *"-k and --no-warnings cannot be combined"* ]]
}

# refused: `-d ast` and other stages, `--emit-elf`, `--emit-llvm`, `--aot`, `--mode codegen`, `--traceable-functions` | there
#   is no LLVM; `--dump` shows what a script is compiled to
@test "options for LLVM are refused, and say what to use" {
	local option
	for option in '-d ast' --emit-elf=x --emit-llvm=x --aot=x --mode=codegen --traceable-functions; do
		# shellcheck disable=SC2086
		run -2 "$NOPAL" $option -e 'BEGIN { }'
		[[ "$output" == *"error: bpftrace's '${option%%[ =]*}' "* ]]
	done
}

@test "--dwarf-pid changes nothing" {
	run -0 --separate-stderr "$NOPAL" -q --dwarf-pid 1 -e 'BEGIN { print(1); }'
	[ "$output" = 1 ]
}

# refused: `path()` of a value in a variable or map, or outside of `iter`, `fentry` and `fexit` | the kernel takes only
#   pointers that its verifier has followed
# refused: `ctx` outside of `iter` | `reg("di")` reads its registers
@test "functions for the kernel's own pointers are refused elsewhere" {
	run -1 "$NOPAL" -e 'BEGIN { @a = path(5); }'
	[[ "$output" == *"'path' can only be used in fentry, fexit and iter probes"* ]]
	run -1 "$NOPAL" -e 'BEGIN { print(ctx); }'
	[[ "$output" == *"'ctx' is not supported: only iter probes have members of it; reg(\"di\") reads a register"* ]]
}

# refused: a script with only macros or maps | it traces nothing
@test "a script without clauses is refused" {
	run -1 "$NOPAL" -e 'macro twice(x) { x * 2 }'
	[[ "$output" == *"the script has no clauses"* ]]
}
