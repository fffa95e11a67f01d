/* A thread that installs a seccomp filter, or has its system calls become signals, inside the
 * traced process: see the tracer's side in filter.c. */
#include "user/inside/inside.h"

#include "user/inside/words.h"

/* prctl(2), seccomp(2) */
#define SET_SECCOMP  22u
#define SET_DISPATCH 59u /* PR_SET_SYSCALL_USER_DISPATCH */
#define DISPATCH_OFF 0u
#define PRCTL_STRICT 1u
#define PRCTL_FILTER 2u
#define SET_STRICT   0u
#define SET_FILTER   1u

#define LOOKS_MOST  500u
#define PAUSE_NS    50000u
#define PAUSE_TICKS 100000u

/* With what they answer if it is only asked whether there are filters: no program, other flags. */
static bool makes_filter(uint64_t number, uint64_t a, uint64_t b, uint64_t c)
{
	if (number == CALL_PRCTL)
		return ((uint32_t)a == SET_SECCOMP &&
			(b == PRCTL_STRICT || (b == PRCTL_FILTER && c))) ||
		       ((uint32_t)a == SET_DISPATCH && b != DISPATCH_OFF);
	if (number != CALL_SECCOMP)
		return false;
	return (uint32_t)a == SET_FILTER ? c != 0 : (uint32_t)a == SET_STRICT && !(uint32_t)b && !c;
}

static bool is_any_calling(const struct process_page *process)
{
	for (uint32_t i = 0; i < PROCESS_CALLING; i++)
		if ((int64_t)word_acquire(&process->calling[i].count) > 0)
			return true;
	return false;
}

/* With a filter there is already, without a call. */
static void wait_a_little(bool may_call)
{
	const uint64_t pause[2] = {0, PAUSE_NS}; /* struct timespec */
	uint64_t start = read_tsc();

	if (may_call)
		system_call(CALL_PPOLL, 0, 0, (uintptr_t)pause, 0, 0, 0);
	while (!may_call && read_tsc() - start < PAUSE_TICKS)
		;
}

void inside_filter(struct process_page *process, uint64_t *no_calls, uint64_t number, uint64_t a,
		   uint64_t b, uint64_t c)
{
	bool is_first;

	if (!makes_filter(number, a, b, c))
		return;
	is_first = word_swap(no_calls, 0, 1);
	fence_after_swap();
	for (uint32_t i = 0; i < LOOKS_MOST && is_any_calling(process); i++)
		wait_a_little(is_first);
}
