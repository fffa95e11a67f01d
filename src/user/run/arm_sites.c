/* The sites of a traced process: those that the program's attachments have there, and what is
 * reported of those that cannot be traced. */
#include "user/run/native_state.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "elf/kind.h"
#include "user/patch/libc.h"
#include "user/ptrace/tracee.h"
#include "user/run/library_wait.h"

/* A library that is not mapped yet, or may be unloaded, and loaded again. The sites of one file
 * come one after the other. */
static bool may_come(struct native_process *p, const struct attach *at, bool is_mapped)
{
	if (!at->file || (is_mapped && p->files.stays == at->file))
		return false;
	if (file_kind(at->file).is_library && !(is_mapped && inject_is_linked(p->x, at->path)))
		return true;
	if (is_mapped)
		p->files.stays = at->file;
	return false;
}

static int add_attach(struct native_process *p, const struct native_step *step)
{
	unsigned mapped;
	int reached = native_process_add(p, step, &mapped);

	if (reached < 0)
		return reached;
	p->files.are_missing |= !mapped;
	p->files.may_come = p->files.may_come || may_come(p, step->attach, mapped);
	return 0;
}

void native_left_out_free(struct native_left_out *left)
{
	places_free(&left->sites);
	places_free(&left->all);
	free(left->steps);
	free(left->why);
}

static int add_left_out(struct native_left_out *left, const struct native_step *step,
			const char *why)
{
	if (array_grow(left->steps, left->sites.count, left->step_cap) ||
	    array_grow(left->why, left->sites.count, left->why_cap))
		return -ENOMEM;
	left->steps[left->sites.count] = *step;
	left->why[left->sites.count] = why;
	return places_add(&left->sites, step->attach);
}

static int judge_attach(struct native_process *p, const struct native_step *step,
			struct native_left_out *left)
{
	const char *why = native_process_problem(p, step->attach);

	left->any_good |= !why;
	return places_add(&left->all, step->attach) ?: (why ? add_left_out(left, step, why) : 0);
}

int native_find_left_out(struct native_process *process, const struct program *p,
			 struct native_left_out *left)
{
	int err = 0;

	for (uint32_t i = 0; i < p->clause_count; i++)
		for (uint32_t k = 0; k < p->clauses[i].attach_count && !err; k++) {
			const struct native_step step = {p, &p->clauses[i],
							 &p->clauses[i].attaches[k]};

			if (!attach_is_tracers(step.attach))
				err = judge_attach(process, &step, left);
		}
	return err;
}

static struct str name_of(const struct native_step *step)
{
	return step->program->names[step->attach->name];
}

static void say_sites(size_t count, size_t of, const struct native_step *first, const char *why,
		      struct diag *d)
{
	diag_warn(d, "user-mode-skipped",
		  "%zu of %zu sites cannot be traced in user mode, for example '%.*s': %s", count,
		  of, STR_FMT(name_of(first)), why);
	diag_hint(d, "'nopal doctor -p PID' shows all sites; --kernel traces them as root");
}

int native_say_left_out(struct native *e, const struct native_left_out *left, struct diag *d)
{
	size_t before = e->left_out.count, first = 0;
	int err = 0;

	for (size_t i = 0; i < left->sites.count && !err; i++) {
		err = places_add(&e->left_out, left->sites.all[i]);
		if (e->left_out.count == before)
			first = i + 1;
	}
	if (!err && e->left_out.count > before)
		say_sites(e->left_out.count - before, left->all.count, &left->steps[first],
			  left->why[first], d);
	return err;
}

int native_judge_left_out(struct native *e, const struct native_left_out *left, struct diag *d)
{
	if (!left->sites.count || left->any_good)
		return native_say_left_out(e, left, d);
	diag_error(d, -ENOTSUP, "user-mode-none", "cannot trace '%.*s' in user mode: %s",
		   STR_FMT(name_of(&left->steps[0])), left->why[0]);
	diag_hint(d, "root can trace it with --kernel");
	return -ENOTSUP;
}

int native_add_clauses(struct native_process *process, const struct program *p)
{
	int err = 0;

	for (uint32_t i = 0; i < p->clause_count && !err; i++)
		for (uint32_t k = 0; k < p->clauses[i].attach_count && !err; k++) {
			const struct native_step step = {p, &p->clauses[i],
							 &p->clauses[i].attaches[k]};

			if (!attach_is_tracers(step.attach))
				err = add_attach(process, &step);
		}
	return err;
}

static void log_pause(struct native *e, const struct native_process *p)
{
	const struct inject_pause *pause = inject_pause(p->x);

	if (e->options.log && pause->threads)
		buf_printf(
			e->options.log,
			"user mode: process %d: %u thread%s stopped for %.2f ms, one of them for "
			"%.2f ms\n",
			(int)inject_pid(p->x), pause->threads, pause->threads == 1 ? "" : "s",
			(double)pause->all_ns / 1e6, (double)pause->one_ns / 1e6);
}

/* One that got a filter meanwhile, which only root can suspend: what was armed goes on. */
static int say_filtered(struct native *e, const struct native_process *p, struct diag *d)
{
	if (e->filtered++ == 0)
		diag_warn(d, "user-mode-filtered",
			  "process %d has got a system call filter (seccomp): what it maps from "
			  "now on is not traced",
			  (int)inject_pid(p->x));
	return 0;
}

static bool reads_memory(const struct native *e)
{
	bool any = false;

	for (size_t i = 0; i < e->part_count; i++)
		any |= program_uses(e->parts[i], OP_STR) || program_uses(e->parts[i], OP_BUF) ||
		       program_uses(e->parts[i], OP_LOAD);
	return any;
}

/* The process makes system calls that cannot be seen before. */
static void say_unread(struct native *e, struct native_process *p, struct diag *d)
{
	if (!p->calls.may_be_filtered || p->count == p->own || !reads_memory(e) || e->unread++)
		return;
	if (p->calls.makes_pages) {
		diag_warn(d, "user-mode-pages",
			  "process %d makes pages of its memory itself (userfaultfd), for which a "
			  "thread may wait for ever: memory that may vanish, such as the heap, is "
			  "not read here, but (unreadable)",
			  (int)inject_pid(p->x));
		diag_hint(d, "root can read it with --kernel");
		return;
	}
	diag_warn(d, "user-mode-unread",
		  "process %d makes system calls by %s, and may so get a system call filter "
		  "(seccomp) unseen: memory that may vanish, such as the heap, is not read "
		  "here, but (unreadable)",
		  (int)inject_pid(p->x),
		  p->calls.lacks_filters ? "a C library that cannot be changed there"
					 : "code of its own");
	diag_hint(d, "root can read it with --kernel");
}

/* What could not be put into the C library and the dynamic loader, and what is missed so. */
static void say_lacks(struct native *e, struct native_process *p, struct diag *d)
{
	if (p->calls.lacks_children && p->count > p->own && !e->vforking++)
		diag_warn(d, "user-mode-vfork",
			  "the C library of process %d cannot be changed where it makes children "
			  "that share its memory: of events that these fire before they call exec, "
			  "and of others at the same time, some may be missing",
			  (int)inject_pid(p->x));
	if (p->loader.is_unheard && !e->unheard++)
		diag_warn(d, "user-mode-loader",
			  "the dynamic loader of process %d cannot be changed: tracing the "
			  "libraries that it loads from now on begins a few milliseconds later",
			  (int)inject_pid(p->x));
}

/* Sites that it has just changed, or where it has mapped other memory, each time it was tried. */
static void say_lost(struct native_process *p, struct diag *d)
{
	struct native_step first;
	const char *why;
	unsigned lost = native_process_lost(p, &first, &why);

	if (lost > p->found.lost)
		say_sites(lost - p->found.lost, p->count - p->own, &first, why, d);
	p->found.lost = lost;
}

static void say_crowded(struct native *e, const struct native_process *p, struct diag *d)
{
	if (p->found.is_crowded && !e->crowded++)
		diag_warn(d, "user-mode-mappings",
			  "process %d has a file with probes mapped more than %d times at once: "
			  "only the first %d are traced",
			  (int)inject_pid(p->x), NATIVE_MAPPED_MOST, NATIVE_MAPPED_MOST);
}

/* A process that has ended is all right: its events are all. */
int native_arm(struct native *e, struct native_process *p, struct diag *d)
{
	struct diag said = DIAG_INIT;
	bool was_armed = p->is_ready;
	int err;

	heartbeat(e->store);
	native_langs_number(e, p, &said);
	native_langs_see(e, p);
	err = native_process_arm(p, e->store, e->options.follow_forks, &said);
	if (err == -ENOTSUP && was_armed && inject_has_filter(inject_pid(p->x)))
		err = say_filtered(e, p, d);
	else if (err != -ESRCH)
		diag_add_all(d, &said);
	diag_free(&said);
	heartbeat(e->store);
	native_start_listening(e);
	if (!err)
		say_lost(p, d);
	if (!err)
		say_unread(e, p, d);
	if (!err)
		say_lacks(e, p, d);
	say_crowded(e, p, d);
	log_pause(e, p);
	e->any_reached |= p->count > p->own;
	return err == -ESRCH ? 0 : err;
}
