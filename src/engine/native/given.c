/* Giving sites away. A place in a file has one engine for all processes, since the kernel's
 * breakpoints are those of the file: so what is given goes with everything that its breakpoint
 * would keep from running, in any process. If the other engine does not take all of that, the site
 * is left out.
 *
 * Where a site is enabled in another process, the breakpoint takes the place of the first byte of
 * our jump, so that each event is one engine's. Where ours is elsewhere (native_process_holds()) an
 * event would be counted by both. */
#include "engine/native/native_state.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/file.h"
#include "engine/native/knock.h"

bool native_is_given(const struct native *e, const struct attach *at)
{
	return places_have(&e->given, at);
}

/* ---- clauses and their places */

typedef int step_fn(void *arg, const struct engine_step *step);

/* Every clause at each of its places, until `fn` returns something else than 0. */
static int each_step(const struct native *e, step_fn *fn, void *arg)
{
	int done = 0;

	for (size_t n = 0; n < e->part_count; n++)
		for (uint32_t i = 0; i < e->parts[n]->clause_count; i++) {
			const struct clause *c = &e->parts[n]->clauses[i];

			for (uint32_t k = 0; k < c->attach_count && !done; k++) {
				const struct engine_step step = {e->parts[n], c, &c->attaches[k]};

				done = fn(arg, &step);
			}
		}
	return done;
}

/* ---- what goes with a place */

struct offer {
	struct native *e;
	struct native_process *process; /* where something was not reached; NULL: nothing is */
	struct native_places *batch;	/* what will be given */
	struct native_places wanted;	/* a place, and what must go with it */
	const struct attach *at;
	const struct engine_step *step; /* there, whose maps must go with it; NULL: none */
	int err;
};

static void want(void *arg, const struct attach *at)
{
	struct offer *o = arg;

	o->err = places_add(&o->wanted, at) ?: o->err;
}

/* Clauses of the tracer stay, so they must not use such a map; BEGIN has run, and left it empty. */
static int want_linked(void *arg, const struct engine_step *other)
{
	struct offer *o = arg;
	const struct engine_others *others = o->e->options.others;

	if (!others->are_linked(others->self, o->step, other) ||
	    other->attach->kind == ATTACH_BEGIN)
		return 0;
	if (attach_is_tracers(other->attach))
		return others->are_linked(others->self, other, o->step);
	if (other->attach->file)
		want(o, other->attach);
	return 0;
}

/* 1: the clauses at the place cannot go. */
static int is_refused(void *arg, const struct engine_step *step)
{
	struct offer *o = arg;
	const struct engine_others *others = o->e->options.others;
	enum engine_taking taking = places_are_same(step->attach, o->at)
					    ? others->can_take(others->self, step)
					    : TAKES_ALONE;

	if (taking != TAKES_LINKED)
		return taking == TAKES_NOT;
	o->step = step;
	return each_step(o->e, want_linked, o);
}

static bool can_give(struct offer *o)
{
	o->step = NULL;
	if (each_step(o->e, is_refused, o))
		return false;
	for (size_t i = 0; i < o->e->process_count; i++) {
		struct native_process *p = o->e->processes[i];

		if (inject_has_ended(p->x))
			continue;
		/* What is in a map before it moves would be missing. */
		if (native_process_holds(p, o->at, o->step != NULL))
			return false;
		native_process_each_across(p, o->at, want, o);
	}
	return true;
}

/* Add the place to the batch with all that must go with it, or nothing. */
static int offer_place(struct offer *o, const struct attach *at)
{
	bool can = true;

	want(o, at);
	for (size_t i = 0; i < o->wanted.count && can && !o->err; i++) {
		o->at = o->wanted.all[i];
		can = can_give(o);
	}
	for (size_t i = 0; i < o->wanted.count && can && !o->err; i++)
		o->err = places_add(o->batch, o->wanted.all[i]);
	places_free(&o->wanted);
	return o->err;
}

static int offer_step(void *arg, const struct engine_step *step)
{
	struct offer *o = arg;

	if (native_is_given(o->e, step->attach) || places_have(o->batch, step->attach) ||
	    attach_is_tracers(step->attach) ||
	    (o->process && !native_process_problem(o->process, step->attach)))
		return 0;
	return offer_place(o, step->attach);
}

/* ---- giving */

struct steps {
	const struct native_places *of;
	struct engine_step *all;
	size_t count, cap;
};

static int collect(void *arg, const struct engine_step *step)
{
	struct steps *steps = arg;

	if (!places_have(steps->of, step->attach))
		return 0;
	if (array_grow(steps->all, steps->count, steps->cap))
		return -ENOMEM;
	steps->all[steps->count++] = *step;
	return 0;
}

/* From the moment that the others have them, they are off here. */
static int give_batch(struct native *e, const struct native_places *batch, struct diag *d)
{
	const struct engine_others *others = e->options.others;
	struct steps steps = {.of = batch};
	int err = each_step(e, collect, &steps);

	knock_beat(e->store);
	if (!err)
		err = others->take(others->self, steps.all, steps.count, d);
	knock_beat(e->store);
	for (size_t i = 0; i < batch->count && !err; i++) {
		err = places_add(&e->given, batch->all[i]);
		for (size_t k = 0; k < e->process_count && !err; k++)
			if (!inject_has_ended(e->processes[k]->x))
				err = native_process_drop(e->processes[k], batch->all[i], d);
	}
	free(steps.all);
	return err;
}

/* If the others fail, the sites are left out: the reason is in the log. */
static int try_to_give(struct native *e, const struct native_places *batch)
{
	struct diag said = DIAG_INIT;
	int err = give_batch(e, batch, &said);

	if (err && err != -ENOMEM && e->options.log) {
		buf_text(e->options.log, "user mode: the kernel does not trace ");
		buf_count(e->options.log, batch->count, "site");
		buf_printf(e->options.log, ": %.*s\n",
			   STR_FMT(said.first ? said.first->text : STR("")));
	}
	diag_free(&said);
	return err == -ENOMEM ? err : 0;
}

static void leave_across(void *arg, const struct attach *at)
{
	native_process_leave(arg, at);
}

static int say_left_out(struct native *e, struct native_process *p, struct diag *d)
{
	struct native_left_out left = {0};
	int err = 0;

	for (size_t i = 0; i < e->part_count && !err; i++)
		err = native_find_left_out(e, p, e->parts[i], &left);
	if (!err)
		err = native_say_left_out(e, &left, d);
	native_left_out_free(&left);
	return err;
}

int native_give(struct native *e, struct native_process *p, struct diag *d)
{
	const struct engine_others *others = e->options.others;
	struct native_places batch = {0};
	struct offer o = {.e = e, .process = p, .batch = &batch};
	int err = 0;

	if (others) {
		others->each_site(others->self, leave_across, p);
		err = each_step(e, offer_step, &o);
		if (!err && batch.count)
			err = try_to_give(e, &batch);
		places_free(&batch);
	}
	return err ? err : say_left_out(e, p, d);
}

static int is_kept(void *arg, const struct engine_step *step)
{
	return !attach_is_tracers(step->attach) && !native_is_given(arg, step->attach);
}

int native_give_all(struct native *e)
{
	struct native_places batch = {0};
	struct offer o = {.e = e, .batch = &batch};
	int err = e->options.others ? each_step(e, offer_step, &o) : -ENOTSUP;

	if (!err && batch.count)
		err = try_to_give(e, &batch);
	places_free(&batch);
	return err || each_step(e, is_kept, e) ? -ENOTSUP : 0;
}
