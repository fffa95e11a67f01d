/* Processes that are waited for; the state is that of the program's one run, as in signals.c. */
#include "pids.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "command.h"
#include "run.h"

/* pidfds of those that had not ended when they were last asked; readable once they have. */
static struct pollfd waiting[RUN_MAX_PIDS];
static unsigned waiting_count;
static bool any;

/* A negative descriptor: the kernel has no pidfds (Linux 5.3), so that this one is waited for
 * until a signal comes. */
static bool watch_one(pid_t pid)
{
	struct pollfd *w = &waiting[waiting_count];
	const char *why = NULL;

	*w = (struct pollfd){.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	if (w->fd < 0 && errno == EINVAL)
		why = "it is a thread, not a process";
	else if (w->fd < 0 && errno != ENOSYS)
		why = strerror(errno);
	else if (poll(w, 1, 0) > 0)
		why = "it has ended";
	if (why) {
		say_error("cannot trace process %d: %s", (int)pid, why);
		return false;
	}
	waiting_count++;
	return true;
}

bool pids_watch(const pid_t *pids, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (!watch_one(pids[i]))
			return false;
	any = count;
	return true;
}

bool pids_have_ended(void)
{
	if (waiting_count)
		poll(waiting, waiting_count, 0);
	for (unsigned i = 0; i < waiting_count;) {
		if (waiting[i].revents) {
			close(waiting[i].fd);
			waiting[i] = waiting[--waiting_count];
		} else {
			i++;
		}
	}
	return any && !waiting_count;
}
