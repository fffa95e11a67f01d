/* What differs between CPUs: the registers of a stopped thread, and the stub in which it makes
 * system calls for us. cpu_x86_64.c and cpu_aarch64.c. */
#ifndef NOPAL_USER_PTRACE_CPU_H
#define NOPAL_USER_PTRACE_CPU_H

#if defined(__x86_64__) || defined(__aarch64__)
#define INJECT_HAS_CPU

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#if defined(__aarch64__)
#define STUB_SIZE 512
#else
#define STUB_SIZE 256
#endif

/* 0; -ESRCH; -ENOTSUP: it runs 32-bit code. */
int cpu_get(pid_t tid, struct user_regs_struct *out);
int cpu_set(pid_t tid, const struct user_regs_struct *regs);
uint64_t cpu_pc(const struct user_regs_struct *regs);
uint64_t cpu_sp(const struct user_regs_struct *regs);
/* Where libc has what belongs to the thread; 0: it has nothing. */
uint64_t cpu_thread_pointer(pid_t tid, const struct user_regs_struct *regs);

/* Can a stub at `stub` jump to where the thread was? */
bool cpu_reaches(uint64_t stub, const struct user_regs_struct *regs);
/* The bytes of a stub at `stub`. It begins with a system call; what follows restores the signal
 * mask and all registers, and goes on where the thread was. */
void cpu_build_stub(const struct user_regs_struct *regs, uint64_t mask, uint64_t stub,
		    uint8_t out[STUB_SIZE]);
/* Does one begin with these bytes? */
bool cpu_is_stub(const uint8_t bytes[STUB_SIZE]);
/* Where the thread is after the first instruction of the stub, so that it goes on alone. */
void cpu_enter_stub(struct user_regs_struct *regs, uint64_t stub);
/* ... and before it, with a call to make. */
void cpu_prepare_call(struct user_regs_struct *regs, uint64_t stub, long number,
		      const uint64_t args[6]);
int64_t cpu_result(const struct user_regs_struct *regs);

/* The thread was stopped in a system call: what the kernel keeps of it and its registers do not say
 * is put into these, so that it is completed when they are restored. `run` lets the thread run to
 * its next entry to or exit from a system call. */
int cpu_keep_call(pid_t tid, struct user_regs_struct *regs, int (*run)(void *arg), void *arg);

/* A thread in a system call, before it was stopped: what a CPU does not keep. */
struct cpu_call {
	int64_t number; /* -1: in none, or not known */
	uint64_t first; /* argument */
	uint64_t sp, pc;
	uint64_t switches; /* times that it has gone to sleep */
};

void cpu_note_call(pid_t tid, struct cpu_call *out);
/* The thread is stopped now: is it in that call? Else the call is not known. */
void cpu_confirm_call(pid_t tid, struct cpu_call *call);
/* The call ended with EINTR because of the stop: change the registers so that it is made again.
 * False: it was another call, or is not known. */
bool cpu_repeat_call(pid_t tid, const struct cpu_call *before, struct user_regs_struct *regs);
/* The number of the call that ended with EINTR; -1: it did not. */
int64_t cpu_interrupted(const struct user_regs_struct *regs);
/* The fourth argument of the call that is made next. */
uint64_t cpu_fourth(const struct user_regs_struct *regs);
void cpu_set_fourth(struct user_regs_struct *regs, uint64_t value);

#define CPU_TIDS 3
extern const int32_t cpu_tids[CPU_TIDS];  /* where libcs have a thread's number; 0: no more */
extern const uint32_t cpu_rseq_signature; /* that glibc registers */

#endif
#endif
