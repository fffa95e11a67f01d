/* Functions of maps: count and the other aggregations, clear zero delete has_key. */
#include <errno.h>

#include "script/builtins/function.h"
#include "script/check/map.h"
#include "script/lower/emit.h"
#include "script/lower/loop.h"

/* count(), sum(n), min(n), max(n), avg(n), stats(n): the row has the type */
static void check_aggregate(struct check *c, struct expr *e)
{
	(void)c;
	e->shape = shape_of((struct type){
		.kind = (enum type_kind)e->function->number,
		.is_signed = e->arg_count && e->args[0]->shape.type.is_signed,
		.is_open = e->arg_count && e->args[0]->shape.type.is_open,
	});
}

/* bit_or(n): bits have no sign */
static void check_bit_or(struct check *c, struct expr *e)
{
	(void)c;
	e->shape = shape_of((struct type){.kind = TYPE_BIT_OR, .show = SHOW_HEX});
}

#define MOST_BITS 6

/* hist(n), hist(n, k) */
static void check_hist(struct check *c, struct expr *e)
{
	uint64_t bits = e->arg_count > 1 ? e->args[1]->value : 0;

	if (bits > MOST_BITS)
		check_error(c, e->args[1], "wrong-arg-type",
			    "the bits of a histogram must be from 0 to %d", MOST_BITS);
	e->shape = shape_of((struct type){.kind = TYPE_HIST,
					  .is_signed = e->args[0]->shape.type.is_signed,
					  .is_open = e->args[0]->shape.type.is_open,
					  .bits = (uint8_t)bits});
}

/* lhist(n, min, max, step) */
static void check_lhist(struct check *c, struct expr *e)
{
	int64_t min = (int64_t)e->args[1]->value, max = (int64_t)e->args[2]->value,
		step = (int64_t)e->args[3]->value;
	uint64_t range = (uint64_t)max - (uint64_t)min;

	if (step <= 0)
		check_error(c, e->args[3], "wrong-arg-type", "the step must be positive");
	else if (min >= max)
		check_error(c, e->args[2], "wrong-arg-type",
			    "the maximum must be greater than the minimum");
	else if ((uint64_t)step > range)
		check_error(c, e->args[3], "wrong-arg-type",
			    "the step %lld is larger than the range, %llu", (long long)step,
			    (unsigned long long)range);
	else if (range / (uint64_t)step > PROGRAM_MAX_LHIST)
		check_error(c, e, "too-big", "too many steps: the limit is %d", PROGRAM_MAX_LHIST);
	e->shape =
		shape_of((struct type){.kind = TYPE_LHIST, .min = min, .max = max, .step = step});
}

/* clear(@m), zero(@m) */
static void check_whole_map(struct check *c, struct expr *e)
{
	check_filled(c, e->args[0], "used");
	if (e->function->number == FORMAT_CLEAR && e->args[0]->map)
		e->args[0]->map->is_emptied = true;
}

static void lower_whole_map(struct lower *l, const struct expr *e, uint16_t out)
{
	(void)out;
	if (e->number) /* a print before it does it */
		return;
	lower_emit(l,
		   &(struct format){.kind = (enum format_kind)e->function->number,
				    .map = e->args[0]->map->index},
		   NULL);
}

/* One entry: @m[key]; or @m with a key of its own, where a tuple stands for several keys. */
static void check_entry(struct check *c, struct expr *map)
{
	check_map_key(c, map);
	if (!c->err)
		map->map->is_read = true;
	check_filled(c, map, "used");
}

static void take_key(struct expr *map, struct expr **key)
{
	bool is_tuple = (*key)->kind == EXPR_TUPLE;

	map->args = is_tuple ? (*key)->args : key;
	map->arg_count = is_tuple ? (*key)->arg_count : 1;
}

/* has_key(@m, key), delete(@m, key), delete(@m[key], @n[key]) */
static void check_keyed(struct check *c, struct expr *e)
{
	struct expr *map = e->args[0];

	for (unsigned i = 0; i < e->arg_count && !c->err; i++)
		if (e->args[i]->kind != EXPR_MAP && (!i || map->arg_count))
			check_error(c, e->args[i], "wrong-arg-type", "'%s' expects a map",
				    e->function->name);
	if (!c->err && !map->arg_count && e->arg_count > 2)
		check_error(c, e, "wrong-arg-count", "'%s' takes one key", e->function->name);
	if (c->err)
		return;
	if (!map->arg_count && e->arg_count == 2) {
		take_key(map, &e->args[1]);
		e->arg_count = 1;
	}
	for (unsigned i = 0; i < e->arg_count && !c->err; i++)
		check_entry(c, e->args[i]);
}

static void check_delete(struct check *c, struct expr *e)
{
	check_keyed(c, e);
	for (unsigned i = 0; i < e->arg_count && !c->err; i++)
		e->args[i]->map->is_emptied = true;
}

/* Who asks what delete() found needs no warning. */
static void lower_delete(struct lower *l, const struct expr *e, uint16_t out)
{
	bool is_reported = out == REG_NO && l->s->options.report_missing_keys;
	uint16_t found = is_reported ? lower_reg(l) : out;

	for (unsigned i = 0; i < e->arg_count; i++) {
		if (e->args[i]->map->series.count)
			lower_series_find(l, e->args[i], true,
					  found != REG_NO ? found : lower_reg(l));
		else
			emit_map(l, OP_MAP_DEL, e->args[i]->map, lower_key(l, e->args[i]))->d =
				found;
		if (is_reported)
			lower_missing(l, found, FAULT_DELETION);
	}
}

/* find(@m, key, $v): the first check makes it find(@m[key], $v) */
static void check_find(struct check *c, struct expr *e)
{
	struct expr *map = e->args[0], *v = e->args[e->arg_count - 1];

	if (map->kind != EXPR_MAP || (e->arg_count == 3) == !!map->arg_count)
		check_error(c, map, "wrong-arg-type", "'find' expects a map, a key and a variable");
	else if (v->kind != EXPR_VARIABLE)
		check_error(c, v, "wrong-arg-type", "'find' expects a variable");
	if (c->err)
		return;
	if (e->arg_count == 3) {
		struct expr **args = arena_array(&c->s->arena, struct expr *, 2);

		take_key(map, &e->args[1]);
		if (!args) {
			c->err = -ENOMEM;
			return;
		}
		args[0] = map;
		args[1] = v;
		e->args = args;
		e->arg_count = 2;
	}
	check_map_read(c, map);
	c->block_depth++; /* the variable may stay without a value */
	check_assign_variable(c, v, map, e->mark);
	c->block_depth--;
}

static void lower_find(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct expr *map = e->args[0];
	const struct variable *v = e->args[1]->variable;
	uint16_t key = lower_key(l, map);
	struct label absent = {0};

	emit_map(l, OP_MAP_HAS, map->map, key)->d = out;
	lower_goto(l, OP_JUMP_NOT, out, &absent);
	if (type_is_word(&v->shape.type)) {
		emit_map(l, OP_MAP_GET, map->map, key)->d = v->reg;
		lower_fit(l, v);
	} else {
		emit_map(l, OP_MAP_COPY, map->map, key)->t = v->slot;
	}
	lower_bind(l, &absent);
}

/* len(@m), len(ustack) */
static void check_len(struct check *c, struct expr *e)
{
	struct expr *a = e->args[0];

	if (a->kind != EXPR_MAP || a->arg_count) {
		check_expr(c, a);
		if (!c->err && a->shape.type.kind != TYPE_USTACK &&
		    a->shape.type.kind != TYPE_KSTACK)
			check_error(c, a, "wrong-arg-type",
				    "'len' expects a map or a stack, not %s",
				    check_type_text(c, &a->shape.type));
		return;
	}
	a->map = check_map(c, a->text);
	if (!c->err && !c->d && !a->map->has_value)
		return; /* what is assigned may be made of the number: @m[len(@m)] = 1 */
	check_filled(c, a, "used");
	if (!c->err && a->map->key.kind == TYPE_NONE)
		check_error(c, a, "key-mismatch", "'%.*s' has no keys to count",
			    STR_FMT(a->map->name));
	else if (!c->err)
		a->map->is_read = true;
}

static void lower_len(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct expr *a = e->args[0];
	uint16_t one, key;
	struct loop loop;
	struct insn *i;

	if (a->kind != EXPR_MAP || a->arg_count) {
		emit_ds(l, OP_LENGTH, out, lower_memory(l, a, &a->shape.type), 0);
		return;
	}
	one = lower_const(l, 1);
	key = lower_slot(l, a->map->series.count ? &a->map->series_key : &a->map->key);
	emit_di(l, OP_CONST, out, 0);
	i = loop_open_entries(l, e->mark, a->map, key, &loop);
	if (i->op == OP_EACH_COPY)
		i->t = lower_slot(l, &a->map->value);
	emit_operator(l, OPERATOR_ADD, false, out, one, out);
	loop_close(l, &loop);
}

static void lower_has_key(struct lower *l, const struct expr *e, uint16_t out)
{
	if (e->args[0]->map->series.count)
		lower_series_find(l, e->args[0], false, out);
	else
		emit_map(l, OP_MAP_HAS, e->args[0]->map, lower_key(l, e->args[0]))->d = out;
}

/* Millionths: 99.9 -> 999000. The language has no such numbers, so the text is read; 0: it is not
 * one. */
static uint32_t millionths_of(struct str text)
{
	uint64_t value = 0, unit = MILLION / 100;
	size_t i = 0;

	for (; i < text.len && char_is_digit(text.ptr[i]) && value <= MILLION; i++)
		value = value * 10 + unit * (uint64_t)(text.ptr[i] - '0');
	if (i < text.len && text.ptr[i++] != '.')
		return 0;
	for (; i < text.len && char_is_digit(text.ptr[i]) && unit >= 10; i++) {
		unit /= 10;
		value += unit * (uint64_t)(text.ptr[i] - '0');
	}
	return i == text.len && value <= MILLION ? (uint32_t)value : 0;
}

/* pct(@m, p), pct(@m[key], p) */
static void check_pct(struct check *c, struct expr *e)
{
	struct expr *map = e->args[0];
	struct mark mark = e->args[1]->mark;

	if (map->kind != EXPR_MAP)
		check_error(c, map, "wrong-arg-type", "'pct' expects a map");
	if (c->err)
		return;
	check_map_key(c, map);
	e->number = millionths_of(str_of(c->s->text.ptr + mark.at, mark.len));
	if (!c->err && !e->number)
		check_error(c, e->args[1], "wrong-arg-type",
			    "'pct' expects a number above 0 and up to 100, such as 99.9");
	e->shape = shape_int(true);
	check_filled(c, map, "read");
	if (c->err || !map->map->has_value)
		return;
	if (map->map->value.kind != TYPE_HIST && map->map->value.kind != TYPE_LHIST) {
		check_error(c, map, "wrong-type", "'pct' expects a histogram: '%.*s' holds %s",
			    STR_FMT(map->map->name), check_type_text(c, &map->map->value));
		diag_hint(c->d, "fill the map with hist(), such as '%.*s = hist(nsecs)'",
			  STR_FMT(map->map->name));
		return;
	}
	map->map->is_read = map->map->is_fine = true;
	c->changed |= type_refine(&map->map->value);
	e->shape = shape_int(map->map->value.kind == TYPE_LHIST || map->map->value.is_signed);
}

static void lower_pct(struct lower *l, const struct expr *e, uint16_t out)
{
	struct insn *i = emit_map(l, OP_PERCENTILE, e->args[0]->map, lower_key(l, e->args[0]));

	i->d = out;
	i->imm = (int64_t)e->number;
}

/* clang-format off */

/* name, arguments, group, needs, probe types, result, check, lowering, number, help, example */
const struct function map_rows[] = {
	{ "clear", "m", GROUP_STATEMENT, 0, 0, NO_RESULT, check_whole_map, lower_whole_map, FORMAT_CLEAR,
	  "remove all entries of a map", "@m[1] = count(); clear(@m);" },
	{ "zero", "m", GROUP_STATEMENT, 0, 0, NO_RESULT, check_whole_map, lower_whole_map, FORMAT_ZERO,
	  "set all values of a map to 0", "@m[1] = count(); zero(@m);" },
	{ "delete", "x[xxxxxxx", GROUP_FUNCTION, NEED_NO_REG, 0, RESULT_BOOL, check_delete, lower_delete, 0,
	  "remove one entry of a map; was there one?", "@m[1] = 1; delete(@m[1]);" },
	{ "has_key", "x[x", GROUP_FUNCTION, 0, 0, RESULT_BOOL, check_keyed, lower_has_key, 0,
	  "does the map have an entry with this key?", "@m[1] = 1; if (has_key(@m, 1)) { exit(); }" },
	{ "find", "xx[x", GROUP_FUNCTION, 0, 0, RESULT_BOOL, check_find, lower_find, 0,
	  "is there such an entry? then $v is its value", "@m[1] = 1; if (find(@m, 1, $v)) { print($v); }" },
	{ "pct", "xx", GROUP_FUNCTION, 0, 0, RESULT_S64, check_pct, lower_pct, 0,
	  "the percentile of a histogram's values", "@h = hist(arg0); print(pct(@h, 99.9));" },
	{ "len", "x", GROUP_FUNCTION, 0, 0, RESULT_S64, check_len, lower_len, 0,
	  "entries of a map, frames of a stack", "@m[1] = 1; print(len(@m));" },
	{ "count", "", GROUP_AGGREGATION, 0, 0, NO_RESULT, check_aggregate, NULL, TYPE_COUNT,
	  "the number of events", "@[comm] = count();" },
	{ "sum", "i", GROUP_AGGREGATION, 0, 0, NO_RESULT, check_aggregate, NULL, TYPE_SUM,
	  "total of all values", "@bytes = sum(arg0);" },
	{ "min", "i", GROUP_AGGREGATION, 0, 0, NO_RESULT, check_aggregate, NULL, TYPE_MIN,
	  "the smallest value", "@ = min(arg0);" },
	{ "max", "i", GROUP_AGGREGATION, 0, 0, NO_RESULT, check_aggregate, NULL, TYPE_MAX,
	  "the largest value", "@ = max(arg0);" },
	{ "bit_or", "i", GROUP_AGGREGATION, 0, 0, NO_RESULT, check_bit_or, NULL, TYPE_BIT_OR,
	  "the bits that were set in any value", "@ = bit_or(arg0);" },
	{ "avg", "i", GROUP_AGGREGATION, 0, 0, NO_RESULT, check_aggregate, NULL, TYPE_AVG,
	  "the average", "@ = avg(arg0);" },
	{ "stats", "i", GROUP_AGGREGATION, 0, 0, NO_RESULT, check_aggregate, NULL, TYPE_STATS,
	  "count, average and total", "@ = stats(arg0);" },
	{ "hist", "i[c", GROUP_AGGREGATION, 0, 0, NO_RESULT, check_hist, NULL, TYPE_HIST,
	  "histogram by powers of two", "@ = hist(arg0);" },
	{ "lhist", "iccc", GROUP_AGGREGATION, 0, 0, NO_RESULT, check_lhist, NULL, TYPE_LHIST,
	  "histogram with buckets of equal width", "@ = lhist(arg0, 0, 100, 10);" },
	{ .name = NULL },
};
/* clang-format on */
