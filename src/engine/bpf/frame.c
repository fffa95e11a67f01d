/* Where the registers and slots of a clause live: on the 512-byte stack as long as there is room,
 * the rest in scratch memory. Those whose lives do not overlap share a place.
 *
 * The kernel's verifier follows every way through a program, and two ways become one only where all
 * that it knows of them is the same. It knows each value on the stack, and nothing of what is in
 * scratch memory. So a clause with many branches, or a loop, has nothing on the stack: its ways
 * meet again at the end of each statement, and what the verifier does grows with the length of the
 * clause instead of doubling at each branch. */
#include "engine/bpf/gen.h"

#include <errno.h>
#include <stdlib.h>

#include "program/op.h"

#define HOMES_MAX    28 /* registers on the stack */
#define SMALL_SLOT   64u
#define FEW_BRANCHES 12	       /* ways through them are few enough to be followed one by one */
#define SCRATCH_MOST (2 << 20) /* bytes: a dozen of the longest texts in one record */

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

/* What of a record is put together before and from a slot on: 0 when none is. */
struct around {
	uint32_t before, rest;
};

/* First and last instruction a register is used at. */
struct life {
	uint32_t from, to;
	bool used;
};

/* Lives of all registers and slots of a clause. */
struct lives {
	struct life *regs, *slots;
};

static void live_at(struct life *lives, uint16_t number, uint32_t at)
{
	if (number == REG_NO) /* SLOT_NO is the same */
		return;
	if (!lives[number].used)
		lives[number] = (struct life){at, at, true};
	lives[number].to = at;
}

/* One letter of the table of operations; see program/op.h. */
static void live_operand(struct lives *l, const struct insn *in, char letter, uint32_t at)
{
	switch (letter) {
	case 'd':
	case 'D': live_at(l->regs, in->d, at); break;
	case 'a':
	case 'A': live_at(l->regs, in->a, at); break;
	case 'b':
	case 'B': live_at(l->regs, in->b, at); break;
	case 's':
	case 'p':
	case 'g':
	case 'k': live_at(l->slots, in->s, at); break;
	case 't':
	case 'q': live_at(l->slots, in->t, at); break;
	default: break;
	}
}

static void live_insn(struct lives *l, const struct insn *in, uint32_t at)
{
	const struct op_info *info = op_info(in->op);

	for (const char *letter = info->results; *letter; letter++)
		live_operand(l, in, *letter, at);
	for (const char *letter = info->operands; *letter; letter++)
		live_operand(l, in, *letter, at);
	for (unsigned f = 0; in->op == OP_EMIT && f < in->field_count; f++) {
		live_at(l->regs, in->fields[f].reg, at);
		live_at(l->slots, in->fields[f].slot, at);
	}
}

/* What is alive when a loop begins and used in it stays alive until the loop ends. */
static void stretch_over_loop(struct life *lives, uint32_t count, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < count; i++)
		if (lives[i].used && lives[i].from <= from && lives[i].to > from &&
		    lives[i].to < to)
			lives[i].to = to;
}

static void find_lives(const struct clause *c, struct lives *l)
{
	for (uint32_t i = 0; i < c->insn_count; i++)
		live_insn(l, &c->code[i], i);
	for (uint32_t i = c->insn_count; i-- > 0;) {
		if (c->code[i].op != OP_NEXT)
			continue;
		stretch_over_loop(l->regs, c->reg_count, c->code[i].target, i);
		stretch_over_loop(l->slots, c->slot_count, c->code[i].target, i);
	}
}

/* A piece of memory that is to be given a place while it is alive. */
struct tenant {
	const struct life *life;
	struct spill *home;
	uint32_t room;	 /* with what is before it */
	uint32_t before; /* bytes of a record that is put together around it */
};

static int compare_tenants(const void *x, const void *y)
{
	const struct tenant *a = x, *b = y;

	if (a->life->from != b->life->from)
		return a->life->from < b->life->from ? -1 : 1;
	return a->home < b->home ? -1 : a->home > b->home;
}

/* Give each tenant the lowest offset where nobody lives at the same time. `alive` has room for all;
 * it is kept in the order of offsets. Returns how far up the offsets go. */
static uint32_t house(struct tenant *tenants, uint32_t count, struct tenant **alive)
{
	uint32_t living = 0, most = 0;

	qsort(tenants, count, sizeof(*tenants), compare_tenants);
	for (uint32_t i = 0; i < count; i++) {
		struct tenant *t = &tenants[i];
		uint32_t kept = 0, at = 0, place = 0;

		for (uint32_t k = 0; k < living; k++)
			if (alive[k]->life->to >= t->life->from)
				alive[kept++] = alive[k];
		while (place < kept && (uint32_t)alive[place]->home->offset < at + t->room) {
			at = (uint32_t)alive[place]->home->offset + alive[place]->room;
			place++;
		}
		memmove(alive + place + 1, alive + place, (kept - place) * sizeof(*alive));
		alive[place] = t;
		living = kept + 1;
		t->home->offset = (int32_t)at;
		most = at + t->room > most ? at + t->room : most;
	}
	return most;
}

/* Registers go to the stack as far as it is theirs, then to scratch memory. */
static void home_registers(const struct clause *c, const struct lives *l, struct tenant *tenants,
			   struct tenant **alive, struct frame *f)
{
	uint32_t count = 0, most;
	int32_t on_stack = f->is_lean ? 0 : 8 * HOMES_MAX;

	for (uint32_t r = 0; r < c->reg_count; r++)
		if (l->regs[r].used)
			tenants[count++] = (struct tenant){&l->regs[r], &f->regs[r], 8, 0};
	most = house(tenants, count, alive);
	for (uint32_t i = 0; i < count; i++) {
		struct spill *h = tenants[i].home;

		h->in_scratch = h->offset >= on_stack;
		h->offset = h->in_scratch ? f->scratch + h->offset - on_stack
					  : STACK_SPILL - 8 - h->offset;
	}
	f->stack -= (int32_t)most < on_stack ? (int32_t)most : on_stack;
	f->scratch += (int32_t)most > on_stack ? (int32_t)most - on_stack : 0;
}

/* Small slots go to the stack, each to a place of its own; texts and large ones share scratch. */
static void home_slots(const struct clause *c, const struct lives *l, struct tenant *tenants,
		       struct tenant **alive, const struct around *around, struct frame *f)
{
	uint32_t count = 0, most;

	for (uint32_t s = 0; s < c->slot_count; s++) {
		const struct type *t = &c->slots[s].type;
		uint32_t room = slot_room(t, f->padded[s]), before = around[s].before;

		if (!l->slots[s].used)
			continue;
		if (!f->is_lean && !type_is_text(t) && !type_is_stack(t) && room <= SMALL_SLOT &&
		    f->stack - (int32_t)room >= STACK_END) {
			f->stack -= (int32_t)room;
			f->slots[s] = (struct spill){false, f->stack};
			continue;
		}
		room = before + (room > around[s].rest ? room : around[s].rest);
		tenants[count++] = (struct tenant){&l->slots[s], &f->slots[s], room, before};
	}
	most = house(tenants, count, alive);
	for (uint32_t i = 0; i < count; i++) {
		tenants[i].home->in_scratch = true;
		tenants[i].home->offset += f->scratch + (int32_t)tenants[i].before;
	}
	f->scratch += (int32_t)most;
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

/* A record is put together around its first text when nobody wants that text any more. */
static void find_records(const struct program *p, const struct clause *c, const struct lives *l,
			 struct around *around, struct frame *f)
{
	for (uint32_t i = 0; i < c->insn_count; i++) {
		const struct insn *in = &c->code[i];
		uint32_t before, most;
		uint16_t slot;
		bool fixed;
		int first;

		if (in->op != OP_EMIT)
			continue;
		first = record_first_variable(&p->formats[in->imm], &before);
		most = record_most(&p->formats[in->imm], &fixed);
		slot = first < 0 ? SLOT_NO : in->fields[first].slot;
		if (slot == SLOT_NO || l->slots[slot].to != i)
			continue;
		around[slot] = (struct around){before, most - before + TEXT_SLOP};
		f->in_place[i] = true;
	}
}

static void plan_extras(const struct program *p, const struct clause *c, struct frame *f)
{
	uint32_t record = 0, key = short_key_size(p, c);

	for (uint32_t i = 0; i < c->insn_count; i++) {
		bool fixed;
		uint32_t most;

		if (c->code[i].op != OP_EMIT || f->in_place[i])
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

/* One word for each loop: on the stack where the verifier must follow it. */
static void home_counters(const struct clause *c, struct frame *f)
{
	for (uint32_t i = 0; i < c->insn_count; i++) {
		if (c->code[i].op != OP_LOOP)
			continue;
		if (f->is_lean) {
			f->counters[i] = (struct spill){true, f->scratch};
			f->scratch += 8;
		} else {
			f->stack -= 8;
			f->counters[i] = (struct spill){false, f->stack};
		}
	}
}

static bool is_branch(const struct insn *in)
{
	return in->op == OP_JUMP_IF || in->op == OP_JUMP_NOT ||
	       (in->op >= OP_EQ && in->op <= OP_SLE) || in->op == OP_STRCMP;
}

/* Should the verifier know nothing of the values? It must, where it has to see that a loop ends. */
static bool wants_lean(const struct clause *c, enum loops loops)
{
	uint32_t branches = 0;

	if (loops == LOOPS_CALLED) /* the stack is for functions in functions */
		return true;
	for (uint32_t i = 0; i < c->insn_count; i++) {
		if (c->code[i].op == OP_LOOP)
			return loops != LOOPS_WALKED;
		branches += is_branch(&c->code[i]);
	}
	return branches > FEW_BRANCHES;
}

int frame_plan(struct arena *a, const struct program *p, const struct clause *c, enum loops loops,
	       struct frame *out)
{
	uint32_t most = c->reg_count > c->slot_count ? c->reg_count : c->slot_count;
	struct lives l = {arena_array(a, struct life, c->reg_count + 1),
			  arena_array(a, struct life, c->slot_count + 1)};
	struct tenant *tenants = arena_array(a, struct tenant, most + 1);
	struct tenant **alive = arena_array(a, struct tenant *, most + 1);
	struct around *around = arena_array(a, struct around, c->slot_count + 1);
	struct frame f = {.is_lean = wants_lean(c, loops), .stack = STACK_SPILL, .scratch = 8};

	f.regs = arena_array(a, struct spill, c->reg_count + 1);
	f.slots = arena_array(a, struct spill, c->slot_count + 1);
	f.padded = arena_array(a, bool, c->slot_count + 1);
	f.counters = arena_array(a, struct spill, c->insn_count + 1);
	f.in_place = arena_array(a, bool, c->insn_count + 1);
	if (!l.regs || !l.slots || !tenants || !alive || !around || !f.in_place || !f.regs ||
	    !f.slots || !f.padded || !f.counters)
		return -ENOMEM;
	find_lives(c, &l);
	find_padded(c, &f);
	find_records(p, c, &l, around, &f);
	home_registers(c, &l, tenants, alive, &f);
	home_counters(c, &f);
	home_slots(c, &l, tenants, alive, around, &f);
	plan_extras(p, c, &f);
	if (f.scratch == 8)
		f.scratch = 0;
	*out = f;
	return f.stack < STACK_END || f.scratch > SCRATCH_MOST ? -E2BIG : 0;
}
