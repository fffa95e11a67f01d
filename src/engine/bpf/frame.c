/* Where the registers and slots of a clause live: on the 512-byte stack as long as there is room,
 * the rest in scratch memory. Registers whose lives do not overlap share a home. */
#include "engine/bpf/gen.h"

#include <errno.h>

#define HOMES_MAX  28 /* registers on the stack */
#define SMALL_SLOT 64u

bool type_is_text(const struct type *t)
{
	return t->kind == TYPE_STR || t->kind == TYPE_BUF;
}

bool type_is_stack(const struct type *t)
{
	return t->kind == TYPE_USTACK || t->kind == TYPE_KSTACK;
}

uint32_t slot_used(const struct type *t)
{
	return (uint32_t)type_memory(t) + (type_is_text(t) ? TEXT_SLOP : 0);
}

/* Padding a long text writes zeros from its end on; the verifier cannot see that they stop at the
 * end of the slot, only that they are fewer than the slot has bytes. */
static uint32_t slot_room(const struct type *t, bool padded)
{
	return slot_used(t) + (type_is_text(t) && padded && t->size > STORE_SHORT ? t->size : 0);
}

/* First and last instruction a register is used at. */
struct life {
	uint32_t from, to;
	bool used;
};

static void live_at(struct life *lives, uint16_t reg, uint32_t at)
{
	if (reg == REG_NO)
		return;
	if (!lives[reg].used)
		lives[reg] = (struct life){at, at, true};
	lives[reg].to = at;
}

/* What is alive when a loop begins and used in it stays alive until the loop ends. */
static void stretch_over_loops(const struct clause *c, struct life *lives)
{
	for (uint32_t i = c->insn_count; i-- > 0;) {
		const struct insn *in = &c->code[i];

		if (in->op != OP_NEXT)
			continue;
		for (uint32_t r = 0; r < c->reg_count; r++)
			if (lives[r].used && lives[r].from <= in->target &&
			    lives[r].to > in->target && lives[r].to < i)
				lives[r].to = i;
	}
}

/* Operations use d, a and b for different things, and 0 where they do not use them; taking every
 * mention for a use only makes lives longer than need be for register 0. */
static void find_lives(const struct clause *c, struct life *lives)
{
	for (uint32_t i = 0; i < c->insn_count; i++) {
		const struct insn *in = &c->code[i];

		if (in->d < c->reg_count)
			live_at(lives, in->d, i);
		if (in->a < c->reg_count)
			live_at(lives, in->a, i);
		if (in->b < c->reg_count)
			live_at(lives, in->b, i);
		for (unsigned f = 0; f < in->field_count; f++)
			live_at(lives, in->fields[f].reg, i);
	}
	stretch_over_loops(c, lives);
}

static void home_registers(const struct clause *c, const struct life *lives, uint32_t *busy_until,
			   struct frame *f)
{
	uint32_t homes = 0;

	for (uint32_t i = 0; i < c->insn_count; i++)
		for (uint32_t r = 0; r < c->reg_count; r++) {
			uint32_t h = 0;

			if (!lives[r].used || lives[r].from != i)
				continue;
			while (h < homes && busy_until[h] >= i)
				h++;
			homes += h == homes;
			busy_until[h] = lives[r].to;
			f->regs[r] = (struct home){h >= HOMES_MAX, (int32_t)h};
		}
	f->stack -= 8 * (int32_t)(homes < HOMES_MAX ? homes : HOMES_MAX);
	for (uint32_t r = 0; r < c->reg_count; r++) {
		int32_t h = f->regs[r].offset;

		f->regs[r].offset = f->regs[r].in_scratch ? f->scratch + 8 * (h - HOMES_MAX)
							  : STACK_HOMES - 8 * (h + 1);
	}
	if (homes > HOMES_MAX)
		f->scratch += 8 * (int32_t)(homes - HOMES_MAX);
}

static void home_slots(const struct clause *c, struct frame *f)
{
	for (uint32_t s = 0; s < c->slot_count; s++) {
		const struct type *t = &c->slots[s].type;
		int32_t room = (int32_t)slot_room(t, f->padded[s]);

		if (!type_is_text(t) && !type_is_stack(t) && room <= (int32_t)SMALL_SLOT &&
		    f->stack - room >= STACK_END) {
			f->stack -= room;
			f->slots[s] = (struct home){false, f->stack};
		} else {
			f->slots[s] = (struct home){true, f->scratch};
			f->scratch += room;
		}
	}
}

/* Slots whose whole memory counts, not only as much as is used of it. */
static void find_padded(const struct clause *c, struct frame *f)
{
	for (uint32_t i = 0; i < c->insn_count; i++) {
		const struct insn *in = &c->code[i];

		if (in->op >= OP_MAP_GET && in->op <= OP_AGGREGATE && in->s != SLOT_NO &&
		    in->s < c->slot_count)
			f->padded[in->s] = true;
		if ((in->op == OP_MAP_PUT || in->op == OP_COPY) && in->t < c->slot_count)
			f->padded[in->t] = true;
	}
}

static uint32_t short_key_size(const struct program *p, const struct clause *c)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < c->insn_count; i++) {
		const struct insn *in = &c->code[i];

		if (in->op < OP_MAP_GET || in->op > OP_AGGREGATE)
			continue;
		const struct type *key = &p->maps[in->map].key;

		if (key->kind == TYPE_TUPLE && store_short_size(key) > most)
			most = store_short_size(key);
	}
	return most;
}

static void plan_extras(const struct program *p, const struct clause *c, struct frame *f)
{
	uint32_t record = 0, key = short_key_size(p, c);

	for (uint32_t i = 0; i < c->insn_count; i++) {
		bool fixed;
		uint32_t most;

		if (c->code[i].op != OP_EMIT)
			continue;
		most = record_most(&p->formats[c->code[i].imm], &fixed);
		if (!fixed && most > record)
			record = most;
	}
	f->record = f->scratch;
	f->scratch += (int32_t)(record ? record + TEXT_SLOP : 0);
	f->key = f->scratch;
	f->scratch += (int32_t)key;
}

/* One counter for each loop: on the stack, where the verifier follows it. */
static void home_counters(const struct clause *c, struct frame *f)
{
	for (uint32_t i = 0; i < c->insn_count; i++)
		if (c->code[i].op == OP_LOOP) {
			f->stack -= 8;
			f->counters[i] = (struct home){false, f->stack};
		}
}

int frame_plan(struct arena *a, const struct program *p, const struct clause *c, struct frame *out)
{
	struct life *lives = arena_array(a, struct life, c->reg_count + 1);
	uint32_t *busy = arena_array(a, uint32_t, c->reg_count + 1);
	struct frame f = {.stack = STACK_HOMES, .scratch = 8};

	f.regs = arena_array(a, struct home, c->reg_count + 1);
	f.slots = arena_array(a, struct home, c->slot_count + 1);
	f.padded = arena_array(a, bool, c->slot_count + 1);
	f.counters = arena_array(a, struct home, c->insn_count + 1);
	if (!lives || !busy || !f.regs || !f.slots || !f.padded || !f.counters)
		return -ENOMEM;
	find_lives(c, lives);
	home_registers(c, lives, busy, &f);
	home_counters(c, &f);
	find_padded(c, &f);
	home_slots(c, &f);
	plan_extras(p, c, &f);
	if (f.scratch == 8)
		f.scratch = 0;
	*out = f;
	return f.stack < STACK_END || f.scratch > INT16_MAX - 64 ? -E2BIG : 0;
}
