# A traced process with run-time probes has children. The kernel's uprobes may have put a call to a page of its own
# into a probe, which a child does not get: a child that fired it crashed.
load ../helpers

# Start runtime_children and wait until it is ready; a line to descriptor 7 lets it go on.
start() {
	start_ready "runtime_children" "$@"
}

# The events of levels 0 to $1, in the order they happen: "level i ~i".
events() {
	local level i
	for level in $(seq 0 "$1"); do
		for i in 0 1 2 3 4; do echo "$level $i $((~i))"; done
	done
	for level in $(seq "$1" -1 0); do
		for i in 5 6 7 8 9; do echo "$level $i $((~i))"; done
	done
}

# Let the program run to its end: no child was killed.
finish() {
	echo >&7
	wait "$pid"
	pid=
	[ "$(tail -1 "$printed")" = 0 ]
}

# traced_by_nopal HOW DEPTH: every event of every child arrives.
traced_by_nopal() {
	need_tracing
	start "$@"
	start_tracer 'usdt::children:hit { printf("%d %d %d\n", arg0, arg1, arg2) }' -p "$pid" -q --follow
	finish
	wait "$tracer" || true
	events "$2" | diff - <(sed '/^$/d' "$output_file")
}

# traced_by_bpftrace HOW DEPTH: it sees the process itself, not its children.
traced_by_bpftrace() {
	need_tracing
	need_program bpftrace
	start "$@"
	bpftrace -p "$pid" -e 'BEGIN { printf("attached\n") }
		usdt::children:hit { printf("%d %d %d\n", arg0, arg1, arg2) }' >"$BATS_TEST_TMPDIR/bpftrace" 2>/dev/null 3>&- &
	tracer=$!
	for _ in $(seq 200); do
		grep -q attached "$BATS_TEST_TMPDIR/bpftrace" && break
		sleep 0.05
	done
	sleep 1
	finish
	wait $tracer || true
	events 0 | diff - <(grep '^[0-9]' "$BATS_TEST_TMPDIR/bpftrace")
}

@test "a child fires the probe that its parent was traced at" {
	traced_by_nopal fork 1
}

@test "a child of the bare clone fires the probe that its parent was traced at" {
	traced_by_nopal clone 1
}

@test "children of children fire, to any depth" {
	traced_by_nopal clone 4
}

@test "a child of the bare clone of a process with threads fires" {
	traced_by_nopal threads 3
}

@test "children fire while bpftrace traces their parent" {
	traced_by_bpftrace fork 2
}

@test "children of the bare clone fire while bpftrace traces their parent" {
	traced_by_bpftrace clone 2
}

# bats test_tags=deep
@test "children of a process with threads fire while bpftrace traces it" {
	traced_by_bpftrace threads 2
}

@test "a child fires after the tracer of its parent has gone" {
	need_tracing
	start clone 2
	start_tracer 'usdt::children:hit { exit() }' -p "$pid" -q
	finish
	wait "$tracer" || true
}

# A tracer that reads the image's path once more finds the file of the idle stubs there, and arms it: the kernel's call
# was then left in children. STRESS=1: 2,000 children.
# bats test_tags=deep
@test "children of a process that unloads and loads its provider under a tracer are not killed" {
	need_tracing
	mkfifo "$BATS_TEST_TMPDIR/in"
	printed=$BATS_TEST_TMPDIR/printed
	children=$([ -n "${STRESS:-}" ] && echo 2000 || echo 300)
	"$TARGETS/runtime_reload" "$children" <"$BATS_TEST_TMPDIR/in" >"$printed" 3>&- &
	pid=$!
	exec 7>"$BATS_TEST_TMPDIR/in"
	start_tracer 'usdt::reload:p* { @[probe] = count() }' -p "$pid" -q 7>&-
	echo >&7
	wait "$pid"
	[ "$(tail -1 "$printed")" = "$children children, 0 killed" ]
	wait "$tracer" || true
}

# bats test_tags=deep
@test "a static program's children fire too" {
	need_tracing
	need_program cc
	for compiler in cc musl-gcc; do
		command -v $compiler >/dev/null || continue
		# shellcheck disable=SC2086
		$compiler -static -std=gnu11 -D_GNU_SOURCE -O1 -I"$ROOT/src" -I"$ROOT/include" -o "$BATS_TEST_TMPDIR/runtime_children" \
			"$ROOT/tests/targets/runtime_children.c" "$ROOT"/src/runtime/*.c \
			"$ROOT"/src/base/{buf,str,utf8}.c -lpthread
		rm -f "$BATS_TEST_TMPDIR/in"
		TARGETS=$BATS_TEST_TMPDIR traced_by_nopal clone 2
	done
}

# The header's probes are breakpoints: what a child copies of them is as good as its parent's.
@test "a child of the bare clone fires a static probe that its parent was traced at" {
	need_tracing
	need_program cc
	cat >"$BATS_TEST_TMPDIR/static.c" <<-'end'
		#include <nopal/sdt.h>
		#include <signal.h>
		#include <stdio.h>
		#include <sys/syscall.h>
		#include <sys/wait.h>
		#include <unistd.h>

		static void fire(int level)
		{
			for (int i = 0; i < 3; i++)
				NOPAL_PROBE(children, hit, level, i);
		}

		int main(void)
		{
			int status = -1;

			fire(0);
			if (!syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) {
				fire(1);
				_exit(0);
			}
			wait(&status);
			fire(0);
			return status;
		}
	end
	cc -D_GNU_SOURCE -O2 -I"$ROOT/include" -o "$BATS_TEST_TMPDIR/static" "$BATS_TEST_TMPDIR/static.c"
	run "$NOPAL" -q -e 'usdt:'"$BATS_TEST_TMPDIR"'/static:children:hit { @[arg0] = count() }' -c "$BATS_TEST_TMPDIR/static"
	[ "$status" = 0 ]
	[[ "$output" == *"@[0]: 6"* ]]
	[[ "$output" == *"@[1]: 3"* ]]
}
