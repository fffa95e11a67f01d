/* Maps of time series: tseries() is all that they are assigned. */
#include "script/check/map.h"

#include <errno.h>

#include "script/check/check.h"
#include "script/parse/builtin.h"

bool expr_is_series(const struct expr *e)
{
	return e->kind == EXPR_CALL && e->function && !strcmp(e->function->name, "tseries");
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
