/* The threads of another process: stopping them, where they are, and letting them go on. */
#ifndef NOPAL_USER_PTRACE_THREADS_H
#define NOPAL_USER_PTRACE_THREADS_H

#include <signal.h>

#include "user/ptrace/interrupted.h"

struct inject;

struct thread {
	pid_t tid;
	bool is_stopped, is_ended;
	bool is_asleep;	    /* in the kernel, where nothing wakes it */
	bool shares_memory; /* of another process, which shares the memory */
	struct interrupted interrupted;
};

struct threads {
	struct thread *all;
	size_t count, cap;
	pid_t pid;
	bool is_held; /* stopped before, and after */
};

/* Ask one thread to stop; -ESRCH, -EPERM, -EBUSY: another process traces it. */
int thread_stop(struct thread *t, bool is_filtered);
/* Until it has stopped; -ESRCH; -ETIMEDOUT: it sleeps in the kernel, for `asleep_ns` by now;
 * -ETIME: it goes on running. */
int thread_wait(struct thread *t, uint64_t asleep_ns);
#define ASLEEP_MOST 250000000u /* asleep for this time: nothing wakes it, as after vfork() */

/* How long a thread is waited for: a second, or ten while it is runnable and no CPU runs it. */
struct patience {
	pid_t tid;
	uint64_t start, ran;	 /* ns, the second on a CPU */
	uint64_t looked, waited; /* when, and how long in all without pauses of this machine */
	unsigned turns;
};

struct patience patience_begin(pid_t tid);
bool patience_wait(struct patience *p); /* a moment; false: it was long enough */

/* Where a thread is, its stack, and its own data, which its thread pointer says; 0: not known. */
struct place {
	uint64_t pc, sp, tp;
};

#define PLACE_NOWHERE UINT64_MAX /* a thread of the kernel's, which runs no code of the program */
struct place thread_place(const struct thread *t);
#define CALL_STOP (SIGTRAP | 0x80) /* before a system call, or after it */
/* The next stop of a thread, as waitid(2) gives it in si_status; 0 with WNOHANG in `flags`: none
 * yet; -ESRCH. With WNOWAIT a signal that it reports is still delivered if this process is killed;
 * the next call needs that the thread has been let go on. */
int thread_next_stop(pid_t tid, int flags);
/* Let a thread go on, as if it had not been stopped. */
void thread_resume(const struct thread *t);
/* Stop all, and those that they create meanwhile; and the processes that share their memory.
 * -ETIME: one goes on running; -EBUSY. */
int threads_stop(pid_t pid, struct threads *out);
int threads_stop_others(struct threads *t); /* that are not known yet */
/* Where all sleep in the kernel, wait longer for the first of them. -ETIMEDOUT, -ESRCH; -EAGAIN:
 * those that have stopped have a fault to take. */
int threads_await_one(struct threads *t);
/* Ask the threads of a process that are not known yet to stop. How many; -errno. */
int threads_stop_new(struct threads *t, pid_t pid);
int threads_wait(struct threads *t); /* for those that were asked; -ETIME */
/* After -EBUSY: pause, and say whether to try again. Tracers that come and go hold a thread for
 * milliseconds, debuggers for longer. */
bool threads_are_awaited(int err, uint64_t start);
void threads_resume(struct threads *t);
/* A thread of the process's own that is stopped, and has no fault to take; NULL. */
const struct thread *threads_some_stopped(const struct threads *t);
/* Is one of the threads in these addresses, or may be? */
bool threads_are_at(const struct threads *t, uint64_t start, uint64_t end);
/* Is one of the threads in a signal handler that returns to these addresses, or may be? */
bool threads_return_to(struct inject *x, const struct threads *t, uint64_t start, uint64_t end);
/* Is one of the threads in a range of code that was planned, or may be? */
bool threads_are_in(const struct threads *t, const struct inject *x);

/* Stop the processes that share the memory of the one whose threads are stopped. */
int vfork_children_stop(struct threads *t);

#endif
