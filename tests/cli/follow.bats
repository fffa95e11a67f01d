# What a run follows: libraries loaded later, exec, children of shells; stacks of processes that are gone.
load ../helpers

setup() {
	need_tracing
	plugin=$(private plugin)
	pluglib=$(private pluglib)
	tick=$(private tick)
	mkfifo "$BATS_TEST_TMPDIR/go"
}

# Start a program that does nothing before it can read a line: $target.
start_waiting() {
	"$@" <"$BATS_TEST_TMPDIR/go" 3>&- &
	target=$!
	exec 8>"$BATS_TEST_TMPDIR/go"
}

# Let it go on; it ends, and with it the run of -p.
go_on() {
	echo >&8
	wait $target
	wait $tracer
}

@test "-p: a library loaded after the attach, its probe named without a path" {
	start_waiting "$plugin" load "$pluglib"
	start_tracer 'usdt::plug:in { @ = count(); @sum = sum(arg0) } usdt::deep:end { @deep = count() }' -p $target
	go_on
	cat "$output_file" "$messages"
	grep -q '^@: 10$' "$output_file"
	grep -q '^@sum: 45$' "$output_file"
}

@test "-p: a library loaded after the attach, by its path: every hit" {
	start_waiting "$plugin" load "$pluglib"
	start_tracer "usdt:$pluglib:plug:in { @ = count() }" -p $target
	go_on
	grep -q '^@: 10$' "$output_file"
}

@test "-c: probes of the program and its libraries without a path" {
	run_traced 'usdt::tick:loop { @ = count() }' "$tick loop 1234"
	cat "$messages"
	[[ "$output" == *"@: 1234"* ]]
}

@test "-c: a child of a shell" {
	run_traced "usdt:$tick:tick:loop { @ = count() }" "sh -c '$tick loop 11; $tick loop 22'"
	[[ "$output" == *"@: 33"* ]]
}

@test "-c: the exec of the command itself was not seen" {
	run_traced 'tracepoint:syscalls:sys_enter_execve { printf("%s %s\n", probe, str(args.filename)) }
		tracepoint:sched:sched_process_exec { printf("%s %s %d\n", probe, comm, pid == args.pid) }
		tracepoint:raw_syscalls:sys_enter { @first[args.id] = count(); if (args.id != 59) { exit() } }' "$tick word a"
	[ "$status" = 0 ]
	[ "${lines[0]}" = "tracepoint:syscalls:sys_enter_execve $tick" ]
	[ "${lines[1]}" = "tracepoint:sched:sched_process_exec tick 1" ]
	[ "$(uname -m)" != x86_64 ] || [[ "$output" == *"@first[59]: 1"* ]]
	# With probes that are looked for in the images which only the exec brings.
	run_traced 'tracepoint:sched:sched_process_exec { @exec = count(); printf("%s\n", comm) }
		usdt::tick:word { @word = count(); printf("%s %d\n", str(arg0), arg1) }' "$tick word a b"
	[ "${lines[0]}" = tick ]
	[ "${lines[1]}" = "a 1" ]
	[[ "$output" == *"@exec: 1"*"@word: 2"* ]]
	run_traced 'tracepoint:sched:sched_process_exec { @exec = count() } usdt::tick:wrod { @word = count() }' "$tick word a b"
	grep -q "there is no probe 'usdt::tick:wrod'" "$messages"
	run_traced 'tracepoint:sched:sched_process_exec { } usdt::tick:word { @[args.nope] = count() }' "$tick word a b"
	[ "$status" = 1 ]
	grep -q "has no argument 'nope'" "$messages"
	run timeout 20 "$NOPAL" -q -f json -e 'tracepoint:sched:sched_process_exec { } usdt::tick:word { @ = count() }' -c "$tick word a"
	[[ "$output" != *attached_probes* ]] || [[ "$output" == *'"probes": '[2-9]* ]]
	run_traced "tracepoint:sched:sched_process_exec { @exec = count() } usdt:$tick:tick:word { @word = count() }" "$tick word a b"
	[[ "$output" == *"@exec: 1"*"@word: 2"* ]]
	run_traced 'rawtracepoint:sched_process_exec { @exec = count() } usdt::tick:word { @word = count() }' "$tick word a b"
	[[ "$output" == *"@exec: 1"*"@word: 2"* ]]
}

@test "-c: functions without a file were looked for in nopal itself" {
	cp "$tick" "$BATS_TEST_TMPDIR/other"
	for path in '*' '*/other' "$BATS_TEST_TMPDIR/oth*"; do
		run_traced "uprobe:$path:main { @[probe, comm] = count() }" "$BATS_TEST_TMPDIR/other word a"
		[[ "$output" == *"@[uprobe:$BATS_TEST_TMPDIR/other:main, other]: 1"* ]]
	done
	# Then the exec is over before anything is attached.
	run timeout 20 "$NOPAL" -q -e 'uprobe:*:main { @main = count() } tracepoint:sched:sched_process_exec { @exec = count() }' -c "$tick word a"
	says exec-missed 'functions are looked for in all files that it maps'
	[[ "$output" == *"@main: 1"* ]]
	run_traced "uprobe:$tick:main { @main = count() } tracepoint:sched:sched_process_exec { @exec = count() }" "$tick word a"
	[[ "$output" == *"@exec: 1"*"@main: 1"* ]]
}

@test "-c: a command that cannot be run" {
	local file=$BATS_TEST_TMPDIR/file
	for case in "/nowhere/x|No such file" "no_such_command_$$|No such file" "/tmp|Permission denied" "/etc/passwd|Permission denied"; do
		run timeout 20 "$NOPAL" -q -e 'BEGIN { printf("begun\n") } tracepoint:sched:sched_process_exit { }' -c "${case%|*}"
		[ "$status" = 1 ]
		[[ "$output" == "nopal: error: cannot start '${case%|*}': ${case#*|}"* ]]
	done
	printf '#!/nowhere/sh\n' >"$file"
	chmod +x "$file"
	run timeout 20 "$NOPAL" -q -e 'tracepoint:sched:sched_process_exit { }' -c "$file a"
	[ "$status" = 1 ]
	[[ "$output" == *"cannot start '$file a': No such file or directory"*"the file's interpreter"* ]]
	printf 'exit 7\n' >"$file"
	run timeout 20 "$NOPAL" -q --exit-status -e 'tracepoint:sched:sched_process_exit { }' -c "$file"
	[ "$status" = 7 ]
}

@test "-c: how the command ended was not said" {
	local probe=tracepoint:sched:sched_process_exit
	run timeout 20 "$NOPAL" count -q "$probe" -c "sh -c 'exit 3'"
	[ "$status" = 0 ]
	says command-status "the command 'sh -c 'exit 3'' ended with status 3"
	run timeout 20 "$NOPAL" count -q --exit-status "$probe" -c "sh -c 'exit 3'"
	[ "$status" = 3 ]
	run timeout 20 "$NOPAL" count -q --exit-status "$probe" -c "sh -c 'kill -SEGV \$\$'"
	[ "$status" = 139 ]
	[[ "$output" == *"was killed by signal 11 (Segmentation fault)"* ]]
	run timeout 20 "$NOPAL" -q --exit-status -e "$probe { exit(5) }" -c "sh -c 'exit 3'"
	[ "$status" = 5 ]
	run timeout 20 "$NOPAL" count -q --exit-status "$probe" -c true
	[ "$status" = 0 ]
	[[ "$output" != *"the command"* ]]
	run timeout 20 "$NOPAL" count -q --exit-status -d 1 "$probe" -c 'sleep 10'
	[ "$status" = 0 ]
	[[ "$output" != *"the command"* ]]
}

@test "what following children needs was not said where the kernel describes its events otherwise" {
	for event in fork exit; do
		mkdir -p "$BATS_TEST_TMPDIR/events/sched/sched_process_$event"
		printf 'name: sched_process_%s\nID: 300\nformat:\n' $event \
			>"$BATS_TEST_TMPDIR/events/sched/sched_process_$event/format"
	done
	NOPAL_TRACEFS=$BATS_TEST_TMPDIR NOPAL_NO_FEATURES=btf run timeout 30 "$NOPAL" -q \
		-e "usdt:$tick:tick:word { @ = count() }" -c "$tick word 1"
	[ "$status" = 1 ]
	[[ "$output" == *"error: cannot follow children: "*$'\n'"hint: --follow needs the kernel's types"* ]]
}

@test "-p: exec is followed" {
	start_waiting "$plugin" run "$tick"
	start_tracer "usdt:$tick:tick:loop { @ = count() }" -p $target
	go_on
	grep -q '^@: 10$' "$output_file"
}

@test "stacks are named after the process has gone" {
	run_traced "usdt:$plugin:deep:end { @[ustack(4)] = count() }" "$plugin deep"
	echo "$output"
	[[ "$output" == *"inner+"*"middle+"*"outer+"*"main+"* ]]

	start_tracer "usdt:$plugin:deep:end { @[ustack(4)] = count(); printf(\"%s\\n\", ustack(3)) }"
	"$plugin" deep
	sleep 0.3
	stop_tracer
	[ "$(grep -c 'inner+' "$output_file")" = 2 ]
	[ "$(grep -c 'outer+' "$output_file")" = 2 ]
}

@test "a process that ends ends the run of -p" {
	sleep 0.5 &
	run timeout 20 "$NOPAL" -q -e 'END { printf("over\n") } interval:s:100 { exit() }' -p $!
	[ "$status" = 0 ]
	[[ "$output" == *over* ]]
}

@test "trace, count and hist write the usual scripts" {
	run timeout 30 "$NOPAL" count -q -k 'str(arg0)' -c "$tick word a b a" "usdt:$tick:tick:word"
	[[ "$output" == "STR(ARG0)  COUNT"*"a              2"* ]]
	run timeout 30 "$NOPAL" hist -q -c "$tick loop 100" "usdt:$tick:tick:loop" arg0
	[[ "$output" == *"[64, 128)"* ]]
	run timeout 30 "$NOPAL" trace -q -c "$tick word one two" "usdt:$tick:tick:word" '"<%s>", str(arg0)'
	[ "${#lines[@]}" = 2 ]
	[[ "${lines[0]}" == *" tick "*"tick:word"*"<one>" ]]
	run timeout 30 "$NOPAL" trace -q -c "$tick number 42" "usdt:$tick:tick:number"
	[[ "$output" == *"42"* ]]
	run timeout 30 "$NOPAL" count --script -d 5 -w 'arg0 > 3' "usdt:$tick:tick:loop"
	[[ "$output" == *"/arg0 > 3/"*"interval:s:5"* ]]
}

@test "every process: a program in the place of one that was removed" {
	cd "$BATS_TEST_TMPDIR"
	local name=$BATS_TEST_TMPDIR/again inode
	start_tracer 'usdt:*:tick:loop { @ = count() }' -v
	cp /bin/true "$name"
	inode=$(stat -c %i "$name")
	"$name"
	sleep 0.5
	rm "$name"
	cp "$tick" "$name"
	[ "$(stat -c %i "$name")" = "$inode" ] || skip "this file system does not use an inode's number again at once"
	# -v says so when the new file's probes are armed.
	(awaits grep -q 'sites: loaded$' "$messages" && echo) | "$name" wait loop 1234
	stop_tracer
	cat "$output_file" "$messages"
	grep -q '^@: 1234$' "$output_file"
}

@test "every process: one that starts later, with a library that comes later still" {
	start_tracer 'usdt:*:plug:in { @ = count(); @sum = sum(arg0) }'
	grep -q "no probe 'usdt:\*:plug:in'" "$messages"
	echo | "$plugin" load "$pluglib"
	stop_tracer
	cat "$output_file"
	grep -q '^@: 10$' "$output_file"
	grep -q '^@sum: 45$' "$output_file"
}

@test "uprobes: a function by name, and by its address" {
	address=0x$(nm "$plugin" | awk '$3 == "outer" { print $1 }')
	run_traced "uprobe:$plugin:outer { printf(\"%s %d\\n\", func, arg0) } uprobe:$plugin:$address { printf(\"%s %d\\n\", func, arg0) }" "$plugin deep"
	[ "$output" = $'outer 1\nouter 1' ]
}

@test "%d of a register showed a negative int as a large number" {
	cd "$BATS_TEST_TMPDIR" || return 1
	cat >ints.c <<'C'
#include <stdlib.h>
__attribute__((noinline)) int neg(int n) { __asm__ volatile(""); return -n; }
int main(int argc, char **argv) { return neg(atoi(argv[1]) + argc - 2) > 0; }
C
	gcc -O2 ints.c -o ints
	run_traced 'uretprobe:./ints:neg { printf("%d %u %x %ld %d|", retval, retval, retval, (int32)retval, retval - 1);
		$r = retval; printf("%d %d", $r, $r + 1); }
		uprobe:./ints:neg { printf("%d %x %d,", arg0, arg0, reg("di")); }' "./ints 5"
	[ "$output" = "5 5 5,-5 4294967291 fffffffb -5 -6|-5 -4" ]
	run "$NOPAL" --dry-run -e 'uretprobe:./ints:neg /retval < 0/ { @ = 1 } uretprobe:./ints:neg /0 <= retval/ { @ = 1 }'
	[ "$(grep -c 'all 64 bits of the register are compared' <<<"$output")" = 2 ]
	says raw-register "all 64 bits of the register are compared"
	[[ "$output" == *"hint: cast it: (int32)retval, or (int64)retval"* ]]
	run "$NOPAL" --dry-run -e 'uretprobe:./ints:neg /(int32)retval < 0 || retval > 4 || (int64)retval < 0/ { @ = 1 }'
	[[ "$output" != *"register"* ]]
}
