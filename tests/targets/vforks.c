// flags: -pthread
/* A traced program whose threads make children that share its memory until they end or call exec:
 * by vfork(), by clone() as vfork() does it but with a stack of their own, or by posix_spawn().
 *
 *   vforks ROUNDS [THREADS [HITS [OF_CHILD [vfork|clone|spawn]]]]
 *
 * waits for a line; then each thread, ROUNDS times, fires vforks:parent(int i, const char *text)
 * HITS times, and a child of it vforks:child(int i, const char *text) OF_CHILD times; not those of
 * posix_spawn(), in which no code of the program runs. It prints
 * "children N ended, N called exec", and ends with 1 as soon as one of them was killed. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sys/sdt.h>

extern char **environ;

static long rounds, hits, hits_of_child;
static const char *how = "vfork";
static atomic_long ended, called_exec;

static __attribute__((noinline)) void fire_parent(int i)
{
	DTRACE_PROBE2(vforks, parent, i, "the parent");
}

static __attribute__((noinline)) void fire_child(int i)
{
	DTRACE_PROBE2(vforks, child, i, "the child");
}

/* What the kernel has written for restartable sequences; -1: nothing, or the libc has none. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));

static int cpu_of_rseq(void)
{
	if (!&__rseq_offset)
		return -1;
	return *(volatile int *)((char *)__builtin_thread_pointer() + __rseq_offset + 4);
}

static char *const arguments[] = {"true", NULL};

/* Every fourth becomes another program. */
static int be_child(void *round)
{
	for (int i = 0; i < hits_of_child; i++)
		fire_child(i);
	if (*(long *)round % 4 == 0)
		execve("/bin/true", arguments, environ);
	_exit(0);
}

static pid_t spawn(void)
{
	pid_t child;

	return posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) ? -1 : child;
}

static void make_child(long round)
{
	static _Thread_local _Alignas(16) char stack[64 << 10];
	volatile int cpu = cpu_of_rseq();
	int status = -1;
	pid_t child;

	if (!strcmp(how, "clone"))
		child = clone(be_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
			      &round);
	else
		child = strcmp(how, "spawn") ? vfork() : spawn();
	if (!child)
		be_child(&round);
	if (cpu >= 0 && cpu_of_rseq() < 0) {
		dprintf(STDOUT_FILENO, "the thread has no CPU any more\n");
		_exit(1);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (child < 0 || status) {
		dprintf(STDOUT_FILENO, "a child ended with status %#x\n", (unsigned)status);
		_exit(1);
	}
	atomic_fetch_add(round % 4 ? &ended : &called_exec, 1);
}

static void *run(void *unused)
{
	for (long round = 0; round < rounds; round++) {
		for (int i = 0; i < hits; i++)
			fire_parent(i);
		make_child(round);
	}
	return unused;
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t threads[64];
	char line[80];

	rounds = argc > 1 ? atol(argv[1]) : 1;
	hits = argc > 3 ? atol(argv[3]) : 1;
	hits_of_child = argc > 4 ? atol(argv[4]) : 0;
	how = argc > 5 ? argv[5] : how;
	if (count < 1 || count > 64 || !fgets(line, sizeof(line), stdin))
		return 2;
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 2;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("children %ld ended, %ld called exec\n", atomic_load(&ended),
	       atomic_load(&called_exec));
	return 0;
}
