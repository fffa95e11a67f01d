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

# A command that says where the agent's socket is, waits for "go", and runs programs with probes. It runs as $AS.
start_agents() {
	cp "$TARGETS/tick" "$TARGETS/attack_flood" "$BATS_TEST_TMPDIR"
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" "${BATS_TEST_TMPDIR%/*}"
	cd "$BATS_TEST_TMPDIR"
	mkfifo go hold
	cat >waits <<-END
		#!/bin/sh
		echo "\${NOPAL_AGENT%/*}" >name.new
		mv name.new name
		read x <go
		for i in 1 2 3 4 5 6 7 8 9 10; do ${AS-} ./tick loop 10; done
	END
	chmod +x waits
	timeout 100 "$NOPAL" --user -c ./waits -e "usdt:./tick:tick:loop { @n = count() }" >out 2>messages 3>&- &
	tracer=$!
	awaits test -s name
}

OTHER="setpriv --reuid=65534 --regid=65534 --clear-groups"

@test "any user made programs of the command wait, by coming to the agent's socket, and counted as a thread that went on" {
	start_agents
	$OTHER ./attack_flood "$(cat name)" <hold >flood 3>&- &
	exec 8>hold
	awaits grep -q ready flood
	echo >go
	wait $tracer
	cat out messages
	grep -qx '@n: 100' out
	! grep -q warning messages
}

@test "programs of a command that drops its rights come to the agent's socket as another user" {
	AS=$OTHER start_agents
	echo >go
	wait $tracer
	cat out messages
	grep -qx '@n: 100' out
	! grep -q warning messages
}

# asks_child: a line to the program, and what it says of the child that it made.
asks_child() {
	local before
	before=$(grep -c seen "$printed" || true)
	echo >&7
	awaits eval '[ "$(grep -c seen "$printed" || true)" -gt '"$before"' ]'
	tail -1 "$printed"
}

@test "a child that had dropped its rights read what its parent fired afterwards" {
	start_ready attack_child
	for script in '@[str(arg0)] = count()' 'printf("%s\n", str(arg0))' '@ = count(); @n = sum(nsecs)' '@[elapsed / 1000000000] = count()'; do
		start_tracer "usdt::attack:word { $script } interval:s:100 { exit() }" --user -p $pid
		[ "$(asks_child)" = "seen 0, ended 0" ]
		stop_tracer
		cat "$messages"
		! grep -q child "$output_file" || false
		[ "$(grep -c 's3cret\|@' "$output_file")" -gt 0 ]
	done
}

# A file of a file system that its owner writes, mapped, may never answer who reads it.
@test "the end of a run looked into processes of others, which could hold it for ever" {
	need_program strace
	start_ready attack_child
	$OTHER sleep 1000 3>&- 7>&- &
	other=$!
	for how in "" --follow; do
		run timeout 60 strace -f -o "$BATS_TEST_TMPDIR/opened" -e trace=open,openat "$NOPAL" --user $how -p $pid -e 'usdt::attack:word { @n = count() } interval:ms:300 { exit() }'
		echo "$output"
		[ "$status" = 0 ]
		grep -q '^@n: [1-9]' <<<"$output"
		grep -q "/proc/$pid/" "$BATS_TEST_TMPDIR/opened"
		! grep "/proc/$other/" "$BATS_TEST_TMPDIR/opened" || false
	done
	kill $other
}

# bats test_tags=deep
@test "a run with thousands of children waited for each of them at its end" {
	cd "$BATS_TEST_TMPDIR"
	cat >many.c <<-'END'
		#include <stdio.h>
		#include <unistd.h>
		#include <sys/prctl.h>
		#include <signal.h>
		#include <sys/sdt.h>
		int main(void)
		{
			char line;
			if (read(0, &line, 1) < 1)
				return 1;
			for (int i = 0; i < 3000; i++) {
				DTRACE_PROBE(many, fork);
				if (!fork()) {
					prctl(PR_SET_PDEATHSIG, SIGKILL);
					for (;;)
						pause();
				}
			}
			puts("all are there");
			fflush(stdout);
			return read(0, &line, 1) < 0;
		}
	END
	cc -O2 -o many many.c
	mkfifo go
	./many <go >said 3>&- &
	pid=$!
	exec 8>go
	start_tracer 'usdt::many:fork { @n = count() }' --user -p $pid
	echo >&8
	awaits grep -q 'all are there' said
	stop_tracer
	cat "$output_file" "$messages"
	grep -qx '@n: 3000' "$output_file"
	says user-mode-uncleaned "child processes could not be reached in 0.2 s" "$messages"
	exec 8>&-
}
