/* Statements -> code, and the clause around them. */
#include "script/lower/lower.h"

#include <errno.h>

#include "script/check/check.h"
#include "script/check/map.h"
#include "script/check/value_type.h"
#include "script/lower/emit.h"
#include "script/lower/saved_args.h"
#include "script/lower/loop.h"
#include "script/parse/probe_spec.h"

/* Does the expression step a variable? Then reads before it must be copies: in $x + $x++ the left
 * side is what $x was. Other statements use the variable's register as it is. */
static bool steps_variable(const struct expr *e)
{
	if (!e)
		return false;
	if (e->kind == EXPR_BLOCK)
		return true; /* may assign to it */
	if (e->kind == EXPR_STEP && e->args[0]->kind == EXPR_VARIABLE)
		return true;
	for (unsigned i = 0; i < e->arg_count; i++)
		if (steps_variable(e->args[i]))
			return true;
	return false;
}

static void lower_map_assign(struct lower *l, const struct stmt *s)
{
	const struct type *type = &s->target->map->value;
	uint16_t value, key;

	if (s->target->map->series.count) {
		lower_series(l, s);
	} else if (type_is_aggregate(type)) {
		key = lower_key(l, s->target);
		value = s->value->arg_count ? lower_word(l, s->value->args[0]) : REG_NO;
		emit_map(l, OP_AGGREGATE, s->target->map, key)->a = value;
	} else if (type_is_word(type)) {
		value = lower_word(l, s->value);
		emit_map(l, OP_MAP_SET, s->target->map, lower_key(l, s->target))->a = value;
	} else {
		value = lower_memory(l, s->value, type);
		emit_map(l, OP_MAP_PUT, s->target->map, lower_key(l, s->target))->t = value;
	}
}

static void lower_variable_assign(struct lower *l, const struct expr *target,
				  const struct expr *value)
{
	const struct variable *v = target->variable;

	if (type_is_word(&v->shape.type)) {
		lower_word_to(l, value, v->reg);
		lower_fit(l, v);
	} else if (value->kind != EXPR_TUPLE && value->kind != EXPR_TERNARY) {
		lower_memory_to(l, value, v->slot);
	} else {
		/* What is built piece by piece may read the variable meanwhile. */
		emit_sti(l, OP_COPY, v->slot, lower_memory(l, value, &v->shape.type), 0);
	}
}

/* @m += n and @m -= n are atomic; other operators read, compute and write. */
static void lower_map_compound(struct lower *l, const struct stmt *s)
{
	const struct map *m = s->target->map;
	bool is_sub = s->op == OPERATOR_SUB, is_sum = is_sub || s->op == OPERATOR_ADD;
	uint16_t by = lower_word(l, s->value), key = lower_key(l, s->target), value;

	if (is_sum)
		by = lower_scaled(l, s->target, s->value, by);
	value = is_sum && !is_sub ? by : lower_reg(l);
	if (is_sub)
		emit_dai(l, OP_NEG, value, by, 0);
	if (!is_sum) {
		emit_map(l, OP_MAP_GET, m, key)->d = value;
		emit_operator(l, s->op, m->value.is_signed, value, by, value);
	}
	emit_map(l, is_sum ? OP_MAP_ADD : OP_MAP_SET, m, key)->a = value;
}

static void lower_variable_compound(struct lower *l, const struct stmt *s)
{
	const struct variable *v = s->target->variable;
	uint16_t by = lower_word(l, s->value);

	if (s->op == OPERATOR_ADD || s->op == OPERATOR_SUB)
		by = lower_scaled(l, s->target, s->value, by);
	emit_operator(l, s->op, v->shape.type.is_signed, v->reg, by, v->reg);
	lower_fit(l, v);
}

static void lower_if(struct lower *l, const struct stmt *s)
{
	struct label other = {0}, end = {0};

	if (stmt_skips(s, true) || stmt_skips(s, false)) {
		lower_body(l, stmt_skips(s, true) ? s->other : s->body);
		return;
	}
	lower_jump(l, s->value, false, &other);
	lower_body(l, s->body);
	if (s->other)
		lower_goto(l, OP_JUMP, REG_NO, &end);
	lower_bind(l, &other);
	lower_body(l, s->other);
	lower_bind(l, &end);
}

/* A test that returns something else than 0 ends with status 1. */
static void lower_verdict(struct lower *l, const struct expr *value)
{
	const struct format f = {.kind = FORMAT_EXIT, .exit_code = 1};
	struct label passed = {0};

	lower_goto(l, OP_JUMP_NOT, lower_word(l, value), &passed);
	lower_emit(l, &f, NULL);
	lower_bind(l, &passed);
}

static void lower_return(struct lower *l, const struct stmt *s)
{
	bool is_verdict =
		!s->leaves_function && s->value && l->v->clause->probes->type == PROBE_TEST;

	if (s->target)
		lower_variable_assign(l, s->target, s->value);
	else if (is_verdict)
		lower_verdict(l, s->value);
	else if (s->value)
		lower_effect(l, s->value);
	if (s->leaves_function)
		lower_goto(l, OP_JUMP, REG_NO, l->end_function);
	else
		lower_op(l, OP_RETURN);
}

static void lower_any_stmt(struct lower *l, const struct stmt *s)
{
	bool is_map = s->target && s->target->kind == EXPR_MAP;

	switch (s->kind) {
	case STMT_EXPR: lower_effect(l, s->value); break;
	case STMT_ASSIGN:
		if (is_map)
			(s->op ? lower_map_compound : lower_map_assign)(l, s);
		else if (s->op)
			lower_variable_compound(l, s);
		else
			lower_variable_assign(l, s->target, s->value);
		break;
	case STMT_LET:
		if (s->value)
			lower_variable_assign(l, s->target, s->value);
		break;
	case STMT_IF: lower_if(l, s); break;
	case STMT_UNROLL: lower_unroll(l, s); break;
	case STMT_WHILE: lower_while(l, s); break;
	case STMT_FOR: (s->to ? lower_for : lower_for_map)(l, s); break;
	case STMT_BLOCK: lower_body(l, s->body); break;
	case STMT_BREAK: lower_goto(l, OP_JUMP, REG_NO, l->leave); break;
	case STMT_CONTINUE: lower_goto(l, OP_JUMP, REG_NO, l->again); break;
	case STMT_RETURN: lower_return(l, s); break;
	}
}

/* What the statement used is free again. */
static void release_registers(struct lower *l, uint32_t next_reg)
{
	l->next_reg = next_reg;
	for (size_t i = 0; i < l->slot_count; i++)
		if (l->slots[i].is_busy && l->slots[i].owner == l->depth)
			l->slots[i].is_busy = false;
}

static void lower_stmt(struct lower *l, const struct stmt *s)
{
	uint32_t next_reg = l->next_reg;
	bool copy_reads = l->copy_reads;

	l->span = s->span - 1;
	l->depth++;
	l->copy_reads = steps_variable(s->value) || steps_variable(s->target);
	lower_any_stmt(l, s);
	l->copy_reads = copy_reads;
	release_registers(l, next_reg);
	l->depth--;
}

void lower_body(struct lower *l, const struct stmt *s)
{
	for (; s && !l->err; s = s->next)
		lower_stmt(l, s);
}

/* Registers and slots of variables, for the whole clause; zero where a read might come first. */
static void place_variables(struct lower *l)
{
	for (struct variable *v = l->v->variables; v; v = v->next) {
		bool is_word = type_is_word(&v->shape.type);

		if (!v->is_typed)
			continue; /* let $x; and no more of it */
		v->reg = is_word ? lower_reg(l) : REG_NO;
		v->slot = is_word ? SLOT_NO : lower_slot(l, &v->shape.type);
		if (v->needs_zero && is_word)
			emit_di(l, OP_CONST, v->reg, 0);
		else if (v->needs_zero)
			emit_si(l, OP_ZERO, v->slot, 0);
	}
}

/* Variables belong to depth 0, below all statements, so that their slots stay busy. The predicate
 * comes before them, since no variable has a value there; its registers are free again after it. */
int lower_variant(struct lower *l, struct variant *v, struct clause *out)
{
	struct label end = {0};

	l->v = v;
	l->span = v->clause->span - 1;
	l->rounds = 1;
	if (l->saved)
		saved_args_open(l, l->saved, &end);
	if (v->clause->predicate) {
		l->depth++;
		l->copy_reads = steps_variable(v->clause->predicate);
		lower_jump(l, v->clause->predicate, false, &end);
		l->copy_reads = false;
		release_registers(l, 0);
		l->depth--;
	}
	place_variables(l);
	lower_body(l, v->clause->body);
	lower_bind(l, &end);
	lower_op(l, OP_RETURN);
	if (l->saved)
		saved_args_close(l);
	return lower_finish(l, out);
}
