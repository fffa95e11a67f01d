/* Threads and the stub on aarch64; see cpu.h.
 *
 *	d4000001		svc #0			<- the calls we ask for
 *	...			sigprocmask(SIG_SETMASK, &mask, NULL, 8)
 *	58...... (31 times)	ldr xN, value
 *	14......		b to where the thread was
 *	value: .quad, 31 times	mask: .quad
 *
 * No instruction of it changes a flag. There is no jump that needs no register and leads
 * everywhere, so the stub must lie within 128 MiB of where the thread was. */
#include "user/ptrace/cpu.h"

#if defined(__aarch64__)

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/array.h"
#include "base/proc.h"
#include "user/ptrace/system_call.h"

#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL 0x404
#endif

#define SVC	  0xd4000001u
#define BRANCH	  (UINT64_C(128) << 20) /* bytes that b reaches, in both directions */
#define REGISTERS 31
#define VALUES_AT 160 /* in the stub: after all instructions */
#define MASK_AT	  (VALUES_AT + 8 * REGISTERS)
#define MODE_32	  0x10u /* in pstate */

const int32_t cpu_tids[CPU_TIDS] = {-0x670}; /* glibc 2.36, before the thread pointer */
const uint32_t cpu_rseq_signature = 0xd428bc00;

static int get_set(pid_t tid, int request, int set, void *bytes, size_t size)
{
	struct iovec part = {bytes, size};

	if (ptrace((enum __ptrace_request)request, tid, (void *)(uintptr_t)set, &part))
		return -errno;
	return part.iov_len == size ? 0 : -ENOTSUP; /* registers of 32-bit code are fewer */
}

int cpu_get(pid_t tid, struct user_regs_struct *out)
{
	int err = get_set(tid, PTRACE_GETREGSET, NT_PRSTATUS, out, sizeof(*out));

	return !err && out->pstate & MODE_32 ? -ENOTSUP : err;
}

int cpu_set(pid_t tid, const struct user_regs_struct *regs)
{
	struct user_regs_struct copy = *regs;

	return get_set(tid, PTRACE_SETREGSET, NT_PRSTATUS, &copy, sizeof(copy));
}

uint64_t cpu_pc(const struct user_regs_struct *regs)
{
	return regs->pc;
}

uint64_t cpu_sp(const struct user_regs_struct *regs)
{
	return regs->sp;
}

uint64_t cpu_thread_pointer(pid_t tid, const struct user_regs_struct *regs)
{
	uint64_t pointer[2] = {0};
	struct iovec part = {pointer, sizeof(pointer)};

	(void)regs;
	return ptrace(PTRACE_GETREGSET, tid, (void *)NT_ARM_TLS, &part) ? 0 : pointer[0];
}

/* ---- the stub */

bool cpu_reaches(uint64_t stub, const struct user_regs_struct *regs)
{
	uint64_t most = BRANCH - STUB_SIZE;

	return regs->pc % 4 == 0 && regs->pc < stub + most && stub < regs->pc + most;
}

static const uint32_t first[] = {
	SVC,
	0xd28010e8,			      /* mov x8, #135: its number */
	0xd2800040,			      /* mov x0, #SIG_SETMASK */
	0x10000001 | (MASK_AT - 12) / 4 << 5, /* adr x1, mask */
	0xd2800002,			      /* mov x2, #0 */
	0xd2800103,			      /* mov x3, #8 */
	SVC,
};

void cpu_build_stub(const struct user_regs_struct *regs, uint64_t mask, uint64_t stub,
		    uint8_t out[STUB_SIZE])
{
	uint32_t code[VALUES_AT / 4] = {0}, at = COUNT(first);

	memcpy(code, first, sizeof(first));
	for (uint32_t i = 0; i < REGISTERS; i++, at++) /* ldr xI, value */
		code[at] = 0x58000000 | (VALUES_AT + 8 * i - 4 * at) / 4 << 5 | i;
	code[at] = 0x14000000 | ((uint32_t)((int64_t)(regs->pc - (stub + 4 * at)) / 4) & 0x3ffffff);
	memset(out, 0, STUB_SIZE);
	memcpy(out, code, sizeof(code));
	memcpy(out + VALUES_AT, regs->regs, 8 * REGISTERS);
	memcpy(out + MASK_AT, &mask, sizeof(mask));
}

bool cpu_is_stub(const uint8_t bytes[STUB_SIZE])
{
	return !memcmp(bytes, first, sizeof(first));
}

void cpu_enter_stub(struct user_regs_struct *regs, uint64_t stub)
{
	regs->pc = stub + 4;
}

void cpu_prepare_call(struct user_regs_struct *regs, uint64_t stub, long number,
		      const uint64_t args[6])
{
	memcpy(regs->regs, args, 6 * sizeof(*args));
	regs->regs[8] = (uint64_t)number;
	regs->pc = stub;
}

int64_t cpu_result(const struct user_regs_struct *regs)
{
	return (int64_t)regs->regs[0];
}

/* ---- system calls that were interrupted
 *
 * At the stop the kernel has already put the thread back to its svc, with the arguments as they
 * were: it is started again whenever the registers are restored. But some calls go on where they
 * were, by another call, which the kernel chooses only when the thread goes on at once. So the
 * thread goes on, up to the entry of whichever it is. */

static bool has_time_left(uint64_t number)
{
	return number == SYS_nanosleep || number == SYS_clock_nanosleep || number == SYS_futex;
}

static bool is_at_svc(pid_t tid, uint64_t pc)
{
	errno = 0;
	return (uint32_t)ptrace(PTRACE_PEEKTEXT, tid, (void *)pc, NULL) == SVC && !errno;
}

/* The call is not made: its number becomes -1. While a thread is at a call, x7 says which end of
 * it, and cannot be written. All signals are blocked meanwhile, and stay so in the stub. */
int cpu_keep_call(pid_t tid, struct user_regs_struct *regs, int (*run)(void *arg), void *arg)
{
	struct user_regs_struct at;
	uint64_t all = UINT64_MAX;
	int32_t none = -1;
	int err;

	if (!has_time_left(regs->regs[8]) || !is_at_svc(tid, regs->pc))
		return 0;
	err = ptrace(PTRACE_SETSIGMASK, tid, (void *)sizeof(all), &all) ? -errno : run(arg);
	if (!err)
		err = cpu_get(tid, &at);
	if (!err)
		err = get_set(tid, PTRACE_SETREGSET, NT_ARM_SYSTEM_CALL, &none, sizeof(none));
	if (!err)
		err = run(arg);
	if (!err)
		regs->regs[8] = at.regs[8];
	return err;
}

/* Calls that end with EINTR have their result where their first argument was. So it is read before
 * the stop, where the kernel shows the arguments of a call that sleeps. */
static uint64_t times_asleep(pid_t tid)
{
	struct buf text = BUF_INIT;
	uint64_t times = 0;

	if (process_status(tid, &text) ||
	    str_to_u64(process_status_line(buf_as_str(&text), "voluntary_ctxt_switches"), &times))
		times = 0;
	buf_free(&text);
	return times;
}

void cpu_note_call(pid_t tid, struct cpu_call *out)
{
	uint64_t switches = times_asleep(tid);
	struct system_call call = system_call_of(tid);

	*out = (struct cpu_call){.number = -1};
	if (call.number >= 0)
		*out = (struct cpu_call){call.number, call.args[0], call.sp, call.pc, switches};
}

/* The thread has gone to sleep once more, for the stop; twice would be another call. */
void cpu_confirm_call(pid_t tid, struct cpu_call *call)
{
	if (!call->switches || times_asleep(tid) != call->switches + 1)
		call->number = -1;
}

int64_t cpu_interrupted(const struct user_regs_struct *regs)
{
	return (int64_t)regs->regs[0] == -EINTR ? (int64_t)regs->regs[8] : -1;
}

uint64_t cpu_fourth(const struct user_regs_struct *regs)
{
	return regs->regs[3];
}

void cpu_set_fourth(struct user_regs_struct *regs, uint64_t value)
{
	regs->regs[3] = value;
}

bool cpu_repeat_call(pid_t tid, const struct cpu_call *before, struct user_regs_struct *regs)
{
	bool is_same = before->number == (int64_t)regs->regs[8] && before->pc == regs->pc &&
		       before->sp == regs->sp && is_at_svc(tid, regs->pc - 4);

	if (!is_same)
		return false;
	regs->regs[0] = before->first;
	regs->pc -= 4;
	return true;
}

#endif
