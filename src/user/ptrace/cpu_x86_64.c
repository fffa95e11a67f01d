/* Threads and the stub on x86-64; see cpu.h.
 *
 *	0f 05				syscall			<- the calls we ask for
 *	b8 0e 00 00 00 .. 0f 05		sigprocmask(SIG_SETMASK, &mask, NULL)
 *	48 b8 .. (16 times)		movabs $value, %rax ...
 *	ff 25 ..			jmp *target(%rip)
 *	target: .quad			mask: .quad
 *
 * No instruction of it changes a flag. */
#include "user/ptrace/cpu.h"

#if defined(__x86_64__)

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#define USER_CS 0x33
/* Results inside the kernel that mean: start the call again; the last has a call of its own for it.
 */
#define STEPS	      UINT64_C(0x100) /* EFLAGS.TF */
#define RESTART_FIRST 512
#define RESTART_BLOCK 516

const int32_t cpu_tids[CPU_TIDS] = {0x2d0, 0x30, 0x38}; /* glibc, musl 1.2, musl 1.1 */
const uint32_t cpu_rseq_signature = 0x53053053;

int cpu_get(pid_t tid, struct user_regs_struct *out)
{
	if (ptrace(PTRACE_GETREGS, tid, NULL, out))
		return -errno;
	return out->cs == USER_CS ? 0 : -ENOTSUP;
}

int cpu_set(pid_t tid, const struct user_regs_struct *regs)
{
	return ptrace(PTRACE_SETREGS, tid, NULL, regs) ? -errno : 0;
}

uint64_t cpu_pc(const struct user_regs_struct *regs)
{
	return regs->rip;
}

uint64_t cpu_sp(const struct user_regs_struct *regs)
{
	return regs->rsp;
}

uint64_t cpu_thread_pointer(pid_t tid, const struct user_regs_struct *regs)
{
	(void)tid;
	return regs->fs_base;
}

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

bool cpu_reaches(uint64_t stub, const struct user_regs_struct *regs)
{
	(void)stub, (void)regs;
	return true;
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

void cpu_build_stub(const struct user_regs_struct *regs, uint64_t mask, uint64_t stub,
		    uint8_t out[STUB_SIZE])
{
	struct user_regs_struct g = *regs;
	uint8_t *at = out, *lea, *target;

	(void)stub;
	undo_interruption(&g);
	const uint64_t values[] = {g.rax, g.rcx, g.rdx, g.rbx, g.rsp, g.rbp, g.rsi, g.rdi,
				   g.r8,  g.r9,	 g.r10, g.r11, g.r12, g.r13, g.r14, g.r15};

	memset(out, 0, STUB_SIZE);
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
	put_u64(&at, mask);
}

bool cpu_is_stub(const uint8_t bytes[STUB_SIZE])
{
	return !memcmp(bytes, "\x0f\x05\xb8\x0e\0\0\0\xbf\x02\0\0\0\x48\x8d\x35", 15);
}

/* A program that steps through its own code (EFLAGS.TF) does not step through the stub. */
void cpu_enter_stub(struct user_regs_struct *regs, uint64_t stub)
{
	regs->eflags &= ~STEPS;
	regs->rip = stub + 2;
	regs->orig_rax = UINT64_MAX;
}

void cpu_prepare_call(struct user_regs_struct *regs, uint64_t stub, long number,
		      const uint64_t args[6])
{
	regs->eflags &= ~STEPS;
	regs->rip = stub;
	regs->orig_rax = UINT64_MAX;
	regs->rax = (uint64_t)number;
	regs->rdi = args[0];
	regs->rsi = args[1];
	regs->rdx = args[2];
	regs->r10 = args[3];
	regs->r8 = args[4];
	regs->r9 = args[5];
}

int64_t cpu_result(const struct user_regs_struct *regs)
{
	return (int64_t)regs->rax;
}

/* ---- system calls that were interrupted: orig_rax and the arguments' registers say all */

int cpu_keep_call(pid_t tid, struct user_regs_struct *regs, int (*run)(void *arg), void *arg)
{
	(void)tid, (void)regs, (void)run, (void)arg;
	return 0;
}

void cpu_note_call(pid_t tid, struct cpu_call *out)
{
	(void)tid;
	out->number = -1;
}

void cpu_confirm_call(pid_t tid, struct cpu_call *call)
{
	(void)tid, (void)call;
}

int64_t cpu_interrupted(const struct user_regs_struct *regs)
{
	return (int64_t)regs->rax == -EINTR ? (int64_t)regs->orig_rax : -1;
}

uint64_t cpu_fourth(const struct user_regs_struct *regs)
{
	return regs->r10;
}

void cpu_set_fourth(struct user_regs_struct *regs, uint64_t value)
{
	regs->r10 = value;
}

bool cpu_repeat_call(pid_t tid, const struct cpu_call *before, struct user_regs_struct *regs)
{
	(void)tid, (void)before;
	regs->rax = regs->orig_rax;
	regs->rip -= 2; /* 0f 05: syscall */
	return true;
}

#endif
