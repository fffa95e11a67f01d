# User mode in programs that use their kernel in ways that few do. Each was found by an attack, and is named after what was wrong.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	need_tracing
	cd "$BATS_TEST_TMPDIR" || return
}

# compile NAME: a program from standard input, which may fire odd:hit with a number and a text.
compile() {
	{
		cat <<-'END'
			#define _GNU_SOURCE
			#include <nopal/sdt.h>
			#include <errno.h>
			#include <pthread.h>
			#include <sched.h>
			#include <signal.h>
			#include <stdio.h>
			#include <stdlib.h>
			#include <string.h>
			#include <sys/epoll.h>
			#include <sys/mman.h>
			#include <sys/prctl.h>
			#include <sys/socket.h>
			#include <sys/syscall.h>
			#include <sys/wait.h>
			#include <unistd.h>
			static volatile sig_atomic_t over;
			static void end(int sig) { (void)sig; over = 1; }
			__attribute__((noinline)) static void hit(long i, const char *text) { NOPAL_PROBE(odd, hit, i, text); }
		END
		cat
	} >"$1.c"
	gcc -O1 -I"$ROOT/include" -o "$1" "$1.c" -lpthread
}

# begin PROGRAM ARGUMENTS...: until it has said that it is ready; $target.
begin() {
	"./$1" "${@:2}" >printed 3>&- &
	target=$!
	awaits grep -q ready printed
}

# session PID SCRIPT OPTIONS...: one that ends when a probe has been hit some times.
session() {
	run timeout 60 "$NOPAL" -q --user -p "$1" -e "$2" "${@:3}"
	echo "$output"
	[ "$status" = 0 ]
}

SOME='usdt:*:odd:hit { @n = count() } interval:ms:50 { exit() }'

@test "a signal that a program ignores ended its epoll_wait() with EINTR" {
	compile ignoring <<-'END'
		static void *work(void *arg) { for (long i = 0; !over; i++) { hit(i, ""); usleep(1000); } return arg; }
		int main(void)
		{
			int parent = getpid(), set = epoll_create1(0), bad = 0;
			struct epoll_event event;
			pthread_t thread;
			if (!fork())
				for (prctl(PR_SET_PDEATHSIG, SIGKILL); !kill(parent, SIGWINCH);)
					usleep(1000);
			signal(SIGTERM, end);
			pthread_create(&thread, NULL, work, NULL);
			printf("ready\n"), fflush(stdout);
			for (;;) {
				int result = epoll_wait(set, &event, 1, 20);
				if (over)
					break;
				bad += result != 0;
			}
			printf("bad %d\n", bad);
			return 0;
		}
	END
	begin ignoring
	for _ in 1 2 3 4 5 6 7 8; do
		session $target "$SOME"
	done
	kill $target
	wait $target
	cat printed
	grep -qx 'bad 0' printed
}

is_dispatching() {
	[ "$(grep -c ready printed)" = 2 ]
}

# As Wine runs programs: a system call from outside of one part of the code is a signal.
@test "a thread whose system calls become signals died of the text that was read there" {
	compile dispatching <<-'END'
		static volatile char blocks;
		static char *text;
		static void *work(void *arg)
		{
			unsigned long from = ~0ul, to = 0, a, b;
			char line[400];
			FILE *maps = fopen("/proc/self/maps", "r");
			while (fgets(line, sizeof(line), maps))
				if (strstr(line, "libc") && sscanf(line, "%lx-%lx", &a, &b) == 2)
					from = a < from ? a : from, to = b;
			fclose(maps);
			while (arg && !over)
				hit(0, text), usleep(1000);
			if (prctl(59, 1, from, to - from, &blocks))
				printf("not possible\n");
			blocks = 1;
			printf("ready\n"), fflush(stdout);
			for (long i = 0;; i++)
				hit(i, text), usleep(1000);
		}
		int main(int count, char **words)
		{
			pthread_t thread;
			text = strdup("on the heap");
			signal(SIGUSR1, end);
			if (count > 1)
				printf("ready\n"), fflush(stdout);
			pthread_create(&thread, NULL, work, count > 1 ? words : NULL);
			for (;;)
				pause();
		}
	END
	begin dispatching
	! grep -q 'not possible' printed || skip "this kernel has no PR_SET_SYSCALL_USER_DISPATCH"
	run timeout 60 "$NOPAL" -q --engine=native -p $target -e 'usdt:*:odd:hit { @[str(arg1)] = count() } interval:ms:50 { exit() }'
	if [ "$status" = 0 ]; then
		kill $target
		skip "this kernel does not say whose system calls become signals (Linux 6.4)"
	fi
	says user-mode-dispatch "become signals (PR_SET_SYSCALL_USER_DISPATCH)"
	session $target 'usdt:*:odd:hit { @[str(arg1)] = count() } interval:ms:50 { exit() }'
	kill -0 $target
	kill $target
	# ... and one that begins with it while it is traced.
	begin dispatching later
	start_tracer 'usdt:*:odd:hit { @[str(arg1)] = count() }' --user -p $target
	kill -USR1 $target
	awaits is_dispatching
	sleep 0.2
	stop_tracer
	cat "$output_file" "$messages"
	kill -0 $target
	kill $target
}

@test "code was put where a large stack grows, and a deep recursion ended the program" {
	need_program setarch
	# Libraries are the neighbours of the stack. The bytes after the nop make a jump of 415 MB upwards.
	cat >near.c <<-'END'
		#define NOPAL_SDT_SHORT_NOP
		#include <sys/sdt.h>
		long near(long i)
		{
			long c;
			DTRACE_PROBE1(odd, hit, i);
			__asm__ volatile(".byte 0x48, 0xc7, 0xc0; .long 0x18" : "=a"(c)); /* mov $0x18, %rax */
			return i + c;
		}
	END
	gcc -O2 -fPIC -shared -I"$ROOT/include" -o libnear.so near.c
	cat >deep.c <<-'END'
		#include <signal.h>
		#include <stdio.h>
		#include <unistd.h>
		long near(long i);
		static volatile sig_atomic_t over;
		static void end(int sig) { (void)sig; over = 1; }
		static __attribute__((noinline)) long down(long n)
		{
			volatile char room[65536];
			room[0] = room[65535] = 1;
			return room[0] + (n ? down(n - 1) : 0) + room[65535];
		}
		int main(void)
		{
			signal(SIGUSR1, end);
			printf("ready\n"), fflush(stdout);
			for (long i = 0; !over; i++)
				near(i), usleep(1000);
			printf("deep %ld\n", down(11200));
			return 0;
		}
	END
	gcc -O1 -o deep deep.c -L. -lnear -Wl,-rpath,"$PWD"
	(
		ulimit -s 1048576
		exec setarch -R ./deep
	) >printed 3>&- &
	target=$!
	awaits grep -q ready printed
	start_tracer 'usdt:*:odd:hit { @n = count() }' --user -p $target
	kill -USR1 $target
	wait $target
	wait $tracer
	grep -qx 'deep 22402' printed
}

@test "threads that the kernel makes for io_uring kept a session's memory for good" {
	compile ring <<-'END'
		int main(void)
		{
			struct { unsigned sq, cq, flags, cpu, idle, rest[25]; } how = {.flags = 2, .idle = 10000};
			if (syscall(425, 4, &how) < 0)
				printf("not possible\n");
			printf("ready\n"), fflush(stdout);
			for (long i = 0;; i++)
				hit(i, ""), usleep(1000);
		}
	END
	begin ring
	! grep -q 'not possible' printed || skip "this kernel lets nobody poll by io_uring"
	before=$(wc -l <"/proc/$target/maps")
	for _ in 1 2 3; do
		session $target "$SOME"
		[[ "$output" != *"stay mapped"* ]]
		[ "$(wc -l <"/proc/$target/maps")" = "$before" ]
	done
	kill $target
}

@test "a program with 80 MB of its own kept the memory of every session" {
	compile large <<-'END'
		int main(void)
		{
			size_t size = 80u << 20;
			volatile char *own = malloc(size);
			for (size_t i = 0; i < size; i += 4096)
				own[i] = 1;
			printf("ready\n"), fflush(stdout);
			for (long i = 0;; i++)
				hit(i, ""), usleep(1000);
		}
	END
	begin large
	before=$(wc -l <"/proc/$target/maps")
	# A busy machine may be too slow for one of them, but not for all.
	for _ in 1 2 3 4 5 6; do
		session $target "$SOME"
	done
	awaits still_clean
	kill $target
}

still_clean() {
	[ "$(wc -l <"/proc/$target/maps")" = "$before" ] || { "$NOPAL" clean $target || true; } >/dev/null 2>&1
	[ "$(wc -l <"/proc/$target/maps")" = "$before" ]
}

@test "a descriptor went into a socket of the program, whose threads had tables of files of their own" {
	compile tables <<-'END'
		static void *work(void *arg)
		{
			unshare(CLONE_FILES);
			for (int fd = 3; fd < 20; fd++)
				close(fd);
			for (long i = 0;; i++)
				hit(i, ""), usleep(1000);
			return arg;
		}
		int main(void)
		{
			int sockets[6], bad = 0;
			char byte;
			pthread_t thread;
			for (int i = 0; i < 6; i += 2)
				socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets + i);
			pthread_create(&thread, NULL, work, NULL);
			printf("ready\n"), fflush(stdout);
			usleep(50000);
			if (!vfork()) {
				sleep(2);
				_exit(0);
			}
			for (int i = 0; i < 6; i++)
				bad += recv(sockets[i], &byte, 1, MSG_DONTWAIT) >= 0;
			printf("bad %d\n", bad), fflush(stdout);
			for (;;)
				pause();
		}
	END
	begin tables
	timeout 30 "$NOPAL" -q --user -p $target -e "$SOME" || true
	awaits grep -q '^bad' printed
	kill $target
	cat printed
	grep -qx 'bad 0' printed
}

@test "a debugger that is attached when a session ends: nobody said that the sites stay" {
	compile plain <<-'END'
		int main(void)
		{
			printf("ready\n"), fflush(stdout);
			for (long i = 0;; i++)
				hit(i, ""), usleep(1000);
		}
	END
	cat >hold.c <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/ptrace.h>
		#include <unistd.h>
		int main(int count, char **words)
		{
			if (count > 1 && !ptrace(PTRACE_SEIZE, atoi(words[1]), NULL, NULL))
				printf("held\n"), fflush(stdout);
			pause();
			return 0;
		}
	END
	gcc -o hold hold.c
	begin plain
	before=$(wc -l <"/proc/$target/maps")
	start_tracer 'usdt:*:odd:hit { @n = count() }' --user -p $target
	./hold $target >held 3>&- &
	holder=$!
	awaits grep -q held held
	stop_tracer
	cat "$messages"
	says user-mode-armed "the probe sites of process $target could not be restored: another process is debugging it" "$messages"
	kill $holder
	wait $holder || true
	awaits still_clean
	kill $target
}
