# Functions whose effect only a run shows: on processes, on memory, and what they ask the machine.
load ../helpers

setup() {
	need_tracing
	cd "$BATS_TEST_TMPDIR" || return
	private tick >/dev/null
}

# tick SCRIPT OPTIONS...: what a traced ./tick word hello prints.
trace_word() {
	run timeout 30 "$NOPAL" -q "${@:2}" -e "usdt:./tick:tick:word { $1 }" -c './tick word hello'
	echo "$output"
}

@test "a signal ends the program" {
	trace_word 'signal("TERM"); print("sent");' --unsafe --exit-status
	[ "$status" = 143 ]
	[[ "$output" == *sent* ]]
	trace_word 'signal_thread("sigkill");' --unsafe --exit-status
	[ "$status" = 137 ]
	trace_word 'signal(arg1 + 5);' --unsafe --exit-status
	[ "$status" = 138 ]
}

# newest: `signal` that fails | a warning for each | counted, reported at its place at the end |
@test "a signal that there is not is counted" {
	trace_word 'signal(arg1 + 100);' --unsafe
	[ "$status" = 0 ]
	[[ "$output" == *"1 signal not sent"* ]]
}

@test "the memory of the program is changed, or the reason is given" {
	local says='print(write_user(arg0, "XY", 2)); $n = 0x5a59; print(write_user(arg0 + 2, &$n, 1)); print(str(arg0)); print(write_user(1, "a", 1));'
	trace_word "$says" --unsafe --kernel
	says no-write 'does not let BPF programs write to a process' && return
	[[ "$output" == *$'true\ntrue\nXYYlo\nfalse'*"1 write failed: bad address"* ]]
}

@test "in user mode the program changes its own memory" {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	trace_word 'print(write_user(arg0, "XY", 2)); $n = 0x5a59; print(write_user(arg0 + 2, &$n, 1)); print(str(arg0)); print(write_user(1, "a", 1)); print(str_concat(str(arg0), "-end"));' --unsafe --user
	[ "$status" = 0 ]
	[[ "$output" == *$'true\ntrue\nXYYlo\nfalse\nXYYlo-end'* ]]
	[[ "$output" == *"1 write failed: bad address"* ]]
}

@test "the value of a variable is written where bpftrace takes its address" {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	trace_word '$s = "XY"; @m = 0x5a59; print(write_user(arg0, &$s, 2)); print(write_user(arg0 + 2, &@m, 1)); print(str(arg0)); clear(@m);' --unsafe --user
	[ "$output" = $'true\ntrue\nXYYlo' ]
}

@test "a raw tracepoint sends a signal" {
	need_tracing
	run timeout 20 "$NOPAL" -q --unsafe -e 'rawtracepoint:sys_enter /pid == cpid && comm == "sleep"/ { signal("KILL"); }' -c 'sleep 15'
	[[ "$output" == *"was killed by signal 9"* ]]
}

@test "in user mode statements of SQL are counted without their values" {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	trace_word '$s = normalize(str_concat("a IN (1, 2) AND b = 3 -- ", str(arg0))); print($s); print(normalize(str(0))); @[$s] = count();' --user
	[ "$status" = 0 ]
	[[ "$output" == *$'a IN (?) AND b = ?\n(null)\n'*'@[a IN (?) AND b = ?]: 1'* ]]
}

# newest: `has_cpid` | inverted | `true` with `-c` |
@test "the process of -c" {
	trace_word 'print((pid == cpid, has_cpid, pid(init) >= pid));'
	[ "$output" = '(true, true, true)' ]
}

# newest: `tseries` | TAI clock, one map for each key and interval | the time of day | rows are what a watch shows
@test "a time series shows its last intervals, with those without a value" {
	local script='interval:ms:20 { @n++; if (@n < 12 && @n % 4) { @t = tseries(@n, 20ms, 5); @s[1] = tseries(@n, 20ms, 100, "sum"); }
		if (@n == 20) { clear(@n); exit(); } }'
	run timeout 30 "$NOPAL" -q -e "$script"
	echo "$output"
	[ "$status" = 0 ]
	rows=$(echo "$output" | sed -n '/^@t:/,$p' | grep -c '^[0-9]')
	[ "$rows" -ge 1 ]
	[ "$rows" -le 5 ]
	# Every value is in the sum of some interval: 1 2 3 5 6 7 9 10 11.
	run timeout 30 "$NOPAL" -q -f json -e "$script"
	echo "$output"
	[ "$(echo "$output" | grep '"@s"' | grep -o '"value":[0-9]*' | cut -d: -f2 | paste -sd+ | bc)" = 54 ]
	[[ "$output" == *'{"type": "tseries", "data": {"@s": {"1": [{"interval_start":"20'* ]]
}

@test "a time series in user mode" {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	run env TZ=UTC timeout 30 "$NOPAL" -q --user -e 'usdt:./tick:tick:number { @t[arg0 > 5] = tseries(arg0, 36500d, 3, "sum"); }' -c './tick number 1 2 6 7'
	echo "$output"
	[[ "$output" == *$'@t[false]:'*' 3'$'\n'*$'@t[true]:'*' 13'$'\n'* ]]
}

@test "the address of a symbol of the kernel" {
	address=$(awk '$3 == "_stext" { print $1; exit }' /proc/kallsyms)
	[[ "$address" != *[1-9a-f]* ]] && skip "the kernel hides its addresses"
	run "$NOPAL" -q -e 'BEGIN { print(kaddr("_stext")); exit(); }'
	[ "$output" = "0x$address" ]
	run "$NOPAL" -q -e 'BEGIN { print(kaddr("nothing_like_it")); exit(); }'
	[ "$status" = 1 ]
	says unknown-symbol "the kernel has no symbol 'nothing_like_it'"
}

@test "the address of a symbol of the program" {
	local script='usdt:./tick:tick:word { print((usym((uint64)uaddr("main")), *uaddr("tick_word_semaphore") > 0)); print(args); }
		uprobe:./tick:main { print((usym((uint64)uaddr("main")), uaddr("main") == reg("ip"))); }
		uretprobe:./tick:main { print(usym((uint64)uaddr("main"))); }'
	run "$NOPAL" -q -e "$script" -c './tick word a'
	echo "$output"
	[ "$output" = $'(main, true)\n(main, true)\n{ .word = "a", .length = 1 }\nmain' ]
	run "$NOPAL" -q --user -e 'usdt:./tick:tick:word { print(usym((uint64)uaddr("main"))); }' -c './tick word a'
	[ "$(uname -m)" != x86_64 ] || [ "$output" = main ]
	run "$NOPAL" -q -e 'usdt:./tick:tick:word { print(uaddr("mainn")); }'
	[ "$status" = 1 ]
	says unknown-symbol "has no symbol 'mainn'"
}

@test "the folder of a control group" {
	grep -q ' cgroup2 ' /proc/self/mounts || skip "needs cgroup2"
	folder=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	run "$NOPAL" -q -e "BEGIN { print(cgroup_path(cgroupid(\"$folder\"), \"unified\")); print(cgroup_path(123456789123)); @[cgroup_path(cgroup, \"uni*\")] = count(); exit(); }"
	echo "$output"
	[ "${lines[0]}" = unified:/ ]
	[[ "$output" == *"@[unified:/"*"]: 1" ]]
}

@test "what other files have is imported" {
	mkdir -p lib
	printf '%s\n' '#!/usr/bin/nopal' 'struct mine { int a; };' 'config = { max_strlen = 64 }' 'import "lib/one.bt";' 'import "lib"' \
		'BEGIN { print(twice(TEN)); print(sizeof(struct other) + sizeof(struct mine)); @m[1] = 2; exit(); }' >main.bt
	printf '%s\n' 'import "two.h";' 'macro twice(x) { x * 2 }' 'BEGIN { print("one"); }' >lib/one.bt
	printf '%s\n' '#ifndef TWO_H' '#define TWO_H' '#define TEN 10' 'struct other { long a, b; };' '#endif' >lib/two.h
	printf '%s\n' 'let @m = hash(5);' 'BEGIN { print("three"); }' >lib/three.bt
	run "$NOPAL" -q main.bt
	echo "$output"
	[ "$output" = $'one\nthree\n20\n20\n\n\n@m[1]: 2' ]
	echo 'BEGIN { print(1; }' >lib/wrong.bt
	run "$NOPAL" -q main.bt
	[[ "$output" == *"lib/wrong.bt:1:16: error: expected ',' or ')' before ';'"* ]]
	echo 'config = { max_strlen = 5 }' >lib/wrong.bt
	run "$NOPAL" -q main.bt
	says import-config 'a file that is imported has no settings'
	rm lib/wrong.bt
	chmod 666 lib/three.bt
	run "$NOPAL" -q main.bt
	says bad-import "cannot import 'lib/three.bt': any user can write to it"
	printf '%s\n' 'BEGIN { if (pid) { import "lib/one.bt"; } print(twice(2)); exit(); }' 'macro sizes() { import "lib/two.h"; sizeof(struct other) }' >inside.bt
	run "$NOPAL" -q inside.bt
	[ "$output" = $'one\n4' ]
	BPFTRACE_UNSTABLE_IMPORT_STATEMENT=error run "$NOPAL" -q inside.bt
	says unstable "inside.bt:1:20: error: the setting unstable_import_statement = error refuses this"
	echo 'import "self.bt"; BEGIN { print("once"); exit(); }' >self.bt
	run timeout 10 "$NOPAL" -q self.bt
	[[ "$output" == *once* ]]
}

@test "warnings are silent when they are not wanted, errors are not" {
	run "$NOPAL" -q -e 'BEGIN { warnf("careful"); errorf("wrong"); exit(); }'
	[[ "$output" == *"WARNING: careful"*"ERROR: wrong"* ]]
	run "$NOPAL" -q --no-warnings -e 'BEGIN { warnf("careful"); errorf("wrong"); exit(); }'
	[[ "$output" != *careful* ]]
	[[ "$output" == *"ERROR: wrong"* ]]
}

@test "a filter leaves probes out by their names" {
	run "$NOPAL" -q --probe-filter 'ms:[5-9]$' -e 'BEGIN { print("begin"); }
		interval:ms:5 { print("five"); exit(); } interval:ms:1 { print("one"); }
		END { print("end"); }'
	[ "$status" = 0 ]
	[ "$output" = $'begin\nfive\nend' ]
	run "$NOPAL" -q --probe-filter 'n(umber|one)$' -c "$TARGETS/tick number 1" -e "usdt:$TARGETS/tick:tick:* { print(probe) }"
	[ "$output" = "usdt:$TARGETS/tick:tick:number" ]
	run "$NOPAL" -q --probe-filter word -c "$TARGETS/tick number 1" -e "usdt:$TARGETS/tick:tick:* { print(probe) }"
	[ -z "$output" ]
	run "$NOPAL" --probe-filter nothing -e 'interval:s:1 { exit(); }'
	[ "$status" = 1 ]
	says filtered "the probe filter 'nothing' matches none of the probes"
	run "$NOPAL" --probe-filter '(' -e 'interval:s:1 { exit(); }'
	[ "$status" = 1 ]
	says bad-filter "the probe filter '(' is not a regular expression"
}

@test "features of the kernel are left out by an option" {
	run "$NOPAL" -q -v -e 'BEGIN { for $i : 0..3 { print($i); } }'
	[[ "$output" == *features:*may_goto* ]] || skip "the kernel has no may_goto"
	run "$NOPAL" -q -v --no-feature uprobe_multi,may_goto -e 'BEGIN { for $i : 0..3 { print($i); } }'
	[ "$status" = 0 ]
	[[ "$output" == *$'0\n1\n2'* && "$output" != *may_goto* && "$output" != *uprobe_multi* ]]
}

@test "debugf writes to the kernel's trace" {
	[ -w /sys/kernel/tracing/trace_marker ] || skip "needs tracefs"
	run "$NOPAL" -q -e "BEGIN { debugf(\"hello from nopal $$ %d\\n\", 5); exit(); }"
	[ "$status" = 0 ]
	grep -q "hello from nopal $$ 5" /sys/kernel/tracing/trace
}

@test "cat prints as much of a file as the setting says" {
	echo 123456789 >file
	run "$NOPAL" -q -e 'config = { max_cat_bytes = 5 } BEGIN { cat("file"); exit(); }'
	[[ "$output" == 12345$'\n'*"after 5 bytes, is not shown"* ]]
	BPFTRACE_MAX_CAT_BYTES=3 run "$NOPAL" -q -e 'BEGIN { cat("file"); exit(); }'
	[[ "$output" == 123$'\n'* ]]
}

@test "elapsed begins with the run, also for BEGIN" {
	for engine in --user --kernel; do
		[ "$engine" = --user ] || need_tracing
		run bash -c "timeout 30 '$NOPAL' -q $engine -e 'BEGIN { print(elapsed < 1000s); } END { print(elapsed < 1000s); }' -c true 2>/dev/null | grep ."
		[ "$output" = $'true\ntrue' ]
	done
}
