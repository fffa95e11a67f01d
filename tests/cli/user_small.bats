# User mode is small in the traced process, on any number of CPUs.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	[ "$(id -u)" = 0 ] || skip "needs root, for --user"
	dir=$(mktemp -d /tmp/nopal-small.XXXXXX)
	cp "$TARGETS/tick" "$dir"
	mkfifo "$dir/go"
}

teardown() {
	[ -z "${target:-}" ] || kill -9 "$target" 2>/dev/null || true
	[ -z "${dir:-}" ] || rm -rf "$dir"
}

# KiB of addresses that the target has.
addresses() {
	awk '/^VmSize:/ { print $2 }' "/proc/$target/status"
}

# with_cpus N COMMAND...: where the kernel says that there may be so many CPUs; 0: as it is.
with_cpus() {
	local cpus=$1
	shift
	[ "$cpus" != 0 ] || exec "$@"
	echo "0-$((cpus - 1))" >"$dir/possible"
	exec unshare -m sh -c 'mount --bind "$0" /sys/devices/system/cpu/possible && exec "$@"' "$dir/possible" "$@"
}

# grows KIB CLAUSE RESULT: on as many CPUs as there are, on 16 and on 256, a session with this clause adds at most KIB to the
# program's addresses, and prints a line that is RESULT.
grows() {
	local before after cpus
	for cpus in 0 16 256; do
		"$dir/tick" wait loop 100 2 <"$dir/go" >/dev/null 3>&- &
		target=$!
		exec 8>"$dir/go"
		before=$(addresses)
		__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 with_cpus $cpus "$NOPAL" --user -e "usdt:$dir/tick:tick:loop { $2 }" -p $target >"$dir/out" 2>"$dir/err" 3>&- 8>&- &
		tracer=$!
		for _ in $(seq 600); do
			! grep -q PROBES_ATTACHED "$dir/err" || break
			sleep 0.05
		done
		after=$(addresses)
		echo >&8
		exec 8>&-
		wait $target
		wait $tracer
		cat "$dir/out" "$dir/err"
		echo "on ${cpus/#0/these} CPUs: $before KiB, then $after"
		grep -qx "$3" "$dir/out"
		[ "$after" -gt "$before" ]
		[ $((after - before)) -le "$1" ]
	done
}

@test "count() took 71 MiB of addresses" {
	grows 4096 '@ = count()' '@: 200'
}

@test "hist() took 71 MiB of addresses" {
	grows 4096 '@ = hist(arg0)' '\[64, 128).*'
}

@test "printf took 71 MiB of addresses, and more on more CPUs" {
	grows 8192 'printf("record %d\n", arg0)' 'record 99'
}
