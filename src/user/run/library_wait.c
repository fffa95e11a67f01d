/* The tracer's side of knocks; layout.h and inside_knock.c have the other one. */
#include "user/run/library_wait.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/gen/gen.h"
#include "user/inside/blob.h"
#include "user/inside/words.h"
#include "user/patch/libc.h"
#include "user/ptrace/tracee.h"

#define CODE_MOST 512u
#define LIFE_NS	  1000000000u /* that one beat promises */

static struct knocks *knocks_of(const struct native_store *s)
{
	return &((struct layout *)(void *)s->base)->knocks;
}

bool knock_is_heard(const struct native_store *s, uint64_t *number)
{
	const struct knocks *k = knocks_of(s);

	*number = word_acquire(&k->asked);
	return *number != word_load(&k->answered);
}

/* The low half is the futex. */
void knock_answer(struct native_store *s, uint64_t number)
{
	struct knocks *k = knocks_of(s);

	word_release(&k->answered, number);
	syscall(SYS_futex, &k->answered, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void knock_answer_all(struct native_store *s)
{
	knock_answer(s, word_load(&knocks_of(s)->asked) + (UINT64_MAX >> 2));
}

void knock_beat(struct native_store *s)
{
	word_store(&knocks_of(s)->until, read_tsc() + clock_line_ticks(&s->clock.line, LIFE_NS));
}

uint64_t knock_given_up(const struct native_store *s)
{
	return word_load(&knocks_of(s)->given_up);
}

uint64_t knock_place(const struct native_process *p)
{
	return inject_world(p->x)->process + offsetof(struct process_page, knocks);
}

uint64_t knock_count(const struct native_process *p)
{
	uint64_t count;

	return inject_read(p->x, knock_place(p), &count, sizeof(count)) ? 0 : count;
}

bool knock_follows(const struct native_process *p, uint64_t before)
{
	uint32_t state;

	if (!p->knocks)
		return false;
	return knock_count(p) != before ||
	       (!inject_read(p->x, p->loader_state, &state, sizeof(state)) && state);
}

/* ---- the trampoline: what the caller has in registers stays, and its red zone */

/* In place of an empty function of the loader. */
static void make_code(struct native_code *c, const struct inject_world *w, uint64_t state,
		      uint64_t function)
{
	const uint32_t saved = ASM_CALL_CHANGES & ~ASM_BIT(ACC);
	static const int args[] = ASM_ARGS;
	int out = asm_label(c);

	if (ASM_RED_ZONE)
		asm_lea(c, STACK, MEM(STACK, -ASM_RED_ZONE));
	asm_save_flags(c);
	if (w->is_private)
		native_leave_child(c, w->process, out);
	asm_push(c, saved);
	asm_const(c, args[0], w->shared);
	asm_const(c, args[1], state);
	asm_const(c, args[2], w->process);
	asm_const(c, args[3], w->kept);
	asm_call(c, function);
	asm_pop(c, saved);
	asm_bind(c, out);
	asm_restore_flags(c);
	if (ASM_RED_ZONE)
		asm_lea(c, STACK, MEM(STACK, ASM_RED_ZONE));
	asm_return(c);
}

static int write_code(struct native_process *p, const struct native_store *s, uint64_t state,
		      struct inject_site *site, struct diag *d)
{
	struct native_code code;
	uint64_t inside;
	int err = native_process_room(p, s, site->pc, CODE_MOST, &site->body, &inside, d);

	if (err)
		return err;
	p->loader_state = state;
	code_open(&code, site->body);
	make_code(&code, inject_world(p->x), state, inside + native_function("inside_knock"));
	return native_process_write(p, &code);
}

int knock_add(struct native_process *p, const struct native_store *s, struct diag *d)
{
	struct inject_site site;
	uint64_t state;
	int err;

	if (native_function("inside_knock") == UINT64_MAX)
		return 0;
	err = inject_plan_loader(p->x, &site, &state);
	if (!err)
		err = native_process_settle(p, s, &site, d);
	if (!err && site.form == INJECT_NONE)
		err = -ENOSPC;
	if (!err)
		err = write_code(p, s, state, &site, d);
	if (!err)
		err = native_process_add_site(p, &site);
	p->knocks = !err;
	p->lacks_knocks = err == -ENOSPC;
	p->own += !err;
	return err == -ENOENT || err == -ENOSPC ? 0 : err;
}

void knock_judge(struct native_process *p)
{
	bool is_on = false;

	for (size_t i = 0; i < p->count; i++)
		is_on |= p->sites[i].form == INJECT_RETURN && p->sites[i].is_on;
	p->lacks_knocks |= p->knocks && !is_on;
	p->knocks &= is_on;
}
