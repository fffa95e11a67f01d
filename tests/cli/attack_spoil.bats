#!/usr/bin/env bats
# An ordinary user's file or process against a run over all processes: what cannot be probed of it is skipped
# with a warning, and everything else is traced.
load ../helpers

setup() {
	need_tracing
	need_program setpriv
	cd "$BATS_TEST_TMPDIR" || return 1
	mkfifo hold
	setpriv --reuid=65534 --regid=65534 --clear-groups "$TARGETS/attack_spoil" <hold >spoil 3>&- &
	exec 9>hold
	until grep -qs ready spoil; do sleep 0.02; done
}

# Other tests' processes may have tick mapped as well: ours is a copy.
both() {
	local tick
	tick=$(private tick)
	start_tracer "usdt:*:spoiled:$1 { } usdt:$tick:tick:number { print(arg0) }" -q 9>&-
	"$tick" number 7
	stop_tracer
	[ "$(cat "$output_file")" = 7 ]
	says attach "is skipped: $2" "$messages"
}

@test "a semaphore that holds no count ends a run over all processes" {
	both hit "the kernel refuses an offset or the semaphore of a site"
}

@test "two probes at one place with two semaphores end a run over all processes" {
	both twice "another probe at the same address has another semaphore, and the kernel accepts only one"
}

@test "what cannot be probed is an error when its file is named" {
	run timeout 20 "$NOPAL" -q -e "usdt:$TARGETS/attack_spoil:spoiled:hit { }" 9>&-
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *"cannot attach to"*"the kernel refuses an offset or the semaphore of a site"* ]]
}
