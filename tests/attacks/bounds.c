/* What an ordinary user does to a tracer of the whole machine: maps files that were made to cost it
 * as much time and memory as they can.
 *
 * clang-format off
 *	bounds map KIND COUNT      make COUNT files of that kind, map them as code, print "mapped"
 *	bounds measure COMMAND...  run a command; print its CPU time, time and memory on stderr
 *	bounds stop PID            send ^C; print how many milliseconds the process took to end
 * clang-format on */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "help/hostile_elf.h"

static int equal_names(void)
{
	return hostile_equal_names(20000, 400000);
}

static int long_names(void)
{
	return hostile_long_names(1000000, 60000);
}

static int overlaps(void)
{
	return hostile_overlaps(64, 220000);
}

static int dynamic(void)
{
	return hostile_dynamic(50000, 60000);
}

static int many(void)
{
	return hostile_overlaps(1, 2000);
}

static const struct {
	const char *name;
	int (*make)(void);
} kinds[] = {
	{"equal", equal_names}, {"long", long_names}, {"overlaps", overlaps},
	{"dynamic", dynamic},	{"many", many},
};

static int (*find_kind(const char *name))(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return kinds[i].make;
	return NULL;
}

/* The mapping keeps the file. */
static int map(const char *kind, int count)
{
	int (*make)(void) = find_kind(kind);

	if (!make)
		return 2;
	for (int i = 0; i < count; i++) {
		int fd = make();

		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) {
			perror("mmap");
			return 1;
		}
		close(fd);
	}
	puts("mapped");
	fflush(stdout);
	pause();
	return 0;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int measure(char **command)
{
	struct rusage usage;
	long start = now_ms();
	int status;
	pid_t pid = fork();

	if (!pid) {
		execvp(command[0], command);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &usage) != pid)
		return 1;
	fprintf(stderr, "cpu %ld ms, time %ld ms, memory %ld KiB\n",
		(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
			(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000,
		now_ms() - start, usage.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int stop(pid_t pid)
{
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	long start = now_ms();

	if (end.fd < 0 || kill(pid, SIGINT) || poll(&end, 1, 60000) != 1)
		return 1;
	printf("%ld\n", now_ms() - start);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "map"))
		return map(argv[2], atoi(argv[3]));
	if (argc > 2 && !strcmp(argv[1], "measure"))
		return measure(argv + 2);
	if (argc == 3 && !strcmp(argv[1], "stop"))
		return stop(atoi(argv[2]));
	return 2;
}
