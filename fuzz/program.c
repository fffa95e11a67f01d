/* Random bytes -> a program -> program_check; what is accepted is printed and run by the
 * interpreter. Nothing may crash, read what was not written, or run for long; an accepted program
 * must run without an error. */
#include <stdlib.h>

#include "engine/interp/state.h"
#include "program/op.h"
#include "program_bytes.h"

#define MAX_WORK 20000 /* rounds of all loops multiplied, in a program we run */

/* Rounds of all loops multiplied: a bound of what one run does per instruction. */
static uint64_t work_of(const struct clause *c)
{
	uint64_t work = 1;

	for (uint32_t i = 0; i < c->insn_count && work <= MAX_WORK; i++) {
		if (op_is_loop(c->code[i].op))
			work *= (uint64_t)c->code[i].imm + 1;
	}
	return work;
}

/* What came out of a run: the bytes of all records and maps. */
struct outcome {
	const struct program *p;
	struct buf bytes;
	unsigned entries;
};

static int take_record(void *arg, struct str bytes)
{
	struct outcome *o = arg;
	struct record r;
	struct value v;

	if (record_open(o->p, bytes, &r))
		abort();
	for (unsigned i = 0; i < r.format->field_count; i++) {
		if (record_field(&r, &r.format->fields[i], &v))
			abort();
	}
	if (cursor_left(&r.rest))
		abort();
	buf_str(&o->bytes, bytes);
	return 0;
}

static int take_entry(void *arg, struct str key, struct str value)
{
	struct outcome *o = arg;

	if (++o->entries > 3)
		abort();
	buf_str(&o->bytes, key);
	buf_str(&o->bytes, value);
	return 0;
}

static void fire(struct engine *e, unsigned char garbage)
{
	static const char memory[] = "text in memory\0\x80\xff";
	static const uint64_t frames[] = {1, 2, 3};
	const struct area area = {0x1000, {memory, sizeof(memory)}};
	struct context c = {.areas = &area,
			    .area_count = 1,
			    .event = STR("\x04\x00\x08\x00"
					 "an event"),
			    .comm = STR("comm"),
			    .ustack = frames,
			    .ustack_count = 3};
	struct workspace *u = &((struct interp *)e)->units[0];
	bool stopped;

	c.regs[0] = 0x1000;
	c.regs[1] = 0x1008;
	memset(u->regs, garbage, u->clause->reg_count * sizeof(*u->regs));
	for (uint32_t i = 0; i < u->clause->slot_count; i++)
		memset(u->frame + u->slot_at[i], garbage, type_memory(&slots[i].type));
	stopped = ((struct interp *)e)->stopped; /* by exit() in the run before */
	if (interp_fire(e, 0, 0, &c) != !stopped)
		abort();
}

static void run(struct outcome *o, unsigned char garbage)
{
	const struct engine_options options = {.ring_bytes = 256};
	struct engine *e;

	if (engine_interp.open(&options, &e, NULL))
		return;
	if (engine_interp.build(e, o->p, NULL) || engine_interp.attach(e, NULL))
		abort();
	interp_set_start(e, 0);
	for (unsigned i = 0; i < 3; i++)
		fire(e, (unsigned char)(garbage + i));
	if (engine_interp.drain(e, 0, take_record, o) < 0)
		abort();
	for (uint32_t i = 0; i < o->p->map_count; i++) {
		o->entries = 0;
		map_each(&e->maps, i, take_entry, o);
	}
	engine_interp.close(e);
}

static void run_twice(const struct program *p)
{
	struct outcome one = {.p = p}, two = {.p = p};

	run(&one, 0x11);
	run(&two, 0xee);
	if (!str_eq(buf_as_str(&one.bytes), buf_as_str(&two.bytes)))
		abort();
	buf_free(&one.bytes);
	buf_free(&two.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct made_program m;
	struct diag d = DIAG_INIT;
	struct buf text = BUF_INIT;
	int err;

	make_program(&m, data, size);
	err = program_check(&m.program, &d);
	if (err && !d.first)
		abort();
	program_print(&m.program, &text);
	if (!err && work_of(&m.clause) <= MAX_WORK)
		run_twice(&m.program);
	buf_free(&text);
	diag_free(&d);
	return 0;
}
