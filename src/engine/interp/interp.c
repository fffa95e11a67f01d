/* The interpreter as an engine: opening, building, draining, maps, counts. Nothing is attached to
 * anything real; sites are hit by interp_fire() or recorded events, and BEGIN, END and intervals
 * see this process. */
#include "engine/interp/state.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"

#define DEFAULT_RING ((size_t)1 << 20)

void count_fault(struct interp_run *r, int kind)
{
	struct interp *e = r->e;
	uint32_t span = r->u->clause->code[r->pc].span;

	if (e->store) {
		e->store->fault(e->store->self, span, kind);
		return;
	}
	for (size_t i = 0; i < e->fault_count; i++) {
		if (e->faults[i].span == span && (int)e->faults[i].kind == kind) {
			e->faults[i].count++;
			return;
		}
	}
	if (array_grow(e->faults, e->fault_count, e->fault_cap)) {
		r->err = -ENOMEM;
		return;
	}
	e->faults[e->fault_count] = (struct run_fault){.span = span, .count = 1};
	e->faults[e->fault_count++].kind = kind;
}

static int interp_map_each(void *self, uint32_t map, map_entry_fn *fn, void *arg)
{
	struct interp *e = self;
	struct table *t = &e->tables[map];
	int err = 0;

	for (size_t i = 0; i < t->count && !err; i++)
		err = fn(arg, str_of(t->entries[i], t->key_size),
			 str_of(t->entries[i] + t->key_size, t->value_size));
	return err;
}

static int interp_map_clear(void *self, uint32_t map)
{
	struct interp *e = self;

	table_free(&e->tables[map]);
	return 0;
}

static int interp_map_zero(void *self, uint32_t map)
{
	struct interp *e = self;
	struct table *t = &e->tables[map];

	for (size_t i = 0; i < t->count; i++)
		memset(t->entries[i] + t->key_size, 0, t->value_size);
	return 0;
}

static int interp_open(const struct engine_options *options, struct engine **out, struct diag *d)
{
	struct interp *e = calloc(1, sizeof(*e));
	size_t bytes = options->ring_bytes ? options->ring_bytes : DEFAULT_RING;
	int err = 0;

	if (!e)
		return diag_error(d, -ENOMEM, "no-memory", "out of memory");
	e->engine = (struct engine){
		.ops = &engine_interp,
		.maps = {e, interp_map_each, interp_map_clear, interp_map_zero, NULL}};
	e->options = *options;
	e->queue.capacity = 8;
	while (e->queue.capacity < bytes && e->queue.capacity <= SIZE_MAX / 4)
		e->queue.capacity *= 2;
	if (options->events)
		err = replay_open(&e->replay, options->events, d);
	if (err)
		engine_close(&e->engine);
	else
		*out = &e->engine;
	return err;
}

static int unit_init(struct workspace *u, const struct program *p, const struct clause *c)
{
	size_t size = 0;

	u->p = p;
	u->clause = c;
	u->regs = calloc(c->reg_count + 1, sizeof(*u->regs));
	u->slot_at = calloc(c->slot_count + 1, sizeof(*u->slot_at));
	u->rounds = calloc(c->insn_count, sizeof(*u->rounds));
	u->keys = calloc(c->insn_count, sizeof(*u->keys));
	if (!u->regs || !u->slot_at || !u->rounds || !u->keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->slot_count; i++) {
		u->slot_at[i] = size;
		size += type_memory(&c->slots[i].type);
	}
	u->frame = calloc(1, size + 1);
	return u->frame ? 0 : -ENOMEM;
}

static void unit_free(struct workspace *u)
{
	free(u->regs);
	free(u->slot_at);
	free(u->rounds);
	for (uint32_t i = 0; u->keys && i < u->clause->insn_count; i++)
		buf_free(&u->keys[i]);
	free(u->keys);
	free(u->frame);
}

static int add_units(struct interp *e, const struct program *p, struct diag *d)
{
	size_t total = e->unit_count + p->clause_count;
	struct workspace *units = realloc(e->units, (total ? total : 1) * sizeof(*units));

	if (!units)
		return diag_error(d, -ENOMEM, "no-memory", "out of memory");
	e->units = units;
	for (uint32_t i = 0; i < p->clause_count; i++) {
		struct workspace *u = &units[e->unit_count++];

		*u = (struct workspace){0};
		if (unit_init(u, p, &p->clauses[i]))
			return diag_error(d, -ENOMEM, "no-memory", "out of memory");
	}
	return 0;
}

static int interp_build(struct engine *engine, const struct program *p, struct diag *d)
{
	struct interp *e = (struct interp *)engine;
	int err = program_check(p, d);

	if (err)
		return err;
	e->tables = calloc(p->map_count + 1, sizeof(*e->tables));
	if (!e->tables)
		return diag_error(d, -ENOMEM, "no-memory", "out of memory");
	for (uint32_t i = 0; i < p->map_count; i++)
		table_init(&e->tables[i], &p->maps[i]);
	e->program = p;
	e->start = e->options.events ? 0 : clock_now(); /* BEGIN runs before sites are attached */
	return add_units(e, p, d);
}

static int interp_attach(struct engine *engine, struct diag *d)
{
	struct interp *e = (struct interp *)engine;

	(void)d;
	e->attached = true;
	return 0;
}

static bool is_in_code(const struct interp *e, uint32_t map)
{
	for (size_t i = 0; i < e->unit_count; i++)
		if (clause_uses_map(e->units[i].clause, map))
			return true;
	return false;
}

/* The maps of an extension are the existing maps; those that no code uses may be others. */
static bool renew_tables(struct interp *e, const struct program *p)
{
	if (p->map_count != e->program->map_count)
		return false;
	for (uint32_t i = 0; i < p->map_count; i++) {
		const struct map_def *old = &e->program->maps[i], *new = &p->maps[i];

		if (type_equal(&old->key, &new->key) && type_equal(&old->value, &new->value))
			continue;
		if (is_in_code(e, i))
			return false;
		table_free(&e->tables[i]);
		table_init(&e->tables[i], new);
	}
	e->program = p;
	return true;
}

/* The maps stay as the extension has them: nothing uses those that differ. */
static void interp_retract(struct engine *engine)
{
	struct interp *e = (struct interp *)engine;

	while (e->unit_count > e->units_before)
		unit_free(&e->units[--e->unit_count]);
}

static int interp_extend(struct engine *engine, const struct program *p, struct diag *d)
{
	struct interp *e = (struct interp *)engine;
	int err = program_check(p, d);

	if (err)
		return err;
	if (!renew_tables(e, p))
		return diag_error(d, -EINVAL, "bad-program", "the extension has other maps");
	e->units_before = e->unit_count;
	err = add_units(e, p, d);
	if (err)
		interp_retract(engine);
	return err;
}

/* What other clocks of this machine show beside the one that contexts have. */
static void add_clocks(struct context *c)
{
	c->boot_ahead = (uint64_t)clock_slept();
	c->tai_ahead = (uint64_t)(clock_read(CLOCK_TAI) - clock_read(CLOCK_MONOTONIC));
}

static int interp_run(struct engine *engine, enum attach_kind kind, uint64_t period,
		      uint32_t clause, struct diag *d)
{
	struct interp *e = (struct interp *)engine;
	const struct workspace *u = clause < e->unit_count ? &e->units[clause] : NULL;
	char comm[16] = "";
	struct context c = {
		/* this process; its memory is not shown */
		.pid = (uint32_t)getpid(),
		.stack_pid = (uint32_t)getpid(),
		.tid = (uint32_t)syscall(SYS_gettid),
		.uid = (uint32_t)getuid(),
		.gid = (uint32_t)getgid(),
		.ncpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
		.rand = (uint32_t)random(),
		.nsecs = clock_now(),
	};
	int err = 0;

	prctl(PR_GET_NAME, comm);
	c.comm = str_from(comm);
	add_clocks(&c);
	syscall(SYS_getcpu, &c.cpu, NULL, NULL);
	for (uint32_t i = 0; u && i < u->clause->attach_count && !err; i++) {
		const struct attach *at = &u->clause->attaches[i];

		if (at->kind == kind && at->period == period)
			err = run_clause(e, u, at, &c);
	}
	return err ? diag_error(d, err, "no-memory", "out of memory") : 0;
}

int interp_fire(struct engine *engine, uint32_t clause, uint32_t attach, const struct context *c)
{
	struct interp *e = (struct interp *)engine;
	const struct workspace *u = clause < e->unit_count ? &e->units[clause] : NULL;
	int err;

	if (!u || attach >= u->clause->attach_count)
		return -EINVAL;
	if (!e->attached || e->stopped || (e->options.pid && (pid_t)c->pid != e->options.pid))
		return 0;
	err = run_clause(e, u, &u->clause->attaches[attach], c);
	return err ? err : 1;
}

void interp_set_start(struct engine *engine, uint64_t nsecs)
{
	((struct interp *)engine)->start = nsecs;
}

void interp_use_store(struct engine *engine, const struct interp_store *store)
{
	((struct interp *)engine)->store = store;
}

/* The attachment of any unit that the event means; NULL: none is. */
static const struct attach *find_site(const struct interp *e, const struct recorded *event)
{
	for (size_t i = 0; i < e->unit_count; i++) {
		const struct workspace *u = &e->units[i];

		for (uint32_t k = 0; k < u->clause->attach_count; k++) {
			const struct attach *at = &u->clause->attaches[k];

			if (at->kind == ATTACH_UPROBE &&
			    recorded_is_at(event, u->p->names[at->name]))
				return at;
		}
	}
	return NULL;
}

/* Play one event at the first site of its name: all clauses that are attached there run. */
static int play_event(struct interp *e, const struct recorded *event, struct arena *a)
{
	const struct attach *site = find_site(e, event);
	struct context c;
	int err = site ? recorded_fill(event, site, a, &c) : 0;

	if (site)
		add_clocks(&c);
	for (uint32_t i = 0; site && i < e->unit_count; i++)
		for (uint32_t k = 0; k < e->units[i].clause->attach_count && err >= 0; k++) {
			const struct attach *at = &e->units[i].clause->attaches[k];

			if (at->kind == site->kind && at->offset == site->offset &&
			    str_eq(at->path, site->path))
				err = interp_fire(&e->engine, i, k, &c);
		}
	return err < 0 ? err : 0;
}

/* Events are played until there is enough to read. Records come from them, interp_fire() and run(),
 * so there is nothing to wait for. */
static int interp_drain(struct engine *engine, int timeout_ms, record_fn *fn, void *arg)
{
	struct interp *e = (struct interp *)engine;
	struct queued *r;
	int count = 0, err = 0;

	(void)timeout_ms;
	while (e->attached && !e->stopped && !err && e->replay.rest.len &&
	       e->queue.data_bytes < e->queue.capacity / 2) {
		struct arena a = ARENA_INIT;
		struct recorded event;

		err = replay_next(&e->replay, &a, &event, NULL);
		if (!err && event.site.len)
			err = play_event(e, &event, &a);
		arena_free(&a);
	}
	engine->is_ended = e->options.events && e->attached && !e->replay.rest.len;
	while (!err && (r = queue_take(&e->queue))) {
		err = fn(arg, str_of(r->bytes, r->len));
		free(r);
		count++;
	}
	engine->is_ended &= !e->queue.first;
	return err ? err : count;
}

static const char *interp_refuses(const struct engine *e, const struct engine_task *task)
{
	bool has_events = ((const struct interp *)e)->options.events;

	if (task->insn || task->other || attach_is_tracers(task->at) ||
	    (has_events && task->at->kind == ATTACH_UPROBE))
		return NULL;
	return "it only plays recorded events, see --events";
}

static int interp_wait_fd(struct engine *engine)
{
	(void)engine;
	return -1;
}

static void interp_stats(struct engine *engine, struct run_stats *out)
{
	struct interp *e = (struct interp *)engine;

	*out = e->stats;
	out->lost_records = e->queue.lost;
}

static int interp_faults(struct engine *engine, fault_fn *fn, void *arg)
{
	struct interp *e = (struct interp *)engine;
	int err = 0;

	for (size_t i = 0; i < e->fault_count && !err; i++)
		err = fn(arg, &e->faults[i]);
	return err;
}

static void interp_detach(struct engine *engine)
{
	struct interp *e = (struct interp *)engine;

	e->attached = false;
}

static void interp_close(struct engine *engine)
{
	struct interp *e = (struct interp *)engine;

	if (!e)
		return;
	for (size_t i = 0; i < e->unit_count; i++)
		unit_free(&e->units[i]);
	for (uint32_t i = 0; e->program && i < e->program->map_count; i++)
		table_free(&e->tables[i]);
	free(e->units);
	free(e->tables);
	free(e->faults);
	queue_free(&e->queue);
	replay_close(&e->replay);
	buf_free(&e->record);
	free(e);
}

/* The interpreter makes no code of its own: what it runs is the program. */
static void interp_dump(struct engine *engine, struct buf *out)
{
	struct interp *e = (struct interp *)engine;

	if (e->program)
		program_print(e->program, out);
}

const struct engine_ops engine_interp = {
	.name = "interp",
	.refuses = interp_refuses,
	.open = interp_open,
	.build = interp_build,
	.attach = interp_attach,
	.extend = interp_extend,
	.retract = interp_retract,
	.run = interp_run,
	.drain = interp_drain,
	.wait_fd = interp_wait_fd,
	.stats = interp_stats,
	.faults = interp_faults,
	.stop = interp_detach,
	.detach = interp_detach,
	.close = interp_close,
	.dump = interp_dump,
};
