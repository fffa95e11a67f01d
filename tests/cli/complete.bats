# Completion in bash, zsh and fish: what the command offers, and what the shells make of it in a terminal.
load ../helpers

setup() {
	cd "$BATS_TEST_TMPDIR"
	cp "$TARGETS/tick" tick
	mkdir bin
	ln -s "$NOPAL" bin/nopal
	PATH=$PWD/bin:$PATH
}

# offers WORD...: the candidates for the last WORD, without what they mean.
offers() {
	nopal complete -- "$@" | cut -f1 | uniq
}

@test "commands, options and their values are offered" {
	[ "$(offers li)" = list ]
	offers '' | grep -qx trace
	! offers '' | grep -qx complete || false
	[ "$(offers list --ver)" = --verbose ]
	[ "$(offers trace -f '')" = $'text\njson\nfolded\ncsv' ]
	[ "$(offers --dump=t)" = --dump=tree ]
	[ "$(offers --dump t)" = tree ]
	[ "$(offers --dump=x)" = "" ]
	[ "$(offers nonsense --nothing '')" = "" ]
	[ "$(nopal complete)" = "$(nopal complete -- '')" ]
	nopal complete -- list --ver | grep -q $'^--verbose\tshow names'
}

@test "processes are offered with their names" {
	sleep 100 3>&- &
	until grep -qx sleep /proc/$!/comm; do sleep 0.05; done
	nopal complete -- list -p "$!" >out
	kill $!
	# Other processes may have numbers that begin with the same digits.
	[ "$(grep "^$!"$'\t' out)" = "$!"$'\tsleep' ]
}

@test "probes of the file that is typed are offered" {
	[ "$(offers count ./tick:tick:w)" = ./tick:tick:word ]
	[ "$(offers count usdt:./tick:tick:w)" = usdt:./tick:tick:word ]
	[ "$(offers trace usdt:./ti)" = usdt:./tick: ]
	[ "$(offers trace usdt:./bi)" = usdt:./bin/ ]
	[ "$(offers trace upr)" = uprobe: ]
	# Names of files are the shell's work.
	[ "$(offers list ./ti)" = "" ]
	[ "$(offers list /nowhere:x)" = "" ]
}

@test "a file's name cannot steer the terminal" {
	cp tick $'ti\e[31m\tck'
	mkdir $'ti\ndir'
	offers trace usdt:./ti >out
	[ "$(cat out)" = usdt:./tick: ]
}

# shows NAME TEXT: wait, 10 s at most, until the terminal shows the text; what it shows is in the file `screen`.
shows() {
	for _ in $(seq 100); do
		tmux -L "$1" capture-pane -p | sed 's/ *$//' | grep . >screen || true
		! grep -qF -- "$2" screen || return 0
		sleep 0.1
	done
}

# typed SHELL KEYS: what is in the command line after the keys were typed, a tab after them.
typed() {
	need_program tmux
	need_program "${1%% *}"
	# A server that ends still has its socket for a moment, so each has a name of its own.
	local screen=nopal-$$-$RANDOM$RANDOM
	tmux -L "$screen" -f /dev/null new-session -d -x 120 -y 30 "env PS1='> ' PATH='$PATH' TERM=screen $1"
	shows "$screen" '>'
	tmux -L "$screen" send-keys "$2; echo re''ady" Enter
	shows "$screen" ready
	tmux -L "$screen" send-keys C-l "$3" Tab
	shows "$screen" "$4"
	tmux -L "$screen" kill-server
	cat screen
	grep -qF -- "$4" screen
}

# bats test_tags=deep
@test "bash completes in a terminal" {
	typed 'bash --norc' ". $ROOT/completions/nopal.bash" 'nopal doc' 'nopal doctor'
	typed 'bash --norc' ". $ROOT/completions/nopal.bash" 'nopal count ./tick:tick:w' './tick:tick:word'
	typed 'bash --norc' ". $ROOT/completions/nopal.bash" 'nopal --dump=tr' 'nopal --dump=tree'
	typed 'bash --norc' ". $ROOT/completions/nopal.bash" 'nopal list ti' 'nopal list tick'
}

# bats test_tags=deep
@test "zsh completes in a terminal" {
	local start="fpath=($ROOT/completions \$fpath); autoload -U compinit; compinit -u -d $PWD/dump"
	typed 'zsh -f' "$start" 'nopal doc' 'nopal doctor'
	typed 'zsh -f' "$start" 'nopal count ./tick:tick:w' './tick:tick:word'
	typed 'zsh -f' "$start" 'nopal list ti' 'nopal list tick'
}

@test "fish completes" {
	need_program fish
	fish -c "source $ROOT/completions/nopal.fish; complete -C 'nopal doc'" | grep -q '^doctor'
	fish -c "source $ROOT/completions/nopal.fish; complete -C 'nopal count ./tick:tick:w'" | grep -q '^./tick:tick:word'
}
