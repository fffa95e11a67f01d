/* Statements -> code, and the clause around them. */
#include <errno.h>

#include "script/builtins.h"
#include "script/compile.h"

#define MAX_DYNAMIC_ROUNDS (1u << 20)

static int lower_body(struct lower *l, const struct stmt *s);

/* Does the expression step a variable? Then reads before it must be copies. */
static bool steps_variable(const struct expr *e)
{
	if (!e)
		return false;
	if (e->kind == EXPR_STEP && e->args[0]->kind == EXPR_VARIABLE)
		return true;
	for (unsigned i = 0; i < e->arg_count; i++)
		if (steps_variable(e->args[i]))
			return true;
	return false;
}

static int lower_aggregate(struct lower *l, const struct stmt *s)
{
	const struct expr *value = s->value;
	uint16_t key, reg = REG_NO;
	struct insn *i;
	int err = lower_key(l, s->target, &key);

	if (!err && value->arg_count)
		err = lower_word(l, value->args[0], &reg);
	if (err)
		return err;
	i = lower_op(l, OP_AGGREGATE);
	i->map = (uint16_t)s->target->map->index;
	i->s = key;
	i->a = reg;
	return 0;
}

static int lower_map_assign(struct lower *l, const struct stmt *s)
{
	const struct type *type = &s->target->map->value;
	bool is_word = type_is_word(type);
	uint16_t key, value;
	struct insn *i;
	int err;

	if (type_is_aggregate(type))
		return lower_aggregate(l, s);
	err = is_word ? lower_word(l, s->value, &value) : lower_memory(l, s->value, type, &value);
	if (!err)
		err = lower_key(l, s->target, &key);
	if (err)
		return err;
	i = lower_op(l, is_word ? OP_MAP_SET : OP_MAP_PUT);
	i->map = (uint16_t)s->target->map->index;
	i->s = key;
	if (is_word)
		i->a = value;
	else
		i->t = value;
	return 0;
}

static int lower_variable_assign(struct lower *l, const struct expr *target,
				 const struct expr *value)
{
	const struct variable *v = target->variable;
	uint16_t temporary;
	struct insn *i;
	int err;

	if (type_is_word(&v->shape.type)) {
		err = lower_word_to(l, value, v->reg);
		lower_fit(l, v);
		return err;
	}
	if (value->kind != EXPR_TUPLE && value->kind != EXPR_TERNARY)
		return lower_memory_to(l, value, v->slot);
	/* What is built piece by piece may read the variable meanwhile. */
	err = lower_memory(l, value, &v->shape.type, &temporary);
	if (err)
		return err;
	i = lower_op(l, OP_COPY);
	i->s = v->slot;
	i->t = temporary;
	return 0;
}

static uint16_t negated(struct lower *l, uint16_t reg)
{
	struct insn *i = lower_op(l, OP_NEG);

	i->a = reg;
	return i->d = lower_reg(l);
}

/* What the map holds, combined with `by`. */
static uint16_t combined(struct lower *l, const struct stmt *s, uint16_t key, uint16_t by)
{
	struct insn *i = lower_op(l, OP_MAP_GET);
	uint16_t value = i->d = lower_reg(l);

	i->map = (uint16_t)s->target->map->index;
	i->s = key;
	lower_binary_op(l, s->op, s->target->map->value.is_signed, value, by, value);
	return value;
}

/* @m += n and @m -= n are atomic; other operators read, compute and write. */
static int lower_map_compound(struct lower *l, const struct stmt *s)
{
	bool is_add = s->op == OPERATOR_ADD, is_sub = s->op == OPERATOR_SUB;
	uint16_t key, value;
	struct insn *i;
	int err = lower_word(l, s->value, &value);

	if (!err)
		err = lower_key(l, s->target, &key);
	if (err)
		return err;
	if (is_add || is_sub)
		value = lower_scaled(l, s->target, s->value, value);
	if (is_sub)
		value = negated(l, value);
	else if (!is_add)
		value = combined(l, s, key, value);
	i = lower_op(l, is_add || is_sub ? OP_MAP_ADD : OP_MAP_SET);
	i->map = (uint16_t)s->target->map->index;
	i->s = key;
	i->a = value;
	return 0;
}

static int lower_compound(struct lower *l, const struct stmt *s)
{
	uint16_t by, reg;
	int err;

	if (s->target->kind == EXPR_MAP)
		return lower_map_compound(l, s);
	err = lower_word(l, s->value, &by);
	if (err)
		return err;
	reg = s->target->variable->reg;
	if (s->op == OPERATOR_ADD || s->op == OPERATOR_SUB)
		by = lower_scaled(l, s->target, s->value, by);
	lower_binary_op(l, s->op, s->target->variable->shape.type.is_signed, reg, by, reg);
	lower_fit(l, s->target->variable);
	return 0;
}

static int lower_assign(struct lower *l, const struct stmt *s)
{
	if (s->op)
		return lower_compound(l, s);
	if (s->target->kind == EXPR_MAP)
		return lower_map_assign(l, s);
	return lower_variable_assign(l, s->target, s->value);
}

static int lower_if(struct lower *l, const struct stmt *s)
{
	struct label other = {0}, end = {0};
	int err = lower_jump(l, s->value, false, &other);

	if (!err)
		err = lower_body(l, s->body);
	if (s->other)
		lower_goto(l, OP_JUMP, REG_NO, &end);
	lower_bind(l, &other);
	if (!err)
		err = lower_body(l, s->other);
	lower_bind(l, &end);
	return err;
}

/* A body that makes no code makes none however often: unrolls of unrolls of nothing would never
 * come to an end. */
static int lower_unroll(struct lower *l, const struct stmt *s)
{
	size_t before = l->count;
	int err = 0;

	for (uint64_t n = 0; n < s->value->value && !err && !l->failed; n++) {
		err = lower_body(l, s->body);
		if (l->count == before)
			break;
	}
	return err;
}

/* How many loops are nested within, at the deepest. */
static unsigned loops_within(const struct stmt *s)
{
	unsigned most = 0;

	for (; s; s = s->next) {
		unsigned body = loops_within(s->body), other = loops_within(s->other);

		body += s->kind == STMT_WHILE || s->kind == STMT_FOR;
		most = body > most ? body : most;
		most = other > most ? other : most;
	}
	return most;
}

/* The rounds of a loop whose end is not known now: a fair part of what is left for nested ones. */
static uint64_t dynamic_rounds(const struct lower *l, const struct stmt *s)
{
	uint64_t left = PROGRAM_MAX_ROUNDS / l->rounds;
	unsigned bits = left ? 63 - (unsigned)__builtin_clzll(left) : 0;
	uint64_t rounds = UINT64_C(1) << (bits / (loops_within(s->body) + 1));

	return rounds > MAX_DYNAMIC_ROUNDS ? MAX_DYNAMIC_ROUNDS : rounds;
}

/* A loop being made: where it began and what was around it. */
struct loop {
	size_t start;
	uint64_t rounds;
	struct label leave, again;
	struct label *outer_leave, *outer_again;
};

static int loop_open(struct lower *l, const struct stmt *s, uint64_t rounds, struct loop *loop)
{
	uint64_t all;

	if (__builtin_mul_overflow(rounds, l->rounds, &all))
		all = UINT64_MAX;
	if (all > PROGRAM_MAX_ROUNDS)
		return diag_error_at(l->d, -EINVAL, "long-loop", script_span(l->s, s->mark),
				     "this loop takes %llu rounds, which is too many",
				     (unsigned long long)all);
	*loop = (struct loop){.start = l->count,
			      .rounds = rounds,
			      .outer_leave = l->leave,
			      .outer_again = l->again};
	lower_op(l, OP_LOOP)->imm = (int64_t)rounds;
	l->rounds *= rounds;
	l->leave = &loop->leave;
	l->again = &loop->again;
	return 0;
}

static void loop_close(struct lower *l, struct loop *loop)
{
	lower_bind(l, &loop->again);
	lower_op(l, OP_NEXT)->target = (uint32_t)loop->start;
	if (!l->failed)
		l->code[loop->start].target = (uint32_t)l->count;
	lower_bind(l, &loop->leave);
	l->rounds /= loop->rounds;
	l->leave = loop->outer_leave;
	l->again = loop->outer_again;
}

static int lower_while(struct lower *l, const struct stmt *s)
{
	struct loop loop;
	int err = loop_open(l, s, dynamic_rounds(l, s), &loop);

	if (err)
		return err;
	err = lower_jump(l, s->value, false, l->leave);
	if (!err)
		err = lower_body(l, s->body);
	loop_close(l, &loop);
	return err;
}

/* Rounds of a range: one more than values, as the last round finds the end. The widest range has
 * 2^64 - 1 values, all of them far too many. */
static uint64_t range_rounds(const struct lower *l, const struct stmt *s)
{
	int64_t from = (int64_t)s->value->value, to = (int64_t)s->to->value;

	if (!s->value->is_const || !s->to->is_const)
		return dynamic_rounds(l, s);
	if (from >= to)
		return 1;
	return (uint64_t)to - (uint64_t)from == UINT64_MAX ? UINT64_MAX
							   : (uint64_t)to - (uint64_t)from + 1;
}

/* $i runs one behind a hidden counter, so that continue may skip the rest of the body. */
static int lower_for(struct lower *l, const struct stmt *s)
{
	uint16_t next = lower_reg(l), end = lower_reg(l), one, more;
	struct loop loop;
	struct insn *i;
	int err = lower_word_to(l, s->value, next);

	if (!err)
		err = lower_word_to(l, s->to, end);
	one = lower_const(l, 1);
	i = lower_op(l, OP_CONST);
	i->d = s->target->variable->reg;
	if (!err)
		err = loop_open(l, s, range_rounds(l, s), &loop);
	if (err)
		return err;
	more = lower_reg(l);
	lower_binary_op(l, OPERATOR_LT, true, next, end, more);
	lower_goto(l, OP_JUMP_NOT, more, l->leave);
	i = lower_op(l, OP_MOV);
	i->d = s->target->variable->reg;
	i->a = next;
	lower_binary_op(l, OPERATOR_ADD, true, next, one, next);
	err = lower_body(l, s->body);
	loop_close(l, &loop);
	return err;
}

static int lower_let(struct lower *l, const struct stmt *s)
{
	return s->value ? lower_variable_assign(l, s->target, s->value) : 0;
}

static int lower_any_stmt(struct lower *l, const struct stmt *s)
{
	switch (s->kind) {
	case STMT_EXPR: return lower_effect(l, s->value);
	case STMT_ASSIGN: return lower_assign(l, s);
	case STMT_LET: return lower_let(l, s);
	case STMT_IF: return lower_if(l, s);
	case STMT_UNROLL: return lower_unroll(l, s);
	case STMT_WHILE: return lower_while(l, s);
	case STMT_FOR: return lower_for(l, s);
	case STMT_BLOCK: return lower_body(l, s->body);
	case STMT_BREAK: lower_goto(l, OP_JUMP, REG_NO, l->leave); return 0;
	case STMT_CONTINUE: lower_goto(l, OP_JUMP, REG_NO, l->again); return 0;
	case STMT_RETURN: lower_op(l, OP_RETURN); return 0;
	}
	return 0;
}

/* What the statement used is free again behind it. */
static void release(struct lower *l, uint32_t next_reg)
{
	l->next_reg = next_reg;
	for (size_t i = 0; i < l->slot_count; i++)
		if (l->slots[i].is_busy && l->slots[i].owner == l->depth)
			l->slots[i].is_busy = false;
}

static int lower_stmt(struct lower *l, const struct stmt *s)
{
	uint32_t next_reg = l->next_reg;
	bool copy_reads = l->copy_reads;
	int err;

	l->place = s->place - 1;
	l->depth++;
	l->copy_reads = steps_variable(s->value) || steps_variable(s->target);
	err = lower_any_stmt(l, s);
	l->copy_reads = copy_reads;
	release(l, next_reg);
	l->depth--;
	return err;
}

static int lower_body(struct lower *l, const struct stmt *s)
{
	int err = 0;

	for (; s && !err && !l->failed; s = s->next)
		err = lower_stmt(l, s);
	return err;
}

/* Registers and slots of variables, for the whole clause; zero where a read might come first. */
static void place_variables(struct lower *l)
{
	struct insn *i;

	for (struct variable *v = l->v->variables; v; v = v->next) {
		bool is_word = type_is_word(&v->shape.type);

		v->reg = is_word ? lower_reg(l) : REG_NO;
		v->slot = is_word ? SLOT_NO : lower_slot(l, &v->shape.type);
		if (!v->needs_zero)
			continue;
		i = lower_op(l, is_word ? OP_CONST : OP_ZERO);
		i->d = v->reg;
		i->s = v->slot;
	}
}

static int finish(struct lower *l, struct clause *out)
{
	struct slot *slots = arena_array(l->arena, struct slot, l->slot_count + 1);

	if (l->failed || !slots) {
		diag_error_at(l->d, -E2BIG, "too-big", script_span(l->s, l->v->clause->mark),
			      "the code of this clause gets too big");
		return -E2BIG;
	}
	for (size_t i = 0; i < l->slot_count; i++)
		slots[i].type = l->slots[i].type;
	out->code = l->code;
	out->insn_count = (uint32_t)l->count;
	out->reg_count = l->most_regs;
	out->slots = slots;
	out->slot_count = (uint32_t)l->slot_count;
	out->span = script_span(l->s, l->v->clause->mark);
	return 0;
}

/* Text lies at one depth below all statements, so that slots of variables stay busy. */
int lower_variant(struct lower *l, struct variant *v, struct clause *out)
{
	const struct expr *p = v->clause->predicate;
	struct label end = {0};
	int err = 0;

	l->v = v;
	l->place = v->clause->place - 1;
	l->rounds = 1;
	if (!err && p) {
		uint32_t next_reg = l->next_reg;

		l->depth++;
		l->copy_reads = steps_variable(p);
		err = lower_jump(l, p, false, &end);
		l->copy_reads = false;
		release(l, next_reg);
		l->depth--;
	}
	place_variables(l);
	if (!err)
		err = lower_body(l, v->clause->body);
	lower_bind(l, &end);
	lower_op(l, OP_RETURN);
	return err ? err : finish(l, out);
}
