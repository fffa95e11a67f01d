/* Waiting for the tracer, inside the traced process: the only place where a thread does that. The
 * thread is in the dynamic loader, where it waits for disks, too. */
#include "user/inside/inside.h"
#include "user/inside/words.h"

#define WAIT	   0 /* FUTEX_WAIT, of memory that is shared */
#define WAKE	   1 /* FUTEX_WAKE */
#define WAIT_NS	   5000000u
#define WAITS_MOST 2000u /* 10 s */
#define WAIT_TICKS 10000000u
#define NO_CALL	   (-38) /* ENOSYS */
#define NO_WORK	   0	 /* of r_debug.r_state: the loader has done what it had to do */
#define UNLOADING  2

/* Wait until *at is not `value`, without a system call, for WAIT_TICKS at most. */
static void spin(const uint64_t *at, uint64_t value)
{
	uint64_t start = read_tsc();

	while (word_load(at) == value && read_tsc() - start < WAIT_TICKS)
		;
}

/* Has the tracer said until when it lives, and is that over? */
static bool is_left(const struct library_waits *k)
{
	return (int64_t)(word_load(&k->until) - read_tsc()) < 0;
}

/* The loader calls before it unloads libraries, and after that: then there is nothing to look at
 * before the next one is loaded. */
static bool has_unloaded(struct process_page *process, uint32_t state)
{
	uint64_t was = word_load(&process->is_unloading);

	word_store(&process->is_unloading, state == UNLOADING);
	return state == NO_WORK && was;
}

void inside_library_wait(char *base, const uint32_t *state, struct process_page *process,
			 struct kept_page *kept)
{
	struct layout *l = (struct layout *)(void *)base;
	const struct hit h = {.layout = l, .process = process, .kept = kept};
	const uint64_t pause[2] = {0, WAIT_NS}; /* struct timespec */
	uint32_t now = *(const volatile uint32_t *)state;
	uint64_t mine, answered;

	if (has_unloaded(process, now) || now != NO_WORK)
		return;
	mine = word_add(&l->waits.asked, 1) + 1;
	fence_stores(); /* ORDER: forked.c */
	word_add(&process->waits, 1);
	inside_call(&h, CALL_FUTEX, (uintptr_t)&l->waits.asked, WAKE, INT32_MAX, 0, 0);
	for (uint32_t i = 0; i < WAITS_MOST; i++) {
		answered = word_acquire(&l->waits.answered);
		if ((int64_t)(answered - mine) >= 0 || word_load(&l->is_stopped))
			return;
		if (is_left(&l->waits))
			break;
		if (inside_call(&h, CALL_FUTEX, (uintptr_t)&l->waits.answered, WAIT,
				(uint32_t)answered, (uintptr_t)pause, 0) == NO_CALL)
			spin(&l->waits.answered, answered);
	}
	word_add(&l->waits.given_up, 1);
}
