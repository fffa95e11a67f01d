# Bad input: each has a message that says what was tried, on what, why it failed and what to do, and its exit code.
load ../helpers
bats_require_minimum_version 1.5.0

@test "no arguments: help, exit code 2" {
	run "$NOPAL"
	[ "$status" = 2 ]
	[[ "$output" == *"usage: nopal"* ]]
}

@test "--help of the command and of every subcommand" {
	run "$NOPAL" --help
	[ "$status" = 0 ]
	for command in $(sed -n 's/^  \([a-z]*\)  .*/\1/p' <<<"$output"); do
		run "$NOPAL" "$command" --help
		[ "$status" = 0 ]
		[[ "$output" == usage:* ]]
	done
}

# newest: a wrong command line | exit status 1 | 2 |
@test "an unknown option is a usage error" {
	run "$NOPAL" --nonsense
	[ "$status" = 2 ]
	[ "${lines[0]}" = "nopal: error: unknown option '--nonsense'" ]
	[ "${lines[1]}" = "hint: 'nopal --help-script' shows the options" ]
	run "$NOPAL" list -pv
	[ "${lines[0]}" = "nopal: error: option '-p' needs a process ID, as pgrep prints it, not 'v'" ]
	run "$NOPAL" list --pid
	[ "${lines[0]}" = "nopal: error: option '--pid' needs a value: --pid PID" ]
	run "$NOPAL" list --all=yes
	[ "${lines[0]}" = "nopal: error: option '--all' takes no value" ]
	run "$NOPAL" trace --folow -p 1 usdt:a:b:c
	[ "${lines[0]}" = "nopal: error: unknown option '--folow': did you mean '--follow'?" ]
	run "$NOPAL" -f xml -e 'BEGIN { }'
	[ "${lines[0]}" = "nopal: error: option '-f' needs text|json|folded|csv, not 'xml'" ]
}

@test "a wrong value of an option leaves the output file as it was" {
	echo kept >"$BATS_TEST_TMPDIR/out"
	for option in --dump=everything -fxml -Bsometimes -pnobody; do
		run "$NOPAL" $option -o "$BATS_TEST_TMPDIR/out" -e 'BEGIN { exit() }'
		[ "$status" = 2 ]
	done
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = kept ]
	"$NOPAL" --dump=tree -o "$BATS_TEST_TMPDIR/out" -e 'BEGIN { exit() }'
	grep -q exit "$BATS_TEST_TMPDIR/out"
}

@test "a script that is not there" {
	run "$NOPAL" /nowhere/x.bt
	[ "$status" = 1 ]
	[[ "$output" == *"cannot read '/nowhere/x.bt': No such file or directory"* ]]
}

@test "an option that other commands have was unknown; --duration is a word for -d" {
	need_tracing
	cd "$BATS_TEST_TMPDIR"
	private tick >/dev/null
	run "$NOPAL" trace -k pid ./tick
	[ "$status" = 2 ]
	[[ "${lines[0]}" == *"unknown option '-k'; commands that have it: count, hist, stack, latency, top" ]]
	run timeout 20 "$NOPAL" count -q --duration 100ms ./tick:word -c './tick word a b'
	[ "${lines[1]}" = "tick:word      2" ]
}

@test "words that followed the command of -c were files that a process did not have" {
	run "$NOPAL" count ./tick -c ./tick 50
	[ "$status" = 2 ]
	[[ "${lines[0]}" == *"'50' is not a probe: -c takes the command as one word, -c './tick 50'" ]]
}

@test "rates without a unit, texts without quotes, texts in a histogram" {
	need_tracing
	cd "$BATS_TEST_TMPDIR"
	private tick >/dev/null
	run "$NOPAL" -e 'profile:99 { @ = count() }'
	[ "${lines[3]}" = "hint: 99 times a second is profile:hz:99" ]
	run "$NOPAL" -e 'interval:2 { @ = count() }'
	[ "${lines[3]}" = "hint: every 2 s is interval:s:2" ]
	run "$NOPAL" count ./tick:word -w 'str(arg0) == apple' -c './tick word a'
	[ "${lines[3]}" = 'hint: a text is written in quotes: "apple"' ]
	run "$NOPAL" hist ./tick:word 'str(arg0)' -c './tick word a'
	[ "${lines[3]}" = "hint: texts are counted, as keys: @[str(arg0)] = count(), or nopal count -k" ]
}

@test "a function that the kernel does not have, on a kernel without kprobes too" {
	need_tracing
	run "$NOPAL" -e 'kprobe:vfs_reed { @ = count() }'
	[ "$status" = 1 ]
	[[ "$output" == *"vfs_reed"* && "$output" != *"without kprobes"* ]]
}

@test "a function that a program calls, and a library has" {
	need_tracing
	cd "$BATS_TEST_TMPDIR"
	echo 'int main(void) { return !__builtin_malloc(1); }' | ${CC:-cc} -fno-builtin -x c -O0 - -o calls
	run "$NOPAL" count uprobe:./calls:malloc -c ./calls
	[ "$status" = 1 ]
	[[ "${lines[3]}" == "hint: '"*"' has it: uprobe:"*libc*":malloc" ]]
}

@test "a script error shows the line and a caret" {
	run "$NOPAL" -e 'BEGIN { printf("%d\n", $x) }'
	[ "$status" = 1 ]
	[[ "$output" == *"-e:1:"* ]]
	[[ "$output" == *"^"* ]]
}

@test "a missing file" {
	run "$NOPAL" -e 'usdt:/nowhere/prog:p:n { exit() }'
	[ "$status" = 1 ]
	[[ "$output" == *"/nowhere/prog"* ]]
	[[ "$output" == *"No such file"* ]]
}

@test "a missing probe, with a suggestion" {
	run "$NOPAL" -e "usdt:$TARGETS/tick:tick:wrod { exit() }"
	[ "$status" = 1 ]
	[[ "$output" == *"wrod"* ]]
	[[ "$output" == *"did you mean 'word'"* ]]
}

@test "a file that is not ELF" {
	run "$NOPAL" -e "usdt:/etc/passwd:p:n { exit() }"
	[ "$status" = 1 ]
	[[ "$output" == *"/etc/passwd"* ]]
	[[ "$output" == *"ELF"* ]]
}

@test "a truncated ELF file" {
	head -c 3000 "$TARGETS/tick" >"$BATS_TEST_TMPDIR/cut"
	run "$NOPAL" list "$BATS_TEST_TMPDIR/cut"
	[ "$status" = 1 ]
	[[ "$output" == *"cut"* ]]
}

@test "a dead process" {
	run "$NOPAL" -e 'usdt::p:n { exit() }' -p 4194000
	[ "$status" = 1 ]
	[[ "$output" == *"4194000"* ]]
	[[ "$output" == *"No such process"* ]]
}

@test "a command that does not exist" {
	need_tracing
	run "$NOPAL" -e "usdt:$TARGETS/tick:tick:word { exit() }" -c /nowhere/command
	[ "$status" = 1 ]
	says command-failed "cannot start '/nowhere/command': No such file or directory"
}

@test "without permission the message says what is needed" {
	[ "$(id -u)" = 0 ] || skip "needs root, to become an ordinary user"
	need_program setpriv
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"
	cp "$NOPAL" "$TARGETS/tick" "$BATS_TEST_TMPDIR/"
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$BATS_TEST_TMPDIR/nopal" -e \
		"usdt:$BATS_TEST_TMPDIR/tick:tick:word { @ = count() }"
	[ "$status" = 1 ]
	[[ "$output" == *"ermi"* ]]
	[[ "$output" == *"hint:"* ]]
}

@test "output that cannot be written is an error" {
	need_tracing
	for buffering in line full none; do
		run "$NOPAL" -q -B $buffering -o /dev/full -e 'BEGIN { printf("x\n"); }'
		[ "$status" = 1 ]
		[ "$output" = "nopal: error: cannot write to '/dev/full': No space left on device" ]
	done
	run bash -c '"$1" -q -e "$2" >/dev/full' - "$NOPAL" 'BEGIN { printf("x\n"); }'
	[ "$status" = 1 ]
	[[ "$output" == *"cannot write to standard output"* ]]
}

@test "a process id that no process can have" {
	run "$NOPAL" -p 4294967297 -e 'BEGIN { }'
	[ "$status" = 2 ]
	[[ "$output" == *"option '-p' needs a process ID, as pgrep prints it, not '4294967297'"* ]]
}

@test "a script with a NUL byte is not cut there" {
	printf 'BEGIN { exit() }\0 BEGIN {' >"$BATS_TEST_TMPDIR/script.bt"
	run "$NOPAL" "$BATS_TEST_TMPDIR/script.bt"
	[ "$status" = 1 ]
	[[ "$output" == *"script.bt': it contains a NUL byte"* ]]
}

@test "nopal trace with a format that has no end" {
	run "$NOPAL" trace --script BEGIN '"abc'
	[ "$status" = 2 ]
	[[ "$output" == *"unterminated quote in the format"* ]]
}

@test "a positional parameter as text: its length counts, too long is an error" {
	need_tracing
	run "$NOPAL" -q -e 'BEGIN { printf("%s %s\n", str($1, 3), str($1, 30)); }' abcdef
	[ "${lines[0]}" = "abc abcdef" ]
	run "$NOPAL" -q -e 'BEGIN { printf("%s\n", str($1)); }' "$(head -c 70000 /dev/zero | tr '\0' a)"
	[ "$status" = 1 ]
	[[ "$output" == *"the text of the parameter is longer than 65536 bytes"* ]]
}

# newest: `cat` of a file that is longer than `max_cat_bytes` | its first bytes | and a line that says so |
@test "cat() says when it cuts, and does not steer the terminal" {
	need_tracing
	yes line | head -c 10240 >"$BATS_TEST_TMPDIR/fits"
	yes line | head -c 10241 >"$BATS_TEST_TMPDIR/long"
	printf 'a\033[2J\tb\nc\n' >"$BATS_TEST_TMPDIR/steers"
	"$NOPAL" -q -e "BEGIN { cat(\"$BATS_TEST_TMPDIR/fits\"); }" >"$BATS_TEST_TMPDIR/out"
	cmp "$BATS_TEST_TMPDIR/fits" "$BATS_TEST_TMPDIR/out"
	run "$NOPAL" -q -e "BEGIN { cat(\"$BATS_TEST_TMPDIR/long\"); }"
	[ "${lines[-1]}" = "(the rest of '$BATS_TEST_TMPDIR/long', after 10240 bytes, is not shown)" ]
	run timeout 20 script -qec "$NOPAL -q -e 'BEGIN { cat(\"$BATS_TEST_TMPDIR/steers\"); }'" /dev/null
	[[ "$output" != *$'\033[2J'* ]]
	[[ "$output" == *'a\x1b[2J'$'\tb'* ]]
}

@test "a thread of the kernel and a process that has ended, as -p" {
	need_tracing
	kernel=$(pgrep -o -x kthreadd || true)
	if [ -n "$kernel" ]; then
		run timeout 20 "$NOPAL" -e 'interval:s:1 { exit() }' -p "$kernel"
		[ "$status" = 1 ]
		[[ "$output" == *"cannot trace process $kernel (kthreadd): it is a kernel thread"* ]]
	fi
	need_program python3
	python3 -c 'import os, time; p = os.fork() or os._exit(0); print(p, flush=True); time.sleep(20)' \
		>"$BATS_TEST_TMPDIR/zombie" 3>&- &
	until grep -q . "$BATS_TEST_TMPDIR/zombie"; do sleep 0.05; done
	zombie=$(cat "$BATS_TEST_TMPDIR/zombie")
	run timeout 20 "$NOPAL" -e 'interval:s:1 { exit() }' -p "$zombie"
	[ "$status" = 1 ]
	[[ "$output" == *"cannot trace process $zombie"*"it has ended, and its parent, process $!,"* ]]
}

@test "-q -f json printed a line that is not the script's" {
	run --separate-stderr "$NOPAL" -q -f json -e 'BEGIN { print(1); exit() }'
	[ "$output" = '{"type": "value", "data": 1}' ]
	run --separate-stderr "$NOPAL" -f json -e 'BEGIN { print(1); exit() }'
	[ "${lines[0]}" = '{"type": "attached_probes", "count": 1, "data": {"probes": 1}}' ]
}

@test "errorf, warnf and assert say on standard error where the script has them" {
	run --separate-stderr "$NOPAL" -q -e 'BEGIN { printf("%d ", 1); errorf("bad %s", "x"); warnf("%d\n", 5);
		assert(1, "fine"); printf("%d\n", 2); assert(1 ==
		2, "sums"); printf("never"); }'
	[ "$status" = 1 ]
	[ "$output" = "1 2" ]
	# shellcheck disable=SC2154
	[ "$stderr" = "stdin:1:27-48: ERROR: bad x
stdin:1:50-66: WARNING: 5
stdin:2-3: ERROR: assert failed: sums" ]
	printf 'BEGIN { errorf("here");\nwarnf("%%d",\n7); exit(); }' >"$BATS_TEST_TMPDIR/a.bt"
	run --separate-stderr "$NOPAL" -q "$BATS_TEST_TMPDIR/a.bt"
	[ "$output" = "" ]
	[ "$stderr" = "$BATS_TEST_TMPDIR/a.bt:1:9-23: ERROR: here
$BATS_TEST_TMPDIR/a.bt:2-3: WARNING: 7" ]
	run --separate-stderr "$NOPAL" -f json -q "$BATS_TEST_TMPDIR/a.bt"
	[ "$output" = '{"type": "errorf", "msg": "here", "filename": "'"$BATS_TEST_TMPDIR"'/a.bt", "line": 1, "col": 9}
{"type": "warnf", "msg": "7", "filename": "'"$BATS_TEST_TMPDIR"'/a.bt", "line": 2, "col": 1}' ]
	[ "$stderr" = "" ]
}

# newest: `while`, `delete(@m, k)` without use of its result, an `int64` in a `uint64` variable, a cast of a struct's member
#   to its own type | warnings | nothing | they are part of the language, and older scripts have them
@test "what the newest bpftrace takes with a warning, or without one" {
	run --separate-stderr "$NOPAL" -q -e 'BEGIN { @a = @b + 1; printf("%y 5%% 100%%k %d%s|50%\n", 7, 8); let $x; print($x); $x = 5; print(@c[1]); }'
	[ "$output" = "%y 5% 100%k 78|50%
0
0


@a: 1
@b: 0" ]
	says never-assigned "-e:1:14: warning: '@b' is read but never assigned: it is 0"
	says never-assigned "warning: '@c' is printed but never assigned: it is 0"
	says bad-format "warning: '%y' is not a conversion of 'printf': it is printed as it is"
	says unassigned "warning: variable '\$x' has no value yet: it is 0"
	run --separate-stderr "$NOPAL" -q -e 'BEGIN { @a = @a + 1; @b[1] = @b[1] ? @b[1] : 7; print((@a, @b[1])); }'
	[ "${lines[0]}" = "(1, 7)" ]
	[ "$stderr" = "" ]
	run --separate-stderr "$NOPAL" --dry-run -e "usdt:$TARGETS/tick:tick:word { printf(\"%s\", arg0); }"
	[ "$status" = 0 ]
	says number-as-text "warning: '%s' shows this number in digits"
	says number-as-text "hint: if it is the address of a string: str(arg0)"
}

@test "the long options of bpftrace" {
	cd "$BATS_TEST_TMPDIR"
	"$NOPAL" -q --format json --output=out --cmd true -e 'BEGIN { print(7) }'
	[ "$(cat out)" = '{"type": "value", "data": 7}' ]
	run "$NOPAL" --pid v -e 'BEGIN { exit() }'
	[ "$status" = 2 ]
	[ "${lines[0]}" = "nopal: error: option '--pid' needs a process ID, as pgrep prints it, not 'v'" ]
}

@test "cat() of a file that is missing wrote its error into the output" {
	run --separate-stderr "$NOPAL" -q -e 'BEGIN { cat("/nonexistent/x"); printf("after\n"); exit() }'
	[ "$output" = after ]
	# shellcheck disable=SC2154
	[ "$stderr" = "error: cannot read '/nonexistent/x': No such file or directory" ]
}

@test "a division by zero was silent" {
	run --separate-stderr "$NOPAL" -q -e 'BEGIN { $zero = cpu * 0; @a = 5 / $zero; @b = nsecs % $zero; $n = 5; $n /= $zero; @n = $n; exit() }'
	[[ "$output" == *"@a: 1"*"@b: 1"*"@n: 1"* ]]
	[[ "$stderr" == *"-e:1:31: warning: 1 division by zero: the result is 1"* ]]
	[[ "$stderr" == *"-e:1:47: warning: 1 division by zero: the result is 1"* ]]
	[[ "$stderr" == *"-e:1:70: warning: 1 division by zero: the result is 1"* ]]
	run --separate-stderr "$NOPAL" --dry-run -e 'BEGIN { @ = 5 / 0 }'
	says division-by-zero "-e:1:13: error: division by zero"
}

# newest: an index outside of an array | a warning for each; reads beyond the array | 0, counted, reported at its place at
#   the end |
@test "an index outside of an array was silent" {
	run --separate-stderr "$NOPAL" -q -e 'BEGIN { $a = (uint8[2])(uint16)513; $i = 2; $j = -1; print(($a[$i], $a[$j])); for ($k : 0..2) { print($a[$k]); } }'
	[ "$output" = "(0, 0)
1
2" ]
	[[ "$stderr" == *"-e:1:61: warning: 1 index outside of the array: the value is 0"* ]]
	[[ "$stderr" == *"-e:1:69: warning: 1 index outside of the array: the value is 0"* ]]
	[[ "$stderr" != *"-e:1:103"* ]]
}

@test "an index outside of an array that a pointer leads to read the memory after it" {
	local engine
	need_tracing
	cd "$BATS_TEST_TMPDIR"
	cat >array.c <<-'END'
		#include <sys/sdt.h>
		struct s { int before; int x[4]; char names[2][4]; struct { int n; } parts[2]; int after; };
		struct s s = {7, {1, 2, 3, 4}, {"ab", "cd"}, {{5}, {6}}, 99};
		int main(void) { DTRACE_PROBE1(p, q, &s); return 0; }
	END
	${CC:-cc} -g -I "$ROOT/include" -o array array.c
	for engine in bpf native; do
		run --separate-stderr "$NOPAL" --engine=$engine -q -e 'usdt:./array:p:q { $s = (struct s *)arg0; for ($i : (-1)..6) {
			printf("%d %s %d,", $s->x[$i], $s->names[$i], $s->parts[$i].n); } $n = 6; print((uint64)&$s->x[$n] - (uint64)&$s->x[1]); }' -c ./array
		echo "$output"; echo "$stderr"
		[ "$output" = "0  0,1 ab 5,2 cd 6,3  0,4  0,0  0,0  0,20" ]
		[[ "$stderr" == *"2:24: warning: 3 indexes outside of the array: the value is 0"* ]]
		[[ "$stderr" == *"2:35: warning: 5 indexes outside of the array: the value is 0"* ]]
		[[ "$stderr" == *"2:50: warning: 5 indexes outside of the array: the value is 0"* ]]
	done
}

@test "events after exit() were counted until the tracer had read of it" {
	need_tracing
	tick=$(private tick)
	run_traced "usdt:$tick:tick:loop { @ = count(); if (arg0 == 99) { exit() } }" "$tick loop 100000"
	[[ "$output" == *"@: 100" ]]
}

# reported_at PLACE WHAT: how many the warnings of a place are about; it is reported each second, so in several lines
# when the machine is busy
reported_at() {
	# shellcheck disable=SC2154
	sed -n "s/^-e:$1: warning: \\([0-9]*\\) $2 of a map element that does not exist.*/\\1/p" <<<"$stderr" | awk '{ n += $1 } END { print n + 0 }'
}

# missing_keys ENGINE: a script with -k, and one without
missing_keys() {
	local tick script
	tick=$(private tick)
	script="usdt:$tick:tick:number { @a[arg0] = 1;
\$x = @a[arg0 + 5];
delete(@a, 9);
if (arg0 == 2) { @b = @none; } \$y = @a[arg0]; \$z = delete(@a, 8); @z = \$z;
print(@a[arg0 + 7]);
@s[arg0] = stats(1); print(@s[arg0]); print(@s[7]); }"
	run --separate-stderr "$NOPAL" -q -k "--$1" -e "$script" -c "$tick number 1 2 3"
	[ "$status" = 0 ]
	[ "$(reported_at 2:6 'lookups*')" = 3 ]
	[ "$(reported_at 3:1 'deletions*')" = 3 ]
	[ "$(reported_at 4:23 'lookups*')" = 1 ]
	[ "$(reported_at 5:1 'lookups*')" = 3 ]
	[ "$(reported_at 6:39 'lookups*')" = 3 ]
	[ "$(sed -n 's/^\(-e:[0-9:]*\) warning: .* does not exist.*/\1/p' <<<"$stderr" | sort -u | wc -l)" = 5 ]
	[[ "$stderr" == *"does not exist"*"@a[arg0 + 5]"* && "$stderr" == *"'@none' is read but never assigned"* ]]
	run --separate-stderr "$NOPAL" -q "--$1" -e "$script" -c "$tick number 1 2 3"
	[[ "$stderr" != *"does not exist"* ]]
}

# newest: `-k` | a warning for each read that fails, and each key that a map does not have | the same, counted for each
#   place, each second | a loop would print thousands
@test "-k reports keys that a map does not have, from the kernel" {
	need_tracing
	missing_keys kernel
}

@test "-k reports keys that a map does not have, in user mode" {
	need_tracing
	missing_keys user
}

@test "-k reports what failed each second" {
	run --separate-stderr timeout 30 "$NOPAL" -q -k -d 2.5 -e 'interval:ms:100 { $x = *(int32 *)1; @n++ }'
	[ "$(grep -c 'reads* failed: bad address' <<<"$stderr")" -ge 2 ]
	failed=$(sed -n 's/.*warning: \([0-9]*\) reads* failed: bad address/\1/p' <<<"$stderr" | awk '{ n += $1 } END { print n }')
	[ "@n: $failed" = "$(grep '^@n' <<<"$output")" ]
}

@test "reads that failed are objects as bpftrace's in JSON" {
	need_tracing
	run --separate-stderr "$NOPAL" -q -f json -e 'BEGIN { $t = str(1); print(1 + *(int32 *)8); print(*kptr((int32 *)8)); print(str(kptr(8))); }'
	[ "$status" = 0 ]
	rest='"retcode": -14, "filename": "stdin", "line": 1'
	[[ $output = *'"msg": "Bad address", "helper": "probe_read_user_str", '"$rest, \"col\": 14, \"count\": 1}"* ]]
	[[ $output = *'"helper": "probe_read_user", '"$rest"* ]]
	[[ $output = *'"helper": "probe_read_kernel", '"$rest"* ]]
	[[ $output = *'"helper": "probe_read_kernel_str", '"$rest"* ]]
}

@test "a run whose other probes are missing did not end after BEGIN" {
	need_tracing
	run --separate-stderr timeout 60 "$NOPAL" -q -e "config = { missing_probes = warn } usdt:$TARGETS/tick:tick:nosuch { } BEGIN { print(1); } END { print(2); }"
	[ "$status" = 0 ]
	[ "$output" = $'1\n2' ]
	[[ $stderr = *"warning: there is no probe 'usdt:$TARGETS/tick:tick:nosuch'"* ]]
	# A process that comes later may have it: the run goes on.
	run --separate-stderr timeout -s INT 2 "$NOPAL" -q -e "config = { missing_probes = ignore } usdt:*:tick:nosuch { } BEGIN { print(1); }"
	[ "$status" = 124 ]
	[ "$output" = 1 ]
}

@test "errors of a command of system() were not in the output, and that it failed was not said" {
	need_tracing
	run --separate-stderr "$NOPAL" -q --unsafe -e 'BEGIN { system("echo out; echo bad >&2"); system("kill -9 $$"); system("true"); }'
	[ "$status" = 0 ]
	[ "$output" = $'out\nbad' ]
	[ "$stderr" = "error: 'kill -9 \$\$' was ended by signal 9" ]
	run --separate-stderr "$NOPAL" -q --unsafe -f json -e 'BEGIN { system("echo bad >&2; exit 2"); }'
	[ "$output" = '{"type": "syscall", "data": "bad\n"}' ]
	[ "$stderr" = "error: 'echo bad >&2; exit 2' exited with code 2" ]
}
