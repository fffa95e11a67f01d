# Shared by the attacks: an ordinary user against root's tracer. Programs are tests/targets/attack_*.c.

# Attacks are tried ten times, and 200 times with STRESS=1.
TRIES=$([ -n "${STRESS-}" ] && echo 200 || echo 10)
USER_ID=(setpriv --reuid=65534 --regid=65534 --clear-groups)

# A directory for the test that users may look into.
enter_attacked_directory() {
	need_tracing
	need_program setpriv
	cd "$BATS_TEST_TMPDIR" || return 1
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" "${BATS_TEST_TMPDIR%/*}"
}

# Root's program ./victim: its lines go to ./seen, its pid is $victim. It ends when descriptor 9 is closed.
start_victim() {
	mkfifo hold
	./victim <hold >seen 3>&- &
	victim=$!
	exec 9>hold
	until grep -q watching seen; do sleep 0.02; done
}

# The attacker that was started last prints "ready" into ./ready; its pid is $attacker.
await_attacker() {
	attacker=$!
	until grep -qs ready ready; do
		kill -0 $attacker || { cat attacker.err >&2; return 1; }
		sleep 0.01
	done
}

# trace_attacked PROBE [OPTIONS]: a short run while the attacker is at work, its text in ./out; the attacker ends.
trace_attacked() {
	local status=0
	timeout 20 "$NOPAL" -q "${@:2}" -e "$1 { } interval:ms:${FOR-60} { exit() }" >out 2>&1 9>&- || status=$?
	kill $attacker
	wait $attacker 2>/dev/null || true
	[ "$status" -ne 2 ] || return 1 # wrong usage: nothing was tried
	! grep -q armed seen || { cat out; return 1; }
}
