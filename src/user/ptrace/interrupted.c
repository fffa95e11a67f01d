/* The kernel starts most system calls again that a stop has ended. Those of the list here give
 * EINTR to the program instead. */
#include "user/ptrace/interrupted.h"

#include <sys/syscall.h>

#include "base/array.h"
#include "user/ptrace/signals.h"

#ifdef INJECT_HAS_CPU

/* They have done nothing when they return EINTR. */
static bool is_cut_short(uint64_t number)
{
	static const uint16_t calls[] = {
#ifdef SYS_epoll_wait /* not on newer CPUs */
		SYS_epoll_wait,
#endif
		SYS_epoll_pwait,     SYS_epoll_pwait2, SYS_semop,    SYS_semtimedop,
		SYS_rt_sigtimedwait, SYS_io_getevents, SYS_read,     SYS_readv,
#ifdef SYS_io_pgetevents
		SYS_io_pgetevents,
#endif
#ifdef SYS_io_uring_enter
		SYS_io_uring_enter,
#endif
		SYS_recvfrom,	     SYS_recvmsg,      SYS_recvmmsg, SYS_accept,
		SYS_accept4,	     SYS_write,	       SYS_writev,   SYS_sendto,
		SYS_sendmsg,
	};

	for (size_t i = 0; i < COUNT(calls); i++)
		if (calls[i] == number)
			return true;
	return false;
}

void interrupted_note_sleep(pid_t tid, struct interrupted *out)
{
	sleep_note(tid, &out->sleep);
}

void interrupted_note_call(pid_t tid, struct interrupted *out)
{
	cpu_note_call(tid, &out->call);
}

/* The rest of the limit stays in the register, which functions may change: callers of libc load it
 * again. A thread that makes the call itself, again and again with one register, polls more often.
 */
static void shorten_limit(const struct sleep *s, struct user_regs_struct *regs)
{
	int32_t limit = (int32_t)cpu_fourth(regs), left = sleep_shorten(s, limit);

	if (left != limit)
		cpu_set_fourth(regs, (uint32_t)left);
}

/* Put the thread before the call that had ended with these registers. */
static bool make_again(pid_t tid, const struct interrupted *i, struct user_regs_struct regs)
{
	int64_t number = cpu_interrupted(&regs);

	if (!cpu_repeat_call(tid, &i->call, &regs))
		return false;
	if (sleep_has_limit((uint64_t)number))
		shorten_limit(&i->sleep, &regs);
	return !cpu_set(tid, &regs);
}

/* ptrace(2) answers when the kernel has taken the thread off its CPU: only then does sleep_end()
 * find how long it slept. */
void interrupted_repeat(pid_t tid, struct interrupted *i)
{
	int64_t number;

	cpu_confirm_call(tid, &i->call);
	i->is_repeated = false;
	if (cpu_get(tid, &i->ended))
		return;
	sleep_end(tid, &i->sleep);
	number = cpu_interrupted(&i->ended);
	if (number >= 0 && is_cut_short((uint64_t)number) && !signals_pending(tid))
		i->is_repeated = make_again(tid, i, i->ended);
}

void interrupted_settle(pid_t tid, const struct interrupted *i)
{
	if (!i->is_repeated)
		return;
	if (signals_pending(tid))
		cpu_set(tid, &i->ended);
	else if (sleep_has_limit((uint64_t)cpu_interrupted(&i->ended)))
		make_again(tid, i, i->ended);
}
#endif
