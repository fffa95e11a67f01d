/* Threads that have loaded a library, and wait: the tracer's side; layout.h and
 * inside_library_wait.c have the other one. */
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

static struct library_waits *library_waits_of(const struct native_store *s)
{
	return &((struct layout *)(void *)s->base)->waits;
}

bool library_wait_is_asked(const struct native_store *s, uint64_t *number)
{
	const struct library_waits *k = library_waits_of(s);

	*number = word_acquire(&k->asked);
	return *number != word_load(&k->answered);
}

/* The low half is the futex. */
void library_wait_answer(struct native_store *s, uint64_t number)
{
	struct library_waits *k = library_waits_of(s);

	word_release(&k->answered, number);
	syscall(SYS_futex, &k->answered, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void library_wait_answer_all(struct native_store *s)
{
	library_wait_answer(s, word_load(&library_waits_of(s)->asked) + (UINT64_MAX >> 2));
}

void heartbeat(struct native_store *s)
{
	word_store(&library_waits_of(s)->until,
		   read_tsc() + clock_line_ticks(&s->clock.line, LIFE_NS));
}

uint64_t library_wait_given_up(const struct native_store *s)
{
	return word_load(&library_waits_of(s)->given_up);
}

uint64_t library_wait_place(const struct native_process *p)
{
	return inject_world(p->x)->process + offsetof(struct process_page, waits);
}

uint64_t library_wait_count(const struct native_process *p)
{
	uint64_t count;

	return inject_read(p->x, library_wait_place(p), &count, sizeof(count)) ? 0 : count;
}

bool library_wait_follows(const struct native_process *p, uint64_t before)
{
	uint32_t state;

	if (!p->loader.waits)
		return false;
	return library_wait_count(p) != before ||
	       (!inject_read(p->x, p->loader.state, &state, sizeof(state)) && state);
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
	p->loader.state = state;
	code_open(&code, site->body);
	make_code(&code, inject_world(p->x), state,
		  inside + native_function("inside_library_wait"));
	return native_process_write(p, &code);
}

int library_wait_add(struct native_process *p, const struct native_store *s, struct diag *d)
{
	struct inject_site site;
	uint64_t state;
	int err;

	if (native_function("inside_library_wait") == UINT64_MAX)
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
	p->loader.waits = !err;
	p->loader.is_unheard = err == -ENOSPC;
	p->own += !err;
	return err == -ENOENT || err == -ENOSPC ? 0 : err;
}

void library_wait_judge(struct native_process *p)
{
	bool is_on = false;

	for (size_t i = 0; i < p->count; i++)
		is_on |= p->sites[i].form == INJECT_RETURN && p->sites[i].stage == SITE_ENABLED;
	p->loader.is_unheard |= p->loader.waits && !is_on;
	p->loader.waits &= is_on;
}
