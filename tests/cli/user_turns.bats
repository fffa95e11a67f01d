# User mode in programs that map and unmap memory all the time, where code for their probes would be put.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	[ "$(id -u)" = 0 ] || skip "needs root, for --user"
	dir=$(mktemp -d /tmp/nopal-turns.XXXXXX)
	times=${STRESS:+60}
	times=${times:-12}
}

teardown() {
	[ -z "${target:-}" ] || kill -9 "$target" 2>/dev/null || true
	[ -z "${dir:-}" ] || rm -rf "$dir"
}

# turns [near]: each process is traced, and every text on its heap is read.
turns() {
	cp "$TARGETS/turns" "$dir"
	for _ in $(seq "$times"); do
		rm -f "$dir/go"
		mkfifo "$dir/go"
		"$dir/turns" 1000 "$@" <"$dir/go" >"$dir/printed" 3>&- &
		target=$!
		exec 8>"$dir/go"
		awaits grep -q ready "$dir/printed"
		start_tracer "usdt:$dir/turns:turns:text { @n = count(); @[str(arg0)] = count() }" --engine=native -p $target 8>&-
		echo >&8
		wait $target
		wait $tracer
		cat "$dir/printed" "$output_file" "$messages"
		grep -qx 'fired 1000' "$dir/printed"
		grep -qx '@n: 1000' "$output_file"
		grep -qx '@\[heap\]: 1000' "$output_file"
	done
}

@test "memory that comes and goes where the kernel puts it" {
	turns
}

# bats test_tags=deep
@test "memory that comes and goes where the jump of a probe leads" {
	turns near
}
