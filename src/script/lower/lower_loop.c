/* Loops -> code, and how many rounds each may have: the limit of all rounds is shared by loops
 * within one another, those that calls make among them. */
#include "script/lower/loop.h"

#include <errno.h>

#include "script/check/map.h"
#include "script/check/value_type.h"
#include "script/lower/emit.h"
#include "script/lower/map_defs.h"
#include "script/parse/builtin.h"

#define MAX_DYNAMIC_ROUNDS (1u << 20)
#define MAX_SEARCH_ROUNDS  (1u << 13)
#define USUAL_ENTRIES	   256u /* of a map, for the limit of nested loops */

static uint64_t weigh_expr(const struct expr *e);
static bool unroll_loops(const struct stmt *s);

/* Parts of the tree, each of which is an instruction or two. */
static uint64_t weigh_body(const struct stmt *s)
{
	uint64_t sum = 0, body;

	for (; s; s = s->next) {
		body = weigh_body(s->body);
		if (s->kind == STMT_UNROLL && !unroll_loops(s))
			body *= s->value->value;
		sum += 1 + body + weigh_body(s->other) + weigh_expr(s->target) +
		       weigh_expr(s->value) + weigh_expr(s->to);
	}
	return sum;
}

static uint64_t weigh_expr(const struct expr *e)
{
	uint64_t sum = e ? 1 + weigh_body(e->body) : 0;

	for (unsigned i = 0; e && i < e->arg_count; i++)
		sum += weigh_expr(e->args[i]);
	return sum;
}

#define UNROLL_MOST 300 /* parts of the tree: the kernel follows each path through copies of it */

/* Does it run its body in a loop, rather than have copies of it? */
static bool unroll_loops(const struct stmt *s)
{
	return s->value->value * weigh_body(s->body) > UNROLL_MOST;
}

/* A body that makes no code makes none however often: unrolls of unrolls of nothing would never
 * come to an end. */
static void lower_copies(struct lower *l, const struct stmt *s)
{
	size_t before = l->count;

	for (uint64_t n = 0; n < s->value->value && !l->err; n++) {
		lower_body(l, s->body);
		if (l->count == before)
			break;
	}
}

static uint64_t usual_entries(const struct lower *l, const struct map *m)
{
	uint32_t most = map_entries(l->s, m);

	return most < USUAL_ENTRIES ? most : USUAL_ENTRIES;
}

/* Bytes that the text of `e` may have. */
static uint64_t most_bytes(const struct expr *e)
{
	return e->kind == EXPR_STRING ? e->text.len : e->shape.type.size;
}

uint64_t search_most_rounds(const struct expr *e)
{
	return (most_bytes(e->args[0]) + 1) * (most_bytes(e->args[1]) + 1);
}

uint64_t normalize_most_rounds(const struct expr *e)
{
	return 2 * (uint64_t)e->shape.type.size + 4;
}

/* What runs in each round of a loop. */
struct inner {
	unsigned loops;	 /* nested within one another, at the deepest */
	uint64_t rounds; /* of the longest loop that a call makes; 1: none does */
};

static struct inner inner_of_body(const struct lower *l, const struct stmt *s);

static void deepen_loops(struct inner *most, struct inner other)
{
	most->loops = other.loops > most->loops ? other.loops : most->loops;
	most->rounds = other.rounds > most->rounds ? other.rounds : most->rounds;
}

/* Rounds of the loop that a call is made of. A search for a long text in another leaves most of
 * those that it may need at worst to the loop around it. */
static uint64_t call_rounds(const struct lower *l, const struct expr *e)
{
	struct str name = str_from(e->kind == EXPR_CALL && e->function ? e->function->name : "");
	uint64_t search;

	if (e->kind == EXPR_MAP && e->map && e->map->series.count)
		return (uint64_t)e->map->series.count + 1;
	if (str_eq_text(name, "len") && e->args[0]->kind == EXPR_MAP && !e->args[0]->arg_count)
		return usual_entries(l, e->args[0]->map);
	if (str_eq_text(name, "memcmp"))
		return e->args[2]->value + 1;
	if (str_eq_text(name, "normalize"))
		return normalize_most_rounds(e);
	if (!str_eq_text(name, "strstr") && !str_eq_text(name, "strcontains"))
		return 1;
	search = search_most_rounds(e);
	return search < MAX_SEARCH_ROUNDS ? search : MAX_SEARCH_ROUNDS;
}

static struct inner inner_of_expr(const struct lower *l, const struct expr *e)
{
	struct inner most = inner_of_body(l, e ? e->body : NULL);

	for (unsigned i = 0; e && i < e->arg_count; i++)
		deepen_loops(&most, inner_of_expr(l, e->args[i]));
	if (e)
		deepen_loops(&most, (struct inner){.rounds = call_rounds(l, e)});
	return most;
}

static struct inner inner_of_body(const struct lower *l, const struct stmt *s)
{
	struct inner most = {.rounds = 1};

	for (; s; s = s->next) {
		struct inner body = inner_of_body(l, s->body);

		body.loops += s->kind == STMT_WHILE || s->kind == STMT_FOR ||
			      (s->kind == STMT_UNROLL && unroll_loops(s));
		deepen_loops(&most, body);
		deepen_loops(&most, inner_of_body(l, s->other));
		deepen_loops(&most, inner_of_expr(l, s->target));
		deepen_loops(&most, inner_of_expr(l, s->value));
		deepen_loops(&most, inner_of_expr(l, s->to));
	}
	return most;
}

/* The rounds of a loop whose end is not known now: a fair part of what is left for nested ones,
 * and for those that calls make. Of n loops each gets the nth root of it, rounded down to a power
 * of two. */
static uint64_t dynamic_rounds(const struct lower *l, const struct stmt *s)
{
	struct inner inner = inner_of_body(l, s->body);
	uint64_t left, rounds;
	unsigned bits;

	if (s->kind == STMT_WHILE)
		deepen_loops(&inner, inner_of_expr(l, s->value));
	left = PROGRAM_MAX_ROUNDS / l->rounds / inner.rounds;
	bits = left ? 63 - (unsigned)__builtin_clzll(left) : 0;
	rounds = UINT64_C(1) << (bits / (inner.loops + 1));
	return rounds > MAX_DYNAMIC_ROUNDS ? MAX_DYNAMIC_ROUNDS : rounds;
}

static struct insn *open_loop(struct lower *l, struct mark mark, enum op op, uint64_t rounds,
			      struct loop *loop)
{
	struct insn *i;
	uint64_t all;

	if (__builtin_mul_overflow(rounds, l->rounds, &all))
		all = UINT64_MAX;
	if (all > PROGRAM_MAX_ROUNDS && !l->err)
		l->err = diag_error_at(l->d, -EINVAL, "long-loop", script_span(l->s, mark),
				       "this loop can run %llu rounds: the limit is %d",
				       (unsigned long long)all, PROGRAM_MAX_ROUNDS);
	*loop = (struct loop){.start = l->count,
			      .outer_rounds = l->rounds,
			      .outer_leave = l->leave,
			      .outer_again = l->again};
	i = lower_op(l, op);
	i->imm = (int64_t)rounds;
	l->rounds = all;
	l->leave = &loop->leave;
	l->again = &loop->again;
	return i;
}

void loop_open(struct lower *l, struct mark mark, uint64_t rounds, struct loop *loop)
{
	open_loop(l, mark, OP_LOOP, rounds, loop);
}

struct insn *loop_open_entries(struct lower *l, struct mark mark, const struct map *m, uint16_t key,
			       struct loop *loop)
{
	bool is_word = type_is_word(&m->value) || type_is_aggregate(&m->value);
	struct insn *i =
		open_loop(l, mark, is_word ? OP_EACH : OP_EACH_COPY, usual_entries(l, m), loop);

	i->map = (uint16_t)m->index;
	i->s = key;
	return i;
}

void loop_close(struct lower *l, struct loop *loop)
{
	lower_bind(l, &loop->again);
	lower_op(l, OP_NEXT)->target = (uint32_t)loop->start;
	if (!l->err)
		l->code[loop->start].target = (uint32_t)l->count;
	lower_bind(l, &loop->leave);
	l->rounds = loop->outer_rounds;
	l->leave = loop->outer_leave;
	l->again = loop->outer_again;
}

void lower_while(struct lower *l, const struct stmt *s)
{
	struct loop loop;

	loop_open(l, s->mark, dynamic_rounds(l, s), &loop);
	lower_jump(l, s->value, false, l->leave);
	lower_body(l, s->body);
	loop_close(l, &loop);
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

/* $kv is put together from a key and a value. */
void lower_for_map(struct lower *l, const struct stmt *s)
{
	const struct map *m = s->value->map;
	const struct type *pair = &s->target->variable->shape.type;
	uint16_t variable = s->target->variable->slot, key = lower_slot(l, &m->key);
	bool is_word = type_is_word(&pair->elements[1]);
	uint16_t value = is_word ? lower_reg(l) : lower_slot(l, &m->value);
	uint64_t offset = type_memory(&m->key);
	uint16_t word = lower_reg(l);
	struct loop loop;
	struct insn *i;

	i = loop_open_entries(l, s->mark, m, key, &loop);
	*(is_word ? &i->d : &i->t) = value;
	if (type_is_word(&m->key)) {
		emit_ds(l, OP_GET, word, key, 0);
		emit_put(l, variable, 0, word);
	} else {
		emit_sti(l, OP_COPY, variable, key, 0);
	}
	if (is_word)
		emit_put(l, variable, offset, value);
	else
		emit_sti(l, OP_COPY, variable, value, offset);
	lower_body(l, s->body);
	loop_close(l, &loop);
}

/* $i is a copy of a hidden counter, which is one ahead: so continue may skip the rest of the body.
 */
void lower_for(struct lower *l, const struct stmt *s)
{
	uint16_t next = lower_reg(l), end = lower_reg(l), variable = s->target->variable->reg;
	uint16_t one, more;
	struct loop loop;

	lower_word_to(l, s->value, next);
	lower_word_to(l, s->to, end);
	one = lower_const(l, 1);
	emit_di(l, OP_CONST, variable, 0);
	loop_open(l, s->mark, range_rounds(l, s), &loop);
	more = lower_reg(l);
	emit_operator(l, OPERATOR_LT, true, next, end, more);
	lower_goto(l, OP_JUMP_NOT, more, l->leave);
	emit_dai(l, OP_MOV, variable, next, 0);
	emit_operator(l, OPERATOR_ADD, true, next, one, next);
	lower_body(l, s->body);
	loop_close(l, &loop);
}

/* The loop has one round more, which finds the end. "break" in it is one out of the loop around it,
 * as in copies of the body. */
void lower_unroll(struct lower *l, const struct stmt *s)
{
	uint16_t left, one;
	struct loop loop;

	if (!unroll_loops(s)) {
		lower_copies(l, s);
		return;
	}
	left = lower_const(l, s->value->value);
	one = lower_const(l, 1);
	loop_open(l, s->mark, s->value->value + 1, &loop);
	lower_goto(l, OP_JUMP_NOT, left, l->leave);
	emit_operator(l, OPERATOR_SUB, false, left, one, left);
	l->leave = loop.outer_leave;
	l->again = loop.outer_again;
	lower_body(l, s->body);
	loop_close(l, &loop);
}
