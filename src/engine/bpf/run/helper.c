/* Becoming a process that outlives the tracer; see helper.h. */
#include "engine/bpf/run/helper.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void close_between(unsigned first, unsigned last)
{
	unsigned most = (unsigned)sysconf(_SC_OPEN_MAX); /* for kernels before 5.9 */

	if (first > last || !syscall(SYS_close_range, first, last, 0))
		return;
	for (unsigned fd = first; fd <= last && fd <= most; fd++)
		close((int)fd);
}

/* Only calls that are safe after fork in a process of many threads. */
void bpf_become_helper(const char *name, const int *fds, size_t count)
{
	unsigned next = 0;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, name);
	for (size_t i = 0; i < count; i++) {
		if ((unsigned)fds[i] > next)
			close_between(next, (unsigned)fds[i] - 1);
		next = (unsigned)fds[i] + 1;
	}
	close_between(next, ~0u);
	if (chdir("/"))
		next = 0; /* then this one stays busy as long as the helper lives */
}
