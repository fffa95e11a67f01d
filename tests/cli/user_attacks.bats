# User mode: processes that want to harm the tracer, their own or that of another. It goes on, and ends when it should.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	[ "$(id -u)" = 0 ] || skip "needs root, to be several users"
}

# ends_in_time OPTIONS...: a run of nopal that is waited for, but not for ever. Its text is $output.
ends_in_time() {
	run timeout -k 5 60 "$NOPAL" "$@"
	echo "$output"
	[ "$status" -ne 124 ] && [ "$status" -ne 137 ]
}

@test "a process put a full socket in place of the one through which it gets the memory, and the tracer waited for ever" {
	start_ready attack_exchange
	until [[ ${output-} == *'cannot trace'* ]]; do
		ends_in_time --user -p $pid -e 'usdt::attack:fire { @n = count() } interval:ms:20 { exit() }'
	done
	grep -q exchanged "$printed"
	says user-mode-map "it cannot receive the shared memory"
	kill -0 $pid
}
