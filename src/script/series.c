/* tseries(): values over time. The map has an entry for each key and interval, of an ordinary kind,
 * so that every engine has it: the last value is a number, "sum" is a sum(), and so on. A second
 * map, the ring, has for each key `count` places, which the intervals take in turn: who takes a
 * place removes the entry of the interval that had it. Two events that find the same new interval
 * at once do the same, so nothing is lost. */
#include <errno.h>

#include "base/array.h"
#include "script/inside.h"

#define INTERVALS_MOST 1000000

/* What of an interval's values is kept. */
static const struct {
	const char *name;
	enum type_kind kind;
} kept[] = {
	{"sum", TYPE_SUM},
	{"min", TYPE_MIN},
	{"max", TYPE_MAX},
	{"avg", TYPE_AVG},
};

static bool find_kept(const struct expr *e, enum type_kind *out)
{
	for (size_t i = 0; i < COUNT(kept); i++)
		if ((e->kind == EXPR_STRING || e->kind == EXPR_NAME) &&
		    str_eq_text(e->text, kept[i].name)) {
			*out = kept[i].kind;
			return true;
		}
	return false;
}

/* tseries(n, interval, count), tseries(n, interval, count, "avg") */
static void check_tseries(struct check *c, struct expr *e)
{
	int64_t interval = (int64_t)e->args[1]->value, count = (int64_t)e->args[2]->value;
	enum type_kind kind = TYPE_INT;

	check_unstable(c, e, "unstable_tseries", c->s->facts.unstable_tseries);
	if (interval < 1)
		check_error(c, e->args[1], "wrong-arg-type",
			    "an interval must be at least 1 nanosecond, such as 100ms or 5s");
	else if (count < 1 || count > INTERVALS_MOST)
		check_error(c, e->args[2], "wrong-arg-type",
			    "the number of intervals is from 1 to %d", INTERVALS_MOST);
	else if (e->arg_count > 3 && !find_kept(e->args[3], &kind))
		check_error(c, e->args[3], "wrong-arg-type",
			    "'tseries' keeps the last value, or \"sum\", \"min\", \"max\" or "
			    "\"avg\"");
	e->shape = shape_of(type_int(8, e->args[0]->shape.type.is_signed));
	e->shape.type.kind = kind;
	e->shape.type.is_open = e->args[0]->shape.type.is_open;
}

bool expr_is_series(const struct expr *e)
{
	return e->kind == EXPR_CALL && e->function && e->function->check == check_tseries;
}

/* The keys of the script, and one more number: that of an interval, or of a place in the ring. */
static struct type series_key(struct check *c, const struct map *m)
{
	bool is_several = m->key.kind == TYPE_TUPLE && m->key.show == SHOW_NUMBER;
	unsigned count = m->key.kind == TYPE_NONE ? 0 : is_several ? m->key.element_count : 1;
	struct type *elements = arena_array(&c->s->arena, struct type, count + 1);
	struct type number = type_int(8, false);

	if (!elements)
		c->err = -ENOMEM;
	if (!elements || !count)
		return number;
	for (unsigned i = 0; i < count; i++)
		elements[i] = is_several ? m->key.elements[i] : m->key;
	elements[count] = number;
	return (struct type){.kind = TYPE_TUPLE, .elements = elements, .element_count = count + 1};
}

void check_series(struct check *c, struct expr *target, const struct expr *value)
{
	struct map *m = target->map;
	struct map_series series = {0};

	if (c->err)
		return;
	if (expr_is_series(value))
		series =
			(struct map_series){value->args[1]->value, (uint32_t)value->args[2]->value};
	if (m->is_assigned &&
	    (m->series.interval != series.interval || m->series.count != series.count)) {
		check_error(c, target, "series-mismatch",
			    "'%.*s' is assigned something else elsewhere", STR_FMT(m->name));
		return;
	}
	m->is_assigned = true;
	m->series = series;
	if (!series.count)
		return;
	if (!m->ring)
		m->ring = check_map(c,
				    arena_printf(&c->s->arena, "%.*s.ring", STR_FMT(target->text)));
	if (c->err)
		return;
	m->ring->is_hidden = m->ring->has_key = m->ring->has_value = true;
	m->ring->key = m->series_key = series_key(c, m);
	m->ring->value = type_int(8, false);
	m->ring->series = (struct map_series){0, series.count}; /* it has as many entries */
}

void check_no_series(struct check *c, const struct expr *map, const char *use)
{
	if (!c->err && map->map->series.count)
		check_error(c, map, "wrong-type",
			    "a time series cannot be %s, only printed, counted and cleared", use);
}

/* The key with another number at its end. */
static uint16_t numbered_key(struct lower *l, const struct map *m, uint16_t key, uint16_t number)
{
	uint16_t slot = lower_slot(l, &m->series_key);
	uint64_t end = type_memory(&m->series_key) - sizeof(uint64_t);

	if (end)
		emit_sti(l, OP_COPY, slot, key, 0);
	emit_put(l, slot, end, number);
	return slot;
}

/* The key of the interval: what the script says, then the interval's number. */
static uint16_t interval_key(struct lower *l, const struct expr *target, uint16_t interval)
{
	const struct map *m = target->map;
	uint16_t slot = lower_slot(l, &m->series_key);
	uint64_t end = type_memory(&m->series_key) - sizeof(uint64_t);

	emit_si(l, OP_ZERO, slot, 0);
	if (end)
		lower_key_parts(l, target, &m->series_key, slot);
	emit_put(l, slot, end, interval);
	return slot;
}

void lower_series(struct lower *l, const struct stmt *s)
{
	const struct expr *target = s->target, *call = s->value;
	const struct map *m = target->map;
	uint16_t n = lower_word(l, call->args[0]), time = lower_reg(l), interval = lower_reg(l);
	uint16_t place = lower_reg(l), next = lower_reg(l), old = lower_reg(l), is = lower_reg(l);
	uint16_t one = lower_const(l, 1), key, ring;
	struct label known = {0};

	emit_di(l, OP_BUILTIN, time, BUILTIN_NSECS);
	emit_operator(l, OPERATOR_ADD, false, time, lower_const(l, (uint64_t)l->s->wall_offset),
		      time);
	emit_dab(l, OP_UDIV, interval, time, lower_const(l, m->series.interval));
	emit_dab(l, OP_UMOD, place, interval, lower_const(l, m->series.count));
	key = interval_key(l, target, interval);
	ring = numbered_key(l, m, key, place);
	emit_operator(l, OPERATOR_ADD, false, interval, one, next);
	emit_map(l, OP_MAP_GET, m->ring, ring)->d = old;
	emit_operator(l, OPERATOR_EQ, false, old, next, is);
	lower_goto(l, OP_JUMP_IF, is, &known);
	emit_map(l, OP_MAP_SET, m->ring, ring)->a = next;
	lower_goto(l, OP_JUMP_NOT, old, &known);
	emit_operator(l, OPERATOR_SUB, false, old, one, old);
	emit_map(l, OP_MAP_DEL, m, numbered_key(l, m, key, old));
	lower_bind(l, &known);
	emit_map(l, m->value.kind == TYPE_INT ? OP_MAP_SET : OP_AGGREGATE, m, key)->a = n;
}

/* `found` = 1 if the key has any intervals, else 0; they are removed if so asked. */
void lower_series_find(struct lower *l, const struct expr *map, bool removes, uint16_t found)
{
	const struct map *m = map->map;
	uint16_t place = lower_reg(l), old = lower_reg(l), more = lower_reg(l);
	uint16_t one = lower_const(l, 1), count = lower_const(l, m->series.count);
	uint64_t end = type_memory(&m->series_key) - sizeof(uint64_t);
	uint16_t key;
	struct loop loop;

	emit_di(l, OP_CONST, found, 0);
	emit_di(l, OP_CONST, place, 0);
	key = interval_key(l, map, place);
	loop_open(l, map->mark, (uint64_t)m->series.count + 1, &loop);
	emit_operator(l, OPERATOR_LT, false, place, count, more);
	lower_goto(l, OP_JUMP_NOT, more, l->leave);
	emit_put(l, key, end, place);
	emit_operator(l, OPERATOR_ADD, false, place, one, place);
	emit_map(l, OP_MAP_GET, m->ring, key)->d = old;
	lower_goto(l, OP_JUMP_NOT, old, l->again);
	emit_di(l, OP_CONST, found, 1);
	if (removes) {
		emit_map(l, OP_MAP_DEL, m->ring, key);
		emit_operator(l, OPERATOR_SUB, false, old, one, old);
		emit_put(l, key, end, old);
		emit_map(l, OP_MAP_DEL, m, key);
	} else {
		lower_goto(l, OP_JUMP, REG_NO, l->leave);
	}
	loop_close(l, &loop);
}

/* clang-format off */

/* name, arguments, group, needs, probe types, result, check, lowering, number, help, example */
const struct function series_rows[] = {
	{ "tseries", "icc[x", GROUP_AGGREGATION, 0, 0, NO_RESULT, check_tseries, NULL, 0,
	  "values over time, in intervals", "@ = tseries(arg0, 100ms, 20, \"avg\");" },
	{ .name = NULL },
};
/* clang-format on */
