# What nopal count and hist print for people: tables and histograms that fit the terminal.
load ../helpers

setup() {
	need_tracing
	cd "$BATS_TEST_TMPDIR"
	private tick >/dev/null
	unset COLUMNS NO_COLOR
	export LC_ALL=C.UTF-8
}

quick() {
	run timeout 30 "$NOPAL" "$@"
	echo "$output"
	[ "$status" = 0 ]
}

@test "a table: a header, short names, the largest first, no blank lines" {
	quick count -q ./tick -c './tick loop 12345'
	[ "$output" = "$(printf 'PROBE       COUNT\ntick:loop  12,345')" ]
	quick count -q -k 'args.length, args.word' ./tick:tick:word -c './tick word a bcd bcd'
	[ "$output" = "$(printf 'LENGTH  WORD  COUNT\n3       bcd       2\n1       a         1')" ]
	quick count -q --top 1 -k arg0 ./tick:tick:number -c './tick number 1 2 2'
	[ "$output" = "$(printf 'ARG0  COUNT\n2         2')" ]
}

@test "the path is shown only where two files have the same probe" {
	cp tick other
	quick count -q ./tick:tick:word ./other:tick:word ./tick:tick:loop -c 'sh -c "./tick word a b; ./other word a; ./tick loop 3"'
	[ "$(echo "$output" | tail -n +2 | awk '{ print $1, $2 }')" = "$(printf 'tick:loop 3\n./tick:tick:word 2\n./other:tick:word 1')" ]
}

@test "probes that were made at run time have no file" {
	cp "$TARGETS/runtime" .
	quick count -q -c './runtime demo 2' 'usdt::*:*'
	[[ "$output" != *memfd* ]]
	[[ "$output" == *"capp:pair "* ]]
}

@test "a histogram has a share and fits the width" {
	for width in 60 80 200; do
		COLUMNS=$width quick hist -q ./tick:tick:loop arg0 -c './tick loop 1000'
		[ "$(echo "$output" | wc -L)" = $width ]
	done
	[[ "$output" == *"[512, 1K)    488  48.8 % |###"* ]]
	quick hist -q -k comm -l 0,100,50 ./tick:tick:loop arg0 -c './tick loop 100'
	[[ "$output" == "tick"*"[0, 50)     50  50.0 % |"* ]]
}

@test "columns of text are cut, numbers are not" {
	COLUMNS=40 quick count -q -k 'args.word, args.length' ./tick:tick:word -c "./tick word $(printf 'x%.0s' {1..100})"
	[ "$(echo "$output" | wc -L)" -le 40 ]
	[[ "$output" == *"xx..  100         1" ]]
}

@test "statements of SQL looked alike, cut to 20 columns: columns of numbers are left out for them" {
	for width in 60 80 110; do
		COLUMNS=$width run timeout 60 "$NOPAL" latency -q --by 'normalize("UPDATE accounts SET balance = 5 WHERE id = 7")' \
			./tick:tick:loop ./tick:tick:loop -c './tick loop 10'
		[ "$(echo "$output" | wc -L)" -le $width ]
		[[ "$output" == *"UPDATE accounts S"* ]]
		[ $width = 60 ] || [[ "$output" == *"UPDATE accounts SET balanc"* ]]
	done
}

@test "untrusted text stays in its cell" {
	quick count -q -k args.word ./tick:tick:word -c "./tick hostile"
	[[ "$output" != *$'\e'* ]]
	quick count -q -k args.word ./tick:tick:word -c "./tick word 'two
lines'"
	[ "${#lines[@]}" = 2 ]
	[[ "${lines[1]}" == "two lines"* ]]
}

@test "colours are for terminals, or when they are asked for" {
	quick count -q ./tick -c './tick loop 3'
	[[ "$output" != *$'\e'* ]]
	quick count -q --color always ./tick -c './tick loop 3'
	[[ "$output" == *$'\e[1mPROBE'* ]]
	run "$NOPAL" count --color blue ./tick
	[ "$status" = 2 ]
	[[ "$output" == *"needs auto|always|never, not 'blue'"* ]]
}

# screen WIDTH LANG COMMAND...: what a terminal of this width shows.
screen() {
	local width=$1 locale=$2
	shift 2
	need_program tmux
	tmux -L "nopal$$" -f /dev/null new-session -d -x "$width" -y 40 -s s \
		"env LC_ALL=$locale TERM=screen $* ; sleep 20"
	for _ in $(seq 100); do
		output=$(tmux -L "nopal$$" capture-pane -p -t s)
		[[ "$output" == *%* ]] && break
		sleep 0.1
	done
	tmux -L "nopal$$" kill-server
	echo "$output"
}

@test "in a terminal: its width, and its blocks" {
	for width in 60 80 200; do
		screen $width C.UTF-8 "'$NOPAL' hist -q ./tick:tick:loop arg0 -c './tick loop 1000'"
		[[ "$output" == *"48.8 % ▕████"* ]]
		row=$(echo "$output" | grep '48.8 %')
		[ "${#row}" = $width ]
	done
	screen 80 C "'$NOPAL' hist -q ./tick:tick:loop arg0 -c './tick loop 1000'"
	[[ "$output" == *"48.8 % |####"* ]]
}

@test "scripts print as before" {
	quick -q -e 'usdt:./tick:tick:loop { @[probe] = count() }' -c './tick loop 3'
	[[ "$output" == *"@[usdt:./tick:tick:loop]: 3" ]]
	quick count -q -f json ./tick -c './tick loop 3'
	[[ "$output" == *'"key": ["usdt:./tick:tick:loop"], "value": 3'* ]]
}

@test "as many keys as a table of a busy minute has are all counted" {
	for engine in --kernel --user; do
		"$NOPAL" count -q $engine -k arg0 --csv ./tick:tick:loop -c './tick loop 90000' >keys 2>said
		[ ! -s said ]
		[ "$(wc -l <keys)" = 90001 ]
		[ "$(awk -F, 'NR > 1 { n += $2 } END { print n }' keys)" = 90000 ]
	done
}
