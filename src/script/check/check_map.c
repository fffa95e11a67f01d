/* Maps in expressions: found by name, their keys and what they hold. The first use fixes the type,
 * later ones may widen it. */
#include "script/check/map.h"

#include <errno.h>

#include "program/enum_text.h"
#include "script/check/check.h"
#include "script/check/value_text.h"
#include "script/check/value_type.h"
#include "script/parse/builtin.h"

struct map *check_map(struct check *c, struct str name)
{
	struct map **last = &c->s->maps;
	struct map *m;

	if (c->err)
		return NULL;
	for (; *last; last = &(*last)->next)
		if ((*last)->name.len == name.len + 1 &&
		    !memcmp((*last)->name.ptr + 1, name.ptr, name.len))
			return *last;
	m = arena_new(&c->s->arena, struct map);
	if (!m) {
		c->err = -ENOMEM;
		return NULL;
	}
	m->name = arena_printf(&c->s->arena, "@%.*s", STR_FMT(name));
	m->index = c->s->map_count++;
	*last = m;
	return m;
}

/* The type of all keys together: one key's own, a tuple for several. */
static struct type key_type(struct check *c, const struct expr *e)
{
	struct type *elements;

	if (e->arg_count < 2)
		return e->arg_count ? e->args[0]->shape.type : (struct type){.kind = TYPE_NONE};
	elements = arena_array(&c->s->arena, struct type, e->arg_count);
	if (!elements)
		c->err = -ENOMEM;
	for (unsigned i = 0; elements && i < e->arg_count; i++)
		elements[i] = e->args[i]->shape.type;
	return (struct type){
		.kind = TYPE_TUPLE, .elements = elements, .element_count = e->arg_count};
}

static void key_mismatch(struct check *c, const struct expr *e, const struct type *key)
{
	struct map *m = e->map;

	if (m->key.kind == TYPE_NONE)
		check_error(c, e, "key-mismatch", "'%.*s' has a key here, but none elsewhere",
			    STR_FMT(m->name));
	else if (key->kind == TYPE_NONE)
		check_error(c, e, "key-mismatch", "'%.*s' needs a key of type %s", STR_FMT(m->name),
			    check_type_text(c, &m->key));
	else
		check_error(c, e, "key-mismatch", "'%.*s' has keys of type %s, not %s",
			    STR_FMT(m->name), check_type_text(c, &m->key), check_type_text(c, key));
	diag_hint(c->d, "the first use fixes the key: '%.*s'", (int)m->key_mark.len,
		  c->s->text.ptr + m->key_mark.at);
}

/* What is known of the n-th of `count` keys; NULL: nothing. */
static const struct type *known_key(const struct map *m, unsigned n, unsigned count)
{
	if (!m->has_key || count == 1)
		return m->has_key ? &m->key : NULL;
	return m->key.kind == TYPE_TUPLE && n < m->key.element_count ? &m->key.elements[n] : NULL;
}

/* The n-th of `count` keys is a text, in all uses: what was met before is spelled out, too. */
static void key_is_text(struct check *c, struct map *m, unsigned n, const struct type *text)
{
	struct type *elements;

	c->changed = true;
	if (m->key.kind != TYPE_TUPLE) {
		m->key = *text;
		return;
	}
	elements = arena_array(&c->s->arena, struct type, m->key.element_count);
	if (!elements) {
		c->err = -ENOMEM;
		return;
	}
	memcpy(elements, m->key.elements, m->key.element_count * sizeof(*elements));
	elements[n] = *text;
	m->key.elements = elements;
}

/* Of texts and values that are kept as numbers: all keys are texts. */
static void spell_key(struct check *c, struct map *m, unsigned n, unsigned count, struct expr *e)
{
	const struct type *known = known_key(m, n, count);

	if (c->err || !known)
		return;
	if (known->kind == TYPE_STR)
		check_enum_text(c, e);
	else if (e->shape.type.kind == TYPE_STR &&
		 (known->kind == TYPE_NAME || enum_text_count(known)))
		key_is_text(c, m, n, &e->shape.type);
}

void check_map_key(struct check *c, struct expr *e)
{
	struct map *m = e->map = check_map(c, e->text);
	struct type key;

	for (unsigned i = 0; i < e->arg_count && !c->err; i++) {
		const struct type *known = known_key(m, i, e->arg_count);

		check_expr(c, e->args[i]);
		check_storable(c, e->args[i], "a key");
		if (known)
			check_reorder(c, e->args[i], known);
		spell_key(c, m, i, e->arg_count, e->args[i]);
	}
	if (!c->err)
		key = key_type(c, e);
	if (c->err)
		return;
	if (!m->has_key) {
		m->has_key = true;
		m->key = key;
		m->key_mark = e->mark;
		c->changed = true;
	} else if (check_merge(c, &m->key, &key)) {
		key_mismatch(c, e, &key);
		return;
	}
	if (e->arg_count == 1)
		check_widen(c, e->args[0], &m->key);
	for (unsigned i = 0; e->arg_count > 1 && i < e->arg_count; i++)
		check_widen(c, e->args[i], &m->key.elements[i]);
}

/* A later clause may store something: the last pass knows, and speaks. */
void check_filled(struct check *c, const struct expr *map, const char *use)
{
	if (!c->err && map->map->is_never)
		diag_warn_at(c->d, "never-assigned", script_span(c->s, map->mark),
			     "'%.*s' is %s but never assigned: it is 0", STR_FMT(map->map->name),
			     use);
	if (!c->err && !map->map->has_value)
		check_error(c, map, "undefined-map", "'%.*s' is %s but never assigned",
			    STR_FMT(map->map->name), use);
}

bool maps_default(struct script *s)
{
	bool any = false;

	for (struct map *m = s->maps; m; m = m->next) {
		if (m->has_value || !m->is_read)
			continue;
		m->has_value = any = true;
		m->is_never = !m->is_target;
		m->value = type_int(8, true);
	}
	return any;
}

void check_is_readable(struct check *c, const struct expr *map)
{
	const struct type *value = &map->map->value;

	check_no_series(c, map, "read");
	if (type_is_readable(value))
		return;
	check_error(c, map, "wrong-type", "the %s in '%.*s' can only be printed",
		    value->kind == TYPE_STATS ? "statistics" : "histogram",
		    STR_FMT(map->map->name));
	if (value->kind == TYPE_STATS)
		diag_hint(c->d, "print(%.*s) shows them; maps of count() and sum() are numbers",
			  (int)map->mark.len, c->s->text.ptr + map->mark.at);
	else
		diag_hint(c->d, "print(%.*s) shows it, and pct() is a number",
			  STR_FMT(map->map->name));
}

void check_map_read(struct check *c, struct expr *e)
{
	struct type *value;

	check_map_key(c, e);
	if (c->err)
		return;
	value = &e->map->value;
	e->map->is_read = true; /* clearing it must be seen by programs: engine/bpf/run/stores.h */
	e->shape = shape_int(true);
	check_filled(c, e, "read");
	if (c->err)
		return;
	check_is_readable(c, e);
	if (type_is_aggregate(value)) {
		e->shape = shape_int(value->is_signed);
		e->shape.type.show = value->show;
	} else {
		e->shape = shape_of(*value);
	}
}

/* ---- maps of time series: tseries() is all that they are assigned */

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
