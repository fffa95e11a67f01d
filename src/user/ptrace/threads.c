/* Stopping the threads of another process, and letting them go on as if they had not been stopped.
 * PTRACE_SEIZE and PTRACE_INTERRUPT send no signal, yet they wake threads that sleep in the kernel:
 * interrupted.c puts these back to their system calls. */
#include "user/ptrace/threads.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/proc.h"
#include "base/tracees.h"
#include "user/ptrace/signals.h"
#include "user/ptrace/system_call.h"
#include "user/ptrace/tracee_state.h"

#define ASLEEP_NS   2000000u	/* asleep for this time: it waits for a child of vfork(), perhaps */
#define LATE_NS	    1000000000u /* for a thread that runs */
#define PAUSE_NS    5000000u	/* more between two looks is this machine's */
#define STARVED_NS  10000000000u /* for one that may run, and that the machine does not let run */
#define YIELDS	    50		 /* while it is waited for, before the first pause */
#define BUSY_NS	    500000000u	 /* for another tracer to let go */
#define STAT_MAX    8192
#define STACK_WORDS 1024	/* read at once */
#define STACK_MOST  (16u << 20) /* bytes of a stack that are looked at */

/* ---- what the kernel says of a thread */

/* The letter in /proc/TID/stat: R S D T t Z X; X also when it is gone. */
static char state_of(pid_t tid)
{
	char text[STAT_MAX];
	const char *end;

	text[process_read_start(tid, "stat", text, sizeof(text) - 1)] = 0;
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : 'X';
}

static bool is_end(char state)
{
	return state == 'Z' || state == 'X';
}

/* ---- how long a thread is waited for */

/* Nanoseconds that it has been on a CPU. */
static uint64_t time_of(pid_t tid)
{
	char text[64];
	struct str words = str_of(text, process_read_start(tid, "schedstat", text, sizeof(text)));
	uint64_t time;

	return str_to_u64(str_cut(&words, ' '), &time) ? 0 : time;
}

struct patience patience_begin(pid_t tid)
{
	uint64_t now = clock_now();

	return (struct patience){.tid = tid, .start = now, .looked = now};
}

/* The thread has had its time: on a CPU, or asleep. A virtual machine may be stopped itself
 * meanwhile. */
static bool is_late(struct patience *p)
{
	uint64_t now = clock_now(), step = now - p->looked;

	char state;

	p->looked = now;
	p->waited += step < PAUSE_NS ? step : PAUSE_NS;
	if (p->waited > STARVED_NS)
		return true;
	if (p->waited <= LATE_NS)
		return false;
	state = state_of(p->tid);
	if (state == 't') /* it has just stopped */
		return false;
	return state != 'R' || time_of(p->tid) - p->ran > LATE_NS / 2;
}

bool patience_wait(struct patience *p)
{
	if (is_late(p))
		return false;
	if (p->turns == YIELDS) /* most have stopped by now, and need not be asked about */
		p->ran = time_of(p->tid);
	if (p->turns++ < YIELDS)
		sched_yield();
	else
		nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
	return true;
}

/* ---- one thread */

/* -EBUSY: another tracer has it. */
static int seize(pid_t tid, unsigned long options)
{
	bool once_more = true;
	int err;

	while ((err = tracees_seize(tid, options))) {
		if (err != -EPERM)
			return err;
		if (is_end(state_of(tid)))
			return -ESRCH;
		if (process_debugger(tid))
			return -EBUSY;
		if (!once_more)
			return -EPERM;
		once_more = false; /* it may have been let go just now */
	}
	return 0;
}

/* Each signal stops a thread that has been seized, so little is done until it is asked to stop: a
 * stop in the first instructions of a handler says little of where the thread was. */
int thread_stop(struct thread *t, bool is_filtered)
{
	int err;

	interrupted_note_sleep(t->tid, &t->interrupted);
	err = seize(t->tid, PTRACE_O_TRACESYSGOOD | (is_filtered ? PTRACE_O_SUSPEND_SECCOMP : 0));
	if (err)
		return err;
	interrupted_note_call(t->tid, &t->interrupted);
	return ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL) ? -errno : 0;
}

int thread_next_stop(pid_t tid, int flags)
{
	siginfo_t info = {0};

	/* The end of the thread is not ours to collect: it may be our child. */
	do {
		if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL | flags))
			continue;
		if (!info.si_pid)
			return 0;
		if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
			return -ESRCH;
		if ((flags & WNOWAIT) ||
		    (!waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOHANG | __WALL) && info.si_pid))
			return info.si_status;
	} while (errno == EINTR);
	return -ESRCH;
}

/* A signal that the program ignores has come first: it is as if there had been none. */
static void take_ignored(struct thread *t, int sig)
{
	if (sig && signal_is_ignored(t->tid, sig))
		interrupted_repeat(t->tid, &t->interrupted);
}

/* 0: nothing yet; 1: it has stopped as we asked; -ESRCH. */
static int look_for_stop(struct thread *t)
{
	pid_t tid = t->tid;
	int stop = thread_next_stop(tid, WNOHANG | WNOWAIT), sig;

	if (stop <= 0)
		return stop;
	if (stop >> 8 == PTRACE_EVENT_STOP)
		return 1;
	/* A signal came first: it is delivered, and then the thread stops, if it is asked again,
	 * since the kernel forgets that at any stop. So does one that a tracer was watching enter
	 * a system call when it was killed. */
	sig = stop == CALL_STOP || stop >> 8 ? 0 : stop & 0x7f;
	take_ignored(t, sig);
	if (ptrace(PTRACE_CONT, tid, NULL, (void *)(long)sig) ||
	    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return -ESRCH;
	return 0;
}

/* waitid(2) is silent about the end of a main thread while other threads that have ended, too, are
 * held by us: their ends are not ours to collect. So its state is asked for. */
int thread_wait(struct thread *t, uint64_t asleep_ns)
{
	struct patience patience = patience_begin(t->tid);
	uint64_t now, awake = patience.start; /* when it was last seen so */
	int found;

	while (!(found = look_for_stop(t))) {
		char state = patience.turns < YIELDS ? 'R' : state_of(t->tid);

		if (is_end(state))
			return -ESRCH;
		now = clock_now();
		if (state != 'D')
			awake = now;
		if (now - awake > asleep_ns)
			return -ETIMEDOUT;
		if (!patience_wait(&patience))
			return -ETIME;
	}
	if (found > 0)
		interrupted_repeat(t->tid, &t->interrupted);
	return found < 0 ? found : 0;
}

#ifdef INJECT_HAS_CPU
#define STAT_FLAGS 9
#define WORKERS	   0x4010u /* flags of the kernel's workers: for io_uring, and for vhost */

/* A thread that the kernel has made for the process runs none of its code. */
static bool is_worker(pid_t tid)
{
	return process_stat_number(tid, STAT_FLAGS) & WORKERS;
}

struct place thread_place(const struct thread *t)
{
	struct user_regs_struct regs;

	if (!t->is_stopped) {
		struct system_call call = system_call_of(t->tid);

		return (struct place){call.pc, call.sp, 0};
	}
	if (cpu_get(t->tid, &regs))
		return (struct place){0};
	if (!cpu_pc(&regs) && is_worker(t->tid))
		return (struct place){PLACE_NOWHERE, PLACE_NOWHERE, 0};
	return (struct place){cpu_pc(&regs), cpu_sp(&regs), cpu_thread_pointer(t->tid, &regs)};
}
#else
struct place thread_place(const struct thread *t)
{
	(void)t;
	return (struct place){0};
}
#endif

void thread_resume(const struct thread *t)
{
	interrupted_settle(t->tid, &t->interrupted);
	ptrace(PTRACE_DETACH, t->tid, NULL, NULL);
}

/* ---- all threads */

static bool is_known(const struct threads *t, pid_t tid)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->all[i].tid == tid)
			return true;
	return false;
}

int threads_stop_new(struct threads *t, pid_t pid)
{
	struct dirent *entry;
	char path[64];
	uint64_t tid;
	DIR *dir;
	int found = 0, err = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && (entry = readdir(dir))) {
		if (str_to_u64(str_from(entry->d_name), &tid) || is_known(t, (pid_t)tid))
			continue;
		err = array_grow(t->all, t->count, t->cap);
		if (!err) {
			t->all[t->count] =
				(struct thread){.tid = (pid_t)tid, .shares_memory = pid != t->pid};
			err = thread_stop(&t->all[t->count], false);
		}
		t->count += !err;
		found += !err;
		if (err == -ESRCH) /* it has just ended */
			err = 0;
	}
	closedir(dir);
	return err ? err : found;
}

/* One that sleeps in the kernel stops before it runs again. */
int threads_wait(struct threads *t)
{
	int err = 0;

	for (size_t i = 0; i < t->count && !err; i++) {
		struct thread *one = &t->all[i];

		if (one->is_stopped || one->is_ended || one->is_asleep)
			continue;
		err = thread_wait(one, ASLEEP_NS);
		one->is_ended = err == -ESRCH;
		one->is_stopped = !err;
		one->is_asleep = err == -ETIMEDOUT;
		if (one->is_ended || one->is_asleep)
			err = 0;
	}
	return err;
}

int threads_stop_others(struct threads *t)
{
	int found, err;

	do {
		found = threads_stop_new(t, t->pid);
		err = threads_wait(t);
	} while (found > 0 && !err);
	if (found >= 0 && !err)
		err = vfork_children_stop(t);
	return found < 0 ? found : err;
}

static int try_to_stop(pid_t pid, struct threads *out)
{
	int err;

	*out = (struct threads){.pid = pid};
	err = threads_stop_others(out);
	if (err)
		threads_resume(out);
	return err;
}

bool threads_are_awaited(int err, uint64_t start)
{
	if ((err != -EBUSY && err != -EAGAIN) || clock_now() - start > BUSY_NS)
		return false;
	usleep(500 + (useconds_t)(clock_now() % 2048)); /* not in step with the other one */
	return true;
}

int threads_stop(pid_t pid, struct threads *out)
{
	uint64_t start = clock_now();
	int err;

	do
		err = try_to_stop(pid, out);
	while (threads_are_awaited(err, start));
	return err;
}

void threads_resume(struct threads *t)
{
	for (size_t i = 0; i < t->count && !t->is_held; i++)
		if (!t->all[i].is_ended)
			thread_resume(&t->all[i]);
	free(t->all);
	*t = (struct threads){0};
}

const struct thread *threads_some_stopped(const struct threads *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->all[i].is_stopped && !t->all[i].shares_memory &&
		    !(signals_pending(t->all[i].tid) & SIGNAL_FAULTS))
			return &t->all[i];
	return NULL;
}

/* The first of its own that is asleep. -EAGAIN: one has a fault to take. */
static int await_first(struct threads *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct thread *one = &t->all[i];
		int err;

		if (one->shares_memory || one->is_ended)
			continue;
		if (one->is_stopped)
			return -EAGAIN;
		err = thread_wait(one, ASLEEP_MOST);
		one->is_stopped = !err;
		one->is_asleep &= err != 0;
		return err;
	}
	return -ESRCH;
}

int threads_await_one(struct threads *t)
{
	int err = threads_some_stopped(t) ? 0 : await_first(t);

	return err || threads_some_stopped(t) ? err : -EAGAIN;
}

/* A thread of which that is not known may be anywhere. */
bool threads_are_at(const struct threads *t, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < t->count; i++) {
		uint64_t at = t->all[i].is_ended ? end : thread_place(&t->all[i]).pc;

		if (!at || (at >= start && at < end))
			return true;
	}
	return false;
}

/* Where the mapping of a stack ends; 0: not known. */
static uint64_t stack_end(const struct space *s, uint64_t sp)
{
	for (size_t i = 0; i < s->count; i++)
		if (sp >= s->ranges[i].start && sp < s->ranges[i].end)
			return s->ranges[i].end;
	return 0;
}

static bool is_planned(const struct space *s, uint64_t at)
{
	for (size_t i = 0; i < s->planned_count; i++)
		if (at >= s->planned[i].start && at < s->planned[i].end)
			return true;
	return false;
}

/* Code that a stack may lead to. */
struct target {
	uint64_t start, end;
};

static bool has_word(const uint64_t *words, size_t count, const struct target *to)
{
	for (size_t i = 0; i < count; i++)
		if (words[i] >= to->start && words[i] < to->end)
			return true;
	return false;
}

/* Signal handlers return to where the kernel has written on the stack. */
static bool stack_leads_to(struct inject *x, uint64_t sp, const struct target *to)
{
	uint64_t words[STACK_WORDS], at = sp & ~(uint64_t)7, stop = stack_end(&x->space, sp);

	if (sp == PLACE_NOWHERE)
		return false;
	if (!sp || !stop || stop - at > STACK_MOST)
		return true;
	while (at < stop) {
		size_t len = stop - at < sizeof(words) ? (size_t)(stop - at) : sizeof(words);

		if (inject_read(x, at, words, len) || has_word(words, len / 8, to))
			return true;
		at += len;
	}
	return false;
}

bool threads_return_to(struct inject *x, const struct threads *t, uint64_t start, uint64_t end)
{
	const struct target to = {start, end};

	for (size_t i = 0; i < t->count; i++)
		if (!t->all[i].is_ended && stack_leads_to(x, thread_place(&t->all[i]).sp, &to))
			return true;
	return false;
}

static bool waits_at(const struct inject *x, uint64_t at)
{
	for (unsigned i = 0; i < x->wait_count; i++)
		if (x->waits[i] == at)
			return true;
	return false;
}

bool threads_are_in(const struct threads *t, const struct inject *x)
{
	for (size_t i = 0; i < t->count; i++) {
		uint64_t at = t->all[i].is_ended ? UINT64_MAX : thread_place(&t->all[i]).pc;

		if (!at || (is_planned(&x->space, at) && !waits_at(x, at)))
			return true;
	}
	return false;
}
