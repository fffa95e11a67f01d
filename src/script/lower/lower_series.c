/* Time series -> code. The map has an entry for each key and interval, of an ordinary kind,
 * so that every engine has it: the last value is a number, "sum" is a sum(), and so on. A second
 * map, the ring, has for each key `count` places, which the intervals take in turn: who takes a
 * place removes the entry of the interval that had it. Two events that find the same new interval
 * at once do the same, so nothing is lost. */
#include "script/lower/lower.h"

#include "script/check/map.h"
#include "script/lower/emit.h"
#include "script/lower/loop.h"

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
