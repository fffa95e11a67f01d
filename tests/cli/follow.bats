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
	[[ "$output" == *"@[a]: 2"* ]]
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
	start_tracer 'usdt:*:tick:loop { @ = count() }'
	cp /bin/true "$name"
	inode=$(stat -c %i "$name")
	"$name"
	sleep 0.5
	rm "$name"
	cp "$tick" "$name"
	[ "$(stat -c %i "$name")" = "$inode" ] || skip "this file system does not use an inode's number again at once"
	(sleep 0.5 && echo) | "$name" wait loop 1234
	stop_tracer
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
