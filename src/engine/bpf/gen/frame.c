/* Spill slots: where the registers and slots of a clause are in memory. Values whose live ranges
 * do not overlap share memory. There are two kinds of it:
 *
 *	stack, 512 bytes			scratch memory, taken for a run of the clause
 *
 *	    0  FRAME				0       taken?
 *	   -8  fixed uses (emitter.h)		8       registers that the stack had no room for
 *	  -48  STACK_SPILL			        words of loops, large slots, texts
 *	       registers, by live range		        records that are packed
 *	       words of loops, small slots	        short forms of keys
 *	 -480  STACK_END, or STACK_CALL_END
 *
 * The stack is faster. But a clause with many branches, or with a loop, has a *lean* frame: no
 * values on the stack. The kernel's verifier follows every path through a program, and drops a
 * path only where everything that it knows there has been seen before. It tracks each value on the
 * stack, so that after n branches there are up to 2^n different states:
 *
 *	            values on the stack			values in scratch memory
 *
 *	if (a)      x = 1 | x = 2			x unknown
 *	if (b)      x = 1, y = 1 | x = 1, y = 2 | ...	y unknown
 *	if (c)      8 states				1 state
 *
 * It knows nothing about the contents of scratch memory. With a lean frame the paths meet again
 * after each statement, and the verifier's work grows with the length of the clause. */
#include "engine/bpf/gen/frame.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/bpf/gen/sizes.h"
#include "engine/bpf/gen/store_map.h"
#include "engine/bpf/walk/walks.h"
#include "program/op.h"

#define STACK_REGS   28 /* registers on the stack; the rest of it is for small slots */
#define SMALL_SLOT   64u
#define FEW_BRANCHES 12	       /* the paths through them are few enough to be followed one by one */
#define SCRATCH_MOST (2 << 20) /* bytes: a dozen of the longest texts in one record */

/* The bytes of a record that is packed around a slot: before it, and from it on; 0: none is. */
struct around {
	uint32_t before, rest;
};

/* The first and the last instruction that use a register or slot. */
struct live_range {
	uint32_t from, to;
	bool used;
};

/* Memory that is wanted for a live range. */
struct request {
	const struct live_range *range;
	struct spill *spill;
	uint32_t size;	 /* with `before` */
	uint32_t before; /* bytes of a record that is packed around it */
};

struct plan {
	const struct program *program;
	const struct clause *clause;
	struct frame_limits limits;
	struct live_range *regs, *slots;
	struct around *around;		  /* by slot */
	struct request *requests, **live; /* one for each register or slot */
	struct frame frame;
};

static void extend_range(struct live_range *ranges, uint16_t number, uint32_t at)
{
	if (number == REG_NO) /* SLOT_NO is the same */
		return;
	if (!ranges[number].used)
		ranges[number] = (struct live_range){at, at, true};
	ranges[number].to = at;
}

/* One letter of the table of operations; see program/op.h. */
static void extend_by_letter(struct plan *p, const struct insn *in, char letter, uint32_t at)
{
	if (strchr("dD", letter))
		extend_range(p->regs, in->d, at);
	else if (strchr("aA", letter))
		extend_range(p->regs, in->a, at);
	else if (strchr("bB", letter))
		extend_range(p->regs, in->b, at);
	else if (strchr("spgk", letter))
		extend_range(p->slots, in->s, at);
	else if (strchr("tq", letter))
		extend_range(p->slots, in->t, at);
}

/* A value that is live when a loop begins and used in it is live until the loop ends: the next
 * round reads it again. A range that begins inside the loop needs nothing: program_check() has seen
 * that each round writes the value before it reads it. */
static void stretch_over_loop(struct live_range *ranges, uint32_t count, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < count; i++)
		if (ranges[i].used && ranges[i].from <= from && ranges[i].to > from &&
		    ranges[i].to < to)
			ranges[i].to = to;
}

static void find_live_ranges(struct plan *p)
{
	const struct clause *c = p->clause;

	for (uint32_t i = 0; i < c->insn_count; i++) {
		const struct insn *in = &c->code[i];

		for (const char *letter = op_info(in->op)->results; *letter; letter++)
			extend_by_letter(p, in, *letter, i);
		for (const char *letter = op_info(in->op)->operands; *letter; letter++)
			extend_by_letter(p, in, *letter, i);
		for (unsigned f = 0; in->op == OP_EMIT && f < in->field_count; f++) {
			extend_range(p->regs, in->fields[f].reg, i);
			extend_range(p->slots, in->fields[f].slot, i);
		}
	}
	for (uint32_t i = c->insn_count; i-- > 0;) {
		if (c->code[i].op != OP_NEXT)
			continue;
		stretch_over_loop(p->regs, c->reg_count, c->code[i].target, i);
		stretch_over_loop(p->slots, c->slot_count, c->code[i].target, i);
	}
}

static int compare_requests(const void *x, const void *y)
{
	const struct request *a = x, *b = y;

	if (a->range->from != b->range->from)
		return a->range->from < b->range->from ? -1 : 1;
	return a->spill < b->spill ? -1 : a->spill > b->spill;
}

/* Give each request the lowest offset that is free during its live range (linear scan). `live`
 * holds those whose ranges are not over, in the order of offsets. Returns the size of all. */
static uint32_t assign_offsets(struct plan *p, uint32_t count)
{
	struct request **live = p->live;
	uint32_t live_count = 0, total = 0;

	qsort(p->requests, count, sizeof(*p->requests), compare_requests);
	for (uint32_t i = 0; i < count; i++) {
		struct request *r = &p->requests[i];
		uint32_t kept = 0, at = 0, next = 0;

		/* `>=`: an operation may write its result before it has read all its operands, so
		 * a range that ends where this one begins is not over yet. */
		for (uint32_t k = 0; k < live_count; k++)
			if (live[k]->range->to >= r->range->from)
				live[kept++] = live[k];
		while (next < kept && (uint32_t)live[next]->spill->offset < at + r->size) {
			at = (uint32_t)live[next]->spill->offset + live[next]->size;
			next++;
		}
		memmove(live + next + 1, live + next, (kept - next) * sizeof(*live));
		live[next] = r;
		live_count = kept + 1;
		r->spill->offset = (int32_t)at;
		total = at + r->size > total ? at + r->size : total;
	}
	return total;
}

/* Registers go to the stack while it has room for them, then to scratch memory. */
static void place_registers(struct plan *p)
{
	struct frame *f = &p->frame;
	int32_t on_stack_most = f->is_lean ? 0 : 8 * STACK_REGS, total;
	uint32_t count = 0;

	for (uint32_t r = 0; r < p->clause->reg_count; r++)
		if (p->regs[r].used)
			p->requests[count++] = (struct request){&p->regs[r], &f->regs[r], 8, 0};
	total = (int32_t)assign_offsets(p, count);
	for (uint32_t i = 0; i < count; i++) {
		struct spill *at = p->requests[i].spill;

		*at = at->offset >= on_stack_most
			      ? in_scratch(f->scratch + at->offset - on_stack_most)
			      : on_stack(STACK_SPILL - 8 - at->offset);
	}
	f->stack -= total < on_stack_most ? total : on_stack_most;
	f->scratch += total > on_stack_most ? total - on_stack_most : 0;
}

/* Small slots go to the stack, without sharing; texts and large slots share scratch memory. */
static void place_slots(struct plan *p)
{
	struct frame *f = &p->frame;
	uint32_t count = 0, total;

	for (uint32_t s = 0; s < p->clause->slot_count; s++) {
		const struct type *t = &p->clause->slots[s].type;
		const struct around *around = &p->around[s];
		uint32_t size = slot_used(t) + (t->kind == TYPE_USTACK ? USER_WALK_SIZE : 0);

		if (!p->slots[s].used)
			continue;
		/* Padding a long text writes zeros from its end on. The verifier cannot see that
		 * they stop at the end of the slot, only that they are fewer than the slot has
		 * bytes: so twice that must be ours. */
		if (type_is_text(t) && f->padded[s] && t->size > STORE_SHORT)
			size += t->size;
		if (t->kind == TYPE_LSTACK)
			size += SCRIPT_WALK_SIZE;
		if (!f->is_lean && !type_is_text(t) && !type_is_stack(t) && size <= SMALL_SLOT &&
		    f->stack - (int32_t)size >= p->limits.stack_end) {
			f->stack -= (int32_t)size;
			f->slots[s] = on_stack(f->stack);
			continue;
		}
		size = around->before + (size > around->rest ? size : around->rest);
		p->requests[count++] =
			(struct request){&p->slots[s], &f->slots[s], size, around->before};
	}
	total = assign_offsets(p, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct request *r = &p->requests[i];

		*r->spill = in_scratch(r->spill->offset + f->scratch + (int32_t)r->before);
	}
	f->scratch += (int32_t)total;
}

/* Find the slots all of whose memory counts, not only as much as is used of it; and the records
 * that are packed around their first text, because nothing uses that text afterwards. */
static void find_padded_and_around(struct plan *p)
{
	for (uint32_t i = 0; i < p->clause->insn_count; i++) {
		const struct insn *in = &p->clause->code[i];
		uint32_t before, most;
		uint16_t slot;
		bool fixed;
		int first;

		/* Of a stack that is a key, only the words that it has count. */
		if (op_uses_map(in->op) && in->s != SLOT_NO &&
		    !type_is_stack(&p->clause->slots[in->s].type))
			p->frame.padded[in->s] = true;
		if (in->op == OP_MAP_PUT || in->op == OP_COPY)
			p->frame.padded[in->t] = true;
		if (in->op != OP_EMIT)
			continue;
		first = record_first_variable(&p->program->formats[in->imm], &before);
		most = record_most(&p->program->formats[in->imm], &fixed);
		slot = first < 0 ? SLOT_NO : in->fields[first].slot;
		if (slot == SLOT_NO || p->slots[slot].to != i)
			continue;
		p->around[slot] = (struct around){before, most - before + TEXT_SLOP};
		p->frame.in_place[i] = true;
	}
}

/* What instructions need besides slots: memory to pack the largest record, the largest key, and the
 * largest value with the stacks of its key. */
static void place_extras(struct plan *p)
{
	uint32_t record = 0, key = 0, entry = 0, size;
	struct frame *f = &p->frame;
	bool fixed;

	for (uint32_t i = 0; i < p->clause->insn_count; i++) {
		const struct insn *in = &p->clause->code[i];

		if (in->op == OP_EMIT && !f->in_place[i]) {
			size = record_most(&p->program->formats[in->imm], &fixed) + TEXT_SLOP;
			record = !fixed && size > record ? size : record;
		} else if (op_uses_map(in->op)) {
			const struct map_def *m = &p->program->maps[in->map];
			uint32_t stacks = store_stacks_size(&m->key, false);

			size = m->key.kind == TYPE_TUPLE || stacks
				       ? store_key_size(&m->key, !stacks)
				       : 0;
			key = size > key ? size : key;
			size = stacks ? (uint32_t)type_memory(&m->value) + stacks : 0;
			entry = size > entry ? size : entry;
		}
	}
	f->record = f->scratch;
	f->key = f->record + (int32_t)record;
	f->entry = f->key + (int32_t)key;
	f->scratch = f->entry + (int32_t)entry;
}

/* One word for each loop: on the stack where the verifier must follow it. */
static void place_counters(struct plan *p)
{
	struct frame *f = &p->frame;

	for (uint32_t i = 0; i < p->clause->insn_count; i++) {
		if (!op_is_loop(p->clause->code[i].op))
			continue;
		if (f->is_lean) {
			f->counters[i] = in_scratch(f->scratch);
			f->scratch += 8;
		} else {
			f->stack -= 8;
			f->counters[i] = on_stack(f->stack);
		}
	}
}

/* Should the verifier know nothing of the values? It must, where it has to see that a loop ends. */
static bool wants_lean(const struct clause *c, enum loops loops)
{
	uint32_t branches = 0;

	if (loops == LOOPS_CALLED) /* the stack is for functions that call functions */
		return true;
	for (uint32_t i = 0; i < c->insn_count; i++)
		if (op_is_each(c->code[i].op))
			return true;
	for (uint32_t i = 0; i < c->insn_count; i++) {
		enum op op = c->code[i].op;

		if (op == OP_LOOP)
			return loops != LOOPS_WALKED;
		/* ORDER: the comparisons of enum op, which are two paths each to the verifier. */
		branches += op == OP_JUMP_IF || op == OP_JUMP_NOT || op == OP_STRCMP ||
			    (op >= OP_EQ && op <= OP_SLE);
	}
	return branches > FEW_BRANCHES;
}

static bool plan_alloc(struct plan *p, struct arena *a)
{
	const struct clause *c = p->clause;
	uint32_t most = c->reg_count > c->slot_count ? c->reg_count : c->slot_count;
	struct frame *f = &p->frame;

	p->regs = arena_array(a, struct live_range, c->reg_count + 1);
	p->slots = arena_array(a, struct live_range, c->slot_count + 1);
	p->around = arena_array(a, struct around, c->slot_count + 1);
	p->requests = arena_array(a, struct request, most + 1);
	p->live = arena_array(a, struct request *, most + 1);
	f->regs = arena_array(a, struct spill, c->reg_count + 1);
	f->slots = arena_array(a, struct spill, c->slot_count + 1);
	f->padded = arena_array(a, bool, c->slot_count + 1);
	f->counters = arena_array(a, struct spill, c->insn_count + 1);
	f->in_place = arena_array(a, bool, c->insn_count + 1);
	return p->regs && p->slots && p->around && p->requests && p->live && f->regs && f->slots &&
	       f->padded && f->counters && f->in_place;
}

int frame_plan(struct arena *a, const struct program *program, const struct clause *c,
	       struct frame_limits limits, struct frame *out)
{
	struct plan p = {.program = program, .clause = c, .limits = limits};
	struct frame *f = &p.frame;

	*f = (struct frame){
		.is_lean = wants_lean(c, limits.loops), .stack = STACK_SPILL, .scratch = 8};
	if (!plan_alloc(&p, a))
		return -ENOMEM;
	find_live_ranges(&p);
	find_padded_and_around(&p);
	/* ORDER: who comes first gets the stack; registers are used most. */
	place_registers(&p);
	place_counters(&p);
	place_slots(&p);
	place_extras(&p);
	if (f->scratch == 8) /* only the word "taken?" */
		f->scratch = 0;
	*out = *f;
	return f->stack < limits.stack_end || f->scratch > SCRATCH_MOST ? -E2BIG : 0;
}
