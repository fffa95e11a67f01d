# Shared by all bats files: where things are, when to skip, how to trace a program.
NOPAL=${NOPAL:-$PWD/build/nopal}
TARGETS=${TARGETS:-$PWD/build/targets}
ROOT=${ROOT:-$PWD}
BUILD=${BUILD:-$PWD/build}

# How many times longer than on a quiet machine it takes programs to start, as tests/run measures it for each file.
# Limits of time are multiplied by it.
FACTOR=${FACTOR:-1}

# Nothing that a test started outlives it, even when it fails.
teardown() {
	local left
	left=$(jobs -pr)
	# shellcheck disable=SC2086
	[ -z "$left" ] || kill $left 2>/dev/null || true
}

# Tracing in the kernel needs root and uprobes: skip the test where they are missing. A kernel that can trace is asked once
# a file: `nopal doctor` tries out each feature.
need_tracing() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	[ ! -e "$BATS_RUN_TMPDIR/can_trace" ] || return 0
	"$NOPAL" doctor >/dev/null 2>&1 || skip "this kernel cannot trace: $("$NOPAL" doctor | grep -m1 -i 'no ' || true)"
	: >"$BATS_RUN_TMPDIR/can_trace"
}

need_program() {
	command -v "$1" >/dev/null || skip "needs $1"
}

# perf must be able to use SystemTap's own probes here: some steps of it need a kernel with kprobes. It keeps
# its cache in $HOME/.debug.
need_perf_probes() {
	local theirs
	need_program perf
	need_tracing
	theirs=$(find /usr/include -path '*sys/sdt.h' | head -1)
	[ -n "$theirs" ] || skip "needs systemtap-sdt-dev to know whether perf can do it at all"
	(
		export HOME=$BATS_TEST_TMPDIR
		cd "$HOME"
		printf '#include "%s"\nint main(void) { DTRACE_PROBE(control_%d, run); return 0; }\n' "$theirs" $$ |
			gcc -O2 -x c - -o control
		perf buildid-cache --add ./control && perf probe sdt_control_$$:run && perf probe -d sdt_control_$$:run
	) || skip "perf cannot use SystemTap's own probes on this machine"
}

# awaits COMMAND...: until it succeeds, for a minute at most (FACTOR).
awaits() {
	for _ in $(seq $((1200 * FACTOR))); do
		! "$@" || return 0
		sleep 0.05
	done
	return 1
}

# start_ready TARGET ARGUMENTS...: start a traced program and wait until it says that it is ready. Its pid is $pid, what
# it prints is in $printed; a line to descriptor 7 is a line to its standard input.
start_ready() {
	printed=$BATS_TEST_TMPDIR/printed
	mkfifo "$BATS_TEST_TMPDIR/in"
	"$TARGETS/$1" "${@:2}" <"$BATS_TEST_TMPDIR/in" >"$printed" 3>&- &
	pid=$!
	exec 7>"$BATS_TEST_TMPDIR/in"
	awaits grep -q ready "$printed"
}

# says TAG TEXT [FILE]: FILE (default: what `run` kept) has a message with TEXT. TAG is the name of that message;
# tests/unit/tags.c looks for a test of every tag.
says() {
	local text="$output${stderr-}"
	[ $# -lt 3 ] || text=$(cat "$3")
	[[ $text == *"$2"* ]] && return
	printf 'no message [%s] with "%s" in:\n%s\n' "$1" "$2" "$text"
	return 1
}

# A private copy of a traced program: uprobes are machine-wide, this file is ours alone.
private() {
	cp "$TARGETS/$1" "$BATS_TEST_TMPDIR/$1"
	echo "$BATS_TEST_TMPDIR/$1"
}

# run_traced SCRIPT COMMAND: what nopal prints while COMMAND runs under -c; its messages go to $messages. In an emulator
# RUN_SECONDS is longer.
run_traced() {
	messages=$BATS_TEST_TMPDIR/messages
	run timeout "${RUN_SECONDS:-60}" bash -c '"$1" -q -e "$2" -c "$3" 2>"$4"' - "$NOPAL" "$1" "$2" "$messages"
}

# Start nopal in the background and wait until it is attached: start_tracer SCRIPT [OPTIONS...]. Its output
# goes to $output_file, its pid is $tracer.
start_tracer() {
	local script=$1
	shift
	output_file=$BATS_TEST_TMPDIR/output
	messages=$BATS_TEST_TMPDIR/messages
	: >"$messages"
	__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 "$NOPAL" -e "$script" "$@" >"$output_file" 2>"$messages" 3>&- &
	tracer=$!
	for _ in $(seq 1200); do
		grep -q __BPFTRACE_NOTIFY_PROBES_ATTACHED "$messages" && return 0
		kill -0 $tracer 2>/dev/null || break
		sleep 0.05
	done
	cat "$messages" >&2
	return 1
}

# End the tracer as ^C does, and wait for it.
stop_tracer() {
	kill -INT $tracer
	wait $tracer
}

# A tracer that cannot show 64 KiB of text can add up its words: as bpftrace does for the text at arg0, and of a file.
SUM_64K='$sum = (uint64)0; $i = 0; while ($i < 8192) { $sum = $sum * 31 + *(uint64 *)(arg0 + 8 * $i); $i++; }'
sum_64k() {
	local sum=0 word
	for word in $(od -An -v -td8 -N65536 "$1"); do
		sum=$((sum * 31 + word))
	done
	printf '%x\n' "$sum"
}

# gdb_prints PID START LAST 'PROBE FORMAT, ARGUMENTS'...: what gdb prints of each event of these probes, until the
# probe LAST, or, where that is empty, the program's end. START is a shell command for when all probes are set.
gdb_prints() {
	local spec
	need_program gdb
	printf '%s\n' 'set print elements 0' 'set max-value-size unlimited' >gdb.commands
	for spec in "${@:4}"; do
		printf '%s\n' "break -probe-stap ${spec%% *}" commands silent "printf ${spec#* }" continue end
	done >>gdb.commands
	[ -z "$3" ] || printf '%s\n' "break -probe-stap $3" commands silent delete detach quit end >>gdb.commands
	printf '%s\n' "shell $2" continue >>gdb.commands
	timeout 100 gdb -q -nx -batch -p "$1" -x gdb.commands >gdb.out 2>&1 3>&- || true
	! grep -aq "Operation not permitted" gdb.out || skip "gdb cannot attach here"
	LC_ALL=C sed -n 's/^= //p' gdb.out
}
