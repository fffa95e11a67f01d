/* The order of instructions. Jumps go down and never into a loop, so one pass from the first
 * instruction to the last meets every way to an instruction before the instruction itself. A loop's
 * way back needs no second pass: whatever is written on entry is still written when the body ends,
 * so the entry is the weakest of its two ways in.
 *
 * What is written is a set: a bit for each register and for each part of a slot, whose bits begin
 * at a word. The sets of pending jumps wait at their targets, where they are intersected. */
#include "program/check.h"

#include <errno.h>
#include <stdlib.h>

#define NO_LOOP	    UINT32_MAX
#define MAX_PENDING ((size_t)64 << 20) /* bytes of sets waiting at targets */

struct flow {
	const struct checker *c;
	const struct insn *code;
	uint32_t count;
	uint32_t *loop;	    /* of each instruction: the innermost loop it is in the body of */
	uint64_t **pending; /* of each instruction: the set that jumps bring along, or NULL */
	size_t pending_bytes;
	uint64_t *written; /* at the current instruction */
	size_t *slots;	   /* of each slot: its first word in `written`, after the registers */
	size_t words;
	bool reachable;
};

static bool is_jump(const struct insn *i)
{
	return i->op == OP_JUMP || i->op == OP_JUMP_IF || i->op == OP_JUMP_NOT;
}

/* Loops nest, and each ends in its own OP_NEXT within the loop around it. Fills f->loop; counts
 * depth and the rounds of nested loops, both bounded. */
static int find_loops(struct flow *f)
{
	uint64_t rounds[PROGRAM_MAX_LOOP_DEPTH + 1] = {1};
	uint32_t inner = NO_LOOP;
	unsigned depth = 0;

	for (uint32_t i = 0; i < f->count; i++) {
		uint32_t after, limit;

		f->loop[i] = inner;
		if (f->code[i].op == OP_NEXT) {
			if (inner == NO_LOOP || f->code[inner].target != i + 1)
				return check_fail(f->c, i, "not at the end of a loop");
			inner = f->loop[inner];
			depth--;
		}
		if (!op_is_loop(f->code[i].op))
			continue;
		after = f->code[i].target;
		limit = inner == NO_LOOP ? f->count : f->code[inner].target - 1;
		if (after <= i + 1 || after > limit || after >= f->count)
			return check_fail(f->c, i,
					  "the loop does not end within the enclosing loop");
		if (f->code[after - 1].op != OP_NEXT || f->code[after - 1].target != i)
			return check_fail(
				f->c, i, "the loop ends at %u, which is not after its next", after);
		if (++depth > PROGRAM_MAX_LOOP_DEPTH)
			return check_fail(f->c, i, "loops are nested too deeply");
		rounds[depth] = rounds[depth - 1] * (uint64_t)f->code[i].imm;
		if (rounds[depth] > PROGRAM_MAX_ROUNDS)
			return check_fail(f->c, i, "nested loops of %llu rounds are too long",
					  (unsigned long long)rounds[depth]);
		inner = i;
	}
	return 0;
}

static int check_jumps(struct flow *f)
{
	for (uint32_t i = 0; i < f->count; i++) {
		uint32_t loop;

		if (!is_jump(&f->code[i]))
			continue;
		if (f->code[i].imm <= (int64_t)i || f->code[i].imm >= (int64_t)f->count)
			return check_fail(f->c, i, "jumps to %lld, which is not forward",
					  (long long)f->code[i].imm);
		loop = f->loop[f->code[i].imm];
		if (loop != NO_LOOP && (i <= loop || i >= f->code[loop].target))
			return check_fail(f->c, i, "jumps into a loop, to %lld",
					  (long long)f->code[i].imm);
	}
	if (!f->count || f->code[f->count - 1].op != OP_RETURN)
		return check_fail(f->c, f->count ? f->count - 1 : 0, "the last is not a return");
	return 0;
}

/* Each step of the pass is made for one instruction. */

static int read_reg(struct flow *f, uint32_t at, uint16_t reg)
{
	if (reg == REG_NO || f->written[reg / 64] >> (reg % 64) & 1)
		return 0;
	return check_fail(f->c, at, "r%u is read but not written on every path", reg);
}

/* The bits in `written` of the parts of slot `number` that a value of type `t` at `offset` takes;
 * NULL: a word. */
struct bits {
	size_t first, end;
};

static struct bits part_bits(const struct flow *f, uint16_t number, uint64_t offset,
			     const struct type *t)
{
	unsigned first = 0, count = t ? type_parts(t) : 1;
	size_t start = 64 * f->slots[number];
	bool word;

	if (type_part_at(&f->c->clause->slots[number].type, offset, &first, &word))
		return (struct bits){0, 0};
	return (struct bits){start + first, start + first + count};
}

/* Those of the bits that are in the word of bit `at`. */
static uint64_t word_mask(struct bits bits, size_t at)
{
	size_t left = bits.end - at;

	return (left < 64 - at % 64 ? (UINT64_C(1) << left) - 1 : UINT64_MAX >> at % 64) << at % 64;
}

static int read_slot(struct flow *f, uint32_t at, uint16_t number, uint64_t offset,
		     const struct type *t)
{
	struct bits bits = part_bits(f, number, offset, t);

	for (size_t bit = bits.first; bit < bits.end; bit += 64 - bit % 64) {
		uint64_t mask = word_mask(bits, bit);

		if ((f->written[bit / 64] & mask) != mask)
			return check_fail(f->c, at,
					  "s%u is read but not completely written on every path",
					  number);
	}
	return 0;
}

static void write_slot(struct flow *f, uint16_t number, uint64_t offset, const struct type *t)
{
	struct bits bits = part_bits(f, number, offset, t);

	for (size_t bit = bits.first; bit < bits.end; bit += 64 - bit % 64)
		f->written[bit / 64] |= word_mask(bits, bit);
}

static int read_fields(struct flow *f, uint32_t at)
{
	const struct insn *i = &f->code[at];
	const struct slot *slots = f->c->clause->slots;
	int err = 0;

	for (unsigned n = 0; n < i->field_count && !err; n++) {
		const struct field *field = &i->fields[n];

		err = field->slot == SLOT_NO
			      ? read_reg(f, at, field->reg)
			      : read_slot(f, at, field->slot, 0, &slots[field->slot].type);
	}
	return err;
}

static int read_operand(struct flow *f, uint32_t at, char letter)
{
	const struct insn *i = &f->code[at];
	const struct slot *slots = f->c->clause->slots;

	switch (letter) {
	case 'a':
	case 'A': return read_reg(f, at, i->a);
	case 'b':
	case 'B': return read_reg(f, at, i->b);
	case 's': return read_slot(f, at, i->s, 0, &slots[i->s].type);
	case 't': return read_slot(f, at, i->t, 0, &slots[i->t].type);
	case 'g': return read_slot(f, at, i->s, (uint64_t)i->imm, NULL);
	case 'q': return read_slot(f, at, i->t, (uint64_t)i->imm, &slots[i->s].type);
	case 'k': return i->s == SLOT_NO ? 0 : read_slot(f, at, i->s, 0, &slots[i->s].type);
	case 'e': return read_fields(f, at);
	default: return 0;
	}
}

static void write_result(struct flow *f, const struct insn *i, char letter)
{
	const struct slot *slots = f->c->clause->slots;

	switch (letter) {
	case 'd':
	case 'D':
		if (i->d != REG_NO)
			f->written[i->d / 64] |= UINT64_C(1) << (i->d % 64);
		break;
	case 's': write_slot(f, i->s, 0, &slots[i->s].type); break;
	case 't': write_slot(f, i->t, 0, &slots[i->t].type); break;
	case 'p':
		write_slot(f, i->s, (uint64_t)i->imm, i->op == OP_COPY ? &slots[i->t].type : NULL);
		break;
	}
}

/* Take the current set along to instruction `to`. */
static int send_to(struct flow *f, uint32_t at, uint32_t to)
{
	uint64_t *set = f->pending[to];
	size_t bytes = f->words * sizeof(*set);

	if (set) {
		for (size_t w = 0; w < f->words; w++)
			set[w] &= f->written[w];
		return 0;
	}
	f->pending_bytes += bytes;
	if (f->pending_bytes > MAX_PENDING)
		return check_fail(f->c, at, "too many registers and jumps at once");
	set = malloc(bytes ? bytes : 1);
	if (!set)
		return -ENOMEM;
	memcpy(set, f->written, bytes);
	f->pending[to] = set;
	return 0;
}

/* What waits at `at` and what falls through to it become the current set. */
static int step_to(struct flow *f, uint32_t at)
{
	const struct insn *i = &f->code[at];
	const struct op_info *info = op_info(i->op);
	uint64_t *set = f->pending[at];
	int err = 0;

	for (size_t w = 0; set && w < f->words; w++)
		f->written[w] = f->reachable ? f->written[w] & set[w] : set[w];
	if (set) {
		f->reachable = true;
		free(set);
		f->pending[at] = NULL;
		f->pending_bytes -= f->words * sizeof(*set);
	}
	if (!f->reachable)
		return 0;
	for (const char *letter = info->operands; *letter && !err; letter++)
		err = read_operand(f, at, *letter);
	if (!err && is_jump(i))
		err = send_to(f, at, (uint32_t)i->imm);
	for (const char *letter = info->results; *letter; letter++)
		write_result(f, i, *letter);
	if (i->op == OP_JUMP || i->op == OP_RETURN)
		f->reachable = false;
	return err;
}

/* Give each slot its words. */
static int place_slots(struct flow *f)
{
	const struct clause *clause = f->c->clause;

	f->words = (clause->reg_count + 63) / 64;
	f->slots = calloc(clause->slot_count + 1, sizeof(*f->slots));
	if (!f->slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < clause->slot_count; i++) {
		f->slots[i] = f->words;
		f->words += (type_parts(&clause->slots[i].type) + 63) / 64;
	}
	return 0;
}

int check_flow(const struct checker *c)
{
	struct flow f = {.c = c, .code = c->clause->code, .count = c->clause->insn_count};
	int err = place_slots(&f);

	f.loop = calloc(f.count + 1, sizeof(*f.loop));
	f.pending = calloc(f.count + 1, sizeof(*f.pending));
	f.written = calloc(f.words + 1, sizeof(*f.written));
	f.reachable = true;
	if (!err && (!f.loop || !f.pending || !f.written))
		err = -ENOMEM;
	if (!err)
		err = find_loops(&f);
	if (!err)
		err = check_jumps(&f);
	for (uint32_t i = 0; i < f.count && !err; i++)
		err = step_to(&f, i);
	for (uint32_t i = 0; f.pending && i < f.count; i++)
		free(f.pending[i]);
	free(f.pending);
	free(f.loop);
	free(f.slots);
	free(f.written);
	return err;
}
