# --engine and --events: scripts on recorded events, and who runs them.
load ../helpers

setup() {
	events=$BATS_TEST_TMPDIR/events
	cat >"$events" <<-'END'
	# what tick fires
	tick:word "hello" 5
	tick:word "say \"hi\"\\" 9 pid=12 nsecs=5000
	tick:number -7

	tick:other 1 2 3
	tick:number 0x10 tid=13
	END
}

@test "recorded events: arguments, text, settings, BEGIN and END" {
	run "$NOPAL" -q --engine=interp --events="$events" -e "BEGIN { printf(\"begin\n\") }
		usdt:$TARGETS/tick:tick:word { printf(\"%s %d %d %d\n\", str(arg0), arg1, pid, nsecs) }
		usdt:$TARGETS/tick:tick:number { @sum = sum(arg0); @tid[tid] = count() }
		END { printf(\"end\n\") }"
	[ "$status" = 0 ]
	[ "$output" = $'begin\nhello 5 1000 1000\nsay "hi"\\ 9 12 5000\nend\n\n\n@sum: 9\n@tid[13]: 1\n@tid[1000]: 1' ]
}

@test "recorded events need no privilege, and imply their engine" {
	need_program setpriv
	[ "$(id -u)" = 0 ] || skip "needs root, to become somebody else"
	cd "$BATS_TEST_TMPDIR"
	cp "$NOPAL" "$TARGETS/tick" .
	chmod 755 "$BATS_RUN_TMPDIR" .
	run setpriv --reuid=65534 --regid=65534 --clear-groups ./nopal count -q --events="$events" 'usdt:./tick:tick:*'
	[ "$status" = 0 ]
	[[ "$output" == *"tick:word]: 2"* ]]
	[[ "$output" == *"tick:number]: 2"* ]]
}

@test "an event fires once, at the first site of its name; exit() ends the run" {
	run "$NOPAL" -q --events="$events" -e "usdt:$TARGETS/tick:tick:* { @++; if (@ == 3) { exit() } }"
	[ "$status" = 0 ]
	[[ "$output" == *"@: 3" ]]
}

@test "a mistake in recorded events names its line" {
	check() {
		printf '%s\n' "$1" >"$events"
		run "$NOPAL" --events="$events" -e "usdt:$TARGETS/tick:tick:word { @++ }"
		[ "$status" = 1 ]
		[[ "$output" == *"$events:1: $2"* ]]
	}
	check 'tick:word hello' "an argument is a number or a text in double quotes"
	check 'tick:word "hello' "unterminated quote"
	check 'tick:word 1 weight=2' "unknown setting"
	check 'tick:word 1 pid=x' "a setting is NAME=NUMBER"
}

@test "an engine that does not exist, or that has no events of a probe, is an error" {
	run "$NOPAL" --engine=qemu -e 'BEGIN { exit() }'
	[ "$status" = 1 ]
	[[ "$output" == *"there is no engine 'qemu'"* ]]
	[[ "$output" == *"bpf ("*"interp ("* ]]
	run "$NOPAL" --engine=interp -e "usdt:$TARGETS/tick:tick:word { @++ }"
	[ "$status" = 1 ]
	[[ "$output" == *"the engine 'interp' cannot trace 'usdt:$TARGETS/tick:tick:word'"* ]]
}

@test "two engines: what the first cannot run goes to the second" {
	need_tracing
	tick=$(private tick)
	run "$NOPAL" -q --engine=interp,bpf -e "BEGIN { @started = 1 }
		usdt:$tick:tick:word { @words[str(arg0)] = count() } END { print(@words) }" -c "$tick word a b a"
	[ "$status" = 0 ]
	[[ "$output" == *"@started: 1"*"@words[a]: 2"* ]]
	run "$NOPAL" --engine=interp,bpf --dump=bpf -e "BEGIN { @started = 1 } usdt:$tick:tick:word { @n++ }"
	[[ "$output" == *"begin name"*"bpf program 0: uprobe"* ]]
}
