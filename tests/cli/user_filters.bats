# User mode and processes with system call filters (seccomp) of all kinds. None ever notices: root suspends the filter for the calls that
# are made in it at the beginning, and code at its probes makes none; an ordinary user, who cannot suspend it, is refused before.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	[ "$(id -u)" = 0 ] || skip "needs root, for --user"
	dir=$(mktemp -d /tmp/nopal-filters.XXXXXX)
	chmod 755 "$dir"
	cp "$TARGETS/filters" "$TARGETS/sandboxes" "$TARGETS/pluglib" "$dir"
}

teardown() {
	[ -z "${target:-}" ] || kill -9 "$target" 2>/dev/null || true
	[ -z "${dir:-}" ] || rm -rf "$dir"
}

# start AS FILTER...: $target, by root or by nobody, under that filter.
start() {
	local as=()
	[ "$1" = root ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	shift
	rm -f "$dir/go"
	mkfifo "$dir/go"
	"${as[@]}" "$dir/filters" "$@" <"$dir/go" >"$dir/printed" 3>&- &
	target=$!
	exec 8>"$dir/go"
	# Until it has called exec, it is setpriv.
	for _ in $(seq 200); do
		[ "$(cat /proc/$target/comm)" != filters ] || break
		sleep 0.05
	done
	[ "${3:-}" = late ] || ready
}

ready() {
	for _ in $(seq 200); do
		! grep -q ready "$dir/printed" || return 0
		sleep 0.05
	done
	return 1
}

# ends_well: it goes on to its end, and no call was made that its filter refuses.
ends_well() {
	echo >&8
	wait $target
	target=
	grep -qx alive "$dir/printed"
}

script='usdt:filters:fire { @[str(arg0), comm, pid == 0, str(arg1)] = count(); @t[tid != 0] = count(); @s = sum(arg2) }'

# traced: what is in no memory that is sure to stay cannot be read without a call.
traced() {
	start_tracer "$script" --engine=native -p $target "$@"
	ends_well
	wait $tracer
	cat "$output_file"
	grep -qx '@\[near, (unreadable), false, (unreadable)\]: 1000' "$output_file"
	grep -qx '@t\[true\]: 1000' "$output_file"
	grep -qx '@s: 499500' "$output_file"
}

refused() {
	run setpriv --reuid=65534 --regid=65534 --clear-groups timeout 20 "$NOPAL" -p $target -e "$script"
	[ "$status" = 1 ]
	says user-mode-filter "it has a system call filter (seccomp), which only root can suspend"
	ends_well
}

@test "strict mode" {
	start root strict
	traced
	start nobody strict
	refused
}

# each_verdict LIST: refused in each way that there is.
each_verdict() {
	for how in kill thread errno trap trace notify; do
		start root $how "$1"
		traced
		start nobody $how "$1"
		refused
	done
}

@test "a filter that permits nearly nothing" {
	each_verdict few
}

@test "a filter that refuses just what a tracer needs" {
	each_verdict maps
}

@test "a filter as services have them" {
	each_verdict service
}

@test "a filter that comes while the process is traced" {
	for how in kill trap errno; do
		start nobody $how few late
		start_tracer "$script" --engine=native -p $target
		echo >&8
		ready
		ends_well
		wait $tracer
		grep -qx '@\[near, (unreadable), false, (unreadable)\]: 1000' "$output_file"
	done
}

# sandboxed AS HOW COUNT: of so many children, none is ended by the filter that it gives itself while its threads are at probes.
sandboxed() {
	local as=()
	[ "$1" = root ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	rm -f "$dir/go"
	mkfifo "$dir/go"
	"${as[@]}" "$dir/sandboxes" "$2" "$3" <"$dir/go" >"$dir/printed" 3>&- &
	target=$!
	exec 8>"$dir/go"
	ready
	start_tracer 'usdt:sandboxes:fire { @n = count(); @[str(arg0)] = count() }' --engine=native --follow -p $target
	echo >&8
	wait $target
	target=
	wait $tracer
	cat "$dir/printed" "$output_file" "$messages"
	grep -qx 'killed 0' "$dir/printed"
	grep -qx "@n: $(sed -n 's/^fired //p' "$dir/printed")" "$output_file"
	grep -qx '@\[text\]: [0-9]*' "$output_file"
	grep -qx '@\[(unreadable)\]: [0-9]*' "$output_file"
}

@test "a filter that a thread gives itself at any moment ends nothing" {
	local count=${STRESS:+1000}
	for how in prctl seccomp tsync strict; do
		sandboxed root $how "${count:-100}"
	done
	sandboxed nobody tsync 20
}

@test "... in a static program, and with another C library" {
	cc -O2 -static -I"$ROOT/include" -o "$dir/sandboxes" "$ROOT/tests/targets/sandboxes.c" -lpthread || skip "no static libc"
	sandboxed root prctl 20
	sandboxed root tsync 20
	command -v musl-gcc >/dev/null || skip "no musl-gcc"
	musl-gcc -O2 -idirafter /usr/include -idirafter "/usr/include/$(uname -m)-linux-gnu" -I"$ROOT/include" -o "$dir/sandboxes" "$ROOT/tests/targets/sandboxes.c"
	sandboxed root prctl 20
}

# loads AS: a library, when it has a filter; the tracer is the same user.
loads() {
	local NOPAL=$NOPAL
	if [ "$1" = nobody ]; then
		printf '#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups %s "$@"\n' "$NOPAL" >"$dir/nopal"
		chmod 755 "$dir/nopal"
		NOPAL=$dir/nopal
	fi
	start "$1" kill tracer late "$dir/pluglib"
	start_tracer "$script usdt:$dir/pluglib:plug:in { @plugged = count() }" --engine=native -p $target
	echo >&8
	ready
	ends_well
	wait $tracer || { cat "$messages" && false; }
	cat "$output_file" "$messages"
	grep -qx '@\[near, (unreadable), false, (unreadable)\]: 1000' "$output_file"
}

@test "a library that is loaded under a filter" {
	loads root
	grep -qx '@plugged: 10' "$output_file"
	loads nobody
	says user-mode-filtered "has got a system call filter (seccomp): what it maps from now on is not traced" "$messages"
}
