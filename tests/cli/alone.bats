# -p arms one process alone: what other processes of the same file, its children, and its own threads see of that.
load ../helpers

setup() {
	need_tracing
	need_program setpriv
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"
	alone=$(private alone)
	cd "$BATS_TEST_TMPDIR"
}

# tell TO FROM LINE: a line to the program behind these descriptors; prints its answer.
tell() {
	echo "$3" >&"$1"
	read -r -t 20 answer <&"$2"
	echo "$answer"
}

# The traced process: $traced. `traced LINE` says what it is to do, and prints its answer.
start_traced() {
	mkfifo to_traced from_traced
	"$alone" <to_traced >from_traced 3>&- &
	traced=$!
	exec 6>to_traced 7<from_traced
	read -r -t 10 answer <&7
}
traced() { tell 6 7 "$1"; }

# Another process of the same file, of an ordinary user: $other; `other LINE` as above.
start_other() {
	mkfifo to_other from_other
	setpriv --reuid=65534 --regid=65534 --clear-groups "$alone" <to_other >from_other 3>&- 6>&- 7>&- &
	other=$!
	exec 8>to_other 9<from_other
	read -r -t 10 answer <&9
}
other() { tell 8 9 "$1"; }

# A tracer that does not keep the pipes open.
trace_alone() {
	start_tracer "$@" 6>&- 7>&- 8>&- 9>&-
}

# The number that the run printed for the map @NAME.
map() {
	sed -n "s/^@$1: //p" "$output_file"
}

# The processes end with what tells them, and the run of -p with the traced one.
end_traced() {
	exec 6>&-
	wait $tracer || { echo "the tracer ended with $?"; cat "$messages"; return 1; }
}

@test "-p put breakpoints and raised semaphores into every process of the file" {
	local cycles=10 i
	[ -z "${STRESS:-}" ] || cycles=200
	start_traced
	start_other
	for i in $(seq $cycles); do
		trace_alone "usdt:$alone:alone:hit { @hit = count() } uprobe:$alone:hit_once { @in = count() }
			uretprobe:$alone:hit_once { @out = count() }" -p $traced -q
		[ "$(traced state)" = "armed, raised" ]
		[ "$(other state)" = free ]
		other "hit 5"
		other "fork 2"
		other "vfork 2"
		[ $((i % 5)) != 0 ] || [ "$(other exec)" = ready ]
		traced "hit 3"
		stop_tracer
		[ "$(map hit) $(map in) $(map out)" = "3 3 3" ]
		[ "$(traced state)" = free ]
		[ "$(other look)" = same ]
	done
}

# A third one: $second.
start_second() {
	mkfifo to_second from_second
	"$alone" <to_second >from_second 3>&- 6>&- 7>&- 8>&- 9>&- &
	second=$!
	exec 4>to_second 5<from_second
	read -r -t 10 answer <&5
}

@test "several -p armed every process of the file" {
	start_traced
	start_other
	start_second
	# The kernel's links cannot tell processes on older kernels: all are armed there.
	for missing in '' pid_filter; do
		export NOPAL_NO_FEATURES=$missing
		trace_alone "usdt:$alone:alone:hit { @[pid] = count() } uretprobe:$alone:hit_once { @out = count() }" \
			-p $traced -p $second,$traced 4>&- 5>&-
		[ "$(traced state)" = "armed, raised" ]
		[ "$(tell 4 5 state)" = "armed, raised" ]
		other "hit 5"
		[ "$missing" = pid_filter ] || [ "$(other look)" = same ]
		traced "hit 3"
		tell 4 5 "hit 2"
		stop_tracer
		cat "$output_file" "$messages"
		[ "$(map out)" = 5 ]
		grep -qx "@\[$traced\]: 3" "$output_file"
		grep -qx "@\[$second\]: 2" "$output_file"
		! grep "$other" "$output_file" || false
		[ "$(traced state) $(tell 4 5 state) $(other state)" = "free free free" ]
	done
}

@test "one of several -p was lost when another thread took it over, or its main thread ended" {
	start_traced
	start_second
	trace_alone "usdt:$alone:alone:hit { @[pid] = count() }" -p $traced,$second 4>&- 5>&-
	[ "$(traced exec)" = ready ]
	[ "$(tell 4 5 main-ends)" = ok ]
	sleep 1
	traced "hit 10"
	tell 4 5 "hit 7"
	exec 4>&-
	sleep 0.3
	kill -0 $tracer # there is another
	end_traced
	cat "$output_file" "$messages"
	grep -qx "@\[$traced\]: 10" "$output_file"
	grep -qx "@\[$second\]: 7" "$output_file"
	says rearmed "one of the processes continued in another thread" "$messages"
}

@test "-p by perf events arms nobody else either" {
	start_traced
	start_other
	export NOPAL_NO_FEATURES=uprobe_multi
	trace_alone "usdt:$alone:alone:hit { @hit = count() } uretprobe:$alone:hit_once { @out = count() }" -p $traced
	[ "$(traced state)" = "armed, raised" ]
	other "hit 5"
	traced "hit 3"
	traced "thread 4"
	traced "vfork 5"
	end_traced
	[ "$(map hit) $(map out)" = "7 7" ]
	[ "$(other look)" = same ]
}

@test "a BPF program of the caller's own for one process arms nobody else" {
	local attach=${BUILD:-$ROOT/build}/examples/attach
	[ -x "$attach" ] || skip "needs the examples"
	start_traced
	start_other
	mkfifo go
	"$attach" "$alone" alone hit 'cat go' $traced >output 2>messages 3>&- 6>&- 7>&- 8>&- 9>&- &
	tracer=$!
	for _ in $(seq 100); do
		! grep -q '^attached' messages || break
		sleep 0.05
	done
	[ "$(traced state)" = "armed, raised" ]
	other "hit 5"
	traced "hit 3"
	: >go
	wait $tracer
	[ "$(cat output)" = 3 ]
	[ "$(traced state)" = free ]
	[ "$(other look)" = same ]
}

@test "an ordinary user can make itself traced, or a process of root untraced" {
	start_traced
	start_other
	trace_alone "usdt:$alone:alone:hit { @[pid] = count() }" -p $traced
	# Its file mapped again, its memory copied and shared, its program run again; signals, tracing, writing.
	other "vfork 3"
	other grandchild
	other exec
	other "hit 9"
	run setpriv --reuid=65534 --regid=65534 --clear-groups bash -c '
		kill -TERM '$traced'; echo x >/proc/'$traced'/mem; kill -INT '$tracer'; gdb -q -batch -nx -p '$traced' -ex "detach"
		exec "$1" <<<"hit 10"' - "$alone"
	traced "hit 3"
	end_traced
	cat "$output_file"
	[ "$(grep -c '^@\[' "$output_file")" = 1 ]
	grep -q "^@\[$traced\]: 3$" "$output_file"
	[ "$(other look)" = same ]
}

@test "a run of several -p went on when all of them had ended" {
	local tick first second
	tick=$(private tick)
	mkfifo first second
	"$tick" wait number 1 2 3 <first >/dev/null 3>&- &
	first=$!
	"$tick" wait number 4 5 <second >/dev/null 3>&- &
	second=$!
	exec 6>first 7>second
	__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 timeout 60 "$NOPAL" count "$tick:tick:number" -p $first,$second >counted 2>said 3>&- 6>&- 7>&- &
	tracer=$!
	for _ in $(seq 600); do
		! grep -q ATTACHED said || break
		sleep 0.05
	done
	echo >&6
	wait $first
	sleep 0.3
	kill -0 $tracer # there is another
	echo >&7
	wait $tracer
	cat counted said
	grep -qE '^tick:number +5$' counted
}

@test "several -p took processes that are not there" {
	local tick
	tick=$(private tick)
	sleep 0 &
	wait $!
	run timeout 60 "$NOPAL" count "$tick:tick:number" -p $$,$!
	[ "$status" -eq 1 ]
	[[ $output == *"cannot trace process $!: "* ]]
}

@test "the children of -p are not traced, and counted exactly" {
	start_traced
	trace_alone "usdt:$alone:alone:hit { @ = count() }" -p $traced
	traced "hit 1"
	traced "thread 10"
	traced "fork 100"
	traced "vfork 1000"
	traced grandchild
	end_traced
	cat "$output_file" "$messages"
	[ "$(map)" = 11 ]
	grep -q "process $traced started 3 processes that were not traced" "$messages"
	grep -q "hint: --follow traces them too" "$messages"
}

@test "--follow traces the children of -p" {
	start_traced
	trace_alone "usdt:$alone:alone:hit { @ = count() }" -p $traced --follow
	traced "hit 1"
	traced "thread 10"
	traced "fork 100"
	traced "vfork 1000"
	end_traced
	cat "$output_file" "$messages"
	[ "$(map)" = 1111 ]
	! grep -q "not traced" "$messages"
}

@test "--follow and -c needed tracefs: a child is followed by the kernel's types, until its last thread ends" {
	for missing in NOPAL_NO_FEATURES=btf NOPAL_TRACEFS=/nowhere NOPAL_TRACEFS=; do
		export "${missing?}"
		[ "$missing" = NOPAL_NO_FEATURES=btf ] || unset NOPAL_NO_FEATURES
		start_traced
		trace_alone "usdt:$alone:alone:hit { @ = count() }" -p $traced --follow
		traced "fork 100"
		traced grandchild
		traced stay
		traced main-ends
		sleep 0.5
		traced "thread 10"
		end_traced
		cat "$output_file" "$messages"
		[ "$(map)" = 110 ]
		exec 7<&-
		rm to_traced from_traced
	done
}

@test "a child that was forked while its parent was traced is free of breakpoints afterwards" {
	for missing in '' uprobe_multi; do
		start_traced
		export NOPAL_NO_FEATURES=$missing
		trace_alone "usdt:$alone:alone:hit { @ = count() }" -p $traced
		[ "$(traced stay)" = ok ]
		traced "hit 2"
		stop_tracer
		[ "$(traced state)" = free ]
		exec 6>&- 7<&-
		wait $traced
		rm to_traced from_traced
	done
}

@test "a thread that is not the main one takes the process over by exec" {
	for missing in '' uprobe_multi; do
		start_traced
		export NOPAL_NO_FEATURES=$missing
		trace_alone "usdt:$alone:alone:hit { @ = count() }" -p $traced
		traced "hit 1"
		[ "$(traced exec)" = ready ]
		for _ in $(seq 100); do
			[ "$(traced state)" = free ] || break
			sleep 0.05
		done
		sleep 1 # the breakpoint of a perf event is there a moment before the program that counts
		traced "hit 100"
		end_traced
		cat "$output_file" "$messages"
		[ "$(map)" = 101 ]
		says rearmed "process $traced continued in another thread" "$messages"
		exec 7<&-
		rm to_traced from_traced
	done
}

@test "a process whose main thread ends, or has ended, is traced on" {
	for missing in '' uprobe_multi; do
		start_traced
		export NOPAL_NO_FEATURES=$missing
		trace_alone "usdt:$alone:alone:hit { @ = count() }" -p $traced
		[ "$(traced main-ends)" = ok ]
		for _ in $(seq 100); do
			[ "$(traced state)" = free ] || break
			sleep 0.05
		done
		sleep 1 # the breakpoint of a perf event is there a moment before the program that counts
		traced "hit 10"
		traced "thread 10"
		stop_tracer
		cat "$output_file" "$messages"
		[ "$(map)" = 20 ]
		grep -q "main thread of process $traced ended before the others\|process $traced continued in another thread" "$messages"
		trace_alone "usdt:$alone:alone:hit { @ = count() }" -p $traced
		traced "hit 10"
		traced "thread 10"
		end_traced
		[ "$(map)" = 20 ]
		exec 7<&-
		rm to_traced from_traced
	done
}
