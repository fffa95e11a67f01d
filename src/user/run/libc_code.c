/* The places become jumps before any probe does, so that nothing that matters for these is missed.
 */
#include "user/run/libc_code.h"

#include <errno.h>

#include "user/patch/libc.h"
#include "user/ptrace/tracee.h"
#include "user/run/filter.h"
#include "user/run/vfork.h"

#define PLACES_MOST 32
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
	libc_go_on(&code, site->resume);
	if (place.waits_at)
		inject_waits_at(p->x, place.waits_at);
	return native_process_write(p, &code);
}

/* 0: it cannot be a place. */
static int add_place(struct native_process *p, const struct native_store *s, uint64_t near,
		     struct inject_place *at, struct diag *d)
{
	int err = native_process_settle(p, s, &at->site, d);

	if (!err && at->site.form == INJECT_NONE)
		err = -ENOSPC;
	if (!err)
		err = write_code(p, s, near, at, d);
	if (!err)
		err = native_process_add_site(p, &at->site);
	p->own += !err;
	return err == -ENOSPC ? 0 : err;
}

static bool is_wanted(const struct native_process *p, const struct inject_place *place)
{
	return !kinds[place->what].needs_rseq || inject_world(p->x)->rseq;
}

static bool is_on(const struct native_process *p, uint64_t pc)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->sites[i].pc == pc && p->sites[i].stage == SITE_ENABLED)
			return true;
	return false;
}

/* The kinds of places that were wanted, and are not changed after all. */
static unsigned find_lacks(const struct native_process *p, const struct inject_place *places,
			   int count)
{
	unsigned lacks = 0;

	for (int i = 0; i < count; i++)
		if (is_wanted(p, &places[i]) && !is_on(p, places[i].site.pc))
			lacks |= LIBC_BIT(places[i].what);
	return lacks;
}

/* Children that share its memory are then taken for the thread that made them, see vfork.c. */
static int take_lacks(struct native_process *p, unsigned lacks)
{
	const unsigned filters = LIBC_BIT(LIBC_PRCTL) | LIBC_BIT(LIBC_SYSCALL);
	const unsigned own = LIBC_BIT(LIBC_OWN); /* calls of the program's own code */

	p->calls.lacks_children = inject_world(p->x)->rseq && lacks & ~(filters | own);
	if (!(lacks & (filters | own)))
		return 0;
	p->calls.lacks_filters = lacks & filters;
	return filter_expect(p);
}

int libc_add(struct native_process *p, const struct native_store *s, struct diag *d)
{
	struct inject_place places[PLACES_MOST];
	size_t first = p->count;
	uint64_t near = p->sites[first - 1].pc;
	unsigned lacks;
	int count = inject_plan_libc(p->x, places, PLACES_MOST, &lacks),
	    err = count < 0 ? count : 0;

	for (int i = 0; i < count && !err; i++)
		if (is_wanted(p, &places[i]))
			err = add_place(p, s, near, &places[i], d);
	if (!err && p->count > first)
		err = inject_enable(p->x, p->sites + first, p->count - first, d);
	if (!err)
		err = filter_look_at_all(p);
	return err ? err : take_lacks(p, lacks | find_lacks(p, places, count));
}
