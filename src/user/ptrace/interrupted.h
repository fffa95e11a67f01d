/* System calls that a stop has ended with EINTR, which the program would never have seen without
 * us: the thread is put back to its call. */
#ifndef NOPAL_USER_PTRACE_INTERRUPTED_H
#define NOPAL_USER_PTRACE_INTERRUPTED_H

#include "user/ptrace/cpu.h"
#include "user/ptrace/sleep.h"

struct interrupted {
	bool is_repeated;
#ifdef INJECT_HAS_CPU
	struct cpu_call call; /* that the thread was in before it stopped */
	struct sleep sleep;
	struct user_regs_struct ended; /* is_repeated: its registers when the call had ended */
#endif
};

#ifdef INJECT_HAS_CPU
/* Before the thread is asked to stop: before it is seized, and after that. */
void interrupted_note_sleep(pid_t tid, struct interrupted *out);
void interrupted_note_call(pid_t tid, struct interrupted *out);
/* The thread has stopped: from here on it makes the call again, also when this process is killed.
 */
void interrupted_repeat(pid_t tid, struct interrupted *i);
/* The thread is about to go on: a signal that has come meanwhile ends the call. */
void interrupted_settle(pid_t tid, const struct interrupted *i);
#else
static inline void interrupted_note_sleep(pid_t tid, struct interrupted *out)
{
	(void)tid, (void)out;
}

static inline void interrupted_note_call(pid_t tid, struct interrupted *out)
{
	(void)tid, (void)out;
}

static inline void interrupted_repeat(pid_t tid, struct interrupted *i)
{
	(void)tid, (void)i;
}

static inline void interrupted_settle(pid_t tid, const struct interrupted *i)
{
	(void)tid, (void)i;
}
#endif

#endif
