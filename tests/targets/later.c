/* A program for tracers that come late: it lives for a while before it fires, alone or in children.
 *
 *   later MS               sleeps MS milliseconds, then fires u:ev(7, "seven"), u:real(0.5)
 *   later MS FORKS         FORKS children do so, each with a copy of a copy: a fork of a fork
 *   later MS exec PROGRAM  a child executes PROGRAM with MS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sys/sdt.h>

__attribute__((noinline)) static void fire(int n, const char *text, double real)
{
	DTRACE_PROBE2(u, ev, n, text);
	DTRACE_PROBE1(u, real, real);
}

static int wait_and_fire(const char *ms)
{
	usleep((useconds_t)atoi(ms) * 1000);
	fire(7, "seven", 0.5);
	return 0;
}

static int run_child(char **argv)
{
	pid_t pid = fork();

	if (!pid && !strcmp(argv[2], "exec"))
		execl(argv[3], argv[3], argv[1], (char *)NULL);
	if (!pid)
		_exit(!strcmp(argv[2], "exec") ? 127
		      : fork()		       ? wait(NULL) < 0
					       : wait_and_fire(argv[1]));
	return pid < 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return argc == 2 ? wait_and_fire(argv[1]) : 2;
	for (int i = 0; i < (argc == 3 ? atoi(argv[2]) : 1); i++)
		run_child(argv);
	while (wait(NULL) > 0)
		;
	return 0;
}
