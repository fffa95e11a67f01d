/* The sites of a traced process: how the places of clauses are found and planned there, and why one
 * cannot be traced. What is at each is made in process.c. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/file.h"
#include "user/patch/site.h"
#include "user/ptrace/tracee.h"
#include "user/run/process.h"

#define MAPPED_MOST NATIVE_MAPPED_MOST
#define REREADS	    8 /* for one site, while it is planned */
#define REREADS_ALL 64

static struct inject_site *find_site(struct native_process *p, uint64_t inode, uint64_t pc)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->sites[i].pc == pc && p->steps[i].turn.inode == inode)
			return &p->sites[i];
	return NULL;
}

int native_process_add_site(struct native_process *p, const struct inject_site *site)
{
	int err = array_grow(p->sites, p->count, p->cap);

	if (!err)
		err = array_reserve(p->steps, p->steps_cap, p->count + 1);
	if (err)
		return err;
	p->steps[p->count] = (struct native_steps){0};
	p->sites[p->count++] = *site;
	return 0;
}

static struct inject_site *find_across(struct native_process *p, uint64_t pc)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->sites[i].stage != SITE_ENABLED && inject_jumps_across(&p->sites[i], pc))
			return &p->sites[i];
	return NULL;
}

static void forget_site(struct native_process *p, struct inject_site *s, const char *why)
{
	s->form = INJECT_NONE;
	s->why = why;
	s->body = 0;
	p->steps[s - p->sites].count = p->steps[s - p->sites].done = 0;
}

/* The kernel will have a breakpoint there: then also at the site whose jump that breaks. */
static void leave_to_kernel(struct native_process *p, uint64_t pc)
{
	struct inject_site *s;

	while ((s = find_across(p, pc))) {
		forget_site(p, s,
			    "the bytes after it are another probe's, which the kernel traces");
		pc = s->pc;
	}
}

/* The mapping where the site's jump would lead may be gone in a moment. */
static int plan_site(struct native_process *p, struct inject_site *site)
{
	int err = inject_plan(p->x, site);

	for (unsigned i = 0; i < REREADS && !err && inject_is_lost(p->x, site) &&
			     site->form == INJECT_NONE && p->found.rereads < REREADS_ALL;
	     i++) {
		p->found.rereads++;
		native_process_pause();
		err = inject_reread(p->x);
		if (!err)
			err = inject_replan(p->x, site);
	}
	return err;
}

static int add_site(struct native_process *p, const struct attach *at, uint64_t pc)
{
	struct inject_site site = {.pc = pc};
	int err = plan_site(p, &site);

	if (err)
		return err;
	if (at->sema_offset)
		site.semaphore = inject_find_data(p->x, at->file->inode, at->sema_offset, pc);
	err = native_process_add_site(p, &site);
	if (!err)
		p->steps[p->count - 1].turn.inode = at->file->inode;
	return err;
}

/* A site may have been met while the loader had mapped its code alone. */
static void find_semaphore(struct native_process *p, struct inject_site *s, const struct attach *at)
{
	s->semaphore = inject_find_data(p->x, at->file->inode, at->sema_offset, s->pc);
	p->found.semaphores |= s->semaphore != 0;
}

/* The sites of an attachment, planned: how many; their numbers in `out`. */
static int find_sites(struct native_process *p, const struct attach *at, size_t out[MAPPED_MOST])
{
	uint64_t addresses[MAPPED_MOST + 1];
	unsigned count = at->file ? inject_find(p->x, at->file->inode, at->offset, addresses,
						MAPPED_MOST + 1)
				  : 0;

	if (count > MAPPED_MOST) {
		count = MAPPED_MOST;
		p->found.is_crowded = true;
	}
	for (unsigned i = 0; i < count; i++) {
		struct inject_site *s = find_site(p, at->file->inode, addresses[i]);
		int err = s ? 0 : add_site(p, at, addresses[i]);

		if (err)
			return err;
		if (s && at->sema_offset && !s->semaphore)
			find_semaphore(p, s, at);
		out[i] = s ? (size_t)(s - p->sites) : p->count - 1;
	}
	return (int)count;
}

const char *native_process_problem(struct native_process *p, const struct attach *at)
{
	size_t sites[MAPPED_MOST];
	int count = find_sites(p, at, sites);
	const char *why = count < 0 ? "no memory" : NULL;

	for (int i = 0; i < count && !why; i++)
		if (p->sites[sites[i]].form == INJECT_NONE)
			why = p->sites[sites[i]].why;
	return why;
}

bool native_process_has(const struct native_process *p, const struct attach *at)
{
	uint64_t address;

	return at->file && inject_find(p->x, at->file->inode, at->offset, &address, 1);
}

void native_process_leave(struct native_process *p, const struct attach *at)
{
	size_t sites[MAPPED_MOST];
	int count = find_sites(p, at, sites);

	for (int i = 0; i < count; i++)
		leave_to_kernel(p, p->sites[sites[i]].pc);
}

bool native_process_shares(struct native_process *p, const struct attach *at,
			   const struct attach *other)
{
	size_t sites[MAPPED_MOST];
	int count = find_sites(p, at, sites);

	for (int i = 0; i < count; i++) {
		const struct inject_site *s = &p->sites[sites[i]];

		if (inject_jumps_across(s, s->pc + (other->offset - at->offset)))
			return false;
	}
	return count > 0;
}

static int add_step(struct native_steps *steps, const struct native_step *step)
{
	for (size_t i = 0; i < steps->count; i++)
		if (steps->all[i].clause == step->clause && steps->all[i].attach == step->attach)
			return 0;
	if (array_grow(steps->all, steps->count, steps->cap))
		return -ENOMEM;
	steps->all[steps->count++] = *step;
	return 0;
}

int native_process_add(struct native_process *p, const struct native_step *step, unsigned *mapped)
{
	size_t sites[MAPPED_MOST];
	int count = find_sites(p, step->attach, sites), reached = 0;

	*mapped = count < 0 ? 0 : (unsigned)count;
	for (int i = 0; i < count; i++) {
		int err;

		if (p->sites[sites[i]].form == INJECT_NONE)
			continue;
		err = add_step(&p->steps[sites[i]], step);
		if (err)
			return err;
		reached++;
	}
	return count < 0 ? count : reached;
}
