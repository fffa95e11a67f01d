# What people see, at 60, 80 and 200 columns: it fits, and its colours can be read on light and dark ground. SCREENS=DIR
# keeps the screens there, as the terminal gets them, and pictures of the flame graph.
load ../helpers

setup() {
	bats_require_minimum_version 1.5.0
	need_tracing
	cd "$BATS_TEST_TMPDIR"
	for program in tick pairs inlined; do private $program >/dev/null; done
	unset NO_COLOR
	export LC_ALL=C.UTF-8
	keep=${SCREENS:-$BATS_TEST_TMPDIR}
	mkdir -p "$keep"
	server=screens$$
}

teardown() {
	tmux -L "$server" kill-server 2>/dev/null || true
	jobs -pr | xargs -r kill 2>/dev/null || true
}

# on_terminal WIDTH NAME COMMAND...: what a command writes to a terminal; without colours in $output.
on_terminal() {
	need_program script
	printf '%q ' "${@:3}" >command
	timeout 60 script -qec "stty cols $1 rows 50; $(cat command)" /dev/null </dev/null | tr -d '\r' >"$keep/$2-$1"
	output=$(sed 's/\x1b\[[0-9;]*m//g' "$keep/$2-$1")
	# Bold, dim, reverse, and cyan in bars, which is between black and white.
	! grep -oE $'\x1b\[[0-9;]*m' "$keep/$2-$1" | grep -vE $'\x1b\\[(|0|1|2|7|36)m'
}

# fits WIDTH: no line of $output is wider, but for frames of stacks.
fits() {
	[ "$(grep -v '^        [^ ]' <<<"$output" | wc -L)" -le "$1" ]
}

# bats test_tags=deep
@test "latency: rows, a histogram, the slowest with their stacks" {
	for width in 60 80 200; do
		on_terminal $width latency "$NOPAL" latency -q --by args.depth --stack --slowest 2 ./pairs -c './pairs nested 5 100'
		fits $width
		[[ "$output" == *"DEPTH  COUNT  RATE/s"*"P50"*"MAX"*"▕█"*"SLOWEST"*"ARGUMENTS"*$'\n        done (inlined) at '* ]]
		grep -q $'\x1b\[36m' "$keep/latency-$width"
		grep -q $'\x1b\[2mat ' "$keep/latency-$width"
	done
	[[ "$output" == *"P99.9"* ]]
}

@test "stacks: counts, shares, frames" {
	for width in 60 80 200; do
		on_terminal $width stack "$NOPAL" stack -q -k comm ./inlined -c './inlined 20'
		fits $width
		[[ "$output" == "COUNT   SHARE  COMM"$'\n'"   19  47.5 %  inlined"$'\n        work+'* ]]
	done
}

@test "top: rates, and latencies with a heat map" {
	need_program tmux
	./pairs sleep 1000000 1000 &
	for width in 60 80 200; do
		server=screens$$-$width # one that was ended may still be there
		tmux -L "$server" -f /dev/null new-session -d -x $width -y 24 -s s "'$NOPAL' top --latency ./pairs; sleep 20"
		for _ in $(seq 300); do
			output=$(tmux -L "$server" capture-pane -p -t s)
			[[ "$output" == *"P50"*" ms "*[░▒▓█]* ]] && break
			sleep 0.1
		done
		tmux -L "$server" capture-pane -e -p -t s >"$keep/top-$width"
		tmux -L "$server" kill-server
		echo "$output"
		fits $width
		[[ "$output" == *" nopal top   q quit"*"PAIR"*"RATE/s"*"order__"*" ms "*[░▒▓█]* ]]
	done
}

@test "flame graph: light and dark, narrow and wide" {
	need_program chromium
	"$NOPAL" stack -q --flame page.html ./inlined -c './inlined 20'
	[ -n "${SCREENS-}" ] || return 0
	for width in 480 640 1600; do
		for scheme in 0 1; do
			timeout 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --blink-settings=preferredColorScheme=$scheme \
				--window-size=$width,420 --screenshot="$keep/flame-$width-$scheme.png" "file://$PWD/page.html" 2>log
			[ -s "$keep/flame-$width-$scheme.png" ]
		done
	done
}
