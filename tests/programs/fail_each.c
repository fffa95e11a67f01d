/* Run a command again and again, each time with another allocation that fails:
 *
 *	fail_each SHIM STEP COMMAND ARGS...
 *
 * First it runs undisturbed; then each STEP-th allocation fails, one a run. It must end with the
 *same output and status, or with a status that is not 0 and a message that there is no memory.
 *Prints what did not, and at the end how many runs there were. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS 20 /* for one run */

struct run {
	int status; /* of waitpid; -1: it did not end */
	long allocations;
	char *out, *err; /* what it wrote */
	size_t out_len, err_len;
};

static char *slurp(int fd, size_t *len)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = malloc((size_t)size + 1);

	*len = (size_t)pread(fd, text, (size_t)size, 0);
	text[*len] = '\0';
	close(fd);
	return text;
}

static void start(const char *shim, long at, int out, int err, int count, char **command)
{
	char number[32], descriptor[32];
	const char *slash = strrchr(command[0], '/');

	snprintf(number, sizeof(number), "%ld", at);
	snprintf(descriptor, sizeof(descriptor), "%d", count);
	dup2(open("/dev/null", O_RDONLY), 0);
	dup2(out, 1);
	dup2(err, 2);
	setenv("LD_PRELOAD", shim, 1);
	setenv("NOPAL_FAIL_AT", number, 1);
	setenv("NOPAL_FAIL_COUNT", descriptor, 1);
	setenv("NOPAL_FAIL_PROGRAM", slash ? slash + 1 : command[0], 1);
	execv(command[0], command);
	_exit(98);
}

static void wait_for(pid_t pid, struct run *r)
{
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};

	if (poll(&end, 1, SECONDS * 1000) <= 0) {
		kill(pid, SIGKILL);
		waitpid(pid, &r->status, 0);
		r->status = -1;
	} else {
		waitpid(pid, &r->status, 0);
	}
	close(end.fd);
}

static struct run run(const char *shim, long at, char **command)
{
	int out = memfd_create("out", 0), err = memfd_create("err", 0);
	int count = memfd_create("count", 0);
	struct run r = {0};
	pid_t pid = fork();

	if (!pid)
		start(shim, at, out, err, count, command);
	wait_for(pid, &r);
	if (pread(count, &r.allocations, sizeof(r.allocations), 0) != sizeof(r.allocations))
		r.allocations = 0;
	close(count);
	r.out = slurp(out, &r.out_len);
	r.err = slurp(err, &r.err_len);
	return r;
}

static void drop(struct run *r)
{
	free(r->out);
	free(r->err);
}

static bool says_memory(const struct run *r)
{
	return strcasestr(r->err, "memory") || strcasestr(r->out, "memory");
}

/* NULL: as it should be. */
static const char *judge(const struct run *good, const struct run *r)
{
	if (r->status == -1)
		return "did not end";
	if (WIFSIGNALED(r->status))
		return "died of a signal";
	if (r->status == good->status) {
		if (r->out_len == good->out_len && !memcmp(r->out, good->out, r->out_len))
			return NULL;
		if (!WEXITSTATUS(r->status))
			return "other output, with status 0";
	}
	if (!WEXITSTATUS(r->status))
		return "status 0";
	return says_memory(r) ? NULL : "no word of memory";
}

int main(int argc, char **argv)
{
	long step = argc > 3 ? atol(argv[2]) : 0, runs = 0, bad = 0;
	struct run good;

	if (step < 1)
		return 2;
	good = run(argv[1], 0, argv + 3);
	if (good.status == -1 || !good.allocations) {
		printf("the command itself does not run\n%s", good.err);
		return 2;
	}
	for (long at = 1; at <= good.allocations; at += step, runs++) {
		struct run r = run(argv[1], at, argv + 3);
		const char *why = judge(&good, &r);

		if (why && bad++ < 20)
			printf("allocation %ld of %ld: %s (status %d): %.300s\n", at,
			       good.allocations, why, r.status, r.err);
		drop(&r);
	}
	printf("%ld runs, %ld wrong\n", runs, bad);
	drop(&good);
	return bad != 0;
}
