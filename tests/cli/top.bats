# nopal top: the text of -i, and the screen in a real terminal.
load ../helpers

setup() {
	bats_require_minimum_version 1.5.0
	need_tracing
	cd "$BATS_TEST_TMPDIR"
	private tick >/dev/null
	private pairs >/dev/null
	export LC_ALL=C.UTF-8
	server=top$$
}

teardown() {
	tmux -L "$server" kill-server 2>/dev/null || true
	jobs -pr | xargs -r kill 2>/dev/null || true
}

@test "text: rates by probe" {
	run timeout 30 "$NOPAL" top -q -i 200ms ./tick -c './tick loop 30 1 20000'
	echo "$output"
	[ "$status" = 0 ]
	[[ "${lines[0]}" == [0-2][0-9]:*" events/s, "*" row"*" by rate" ]]
	[[ "$output" == *"PROBE      RATE/s  TOTAL  HISTORY"* ]]
	[[ "$output" == *"tick:loop"*" 30  "* ]]
}

@test "text: the rest of an interval was printed, with rates of 0, when the time was over" {
	./tick loop 100000 1 1000 3>&- &
	run timeout 30 "$NOPAL" top -q -i 0.5 -d 1 ./tick -p $!
	echo "$output"
	[ "$(grep -c events/s <<<"$output")" -ge 2 ]
	! grep -E '^[0-9:]+  0 events/s' <<<"$output" || false
}

@test "text: keys, and latencies with a heat map" {
	run timeout 30 "$NOPAL" top -q -i 200ms -k args.i ./tick:tick:loop -c './tick loop 2 1 20000'
	echo "$output"
	[[ "$output" == *"tick:loop,1"*" 1  "* ]]
	run timeout 30 "$NOPAL" top -q -i 200ms --latency ./pairs -c './pairs sleep 100 2000'
	echo "$output"
	[[ "$output" == *"P50"*"P99"* ]]
	[[ "$output" == *" 2.10 ms "*"@"* ]]
}

@test "--latency had no sum, average and maximum" {
	COLUMNS=120 run timeout 30 "$NOPAL" top -q -i 1 --latency ./pairs -c './pairs sleep 10 2000'
	echo "$output"
	[[ "$output" == *"SUM"*"AVG"*"P50"*"P99"*"P99.9"*"MAX"*"HISTORY"* ]]
	COLUMNS=80 run timeout 30 "$NOPAL" top -q -i 1 --latency ./pairs -c './pairs sleep 10 2000'
	[[ "$output" == *"without room in 80 columns: SUM"* ]]
	need_program jq
	timeout 30 "$NOPAL" top -q -i 1 -f json --latency ./pairs -c './pairs sleep 10 2000' >json
	cat json
	# Ten times 2 ms or a little more.
	jq -se 'map(.count) | add == 10' json
	jq -se 'map(.sum_ns) | add | . > 19.8e6 and . < 1e9' json
	jq -se 'all(.max_ns * .count >= .sum_ns and .p50_ns * .count <= 2 * .sum_ns)' json
}

@test "text and JSON: the maps of a script, of a file with one" {
	printf 'usdt:./tick:loop { @by[args.text] = count(); @last = arg0; @h = hist(arg0); printf("quiet") }' >maps.bt
	run timeout 30 "$NOPAL" top -q -i 100ms maps.bt -c './tick loop 30 1 10000'
	echo "$output"
	[[ "$output" == *" rows by rate"*"MAP "*"VALUE  RATE/s  TOTAL"*"P99.9"* ]]
	[[ "$output" == *"@by[the quick brown fox]"*"-"*" 30 "* ]]
	[[ "$output" == *"@last "*" 29 "* && "$output" != *quiet* ]]
	need_program jq
	timeout 30 "$NOPAL" top -f json -i 100ms -e "$(cat maps.bt)" -c './tick loop 30 1 10000' >json
	[ "$(jq -s 'map(select(.map == "@by") | .count) | add' json)" = 30 ]
	[ "$(jq -s 'map(select(.map == "@h")) | last | .total' json)" = 30 ]
	[ "$(jq -rs 'map(select(.map == "@last")) | last | .value' json)" = 29 ]
}

@test "a number is a process; what cannot be combined" {
	./tick loop 400 1 10000 3>&- &
	timeout 30 "$NOPAL" top -i 200ms -d 0.5 -f json $! >json
	grep -q 'tick:loop"\], "seconds"' json
	run "$NOPAL" top -i 1 -k comm -e 'BEGIN { }'
	[ "$status" = 2 ]
	[[ "$output" == *"-k cannot be used with a script: its maps are shown"* ]]
	run "$NOPAL" top -f json ./tick
	[ "$status" = 2 ]
}

# screen WIDTH OPTIONS...: start nopal top in a terminal. Curses keeps its memory to the end, which the leak sanitizer reports.
screen() {
	local width=$1
	shift
	need_program tmux
	server=top$$-$width # a server that was ended may still be there
	./tick loop 100000 1 1000 &
	tmux -L "$server" -f /dev/null new-session -d -x "$width" -y 24 -s s "env LC_ALL=C.UTF-8 ASAN_OPTIONS=detect_leaks=0 '$NOPAL' top $*; echo status \$?; sleep 20"
}

# shows TEXT: it is on the screen, soon.
shows() {
	for _ in $(seq 60); do
		output=$(tmux -L "$server" capture-pane -p -t s)
		[[ "$output" == *"$1"* ]] && return
		sleep 0.1
	done
	echo "$output"
	return 1
}

@test "screen: rates, sorting, a filter, pause, quit" {
	for width in 60 80 200; do
		screen $width ./tick
		shows "tick:loop"
		[[ "$output" == *"q quit"*"events/s"*"by rate"* ]]
		[ "$(echo "$output" | wc -L)" -le $width ]
		tmux -L "$server" send-keys -t s s
		shows "by total"
		tmux -L "$server" send-keys -t s /nothing Enter
		shows "filter: nothing"
		[[ "$output" != *tick:loop* ]]
		tmux -L "$server" send-keys -t s p
		shows paused
		tmux -L "$server" send-keys -t s q
		shows "status 0"
		tmux -L "$server" kill-server
		kill $(jobs -pr)
	done
}

@test "without a terminal it needs -i" {
	run "$NOPAL" top ./tick </dev/null
	[ "$status" = 2 ]
	[[ "$output" == *"the screen needs a terminal; -i SECONDS prints text instead"* ]]
}

@test "a screen without libncurses, on an unknown terminal: what to do" {
	need_program script
	mkdir library
	echo "not a library" >library/libncursesw.so.6
	run -1 script -qec "LD_LIBRARY_PATH=library '$NOPAL' top ./tick" /dev/null </dev/null
	echo "$output"
	[[ "$output" == *"a screen needs libncursesw.so.6, which is not installed"*"-i SECONDS prints text"* ]]
	run -1 script -qec "TERM=nonsense '$NOPAL' top ./tick" /dev/null </dev/null
	echo "$output"
	[[ "$output" == *"unknown terminal 'nonsense': set TERM, as in TERM=xterm"* ]]
	LD_LIBRARY_PATH=library "$NOPAL" top -q -i 100ms ./tick -c './tick loop 3 1 1000' | grep -q tick:loop
}

@test "100,000 events a second cost it less than 2 % of a core" {
	./tick loop 2000000000 &
	storm=$!
	"$NOPAL" top -q -i 1 -d 5 ./tick >text &
	top=$!
	# The last look while it runs.
	while read -r now < <(awk 'FNR == 1 { ticks = $14 + $15 } /VmHWM/ { print ticks, $2 }' /proc/$top/stat /proc/$top/status 2>/dev/null); do
		read -r ticks memory <<<"$now"
		sleep 0.1
	done
	wait $top
	kill $storm || true # it may have ended
	cat text
	echo "$ticks ticks of 1/100 s, of about 450; $memory KiB"
	[ -n "${SAN:-}" ] || [ "$memory" -le 12288 ] # sanitizers need memory of their own
	[ "$ticks" -le 25 ] # with compiling and attaching; the rest is a look a second
}

@test "a screen in the background of its terminal was stopped again by every signal that ends it" {
	need_program tmux
	./tick loop 100000 1 1000 3>&- &
	tmux -L "$server" -f /dev/null new-session -d -x 100 -y 20 "sh -c 'timeout 1 $NOPAL top -p $!; echo \$? >code'"
	awaits test -s code
	[ "$(cat code)" = 124 ]
}
