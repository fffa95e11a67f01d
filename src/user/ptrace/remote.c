/* System calls of another process, made by one of its threads.
 *
 * The thread is stopped and sent to a stub of a few bytes, where it makes the call; then its
 * registers are put back. It must survive that we are killed at any moment, so the stub can finish
 * alone: after the call it restores the signal mask and every register, and jumps to where the
 * thread was. The CPU's file has its bytes. It is put into the zeros at the end of the vDSO, which
 * nothing uses, else at the end of some file's code, and is removed again: never into memory that
 * we map, since that is unmapped again, perhaps by the very call that the thread makes. */
#include "user/ptrace/remote.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/proc.h"
#include "user/ptrace/signals.h"
#include "user/ptrace/threads.h"
#include "user/ptrace/tracee_state.h"

#ifdef INJECT_HAS_CPU

#define GET_RSEQ  0x420f /* a request of ptrace(2), since Linux 5.13 */
#define MARGIN	  16
#define LAST_PAGE 4096u /* of code: after the end of it there is padding */

enum remote_state {
	REMOTE_READY,
	REMOTE_ENDED,	/* its process has */
	REMOTE_LATE,	/* it did not stop in time */
	REMOTE_FAULTED, /* the stub did: somebody has changed it */
};

struct remote {
	struct inject *x;
	struct thread thread;
	bool is_held; /* by our ptrace, before and after */
	bool is_lent; /* one of several that are stopped */
	enum remote_state state;
	struct user_regs_struct regs; /* as they were */
	uint64_t mask;
	uint64_t sent; /* signals that others have sent it meanwhile: 1 << number - 1 */
};

/* ---- the stub */

/* Zeros at the end of a mapping of code, with some before them. */
static bool is_room(struct inject *x, uint64_t at)
{
	uint8_t bytes[MARGIN + STUB_SIZE];

	if (inject_read(x, at - MARGIN, bytes, sizeof(bytes)))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++)
		if (bytes[i])
			return false;
	return true;
}

/* Slots for stubs at the end of a mapping of code. Never in pages without a file, which may be
 * ours, or the program's own: these may be unmapped while the stub runs. */
static bool may_hold_stubs(const struct range *r, bool is_vdso)
{
	return r->is_code && r->end <= SPACE_TOP && r->is_vdso == is_vdso &&
	       (r->is_vdso || r->inode);
}

/* Tracers that were killed may have left stubs: then there is room below these. */
static uint64_t find_room_in(struct inject *x, const struct user_regs_struct *regs, bool is_vdso)
{
	const struct space *s = &x->space;

	for (unsigned slot = 1; slot < LAST_PAGE / STUB_SIZE; slot++)
		for (size_t i = 0; i < s->count; i++) {
			uint64_t at = s->ranges[i].end - slot * STUB_SIZE;

			if (may_hold_stubs(&s->ranges[i], is_vdso) && cpu_reaches(at, regs) &&
			    is_room(x, at))
				return at;
		}
	return 0;
}

/* The vDSO first: no library owns it, and it is never unmapped. */
static uint64_t find_room(struct inject *x, const struct user_regs_struct *regs)
{
	uint64_t at = find_room_in(x, regs, true);

	return at ? at : find_room_in(x, regs, false);
}

#define STUBS_MOST 64

static bool is_stub(struct inject *x, uint64_t at)
{
	uint8_t bytes[STUB_SIZE];

	return !inject_read(x, at, bytes, sizeof(bytes)) && cpu_is_stub(bytes);
}

static unsigned find_stubs(struct inject *x, uint64_t out[STUBS_MOST])
{
	const struct space *s = &x->space;
	unsigned count = 0;

	for (size_t i = 0; i < s->count; i++)
		for (unsigned slot = 1; slot < LAST_PAGE / STUB_SIZE; slot++) {
			const struct range *r = &s->ranges[i];
			uint64_t at = r->end - slot * STUB_SIZE;

			if ((may_hold_stubs(r, true) || may_hold_stubs(r, false)) &&
			    count < STUBS_MOST && is_stub(x, at))
				out[count++] = at;
		}
	return count;
}

/* A thread in one may return into another, which the tracer before had left: then all stay. So do
 * all while a handler runs, of a signal that came when a stub had restored the signal mask. */
void stubs_sweep(struct inject *x, const struct threads *t)
{
	static const uint8_t zeros[STUB_SIZE];
	uint64_t stubs[STUBS_MOST];
	unsigned count = find_stubs(x, stubs);

	for (unsigned i = 0; i < count; i++)
		if (threads_are_at(t, stubs[i], stubs[i] + STUB_SIZE) ||
		    threads_return_to(x, t, stubs[i], stubs[i] + STUB_SIZE))
			return;
	for (unsigned i = 0; i < count; i++)
		inject_write(x, stubs[i], zeros, sizeof(zeros));
}

/* ---- begin */

/* ORDER: two tracers begin with the same thread, and one waits: both would choose the same place
 * for their stubs. */
static int try_some_thread(struct inject *x, struct thread *out)
{
	struct dirent *entry;
	char path[64];
	uint64_t tid;
	int err = -ESRCH;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)x->pid);
	dir = opendir(path);
	if (!dir && errno != ENOENT)
		return -errno;
	while (dir && err && err != -EBUSY && (entry = readdir(dir))) {
		if (str_to_u64(str_from(entry->d_name), &tid))
			continue;
		*out = (struct thread){.tid = (pid_t)tid};
		err = thread_stop(out, x->is_filtered);
		if (!err)
			err = thread_wait(out, ASLEEP_MOST);
		/* The fault would be taken for one that the stub has raised. */
		if (!err && (signals_pending(out->tid) & SIGNAL_FAULTS)) {
			thread_resume(out);
			err = -EAGAIN;
		}
	}
	if (dir)
		closedir(dir);
	return err;
}

static int stop_some_thread(struct inject *x, struct thread *out)
{
	uint64_t start = clock_now();
	int err;

	do
		err = try_some_thread(x, out);
	while (threads_are_awaited(err, start));
	return err;
}

const char *remote_error(int err)
{
	static const struct {
		int err;
		const char *text;
	} texts[] = {
		{-ETIMEDOUT, "it sleeps in the kernel"},
		{-ETIME, "a thread of it did not stop in time"},
		{-ESTALE, "its code was changed meanwhile"},
		{-EBUSY, "another process is debugging it"},
	};

	for (size_t i = 0; i < COUNT(texts); i++)
		if (texts[i].err == err)
			return texts[i].text;
	return strerror(-err);
}

int remote_refuse(struct inject *x, int err, struct diag *d)
{
	if (err == -EPERM && x->is_filtered)
		return diag_error(
			d, -ENOTSUP, "user-mode-filter",
			"cannot trace process %d in user mode: it has a system call filter "
			"(seccomp), which only root can suspend",
			(int)x->pid);
	return diag_error(d, err, "user-mode-stop", "cannot stop process %d: %s", (int)x->pid,
			  err == -EBUSY ? "another process is tracing it" : remote_error(err));
}

static int refuse_program(struct inject *x, struct diag *d)
{
	return diag_error(d, -ENOTSUP, "user-mode-32",
			  "cannot trace process %d in user mode: it runs 32-bit code", (int)x->pid);
}

/* What the CPU raises. A blocked one would make the kernel forget the program's handler. */
#define BIT    SIGNAL_BIT
#define FAULTS SIGNAL_FAULTS

/* A signal that is not blocked: the program never gets one that the stub has raised, and later one
 * that another process has sent. What to let it go on with; -ESTALE: the stub was changed. */
static int take_signal(struct remote *r, int sig)
{
	siginfo_t info;

	if (sig > 64 || !(FAULTS & BIT(sig)))
		return sig; /* SIGSTOP: when we are gone, the process stops */
	if (ptrace(PTRACE_GETSIGINFO, r->thread.tid, NULL, &info))
		return -ESRCH;
	if (info.si_code > 0)
		return -ESTALE;
	r->sent |= BIT(sig);
	return 0;
}

static int await_stop(struct remote *r)
{
	struct patience patience = patience_begin(r->thread.tid);
	int stop;

	while (!(stop = thread_next_stop(r->thread.tid, WNOHANG | (r->is_held ? 0 : WNOWAIT))))
		if (!patience_wait(&patience))
			return -ETIME;
	return stop;
}

/* Let it run to the next entry to or exit from a system call. */
static int run_to_call(void *arg)
{
	struct remote *r = arg;
	int stop, sig = 0;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, r->thread.tid, NULL, (void *)(long)sig))
			return -ESRCH;
		stop = await_stop(r);
		if (stop < 0)
			return stop;
		if (stop == CALL_STOP)
			return 0;
		sig = stop >> 8 ? 0 : take_signal(r, stop);
		if (sig < 0)
			return sig;
	}
}

/* The thread is in the stub, with all signals blocked that the CPU does not raise. ORDER: so that
 * it can go on alone after each step. */
static int enter_stub(struct remote *r)
{
	struct user_regs_struct regs;
	uint8_t stub[STUB_SIZE];
	uint64_t blocked = ~FAULTS;
	int err = cpu_keep_call(r->thread.tid, &r->regs, run_to_call, r);

	if (err)
		return err;
	cpu_build_stub(&r->regs, r->mask, r->x->space.stub, stub);
	err = inject_write(r->x, r->x->space.stub, stub, sizeof(stub));
	regs = r->regs;
	cpu_enter_stub(&regs, r->x->space.stub);
	if (!err)
		err = cpu_set(r->thread.tid, &regs);
	if (!err && ptrace(PTRACE_SETSIGMASK, r->thread.tid, (void *)sizeof(blocked), &blocked))
		err = -errno;
	return err;
}

static int open_thread(struct remote *r, struct diag *d)
{
	struct inject *x = r->x;
	unsigned long options = PTRACE_O_TRACESYSGOOD;
	int err = 0;

	/* The process may have got a filter since it was opened; now that it is stopped it gets
	 * none. */
	x->is_filtered |= inject_has_filter(r->thread.tid);
	if (x->is_filtered)
		options |= PTRACE_O_SUSPEND_SECCOMP;
	if (ptrace(PTRACE_SETOPTIONS, r->thread.tid, NULL, (void *)options) ||
	    ptrace(PTRACE_GETSIGMASK, r->thread.tid, (void *)sizeof(r->mask), &r->mask))
		err = -errno;
	if (err)
		return remote_refuse(x, err, d);
	err = cpu_get(r->thread.tid, &r->regs);
	if (err)
		return err == -ENOTSUP ? refuse_program(x, d) : remote_refuse(x, err, d);
	x->space.stub = find_room(x, &r->regs);
	if (!x->space.stub && inject_has_ended(x)) /* it has called exec */
		return -ESRCH;
	if (!x->space.stub)
		return diag_error(d, -ENOSPC, "user-mode-stub",
				  "cannot trace process %d in user mode: no code in it ends in %u "
				  "free bytes",
				  (int)x->pid, STUB_SIZE);
	return enter_stub(r);
}

static void close_thread(struct remote *r)
{
	if (r->is_lent)
		return;
	r->x->poker = 0;
	if (r->is_held)
		ptrace(PTRACE_SETOPTIONS, r->thread.tid, NULL, NULL);
	else
		thread_resume(&r->thread);
}

static int begin(struct remote *r, struct diag *d)
{
	int err = 0;

	if (!r->is_held && !r->is_lent)
		err = stop_some_thread(r->x, &r->thread);
	if (err)
		return remote_refuse(r->x, err, d);
	r->x->poker = r->thread.tid;
	err = open_thread(r, d);
	if (err)
		close_thread(r);
	return err;
}

int remote_begin(struct inject *x, const struct thread *stopped, struct remote **out,
		 struct diag *d)
{
	struct remote *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	if (!stopped && x->held)
		stopped = threads_some_stopped(x->held);
	r->x = x;
	r->is_lent = stopped;
	r->is_held = !stopped && process_is_held(x);
	r->thread.tid = stopped ? stopped->tid : x->pid;
	err = begin(r, d);
	if (err)
		free(r);
	else
		*out = r;
	return err;
}

/* ---- calls */

pid_t remote_thread(const struct remote *r)
{
	return r->thread.tid;
}

static enum remote_state state_after(int err)
{
	return err == -ETIME ? REMOTE_LATE : err == -ESTALE ? REMOTE_FAULTED : REMOTE_ENDED;
}

static int64_t result_of(const struct remote *r)
{
	static const int results[] = {
		[REMOTE_ENDED] = -ESRCH, [REMOTE_LATE] = -ETIME, [REMOTE_FAULTED] = -ESTALE};

	return results[r->state];
}

int64_t remote_call(struct remote *r, long number, const uint64_t args[6])
{
	struct user_regs_struct regs = r->regs;
	int err;

	if (r->state != REMOTE_READY)
		return result_of(r);
	process_beat(r->x);
	cpu_prepare_call(&regs, r->x->space.stub, number, args);
	err = cpu_set(r->thread.tid, &regs);
	if (!err)
		err = run_to_call(r);
	if (!err)
		err = run_to_call(r);
	if (!err)
		err = cpu_get(r->thread.tid, &regs);
	if (!err)
		return cpu_result(&regs);
	r->state = state_after(err);
	return result_of(r);
}

/* One that is late may run anything by now: it is stopped once more, to be put back to where it
 * was. If that fails, it is let go when this thread of ours ends. */
static bool catch_late(struct remote *r)
{
	struct patience patience = patience_begin(r->thread.tid);
	int stop;

	if (ptrace(PTRACE_INTERRUPT, r->thread.tid, NULL, NULL))
		return false;
	while (!(stop = thread_next_stop(r->thread.tid, WNOHANG)))
		if (!patience_wait(&patience))
			return false;
	return stop > 0;
}

static void send_again(const struct remote *r)
{
	for (int sig = 1; sig <= 64; sig++)
		if (r->sent & BIT(sig))
			syscall(SYS_tgkill, r->x->pid, r->thread.tid, sig);
}

void remote_end(struct remote *r)
{
	static const uint8_t zeros[STUB_SIZE];

	if (r->state != REMOTE_LATE || catch_late(r)) {
		cpu_set(r->thread.tid, &r->regs);
		ptrace(PTRACE_SETSIGMASK, r->thread.tid, (void *)sizeof(r->mask), &r->mask);
		inject_write(r->x, r->x->space.stub, zeros, sizeof(zeros));
		send_again(r);
	}
	close_thread(r);
	free(r);
}

/* ---- what libc has in its thread block */

/* The number by which the thread knows itself: the last of "NSpid:\t12\t3"; 0 when unknown. */
static uint32_t own_number(pid_t tid)
{
	struct buf text = BUF_INIT;
	uint64_t number = 0;

	if (!process_status(tid, &text))
		process_status_number(buf_as_str(&text), "NSpid", STATUS_LAST, &number);
	buf_free(&text);
	return (uint32_t)number;
}

void remote_world(struct remote *r, struct inject_world *out)
{
	struct {
		uint64_t address;
		uint32_t size, signature, flags, pad;
	} rseq = {0};
	uint32_t number = own_number(r->thread.tid), found;
	uint64_t thread = cpu_thread_pointer(r->thread.tid, &r->regs);

	out->rseq = out->tid = 0;
	if (!thread)
		return;
	if (ptrace(GET_RSEQ, r->thread.tid, (void *)sizeof(rseq), &rseq) == sizeof(rseq) &&
	    rseq.address && rseq.signature == cpu_rseq_signature)
		out->rseq = (int32_t)(rseq.address - thread);
	for (size_t i = 0; i < CPU_TIDS && cpu_tids[i] && !out->tid; i++)
		if (number &&
		    !inject_read(r->x, thread + (uint64_t)(int64_t)cpu_tids[i], &found, 4) &&
		    found == number)
			out->tid = cpu_tids[i];
}

#else

void stubs_sweep(struct inject *x, const struct threads *t)
{
	(void)x, (void)t;
}

int remote_begin(struct inject *x, const struct thread *stopped, struct remote **out,
		 struct diag *d)
{
	(void)x, (void)stopped, (void)out;
	return diag_error(d, -ENOTSUP, "user-mode-cpu", "user mode needs an x86-64 or aarch64 CPU");
}

int64_t remote_call(struct remote *r, long number, const uint64_t args[6])
{
	(void)r, (void)number, (void)args;
	return -ENOSYS;
}

void remote_end(struct remote *r)
{
	(void)r;
}

pid_t remote_thread(const struct remote *r)
{
	(void)r;
	return 0;
}

void remote_world(struct remote *r, struct inject_world *out)
{
	(void)r, (void)out;
}

const char *remote_error(int err)
{
	return strerror(-err);
}

int remote_refuse(struct inject *x, int err, struct diag *d)
{
	return diag_error(d, err, "user-mode-stop", "cannot stop process %d: %s", (int)x->pid,
			  remote_error(err));
}

#endif
