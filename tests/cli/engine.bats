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
	grep -qE '^tick:word +2$' <<<"$output"
	grep -qE '^tick:number +2$' <<<"$output"
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
		says bad-events "$events:1: $2"
	}
	check 'tick:word hello' "an argument is a number or a text in double quotes"
	check 'tick:word "hello' "unterminated quote"
	check 'tick:word 1 weight=2' "unknown setting"
	check 'tick:word 1 pid=x' "a setting is NAME=NUMBER"
	check 'tick:word 1 pid=4294967297' "pid, tid, uid, gid, cpu and rand have 32 bits"
}

@test "an engine that does not exist, or that has no events of a probe, is an error" {
	run "$NOPAL" --engine=qemu -e 'BEGIN { exit() }'
	[ "$status" = 1 ]
	says unknown-engine "there is no engine 'qemu'"
	[[ "$output" == *"bpf ("*"interp ("* ]]
	run "$NOPAL" --engine=interp -e "usdt:$TARGETS/tick:tick:word { @++ }"
	[ "$status" = 1 ]
	says engine "the engine 'interp' cannot trace 'usdt:$TARGETS/tick:tick:word'"
}

@test "two engines: what the first cannot run goes to the second" {
	need_tracing
	tick=$(private tick)
	run "$NOPAL" -q --engine=interp,bpf -e "BEGIN { @started = 1 }
		usdt:$tick:tick:word { @words[str(arg0)] = count() } END { print(@words) }" -c "$tick word a b a"
	[ "$status" = 0 ]
	[[ "$output" == *"@started: 1"*"@words[a]: 2"* ]]
	run "$NOPAL" --engine=interp,bpf --dump=bpf -e "BEGIN { @started = 1 } usdt:$tick:tick:word { @n++ }"
	[[ "$output" == *"begin name"*"bpf program 0: uprobe, 7 sites, 1 case"$'\n'* ]]
}

@test "-v: what was loaded, and the features in use, on standard error" {
	need_tracing
	tick=$(private tick)
	run bash -c "'$NOPAL' -v -e 'usdt:$tick:tick:word { @ = count() } BEGIN { @a = 1 }' -c '$tick word a b' 2>&1 >/dev/null"
	[ "$status" = 0 ]
	[[ "$output" == *"nopal_uprobe: "*" instructions, 7 sites: loaded"*"stack depth "*"processed "*" insns"* ]]
	[[ "$output" == *"nopal_run: "*" instructions, 1 site: loaded"*"features: "* ]]
	run bash -c "'$NOPAL' -q -e 'usdt:$tick:tick:word { @ = count() }' -c '$tick word a b' 2>&1 >/dev/null"
	[ "$output" = "" ]
}

@test "-v: every site that is skipped, with its reason" {
	need_tracing
	[ "$(uname -m)" = x86_64 ] || skip "x86 code"
	cd "$BATS_TEST_TMPDIR"
	{
		echo '#include <nopal/sdt.h>'
		echo 'int main(void) {'
		for ((i = 0; i < 8; i++)); do echo "NOPAL_PROBE(many, left);"; done
		echo 'NOPAL_PROBE(many, kept); return 0; }'
	} >many.c
	cc -I"$ROOT/include" many.c -o many
	# Their nops become something else: 0x50 and 0x58 are a push and a pop.
	python3 - "$(readelf -n many | awk '/Name: left/ { left = 1 } /Name: kept/ { left = 0 } left && /Location/ { sub(",", "", $2); print $2 }' | tr '\n' ' ')" <<-'END'
	import re, subprocess, sys
	segments = subprocess.run(["readelf", "-lW", "many"], capture_output=True, text=True).stdout
	loads = [[int(x, 16) for x in line.split()[1:5]] for line in segments.splitlines() if line.split()[:1] == ["LOAD"]]
	with open("many", "r+b") as f:
	    for address in (int(x, 16) for x in sys.argv[1].split()):
	        for offset, start, _, size in loads:
	            if start <= address < start + size:
	                f.seek(offset + address - start)
	                f.write(b"\x50")
	END
	run "$NOPAL" -e 'usdt:./many:many:* { @ = count() }' -c ./many
	[ "$(grep -c 'is skipped' <<<"$output")" = 5 ]
	run "$NOPAL" -v -e 'usdt:./many:many:* { @ = count() }' -c ./many
	[ "$(grep -c 'is skipped' <<<"$output")" = 8 ]
}
