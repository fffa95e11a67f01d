#!/usr/bin/env bats
# An ordinary user against root's tracer: a debug file that the user made for root's own program, in a mount
# namespace of their own, decides nothing about where that program is changed. STRESS=1 tries 200 times.
load ../helpers
load ../attack

setup() {
	enter_attacked_directory
	need_program objcopy
	"${USER_ID[@]}" unshare -Urm true 2>/dev/null || skip "users may not make namespaces here"
	[ -d /usr/lib/debug ] || skip "needs /usr/lib/debug"
	# Root's program has neither notes nor symbols; the forged debug file has both, and its build-id.
	objcopy --strip-all -R .note.stapsdt "$TARGETS/attack_victim" victim
	objcopy --dump-section .note.gnu.build-id=id victim
	objcopy --update-section .note.gnu.build-id=id "$TARGETS/attack_baited" forged.debug
	build_id=$(readelf -n victim | sed -n 's/.*Build ID: //p')
	debug_file=/usr/lib/debug/.build-id/${build_id:0:2}/${build_id:2}.debug
	cp "$TARGETS/attack_swap" .
	start_victim
}

# start_attacker [later]: a process that has root's program mapped, by a name that only its mount namespace has,
# and the forged file where it sees debug files; its pid is $attacker.
start_attacker() {
	rm -f ready
	"${USER_ID[@]}" unshare -Urm sh -c 'mount -t tmpfs none /usr/lib/debug
		mkdir -p "${1%/*}"
		cp forged.debug "$1"
		shift
		mount -t tmpfs none /mnt
		touch /mnt/victim
		mount --bind victim /mnt/victim
		exec ./attack_swap never "$@"' - "$debug_file" /mnt/victim none "$@" >ready 2>attacker.err 3>&- 9>&- &
	await_attacker
}

# attack SAYS PROBE [OPTIONS]: PID in the options is the attacker's; the tracer says why not (empty: it may
# have met root's process first).
attack() {
	local i args
	for ((i = 0; i < TRIES; i++)); do
		# shellcheck disable=SC2086
		start_attacker ${LATER-}
		args=("${@//PID/$attacker}")
		[ -z "${ROOT_LATER-}" ] || (sleep "$ROOT_LATER"; sleep 0.15 | ./victim >>seen) 3>&- 9>&- &
		if ! trace_attacked "${args[@]:1}"; then
			echo "try $i: root's program was changed where a user said"
			return 1
		fi
		[ -z "$1" ] || grep -q "$1" out || { cat out; return 1; }
	done
}

@test "a debug file of root's own is believed" {
	run unshare -m sh -c 'mount -t tmpfs none /usr/lib/debug
		mkdir -p "${1%/*}"
		cp forged.debug "$1"
		shift
		exec "$@"' - "$debug_file" timeout 20 "$NOPAL" -q -e "usdt:./victim:baited:hit { } interval:ms:100 { exit() }" 9>&-
	echo "$output"
	[ "$status" -eq 0 ]
	grep -q armed seen
}

@test "a debug file that others may write to is believed" {
	run unshare -m sh -c 'mount -t tmpfs none /usr/lib/debug
		mkdir -p "${1%/*}"
		cp forged.debug "$1"
		chmod g+w "$1"
		shift
		exec "$@"' - "$debug_file" timeout 20 "$NOPAL" -q -e "usdt:./victim:baited:hit { } interval:ms:100 { exit() }" 9>&-
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *"must belong to root"* ]]
	! grep -q armed seen
}

@test "a user's debug file for root's program is believed under -p" {
	attack "must belong to root" usdt::baited:hit -p PID
}

# The first process that has it mapped is the attacker's, and root's starts while it is traced.
end_victim() {
	exec 9>&-
	wait "$victim"
}

@test "a user's debug file for root's program is believed under usdt:*" {
	end_victim
	ROOT_LATER=0.15 FOR=350 attack "must belong to root" 'usdt:*:baited:hit'
}

@test "a user's debug file for root's program is believed when a later image comes" {
	end_victim
	ROOT_LATER=0.25 LATER=later FOR=450 attack "" 'usdt:*:baited:hit'
}

@test "a user's debug file says where the functions of root's program are" {
	attack "describes are skipped" uprobe:/mnt/victim:baited_function -p PID
	says untrusted-debug "describes are skipped" out
}

@test "the list says why a probe of a user's debug file cannot be traced" {
	start_attacker
	run "$NOPAL" list -v -p $attacker 'usdt:*:baited:hit'
	echo "$output"
	[[ $output == *"cannot be traced: its note is in '/proc/$attacker/root/usr/lib/debug/"*"must belong to root"* ]]
}
