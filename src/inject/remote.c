/* System calls of another process, made by one of its threads.
 *
 * The thread is stopped and sent to a stub of a few bytes, where it makes the call; then its
 * registers are put back. It must survive that we are killed at any moment, so the stub can finish
 * alone: after the call it restores the signal mask and every register, and jumps to where the
 * thread was:
 *
 *	0f 05				syscall			<- the calls we ask for
 *	b8 0e 00 00 00 .. 0f 05		sigprocmask(SIG_SETMASK, &mask, NULL)
 *	48 b8 .. (16 times)		movabs $value, %rax ...
 *	ff 25 ..			jmp *target(%rip)
 *	target: .quad			mask: .quad
 *
 * No instruction of it changes a flag. It is put into the zeros between the end of some code and
 * the end of its page, which nothing uses, and is removed again. */
#include "inject/inside.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "base/array.h"
#include "base/buf.h"
#include "symbols/maps.h"

#if defined(__x86_64__)

#define USER_CS	  0x33
#define CALL_STOP (SIGTRAP | 0x80)
/* Results inside the kernel that mean: start the call again; the last has a call of its own for it.
 */
#define RESTART_FIRST 512
#define RESTART_BLOCK 516
#define GET_RSEQ      0x420f /* a request of ptrace(2), since Linux 5.13 */
#define MARGIN	      16

struct remote {
	struct inject *x;
	pid_t tid;
	bool is_held; /* by our ptrace, before and after */
	bool is_dead;
	struct user_regs_struct regs; /* as they were */
	uint64_t mask;
};

/* ---- the stub */

static void put(uint8_t **at, const void *bytes, size_t len)
{
	memcpy(*at, bytes, len);
	*at += len;
}

static void put_u32(uint8_t **at, uint32_t value)
{
	put(at, &value, sizeof(value));
}

static void put_u64(uint8_t **at, uint64_t value)
{
	put(at, &value, sizeof(value));
}

/* movabs $value, register `number` */
static void put_register(uint8_t **at, unsigned number, uint64_t value)
{
	uint8_t code[2] = {(uint8_t)(0x48 | number >> 3), (uint8_t)(0xb8 | (number & 7))};

	put(at, code, sizeof(code));
	put_u64(at, value);
}

/* Where the kernel would have started the call again, it is started again. */
static void undo_interruption(struct user_regs_struct *regs)
{
	int64_t result = -(int64_t)regs->rax;

	if ((int64_t)regs->orig_rax < 0 || result < RESTART_FIRST || result > RESTART_BLOCK)
		return;
	regs->rax = result == RESTART_BLOCK ? SYS_restart_syscall : regs->orig_rax;
	regs->rip -= 2;
}

static void build_stub(const struct remote *r, uint8_t stub[STUB_SIZE])
{
	struct user_regs_struct g = r->regs;
	uint8_t *at = stub, *lea, *target;

	undo_interruption(&g);
	const uint64_t values[] = {g.rax, g.rcx, g.rdx, g.rbx, g.rsp, g.rbp, g.rsi, g.rdi,
				   g.r8,  g.r9,	 g.r10, g.r11, g.r12, g.r13, g.r14, g.r15};

	memset(stub, 0, STUB_SIZE);
	put(&at, "\x0f\x05", 2);	     /* syscall */
	put(&at, "\xb8\x0e\x00\x00\x00", 5); /* mov $SYS_rt_sigprocmask, %eax */
	put(&at, "\xbf\x02\x00\x00\x00", 5); /* mov $SIG_SETMASK, %edi */
	put(&at, "\x48\x8d\x35", 3);	     /* lea mask(%rip), %rsi */
	lea = at;
	put_u32(&at, 0);
	put(&at, "\xba\x00\x00\x00\x00", 5);	 /* mov $0, %edx */
	put(&at, "\x41\xba\x08\x00\x00\x00", 6); /* mov $8, %r10d */
	put(&at, "\x0f\x05", 2);		 /* syscall */
	for (unsigned i = 0; i < 16; i++)
		put_register(&at, i, values[i]);
	put(&at, "\xff\x25", 2); /* jmp *target(%rip) */
	put_u32(&at, 0);	 /* which follows */
	target = at;
	put_u64(&at, g.rip);
	put_u32(&lea, (uint32_t)(target + 8 - (lea + 4)));
	put_u64(&at, r->mask);
}

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

static uint64_t find_room(struct inject *x)
{
	const struct space *s = &x->space;

	/* Tracers that were killed may have left stubs: then there is room below these. */
	for (unsigned slot = 1; slot < PAGE / STUB_SIZE; slot++)
		for (size_t i = 0; i < s->count; i++) {
			uint64_t at = s->ranges[i].end - slot * STUB_SIZE;

			if (s->ranges[i].is_code && s->ranges[i].end <= SPACE_TOP && is_room(x, at))
				return at;
		}
	return 0;
}

/* ---- begin */

static pid_t stop_some_thread(struct inject *x)
{
	struct dirent *entry;
	char path[64];
	uint64_t tid;
	int err = -ESRCH;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)x->pid);
	dir = opendir(path);
	while (dir && err && (entry = readdir(dir))) {
		if (str_to_u64(str_from(entry->d_name), &tid))
			continue;
		err = thread_stop((pid_t)tid, x->is_filtered);
		if (!err)
			err = thread_wait((pid_t)tid);
	}
	if (dir)
		closedir(dir);
	return err ? err : (pid_t)tid;
}

static int refuse_thread(struct inject *x, int err, struct diag *d)
{
	if (err == -EPERM && x->is_filtered)
		return diag_error(
			d, -ENOTSUP, "user-mode-filter",
			"cannot trace process %d in user mode: it has a system call filter "
			"(seccomp), which only root can suspend",
			(int)x->pid);
	return diag_error(d, err, "user-mode-stop", "cannot stop process %d: %s", (int)x->pid,
			  err == -ETIMEDOUT ? "it sleeps in the kernel" : strerror(-err));
}

static int refuse_program(struct inject *x, struct diag *d)
{
	return diag_error(d, -ENOTSUP, "user-mode-32",
			  "cannot trace process %d in user mode: it runs 32-bit code", (int)x->pid);
}

static int set_registers(struct remote *r, const struct user_regs_struct *regs)
{
	return ptrace(PTRACE_SETREGS, r->tid, NULL, regs) ? -errno : 0;
}

/* The thread is in the stub, with all signals blocked. ORDER: so that it can go on alone after
 * each step. */
static int enter_stub(struct remote *r)
{
	struct user_regs_struct regs = r->regs;
	uint8_t stub[STUB_SIZE];
	uint64_t all = UINT64_MAX;
	int err;

	build_stub(r, stub);
	err = inject_write(r->x, r->x->space.stub, stub, sizeof(stub));
	regs.rip = r->x->space.stub + 2;
	regs.orig_rax = UINT64_MAX;
	if (!err)
		err = set_registers(r, &regs);
	if (!err && ptrace(PTRACE_SETSIGMASK, r->tid, (void *)sizeof(all), &all))
		err = -errno;
	return err;
}

static int open_thread(struct remote *r, struct diag *d)
{
	struct inject *x = r->x;
	unsigned long options =
		PTRACE_O_TRACESYSGOOD | (x->is_filtered ? PTRACE_O_SUSPEND_SECCOMP : 0);

	if (ptrace(PTRACE_SETOPTIONS, r->tid, NULL, (void *)options) ||
	    ptrace(PTRACE_GETREGS, r->tid, NULL, &r->regs) ||
	    ptrace(PTRACE_GETSIGMASK, r->tid, (void *)sizeof(r->mask), &r->mask))
		return refuse_thread(x, -errno, d);
	if (r->regs.cs != USER_CS)
		return refuse_program(x, d);
	x->space.stub = find_room(x);
	if (!x->space.stub)
		return diag_error(d, -ENOSPC, "user-mode-stub",
				  "cannot trace process %d in user mode: no code in it ends in %u "
				  "free bytes",
				  (int)x->pid, STUB_SIZE);
	return enter_stub(r);
}

static void close_thread(struct remote *r)
{
	if (r->is_held)
		ptrace(PTRACE_SETOPTIONS, r->tid, NULL, NULL);
	else
		thread_resume(r->tid);
}

int remote_begin(struct inject *x, struct remote **out, struct diag *d)
{
	struct remote *r = calloc(1, sizeof(*r));
	int err = 0;

	if (!r)
		return -ENOMEM;
	r->x = x;
	r->is_held = process_is_held(x);
	r->tid = r->is_held ? x->pid : stop_some_thread(x);
	if (r->tid < 0)
		err = refuse_thread(x, r->tid, d);
	if (!err) {
		err = open_thread(r, d);
		if (err)
			close_thread(r);
	}
	if (err)
		free(r);
	else
		*out = r;
	return err;
}

/* ---- calls */

/* Let it run to the next entry to or exit from a system call. */
static int run_to_call(struct remote *r)
{
	int stop, sig = 0;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, r->tid, NULL, (void *)(long)sig))
			return -ESRCH;
		stop = thread_next_stop(r->tid, 0);
		if (stop < 0)
			return stop;
		if (stop == CALL_STOP)
			return 0;
		/* SIGSTOP cannot be blocked; when we are gone, the process stops. */
		sig = stop >> 8 ? 0 : stop;
	}
}

int64_t remote_call(struct remote *r, long number, const uint64_t args[6])
{
	struct user_regs_struct regs = r->regs;
	int err;

	if (r->is_dead)
		return -ESRCH;
	regs.rip = r->x->space.stub;
	regs.orig_rax = UINT64_MAX;
	regs.rax = (uint64_t)number;
	regs.rdi = args[0];
	regs.rsi = args[1];
	regs.rdx = args[2];
	regs.r10 = args[3];
	regs.r8 = args[4];
	regs.r9 = args[5];
	err = set_registers(r, &regs);
	if (!err)
		err = run_to_call(r);
	if (!err)
		err = run_to_call(r);
	if (!err && ptrace(PTRACE_GETREGS, r->tid, NULL, &regs))
		err = -ESRCH;
	r->is_dead = err != 0;
	return err ? -ESRCH : (int64_t)regs.rax;
}

uint64_t remote_name(struct remote *r, const char name[16])
{
	uint64_t at = r->x->space.stub + STUB_SIZE - 16;

	return inject_write(r->x, at, name, 16) ? 0 : at;
}

void remote_end(struct remote *r)
{
	static const uint8_t zeros[STUB_SIZE];

	ptrace(PTRACE_SETSIGMASK, r->tid, (void *)sizeof(r->mask), &r->mask);
	set_registers(r, &r->regs);
	inject_write(r->x, r->x->space.stub, zeros, sizeof(zeros));
	close_thread(r);
	free(r);
}

/* ---- what libc has in its thread block */

/* The number by which the thread knows itself: the last of "NSpid:\t12\t3"; 0 when unknown. */
static uint32_t own_number(pid_t tid)
{
	struct buf text = BUF_INIT;
	struct str line = STR("");
	uint64_t number = 0;

	if (!process_status(tid, &text))
		line = process_status_line(buf_as_str(&text), "NSpid");
	while (line.len)
		if (str_to_u64(str_cut(&line, '\t'), &number))
			number = 0;
	buf_free(&text);
	return (uint32_t)number;
}

void remote_world(struct remote *r, struct inject_world *out)
{
	static const int32_t known[] = {0x2d0, 0x30, 0x38}; /* glibc, musl 1.2, musl 1.1 */
	struct {
		uint64_t address;
		uint32_t size, signature, flags, pad;
	} rseq = {0};
	uint32_t number = own_number(r->tid), found;

	out->rseq = out->tid = 0;
	if (!r->regs.fs_base)
		return;
	if (ptrace(GET_RSEQ, r->tid, (void *)sizeof(rseq), &rseq) == sizeof(rseq) && rseq.address)
		out->rseq = (int32_t)(rseq.address - r->regs.fs_base);
	for (size_t i = 0; i < COUNT(known) && !out->tid; i++)
		if (number && !inject_read(r->x, r->regs.fs_base + (uint64_t)known[i], &found, 4) &&
		    found == number)
			out->tid = known[i];
}

#else

int remote_begin(struct inject *x, struct remote **out, struct diag *d)
{
	(void)x, (void)out;
	return diag_error(d, -ENOTSUP, "user-mode-cpu", "user mode needs an x86-64 CPU");
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

void remote_world(struct remote *r, struct inject_world *out)
{
	(void)r, (void)out;
}

uint64_t remote_name(struct remote *r, const char name[16])
{
	(void)r, (void)name;
	return 0;
}

#endif
