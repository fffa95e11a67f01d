/* The places become jumps before any probe does, so that nothing that matters for these is missed.
 */
#include "engine/native/libc.h"

#include <errno.h>

#include "engine/native/filter.h"
#include "engine/native/vfork.h"

#define PLACES_MOST 136
#define ROOM	    256u

typedef void code_fn(struct native_code *c, struct libc_place *place);

/* clang-format off */
static const struct {
	code_fn *make;
	bool needs_rseq;
} kinds[] = {
	[LIBC_VFORK]   = {vfork_code,  true},
	[LIBC_PRCTL]   = {filter_code, false},
	[LIBC_SYSCALL] = {filter_code, false},
	[LIBC_CLONE]   = {clone_code,  true},
	[LIBC_CLONE3]  = {clone_code,  true},
	[LIBC_OWN]     = {own_code,    false},
};
/* clang-format on */

void libc_go_on(struct native_code *c, uint64_t at)
{
	int target = asm_label(c);

	if (asm_jump_to(c, at) || !asm_jump_through(c, target))
		return;
	asm_bind(c, target);
	asm_bytes(c, &at, sizeof(at));
}

/* Beside the trampolines if it may be: there is memory for them already. */
static int write_code(struct native_process *p, const struct native_store *s, uint64_t near,
		      struct inject_place *at, struct diag *d)
{
	const struct inject_site *site = &at->site;
	struct libc_place place = {
		.what = at->what, .called = at->called, .world = inject_world(p->x), .site = site};
	struct native_code code;
	int err = native_process_room(p, s, at->site.is_far ? near : at->site.pc, ROOM,
				      &at->site.body, &place.inside, d);

	if (err)
		return err;
	code_open(&code, at->site.body);
	kinds[at->what].make(&code, &place);
	libc_go_on(&code, at->what == LIBC_OWN ? site->copy_end : site->resume);
	if (place.waits_at)
		inject_waits_at(p->x, place.waits_at);
	return native_process_write(p, &code);
}

/* *all: none of the program's own calls is left out. */
static int add_place(struct native_process *p, const struct native_store *s, uint64_t near,
		     struct inject_place *at, bool *all, struct diag *d)
{
	int err;

	if (kinds[at->what].needs_rseq && !inject_world(p->x)->rseq)
		return 0;
	err = native_process_settle(p, s, &at->site, d);
	if (!err && at->site.form == INJECT_NONE)
		err = -ENOSPC;
	if (!err)
		err = write_code(p, s, near, at, d);
	if (!err)
		err = native_process_add_site(p, &at->site);
	p->own += !err;
	*all &= !err || at->what != LIBC_OWN;
	return err == -ENOSPC ? 0 : err;
}

/* What could make a filter and is not changed after all. */
static bool has_lost_own(const struct native_process *p, const struct inject_place *places,
			 int count)
{
	for (int i = 0; i < count; i++)
		for (size_t k = 0; places[i].what == LIBC_OWN && k < p->count; k++)
			if (p->sites[k].pc == places[i].site.pc && !p->sites[k].is_on)
				return true;
	return false;
}

int libc_add(struct native_process *p, const struct native_store *s, struct diag *d)
{
	struct inject_place places[PLACES_MOST];
	size_t first = p->count;
	uint64_t near = p->sites[first - 1].pc;
	bool all;
	int count = inject_plan_libc(p->x, places, PLACES_MOST, &all), err = count < 0 ? count : 0;

	for (int i = 0; i < count && !err; i++)
		err = add_place(p, s, near, &places[i], &all, d);
	if (!err && p->count > first)
		err = inject_enable(p->x, p->sites + first, p->count - first, d);
	if (!err)
		err = filter_look_at_all(p);
	if (err || (all && !has_lost_own(p, places, count)))
		return err;
	return filter_expect(p);
}
