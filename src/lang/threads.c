/* The threads of a process, stopped for a moment, so that their stacks do not change while they are
 * read. They are stopped by ptrace without a signal, and run on when they are let go or when we
 * end, however. */
#include "lang/lang.h"

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "base/array.h"
#include "base/tracees.h"

#define THREADS_MOST 4096
#define WAIT_MS	     2000 /* until a thread stops; one that waits for a disk is left out */

struct stopped {
	pid_t *tids;
	size_t count, cap;
};

/* One that waits for a disk cannot stop now. If it stops for a signal, that is left to be
 * delivered (WNOWAIT): it is when we end. */
static bool wait_stopped(pid_t tid)
{
	for (int ms = 0; ms < WAIT_MS; ms++) {
		struct timespec pause = {0, ms < 10 ? 100000 : 1000000};
		siginfo_t info = {0};
		int err = waitid(P_PID, (id_t)tid, &info,
				 WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL);

		if (!err && info.si_pid)
			return info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED;
		if (err && errno != EINTR)
			return false;
		nanosleep(&pause, NULL);
	}
	return false;
}

static int stop_one(struct stopped *s, pid_t tid)
{
	int err;

	if (array_grow(s->tids, s->count, s->cap))
		return -ENOMEM;
	err = tracees_seize(tid, 0);
	if (err)
		return err;
	s->tids[s->count++] = tid;
	return ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) ? -errno : 0;
}

/* All threads that there are now; a thread that starts meanwhile changes only its own stack. */
static int stop_all(struct stopped *s, pid_t pid)
{
	char path[64];
	struct dirent *entry;
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && s->count < THREADS_MOST && (entry = readdir(dir))) {
		uint64_t tid;

		if (str_to_u64(str_from(entry->d_name), &tid) || !tid || tid > INT32_MAX)
			continue;
		err = stop_one(s, (pid_t)tid);
		if (err == -ESRCH) /* it has ended */
			err = 0;
	}
	closedir(dir);
	return err;
}

static uint64_t thread_pointer_of(pid_t tid)
{
#ifdef __x86_64__
	errno = 0;
	long value = ptrace(PTRACE_PEEKUSER, tid,
			    (void *)offsetof(struct user_regs_struct, fs_base), NULL);

	return errno ? 0 : (uint64_t)value;
#else
	(void)tid;
	return 0;
#endif
}

/* What the thread that stops them is to do. */
struct job {
	pid_t pid;
	lang_thread_fn *fn;
	void *arg;
};

static int run_job(void *arg)
{
	const struct job *job = arg;
	struct stopped s = {NULL, 0, 0};
	int err = stop_all(&s, job->pid);

	for (size_t i = 0; i < s.count && !err; i++)
		if (!wait_stopped(s.tids[i]))
			s.tids[i] = 0;
	for (size_t i = 0; i < s.count && !err; i++)
		if (s.tids[i])
			err = job->fn(job->arg, s.tids[i], thread_pointer_of(s.tids[i]));
	free(s.tids);
	return err;
}

/* By a thread of its own: when that ends, the kernel lets go all that it traces, also those that
 * have not stopped yet. */
int lang_each_thread(pid_t pid, lang_thread_fn *fn, void *arg)
{
	struct job job = {pid, fn, arg};

	return tracees_apart(run_job, &job);
}
