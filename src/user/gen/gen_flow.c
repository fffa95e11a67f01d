/* What is known of a clause before code is made for it: which registers are still read after each
 * of its instructions, and where its parts begin. */
#include <errno.h>
#include <stdlib.h>

#include "user/gen/gen_state.h"

#define MOST_WORDS (1u << 22)

static void set_bit(uint64_t *set, uint16_t reg, bool on)
{
	if (reg == REG_NO)
		return;
	if (on)
		set[reg / 64] |= UINT64_C(1) << reg % 64;
	else
		set[reg / 64] &= ~(UINT64_C(1) << reg % 64);
}

static void join(uint64_t *set, const uint64_t *other, size_t words)
{
	for (size_t w = 0; w < words; w++)
		set[w] |= other[w];
}

/* The set before an instruction, from the one after it. */
static void use_before(uint64_t *set, const struct insn *in)
{
	const struct op_info *info = op_info(in->op);

	if (*info->results == 'd' || *info->results == 'D')
		set_bit(set, in->d, false);
	for (const char *letter = info->operands; *letter; letter++) {
		if (*letter == 'a' || *letter == 'A')
			set_bit(set, in->a, true);
		if (*letter == 'b' || *letter == 'B')
			set_bit(set, in->b, true);
		for (unsigned n = 0; *letter == 'e' && n < in->field_count; n++)
			if (in->fields[n].slot == SLOT_NO)
				set_bit(set, in->fields[n].reg, true);
	}
}

/* One round through the clause, from its end; true when a set has grown. */
static bool pass(const struct clause *c, struct liveness *l, uint64_t *set)
{
	bool grown = false;

	for (uint32_t i = c->insn_count; i-- > 0;) {
		const struct insn *in = &c->code[i];
		uint64_t *mine = l->words + i * l->each;

		memset(set, 0, l->each * sizeof(*set));
		if (in->op != OP_RETURN && in->op != OP_JUMP)
			join(set, l->words + (i + 1) * l->each, l->each);
		if (in->op == OP_JUMP || in->op == OP_JUMP_IF || in->op == OP_JUMP_NOT)
			join(set, l->words + (size_t)in->imm * l->each, l->each);
		if (in->op == OP_NEXT)
			join(set,
			     l->words +
				     (in->target + !op_is_each(c->code[in->target].op)) * l->each,
			     l->each);
		use_before(set, in);
		if (op_is_each(in->op)) /* after the last entry nothing is read */
			join(set, l->words + in->target * l->each, l->each);
		grown |= memcmp(mine, set, l->each * sizeof(*set)) != 0;
		memcpy(mine, set, l->each * sizeof(*set));
	}
	return grown;
}

/* The usual backward analysis, repeated while loops carry something round. Clauses for which the
 * sets would be too large do without: all registers then count as read. */
int native_liveness(const struct clause *c, struct liveness *out)
{
	size_t each = (c->reg_count + 63) / 64 + 1;
	uint64_t *set;

	*out = (struct liveness){NULL, each};
	if (each * ((size_t)c->insn_count + 1) > MOST_WORDS)
		return 0;
	out->words = calloc(each * ((size_t)c->insn_count + 1), sizeof(*out->words));
	set = calloc(each, sizeof(*set));
	if (out->words && set)
		while (pass(c, out, set))
			;
	free(set);
	return out->words && set ? 0 : -ENOMEM;
}

/* ---- parts */

static bool divides(const struct insn *in)
{
	return in->op >= OP_UDIV && in->op <= OP_SMOD; /* ORDER: ops.h */
}

/* Is the code of an instruction a call, but where it is rarely run? */
static bool calls(const struct gen *g, const struct insn *in)
{
	switch (in->op) {
	case OP_F2I:
	case OP_EACH:
	case OP_EACH_COPY:
	case OP_LOAD: return true;
	case OP_BUILTIN: return native_builtin_calls(g, in->imm);
	case OP_EMIT:
	case OP_AGGREGATE: return !native_is_inline(g, in);
	/* A frame on the stack is a part of the body, too. */
	default: return in->op > OP_BUILTIN; /* ORDER: ops.h */
	}
}

/* Has it nothing to do with the shared memory, not even to count that it failed? */
static bool is_local_builtin(const struct gen *g, int64_t builtin)
{
	switch (builtin) {
	case BUILTIN_PROBE:
	case BUILTIN_FUNC:
	case BUILTIN_IP:
	case BUILTIN_RAND:
	case BUILTIN_NCPUS: return true;
	case BUILTIN_TID:
	case BUILTIN_INIT_TID: return g->place->tid != NATIVE_NONE;
	default: return false;
	}
}

/* May it count something, or change anything that others see, or read what a child may not have? */
static bool has_effect(const struct gen *g, const struct insn *in)
{
	const struct operand *o = in->op == OP_ARG ? &g->attach->args[in->imm].operand : NULL;
	struct asm_mem m;

	return in->op > OP_BUILTIN || divides(in) || /* ORDER: ops.h */
	       (in->op == OP_BUILTIN && !is_local_builtin(g, in->imm)) ||
	       (o && o->kind == OPERAND_MEM && !native_is_stable(g, o, &m));
}

static bool makes_hit(const struct gen *g, const struct insn *in)
{
	switch (in->op) {
	case OP_PUT:
	case OP_GET:
	case OP_LENGTH:
	case OP_PUSH:
	case OP_MARK:
	case OP_BYTE: return false;
	case OP_ZERO:
	case OP_PART: return type_memory(native_slot_type(g, in->s)) > COPY_INLINE;
	case OP_COPY: return type_memory(native_slot_type(g, in->t)) > COPY_INLINE;
	default: return calls(g, in);
	}
}

static bool is_jump(const struct insn *in)
{
	return in->op == OP_JUMP || in->op == OP_JUMP_IF || in->op == OP_JUMP_NOT;
}

/* The first instruction that has the property, or that a part cannot begin after: a loop, or a jump
 * over the beginning of the part to something that is not the end of the clause. */
static uint32_t first_of(const struct gen *g,
			 bool (*has)(const struct gen *g, const struct insn *in))
{
	const struct insn *code = g->clause->code;
	uint32_t end = 0;

	while (end < g->clause->insn_count && !op_is_loop(code[end].op) && !has(g, &code[end]))
		end++;
	/* With a part that is shorter, an earlier jump may lead out of it, too. */
	for (uint32_t i = 0; i < end;) {
		bool leaves = is_jump(&code[i]) && (uint64_t)code[i].imm > end &&
			      code[code[i].imm].op != OP_RETURN;

		end = leaves ? i : end;
		i = leaves ? 0 : i + 1;
	}
	return end;
}

/* Does it ask for the time, or send more than one record? These are in order by their times. */
static bool keeps_time(const struct clause *c)
{
	unsigned records = 0;

	for (uint32_t i = 0; i < c->insn_count; i++) {
		const struct insn *in = &c->code[i];

		if (in->op == OP_BUILTIN &&
		    (in->imm == BUILTIN_NSECS || in->imm == BUILTIN_ELAPSED))
			return true;
		records += in->op == OP_EMIT ? 1 : op_is_loop(in->op) ? 2 : 0;
	}
	return records > 1;
}

void native_find_parts(struct gen *g)
{
	const struct clause *c = g->clause;

	g->body = first_of(g, calls);
	g->guard = first_of(g, has_effect);
	/* A run without a frame has no effect. */
	if (g->guard > g->body || g->frame.in_scratch)
		g->guard = g->body = g->guard < g->body ? g->guard : g->body;
	g->has_hit = g->frame.in_scratch;
	for (uint32_t i = g->body; i < c->insn_count; i++)
		g->has_hit |= makes_hit(g, &c->code[i]);
	g->has_time = keeps_time(c);
}
