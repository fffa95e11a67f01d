# The library through its example programs.
load ../helpers

@test "probe.h: probes of a file with their arguments in words" {
	run "$BUILD/examples/probes" "$TARGETS/tick"
	[ "$status" = 0 ]
	[[ "$output" == *"tick:loop at 0x"* ]]
	[[ "$output" == *"arg0  signed 4-byte"* ]]
	[ "$(grep -c '^tick:' <<<"$output")" = "$(readelf -n "$TARGETS/tick" | grep -c 'Provider: tick')" ]
}

@test "probe.h: a file that is not ELF is an error with a message" {
	run "$BUILD/examples/probes" /etc/passwd
	[ "$status" = 1 ]
	[[ "$output" == *"/etc/passwd"* ]]
}

@test "trace.h: compile, attach, drain, read a map" {
	need_tracing
	tick=$(private tick)
	run "$BUILD/examples/watch" "usdt:$tick:tick:word { printf(\".\"); @n[str(arg0)] = count() }" n "$tick word a b a"
	[ "$status" = 0 ]
	[[ "$output" == *"b -> 1"* ]]
	[[ "$output" == *"a -> 2"* ]]
	[[ "$output" == *"total 3"*"3 records, 0 lost"* ]]
}

@test "trace.h: a BPF program of one's own on a probe, all sites, semaphore and all" {
	need_tracing
	tick=$(private tick)
	run bash -c "'$BUILD/examples/attach' '$tick' tick loop '$tick loop 1000 2' 2>/dev/null"
	[ "$status" = 0 ]
	[ "$output" = 2000 ]
	run bash -c "'$BUILD/examples/attach' '$tick' tick gate '$tick active' 2>/dev/null"
	[ "$output" = $'1\n1' ]
	[ "$("$tick" active)" = 0 ]
}
