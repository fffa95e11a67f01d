/* A thread that calls exec waits until its process has no other one. Those that we trace are there
 * until we have collected their ends; and to trace the one that calls exec, we wait for the exec.
 * So while a thread of ours waits for that, the one that waits for it collects these ends. */
#include "base/tracees.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"

#define LOOK_NS 20000000 /* between two looks at it */
#define SECOND	1000000000

/* A thread of ours, and what it is to do. */
struct errand {
	int (*fn)(void *arg);
	void *arg;
	int result;
	pthread_mutex_t lock; /* of what follows */
	pid_t *seized;	      /* owned */
	size_t count, cap;
	unsigned seizes; /* how many have begun */
	bool is_seizing;
};

static _Thread_local struct errand *own;

/* ---- in the thread that traces */

static void begin_seize(void)
{
	pthread_mutex_lock(&own->lock);
	own->is_seizing = true;
	own->seizes++;
	pthread_mutex_unlock(&own->lock);
}

static int end_seize(pid_t tid, bool is_seized)
{
	int err = 0;

	pthread_mutex_lock(&own->lock);
	own->is_seizing = false;
	if (is_seized) {
		err = array_grow(own->seized, own->count, own->cap);
		if (!err)
			own->seized[own->count++] = tid;
	}
	pthread_mutex_unlock(&own->lock);
	return err;
}

static int seize_thread(pid_t tid, unsigned long options)
{
	return ptrace(PTRACE_SEIZE, tid, NULL, (void *)options) ? -errno : 0;
}

int tracees_seize(pid_t tid, unsigned long options)
{
	int err, noted;

	if (!own)
		return seize_thread(tid, options);
	begin_seize();
	err = seize_thread(tid, options);
	noted = end_seize(tid, !err);
	return err ? err : noted;
}

static void *run_errand(void *arg)
{
	own = arg;
	own->result = own->fn(own->arg);
	return NULL;
}

/* ---- in the one that waits for it */

/* The end of a main thread is its parent's to collect, which may be we. */
static bool is_main(pid_t tid)
{
	return !syscall(SYS_tgkill, tid, tid, 0) || errno != ESRCH;
}

static void collect_ends(struct errand *e, unsigned *seen)
{
	siginfo_t info;

	pthread_mutex_lock(&e->lock);
	for (size_t i = 0; i < e->count && e->is_seizing && e->seizes == *seen; i++)
		if (!is_main(e->seized[i]))
			waitid(P_PID, (id_t)e->seized[i], &info, WEXITED | WNOHANG | __WALL);
	*seen = e->seizes;
	pthread_mutex_unlock(&e->lock);
}

static void join_thread(struct errand *e, pthread_t thread)
{
	struct timespec until;
	unsigned seen = 0;

	do {
		collect_ends(e, &seen);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / SECOND;
		until.tv_nsec %= SECOND;
	} while (pthread_timedjoin_np(thread, NULL, &until) == ETIMEDOUT);
}

int tracees_apart(int (*fn)(void *arg), void *arg)
{
	struct errand e = {.fn = fn, .arg = arg, .lock = PTHREAD_MUTEX_INITIALIZER};
	sigset_t all, old;
	pthread_t thread;
	int err;

	/* Signals are for the threads of the caller's program. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, NULL, run_errand, &e);
	if (!err) {
		/* Each stop of a thread sends one: it would wake this thread for nothing. */
		sigset_t meanwhile = old;

		sigaddset(&meanwhile, SIGCHLD);
		pthread_sigmask(SIG_SETMASK, &meanwhile, NULL);
		join_thread(&e, thread);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	free(e.seized);
	return err ? -err : e.result;
}
