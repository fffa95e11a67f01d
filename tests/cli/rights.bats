# What can be traced with some of root's rights, without /sys, on a locked down kernel; and what doctor says of it.
load ../helpers

setup() {
	need_tracing
	need_program setpriv
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
	cp "$NOPAL" nopal
	tick=$(private tick)
	mkfifo go
}

# with_capabilities LIST COMMAND...: as an ordinary user who has these, "+bpf,+perfmon".
with_capabilities() {
	local list=$1
	shift
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="$list" --ambient-caps="$list" "$@"
}

# A process of that user that waits to fire tick:loop N times: $target.
start_target() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$tick" wait loop "$1" <go 3>&- &
	target=$!
	exec 8>go
	# Until it has called exec, it is setpriv.
	for _ in $(seq 200); do
		[ "$(cat /proc/$target/comm)" != tick ] || return 0
		sleep 0.05
	done
	return 1
}

# trace_target OPTIONS...: the tracer with CAP_BPF and CAP_PERFMON alone, until the process ends.
trace_target() {
	__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 with_capabilities +bpf,+perfmon ./nopal -p $target "$@" >printed 2>messages 3>&- 8>&- &
	tracer=$!
	for _ in $(seq 200); do
		grep -q __BPFTRACE_NOTIFY_PROBES_ATTACHED messages && break
		kill -0 $tracer || { cat messages; return 1; }
		sleep 0.05
	done
	echo >&8
	wait $tracer
	cat printed messages
}

@test "CAP_BPF and CAP_PERFMON alone: -p asked for tracefs" {
	start_target 12
	trace_target -e "usdt:$tick:tick:loop { @ = count(); @text[str(arg1)] = count() }"
	grep -q '^@: 12$' printed
	grep -q '^@text\[the quick brown fox\]: 12$' printed
	start_target 13
	trace_target -e 'usdt::tick:loop { @ = count(); @stack[ustack(2)] = count() }'
	grep -q '^@: 13$' printed
	run with_capabilities +bpf,+perfmon ./nopal -q -e "usdt:$tick:tick:loop { @ = count() }" -c "$tick fork 50"
	[[ "$output" == *"@: 100"* ]]
}

@test "CAP_BPF and CAP_PERFMON alone: a tracepoint says which right is missing" {
	run with_capabilities +bpf,+perfmon ./nopal -e 'tracepoint:sched:sched_process_exit { }'
	[ "$status" = 1 ]
	says unreadable-tracepoint "Permission denied"
	[[ "$output" == *"CAP_DAC_READ_SEARCH"* ]]
	run unshare -m bash -c 'umount -l /sys; exec "$@"' - setpriv --reuid=65534 --regid=65534 --clear-groups \
		--inh-caps=+bpf,+perfmon --ambient-caps=+bpf,+perfmon ./nopal -e 'tracepoint:sched:sched_process_exit { }'
	[ "$status" = 1 ]
	says no-tracefs "tracefs is not mounted"
	run with_capabilities +bpf,+perfmon,+dac_read_search ./nopal -q -e 'tracepoint:sched:sched_process_exec { @ = count() }' -c true
	[ "$status" = 0 ]
	[[ "$output" == *"@: 1"* ]]
}

@test "one of the two capabilities alone: the other one is named" {
	run with_capabilities +bpf ./nopal -e "usdt:$tick:tick:loop { @ = count() }"
	[ "$status" = 1 ]
	[[ "$output" == *"this process lacks CAP_PERFMON"* ]]
	run with_capabilities +perfmon ./nopal -e "usdt:$tick:tick:loop { @ = count() }"
	[ "$status" = 1 ]
	[[ "$output" == *"this process lacks CAP_BPF"* ]]
	run setpriv --reuid=65534 --regid=65534 --clear-groups ./nopal -e "usdt:$tick:tick:loop { @ = count() }"
	[[ "$output" == *"needs root, or CAP_BPF and CAP_PERFMON, and this process has neither"* ]]
	run unshare -Ur ./nopal -e "usdt:$tick:tick:loop { @ = count() }"
	[ "$status" = 1 ]
	[[ "$output" == *"the capabilities of a user namespace"* ]]
}

@test "doctor's verdict is that of a trial, with the rights that are there" {
	run with_capabilities +bpf,+perfmon ./nopal doctor
	[ "$status" = 0 ]
	[[ "$output" == *$'\ntracing works' ]]
	grep -qE '^CAP_PERFMON +yes' <<<"$output"
	grep -qE '^CAP_SYS_PTRACE +no' <<<"$output"
	run with_capabilities +bpf ./nopal doctor
	[ "$status" = 1 ]
	grep -qE '^CAP_PERFMON +no' <<<"$output"
	[[ "$output" == *"this process lacks CAP_PERFMON"*"does not work here"* ]]
}

@test "doctor said that tracing does not work in a container without /sys, where it does" {
	run unshare -m bash -c 'umount -l /sys && ./nopal doctor'
	[ "$status" = 0 ]
	[[ "$output" == *$'\ntracing works' ]]
	grep -qE '^tracefs +no ' <<<"$output"
	start_target 14
	unshare -m bash -c 'umount -l /sys && exec ./nopal -e "usdt:$1:tick:loop { @ = count() }" -p $2' - "$tick" $target >printed 2>messages 3>&- 8>&- &
	tracer=$!
	for _ in $(seq 100); do
		grep -q '^Attached' messages && break
		sleep 0.05
	done
	echo >&8
	wait $tracer
	grep -q '^@: 14$' printed
	run unshare -m bash -c 'umount -l /sys && exec ./nopal -q -e "usdt:$1:tick:loop { @ = count() }" -c "$1 fork 50"' - "$tick"
	[[ "$output" == *"@: 100"* ]]
}

@test "the lockdown 'integrity' took the kernel's part of user mode away" {
	[ -d /sys/kernel/security ] || skip "no /sys/kernel/security to mount upon"
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	run unshare -m bash -c 'mount -t tmpfs tmpfs /sys/kernel/security
		echo "none [integrity] confidentiality" >/sys/kernel/security/lockdown
		exec ./nopal -q --user -e "usdt:$1:tick:loop { @[kstack(1)] = count() }" -c "$1 loop 50"' - "$tick"
	echo "$output"
	[[ "$output" == *"]: 50"* ]]
}

@test "doctor names the kernel's lockdown" {
	[ -d /sys/kernel/security ] || skip "no /sys/kernel/security to mount upon"
	for mode in integrity confidentiality; do
		run unshare -m bash -c 'mount -t tmpfs tmpfs /sys/kernel/security || exit
			echo "none integrity confidentiality" | sed "s/$1/[$1]/" >/sys/kernel/security/lockdown; ./nopal doctor' - $mode
		grep -qE "^lockdown +$mode:" <<<"$output"
	done
}

@test "root's -c was traced in user mode under the lockdown of Secure Boot, which allows tracing" {
	[ -d /sys/kernel/security ] || skip "no /sys/kernel/security to mount upon"
	run unshare -m bash -c 'mount -t tmpfs tmpfs /sys/kernel/security || exit
		echo "none [integrity] confidentiality" >/sys/kernel/security/lockdown
		./nopal -q -e "usdt:$1:tick:loop { @n[pid, arg0] = count(); for (\$kv : @n) { @loops = count() } }" -c "$1 loop 2"' - "$tick"
	echo "$output"
	[[ "$output" == *"@loops: 3"* ]]
}
