# Tracing real processes from the command line: counts, strings, signals, children, semaphores.
load ../helpers

setup() {
	need_tracing
	tick=$(private tick)
}

@test "printf of an int and a string, in order" {
	run_traced "usdt:$tick:tick:word { printf(\"%d %s\\n\", arg1, str(arg0)) }" "$tick word one two three"
	[ "$status" = 0 ]
	[ "$output" = $'3 one\n3 two\n5 three' ]
}

@test "count by string argument, printed as bpftrace prints it" {
	run_traced "usdt:$tick:tick:word { @[str(arg0)] = count() }" "$tick word a b a"
	[ "$status" = 0 ]
	[ "$output" = $'\n\n@[b]: 1\n@[a]: 2' ] || [ "$output" = $'\n@[b]: 1\n@[a]: 2' ]
}

@test "signed arguments keep their sign" {
	run_traced "usdt:$tick:tick:number { printf(\"%d \", arg0); @min = min(arg0); @max = max(arg0) }" \
		"$tick number -1 42 -9223372036854775808 9223372036854775807"
	[ "$status" = 0 ]
	[[ "$output" == *"-1 42 -9223372036854775808 9223372036854775807"* ]]
	[[ "$output" == *"@max: 9223372036854775807"* ]]
	[[ "$output" == *"@min: -9223372036854775808"* ]]
}

@test "every event of four threads is counted" {
	run_traced "usdt:$tick:tick:loop { @ = count(); @sum = sum(arg0) }" "$tick loop 20000 4"
	[ "$status" = 0 ]
	[[ "$output" == *"@: 80000"* ]]
	[[ "$output" == *"@sum: 799960000"* ]]
}

# newest: lost events | `Lost N events` each time, the sum at the end | a line when it begins; how many of how many at the
#   end, and what helps |
@test "delivered + lost = fired, in order per thread" {
	local events=${EVENTS:-300000} # of each of two threads: far more than the ring holds
	"$NOPAL" -q --ring-size=64K -e "usdt:$tick:tick:loop { printf(\"%d %d\\n\", tid, arg0) }" \
		-c "$tick loop $events 2" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err"
	lost=$(sed -n 's/^Lost \([0-9]*\) events* (.*/\1/p' "$BATS_TEST_TMPDIR/err" | awk '{ s += $1 } END { print s + 0 }')
	delivered=$(wc -l <"$BATS_TEST_TMPDIR/out")
	echo "delivered $delivered lost $lost"
	[ $((delivered + lost)) = $((2 * events)) ]
	awk '{ if ($1 in last && $2 <= last[$1]) bad = 1; last[$1] = $2 } END { exit bad }' "$BATS_TEST_TMPDIR/out"
}

@test "children by fork are seen under -c and -p --follow" {
	run_traced "usdt:$tick:tick:loop { @[pid == $$] = count(); @all = count() }" "$tick fork 100"
	[[ "$output" == *"@all: 200"* ]]

	mkfifo "$BATS_TEST_TMPDIR/go"
	"$tick" wait fork 100 <"$BATS_TEST_TMPDIR/go" 3>&- &
	target=$!
	exec 8>"$BATS_TEST_TMPDIR/go"
	start_tracer "usdt:$tick:tick:loop { @[pid] = count() }" -p $target --follow
	echo >&8
	wait $target
	wait $tracer
	[ "$(grep -c ': 100$' "$output_file")" = 2 ]
}

@test "-p leaves other processes of the same program alone" {
	mkfifo "$BATS_TEST_TMPDIR/go"
	"$tick" wait loop 7 <"$BATS_TEST_TMPDIR/go" 3>&- &
	target=$!
	exec 8>"$BATS_TEST_TMPDIR/go"
	start_tracer "usdt:$tick:tick:loop { @ = count() }" -p $target
	"$tick" loop 1000
	echo >&8
	wait $tracer
	grep -q '^@: 7$' "$output_file"
}

# 0.17: text in memory that is not resident | `""` | the text |
@test "strings on pages never touched are read" {
	head -c 5000 /dev/zero | tr '\0' 'x' >"$BATS_TEST_TMPDIR/text"
	printf 'cold page' | dd of="$BATS_TEST_TMPDIR/text" conv=notrunc status=none
	truncate -s 9 "$BATS_TEST_TMPDIR/text"
	sync "$BATS_TEST_TMPDIR/text"
	run_traced "usdt:$tick:tick:word { printf(\"[%s]\\n\", str(arg0)) }" "$tick cold $BATS_TEST_TMPDIR/text"
	[ "$output" = "[cold page]" ]
}

@test "addresses that cannot be read are said, at that place" {
	run_traced "usdt:$tick:tick:word { printf(\"<%s>\\n\", str(arg0)) }" "$tick hostile"
	[ "$status" = 0 ]
	[ "$(sed -n 3p <<<"$output" | tr -d '\n')" != "" ]
	[[ "$output" == *"<(unreadable)>"* ]]
	[[ "$output" == *"<(null)>"* ]]
}

# Older kernels let go of a semaphore some time after the tracer has ended.
wait_inactive() {
	for _ in $(seq 200); do
		[ "$("$tick" active)" = 1 ] || break
		sleep 0.1
	done
	[ "$("$tick" active)" = 0 ]
}

@test "a semaphore is raised while traced, and dropped afterwards, also after kill -9" {
	[ "$("$tick" active)" = 0 ]
	start_tracer "usdt:$tick:tick:gate { @ = count() }"
	[ "$("$tick" active)" = 1 ]
	stop_tracer
	wait_inactive
	grep -q '^@: 1$' "$output_file"

	start_tracer "usdt:$tick:tick:gate { @ = count() }"
	[ "$("$tick" active)" = 1 ]
	kill -9 $tracer
	wait $tracer || true
	wait_inactive
}

@test "BEGIN, END, interval, exit code, positional parameters" {
	run timeout 20 "$NOPAL" -q -e 'BEGIN { printf("%d %s %d\n", $1, str($2), $#) } interval:ms:20 { if (++@n == 3) { exit(7) } } END { printf("n %d\n", @n); clear(@n) }' 12 word
	echo "$output"
	[ "$status" = 7 ]
	[ "${lines[0]}" = "12 word 2" ]
	[ "${lines[1]}" = "n 3" ]
}

@test "an exit status that is computed" {
	local user=
	[ "$(uname -m)" = x86_64 ] && user=--user
	for mode in "" $user; do
		run "$NOPAL" $mode -q -c /bin/true -e 'BEGIN { $a = 5; @n = 2; exit($a + @n); }'
		[ "$status" = 7 ]
		run "$NOPAL" $mode -q -c /bin/true -e 'BEGIN { $a = 300; exit($a); }'
		[ "$status" = 44 ]
	done
}

@test "a script with only BEGIN ends by itself" {
	run timeout 20 "$NOPAL" -q -e 'BEGIN { printf("hello\n") }'
	[ "$status" = 0 ]
	[ "$output" = hello ]
}

@test "a script with only BEGIN ended the command of -c, with status 0" {
	run timeout 30 "$NOPAL" -q --exit-status -e 'BEGIN { printf("%d\n", cpid > 0) } END { printf("end\n") }' -c 'sh -c "sleep 0.3; echo slept; exit 3"'
	[ "$status" -eq 3 ]
	[ "$(grep -v '^nopal:' <<<"$output")" = $'1\nslept\nend' ]
}

@test "control bytes are escaped on a terminal" {
	need_program script
	run timeout 20 script -qec "$NOPAL -q -e 'usdt:$tick:tick:word { printf(\"%s|\", str(arg0)) }' -c '$tick hostile'" /dev/null
	[[ "$output" != *$'\033[2J'* ]]
	[[ "$output" == *'\x1b[2J\x07bell\x0aline'* ]]
}

@test "the reader going away ends the run quietly" {
	start_tracer "usdt:$tick:tick:loop { printf(\"%d\\n\", arg0) }"
	kill -INT $tracer
	wait $tracer
	run timeout 30 bash -c "'$NOPAL' -q -e 'usdt:$tick:tick:loop { printf(\"%d\\n\", arg0) }' -c '$tick loop 100000 1 1' | head -1"
	[ "$output" = 0 ]
}

@test "exit takes a number that is known when it runs" {
	need_tracing
	tick=$(private tick)
	for engine in --kernel --user; do
		run timeout 20 "$NOPAL" -q --no-warnings $engine -e 'usdt::tick:word { exit(args.length); print(1) } END { print("end") }' -c "$tick word abcdef"
		[ "$status $output" = '6 end' ]
	done
	run "$NOPAL" -q --engine interp -e 'BEGIN { $code = 300; exit($code); }'
	[ "$status" = 44 ] # of 8 bits
	run "$NOPAL" -q -f json -e 'BEGIN { $zero = 0; print(1 / $zero); exit($zero); }'
	[[ "$output" == *'"filename": "stdin", "line": 1'* ]]
}

@test "an interval that is shorter than its own clause ends by exit() and by a signal" {
	run timeout -s KILL 60 "$NOPAL" -q -e 'interval:us:1 { @++; exit() }'
	[ "$status" = 0 ]
	[[ "$output" == *"@: 1"* ]]
	start_tracer 'interval:us:1 { @++ }'
	kill "$tracer"
	(sleep 60; kill -KILL "$tracer") 3>&- &
	killer=$!
	wait "$tracer"
	kill "$killer"
	grep -q '^@: ' "$output_file"
}

# bats test_tags=deep
@test "a script may have more than the 64 maps that one program may name" {
	local script one
	one='usdt:'$tick':tick:number { @n%s = arg0; @c%s = count(); @k%s[arg0] = sum(arg0); @t%s[str("x")] = max(arg0) }'
	script=$(for i in $(seq 40); do printf "$one\n" "$i" "$i" "$i" "$i"; done)
	run_traced "$script" "$tick number 5 7"
	cat "$messages"
	[ "$status" = 0 ]
	[ "$(grep -c '^@n[0-9]*: 7$' <<<"$output")" = 40 ]
	[ "$(grep -c '^@c[0-9]*: 2$' <<<"$output")" = 40 ]
	[ "$(grep -c '^@k[0-9]*\[5\]: 5$' <<<"$output")" = 40 ]
	[ "$(grep -c '^@t[0-9]*\[x\]: 7$' <<<"$output")" = 40 ]
}

@test "maps of too many different sizes are refused in our own words" {
	local key=1 script="BEGIN {"
	for i in $(seq 56); do
		script+=$'\n'"@m$i[$key] = 1;"
		key+=", 1"
	done
	run timeout 20 "$NOPAL" -q -e "$script }"
	echo "$output" | tail -5
	[ "$status" != 0 ]
	says too-many-maps "maps of more than 48 different sizes"
}

# newest: a script with only `END` | ends at once | waits to be interrupted | as 0.17: it runs END at the end
@test "a script with only END waits to be interrupted" {
	need_tracing
	SECONDS=0
	run timeout --preserve-status -s INT 2 "$NOPAL" -q -e 'END { printf("over\n"); }'
	[ "$status" = 0 ]
	[ "$(head -n 1 <<<"$output")" = over ]
	[ "$SECONDS" -ge 2 ]
}
