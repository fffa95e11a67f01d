/* Calls here() in children of every kind, and in a signal handler: children N; each N times, at a
 * depth of its own. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define NI    __attribute__((noinline))
#define AFTER __asm__ volatile("" ::: "memory")
NI void here(long n)
{
	__asm__ volatile("nop; nop" ::"r"(n) : "memory");
}
NI static int rec(int n)
{
	if (n) {
		int r = rec(n - 1);
		AFTER;
		return r + 1;
	}
	here(9);
	AFTER;
	return 0;
}
static void handle(int s)
{
	rec(2);
	if (!fork()) {
		rec(1);
		_exit(0);
	}
	wait(NULL);
	AFTER;
}
NI static void do_vfork(void)
{
	if (!vfork()) {
		rec(3);
		_exit(0);
	}
	wait(NULL);
	AFTER;
}
NI static void do_fork(void)
{
	if (!fork()) {
		rec(4);
		_exit(0);
	}
	wait(NULL);
	AFTER;
}
static int child(void *a)
{
	rec(5);
	return 0;
}
NI static void do_clone(void)
{
	char *s = mmap(NULL, 1 << 16, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int pid = clone(child, s + (1 << 16), CLONE_VM | SIGCHLD, NULL);
	waitpid(pid, NULL, 0);
	munmap(s, 1 << 16);
	AFTER;
}
NI static void do_spawn(char *me)
{
	char *v[] = {me, "leaf", NULL};
	pid_t p;
	posix_spawn(&p, me, NULL, NULL, v, NULL);
	wait(NULL);
	AFTER;
}
int main(int c, char **v)
{
	if (c > 1 && !strcmp(v[1], "leaf")) {
		rec(6);
		return 0;
	}
	signal(SIGUSR1, handle);
	for (int i = 0; i < atoi(v[1]); i++) {
		do_vfork();
		do_fork();
		do_clone();
		do_spawn(v[0]);
		raise(SIGUSR1);
	}
}
