#!/usr/bin/env bats
# An ordinary user against root's tracer: the file that is armed is the one that was read, whatever its name
# leads to by then. STRESS=1 tries each attack 200 times.
load ../helpers

# Moments at which the names are exchanged, one after the other: see tests/targets/attack_swap.c.
MOMENTS=(close:1 open:1 access:1 close:2 open:2 close:1:300 access:3 open:1:2000 access:10 close:3)
TRIES=$([ -n "${STRESS-}" ] && echo 200 || echo 10)

setup() {
	need_tracing
	need_program setpriv
	cd "$BATS_TEST_TMPDIR"
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" "${BATS_TEST_TMPDIR%/*}"
	cp "$TARGETS/attack_victim" victim
	mkdir theirs
	cp "$TARGETS/attack_swap" theirs
	chown 65534:65534 theirs
	# Both have the probe at one offset, or nothing is attacked.
	[ "$("$NOPAL" list --json ./victim | grep -o '"offset":[^,]*' | head -1)" = \
		"$("$NOPAL" list --json "$TARGETS/attack_baited" | grep -o '"offset":[^,]*' | head -1)" ]
	mkfifo hold
	./victim <hold >seen 3>&- &
	exec 9>hold
	until grep -q watching seen; do sleep 0.02; done
}

USER_ID=(setpriv --reuid=65534 --regid=65534 --clear-groups)

# start_attacker MOMENT [later]: $bait is what it maps, a new file each time; its pid is $attacker.
start_attacker() {
	bait=$PWD/theirs/bait
	rm -f theirs/bait theirs/other ready
	"${USER_ID[@]}" cp "$TARGETS/attack_baited" theirs/bait
	"${USER_ID[@]}" ln -s "$PWD/victim" theirs/other
	"${USER_ID[@]}" theirs/attack_swap "$1" theirs/bait theirs/other "${@:2}" >ready 2>attacker.err 3>&- 9>&- &
	attacker=$!
	until grep -qs ready ready; do
		kill -0 $attacker || { cat attacker.err >&2; return 1; }
		sleep 0.01
	done
}

# attack PROBE [OPTIONS]: words BAIT and PID in them are the attacker's. Each try with the next moment.
attack() {
	local i args status
	for ((i = 0; i < TRIES; i++)); do
		# shellcheck disable=SC2086
		status=0
		start_attacker "${MOMENTS[i % ${#MOMENTS[@]}]}" ${LATER-}
		args=("${@//BAIT/$bait}")
		args=("${args[@]//PID/$attacker}")
		timeout 20 "$NOPAL" -q "${args[@]:1}" -e "${args[0]} { } interval:ms:${FOR-60} { exit() }" >out 2>&1 9>&- || status=$?
		[ "${status:-0}" -ne 2 ] # wrong usage: nothing was tried
		kill $attacker
		wait $attacker 2>/dev/null || true
		if grep -q armed seen; then
			echo "try $i, at ${MOMENTS[i % ${#MOMENTS[@]}]}: another file was armed"
			cat out
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
	[[ $output == *"cannot reach "*" as /proc/self/fd/"*"mount -t proc proc /proc"* ]]
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
