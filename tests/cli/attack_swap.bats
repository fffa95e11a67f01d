#!/usr/bin/env bats
# An ordinary user against root's tracer: the file that is armed is the one that was read, whatever its name
# leads to by then. STRESS=1 tries each attack 200 times.
load ../helpers
load ../attack

# Moments at which the names are exchanged, one after the other: see tests/targets/attack_swap.c.
MOMENTS=(close:1 open:1 access:1 close:2 open:2 close:1:300 access:3 open:1:2000 access:10 close:3)

setup() {
	enter_attacked_directory
	cp "$TARGETS/attack_victim" victim
	mkdir theirs
	cp "$TARGETS/attack_swap" theirs
	chown 65534:65534 theirs
	# Both have the probe at one offset, or nothing is attacked.
	[ "$("$NOPAL" list --json ./victim | grep -o '"offset":[^,]*' | head -1)" = \
		"$("$NOPAL" list --json "$TARGETS/attack_baited" | grep -o '"offset":[^,]*' | head -1)" ]
	start_victim
}

# start_attacker MOMENT [later]: $bait is what it maps, a new file each time; its pid is $attacker.
start_attacker() {
	bait=$PWD/theirs/bait
	rm -f theirs/bait theirs/other ready
	"${USER_ID[@]}" cp "$TARGETS/attack_baited" theirs/bait
	"${USER_ID[@]}" ln -s "$PWD/victim" theirs/other
	"${USER_ID[@]}" theirs/attack_swap "$1" theirs/bait theirs/other "${@:2}" >ready 2>attacker.err 3>&- 9>&- &
	await_attacker
}

# attack PROBE [OPTIONS]: words BAIT and PID in them are the attacker's. Each try with the next moment.
attack() {
	local i args moment
	for ((i = 0; i < TRIES; i++)); do
		moment=${MOMENTS[i % ${#MOMENTS[@]}]}
		# shellcheck disable=SC2086
		start_attacker "$moment" ${LATER-}
		args=("${@//BAIT/$bait}")
		if ! trace_attacked "${args[@]//PID/$attacker}"; then
			echo "try $i, at $moment: another file was armed"
			return 1
		fi
	done
}

# The victim sees it when it is armed, or losing would say nothing.
@test "a victim that root traces sees it" {
	timeout 20 "$NOPAL" -q -e "usdt:./victim:victim:hit { } interval:ms:100 { exit() }" 9>&-
	grep -q armed seen
}

@test "a bait that nobody exchanges is traced" {
	start_attacker never
	run timeout 20 "$NOPAL" -q -p $attacker -e "usdt::baited:hit { } interval:ms:20 { exit() }" 9>&-
	[ "$status" -eq 0 ]
	kill $attacker
	! grep -q armed seen
}

@test "names exchanged under usdt with -p arm another file" {
	attack usdt::baited:hit -p PID
}

@test "names exchanged under usdt:* arm another file" {
	attack 'usdt:*:baited:hit'
}

@test "names exchanged under usdt by path arm another file" {
	attack usdt:BAIT:baited:hit
}

@test "names exchanged under usdt by path and -p arm another file" {
	attack usdt:BAIT:baited:hit -p PID
}

@test "names exchanged under uprobe by path arm another file" {
	attack uprobe:BAIT:baited_function
}

@test "names exchanged under uretprobe by path and -p arm another file" {
	attack uretprobe:BAIT:baited_function -p PID
}

@test "names exchanged under perf events arm another file" {
	NOPAL_NO_FEATURES=uprobe_multi attack usdt:BAIT:baited:hit
}

@test "names exchanged when a later image comes arm another file" {
	LATER=later FOR=300 attack 'usdt:*:baited:hit'
}

# Without a pause: the name may lead to root's file when it is opened, but then its function is not there.
@test "names exchanged without a pause arm another file" {
	MOMENTS=(always)
	attack uprobe:BAIT:baited_function
	attack usdt::baited:hit -p PID
}

@test "without /proc the tracer attached by name" {
	run unshare -m sh -c 'mount -t tmpfs none /proc
		exec timeout 20 "$@"' - "$NOPAL" -q -e "usdt:./victim:victim:hit { } interval:ms:100 { exit() }" 9>&-
	echo "$output"
	[ "$status" -eq 1 ]
	says no-proc "cannot reach "
	[[ $output == *" as /proc/self/fd/"*"mount -t proc proc /proc"* ]]
	! grep -q armed seen
}

@test "files of many images, and their links, ran out of descriptors" {
	local i
	mkdir many
	for i in $(seq 70); do cp "$TARGETS/attack_victim" many/$i; done
	run bash -c 'ulimit -Sn 60; exec timeout 60 "$@"' - "$NOPAL" -e "usdt:$PWD/many/*:victim:hit { } interval:ms:50 { exit() }" 9>&-
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"Attached 71 probes"* ]]
	rm -r many/[4-9]*
	export NOPAL_NO_FEATURES=uprobe_multi
	run bash -c 'ulimit -Sn 60; exec timeout 60 "$@"' - "$NOPAL" -e "usdt:$PWD/many/*:victim:hit { } interval:ms:50 { exit() }" 9>&-
	echo "$output"
	[ "$status" -eq 0 ]
}
