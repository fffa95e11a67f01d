#!/usr/bin/env bats
# An ordinary user against a tracer and a listing of the whole machine by root: files that cost a minute, or
# gigabytes, do not keep either from its work or from ending. 10 tries; STRESS=1: 200.
load ../helpers

setup_file() {
	export DIR=$(mktemp -d)
	chmod 755 "$DIR"
	cc -O2 -D_GNU_SOURCE -I"$ROOT/tests" -o "$DIR/bounds" "$ROOT"/tests/{attacks/bounds,help/hostile_elf}.c
	export TRIES=${STRESS:+40} MANY=${STRESS:+4000}
	TRIES=${TRIES:-2} MANY=${MANY:-1000}
}

teardown_file() {
	rm -rf "$DIR"
}

# attack KIND COUNT: an ordinary user maps such files; $attacker is to be killed.
attack() {
	: >"$DIR/said"
	chmod 666 "$DIR/said"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$DIR/bounds" map "$1" "$2" >"$DIR/said" 3>&- &
	attacker=$!
}

wait_mapped() {
	for _ in $(seq 600); do
		grep -q mapped "$DIR/said" && return 0
		sleep 0.05
	done
	return 1
}

end_attack() {
	kill -KILL $attacker
	wait $attacker || true
}

# A program of our own, $tick, that is mapped as well, until $honest is killed.
start_honest() {
	tick=$BATS_TEST_TMPDIR/tick
	[ -e "$tick" ] || cp "$TARGETS/tick" "$tick"
	[ -e "$DIR/never" ] || mkfifo "$DIR/never"
	"$tick" wait <>"$DIR/never" >/dev/null 3>&- &
	honest=$!
}

# list_all: list the machine; $output, $memory in KiB, $cpu in ms. Our own program is in it.
list_all() {
	start_honest
	run timeout 120 "$DIR/bounds" measure "$NOPAL" list -a
	kill $honest
	cpu=$(grep -o 'cpu [0-9]*' <<<"$output" | tail -1 | cut -d' ' -f2)
	memory=$(grep -o 'memory [0-9]*' <<<"$output" | tail -1 | cut -d' ' -f2)
	tail -3 <<<"$output"
	[ "$status" = 0 ]
	[[ $output == *"$tick:tick:word"* ]]
}

# A tracer of everything that is stopped while the files are coming in.
trace_and_stop() {
	local ms
	start_tracer 'usdt:*:hos*:* { @ = count(); } usdt:*:tick:word { @w = count(); }'
	attack "$1" "$2"
	sleep 0.$((RANDOM % 9))
	ms=$("$DIR/bounds" stop $tracer)
	wait $tracer
	end_attack
	echo "$1: gone after $ms ms"
	[ "$ms" -lt 5000 ] # some 100; it was a minute
}

@test "20,000 notes times 400,000 equal names do not stop a listing or a tracer" {
	need_tracing
	for _ in $(seq "$TRIES"); do
		attack equal 1
		wait_mapped
		list_all
		end_attack
		[ "$cpu" -lt 10000 ]
		trace_and_stop equal 3
	done
}

@test "a million names that share one text end, and are named with the limit" {
	need_tracing
	for _ in $(seq "$TRIES"); do
		attack long 1
		wait_mapped
		list_all
		end_attack
		[ "$cpu" -lt 10000 ]
		[[ $output == *"hostile"*"is skipped: its probes take more than 400 million steps of work"* ]]
		trace_and_stop long 3
	done
}

@test "64 sections over the same notes take no gigabytes" {
	need_tracing
	for _ in $(seq "$TRIES"); do
		attack overlaps 1
		wait_mapped
		list_all
		end_attack
		[ "$memory" -lt $((256 * 1024)) ]
		[[ $output == *"hostile"* ]]
		says over-budget "is skipped: its probes take more than 64 MiB of memory"
		trace_and_stop overlaps 3
	done
}

@test "thousands of files with notes that match or not are not all kept" {
	need_tracing
	for _ in $(seq "$TRIES"); do
		attack many "$MANY"
		wait_mapped
		start_honest
		run "$DIR/bounds" measure "$NOPAL" list 'usdt:*:tick:word'
		kill $honest
		memory=$(grep -o 'memory [0-9]*' <<<"$output" | tail -1 | cut -d' ' -f2)
		tail -2 <<<"$output"
		[ "$status" = 0 ]
		[[ $output == *"$tick:tick:word"* ]]
		[ "$memory" -lt $((256 * 1024)) ]
		list_all
		end_attack
		[ "$memory" -lt $((700 * 1024)) ]
		trace_and_stop many 200
	done
}

@test "a large dynamic section is looked at once" {
	need_tracing
	for _ in $(seq "$TRIES"); do
		attack dynamic 1
		wait_mapped
		list_all
		end_attack
		[ "$cpu" -lt 10000 ]
		trace_and_stop dynamic 3
	done
}
