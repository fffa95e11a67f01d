/* Maps in expressions: found by name, their keys and what they hold. The first use fixes the type,
 * later ones may widen it. */
#include <errno.h>

#include "script/inside.h"

struct map *check_map(struct check *c, struct str name)
{
	struct map **last = &c->s->maps;
	struct map *m;

	for (; *last; last = &(*last)->next)
		if ((*last)->name.len == name.len + 1 &&
		    !memcmp((*last)->name.ptr + 1, name.ptr, name.len))
			return *last;
	m = arena_new(&c->s->arena, struct map);
	if (!m)
		return NULL;
	m->name = arena_printf(&c->s->arena, "@%.*s", STR_FMT(name));
	m->index = c->s->map_count++;
	*last = m;
	return m;
}

/* Pointers are shown as addresses in keys. */
static struct type one_key(const struct expr *e)
{
	struct type t = e->shape.type;

	if (t.pointers)
		t.show = SHOW_POINTER;
	return t;
}

/* The type of all keys together: one key's own, a tuple for several. */
static int key_type(struct check *c, struct expr *e, struct type *out)
{
	struct type *elements;

	if (e->arg_count < 2) {
		*out = e->arg_count ? one_key(e->args[0]) : (struct type){.kind = TYPE_NONE};
		return 0;
	}
	elements = arena_array(&c->s->arena, struct type, e->arg_count);
	if (!elements)
		return -ENOMEM;
	for (unsigned i = 0; i < e->arg_count; i++)
		elements[i] = one_key(e->args[i]);
	*out = (struct type){
		.kind = TYPE_TUPLE, .elements = elements, .element_count = e->arg_count};
	return 0;
}

static int key_mismatch(struct check *c, const struct expr *e, const struct type *key)
{
	struct map *m = e->map;
	struct diag *d = c->d;

	if (m->key.kind == TYPE_NONE)
		check_error(c, e, "key-mismatch", "'%.*s' has a key here, but none elsewhere",
			    STR_FMT(m->name));
	else if (key->kind == TYPE_NONE)
		check_error(c, e, "key-mismatch", "'%.*s' needs a key of type %s", STR_FMT(m->name),
			    check_type_text(c, &m->key));
	else
		check_error(c, e, "key-mismatch", "'%.*s' has keys of type %s, not %s",
			    STR_FMT(m->name), check_type_text(c, &m->key), check_type_text(c, key));
	diag_hint(d, "the first use fixes the key: '%.*s'", (int)m->key_mark.len,
		  c->s->text.ptr + m->key_mark.at);
	return -EINVAL;
}

int check_map_key(struct check *c, struct expr *e)
{
	struct type key;
	struct map *m = check_map(c, e->text);
	int err = m ? 0 : -ENOMEM;

	e->map = m;
	for (unsigned i = 0; i < e->arg_count && !err; i++) {
		err = check_expr(c, e->args[i]);
		if (!err)
			err = check_storable(c, e->args[i], "a key");
	}
	if (!err)
		err = key_type(c, e, &key);
	if (err)
		return err;
	if (!m->has_key) {
		m->has_key = true;
		m->key = key;
		m->key_mark = e->mark;
		c->changed = true;
	} else if (check_merge(c, &m->key, &key)) {
		return key_mismatch(c, e, &key);
	}
	if (e->arg_count == 1)
		check_widen(c, e->args[0], &m->key);
	for (unsigned i = 0; e->arg_count > 1 && i < e->arg_count; i++)
		check_widen(c, e->args[i], &m->key.elements[i]);
	return 0;
}

int check_map_read(struct check *c, struct expr *e)
{
	int err = check_map_key(c, e);
	struct type *value;

	if (err)
		return err;
	value = &e->map->value;
	e->map->is_read = true;
	e->shape = shape_int(true);
	if (!e->map->has_value) {
		/* A later clause may store something: the last pass knows, and speaks. */
		return check_error(c, e, "undefined-map", "'%.*s' is read but never assigned",
				   STR_FMT(e->map->name));
	}
	if (!type_is_readable(value))
		return check_error(c, e, "wrong-type", "the %s in '%.*s' can only be printed",
				   value->kind == TYPE_STATS ? "statistics" : "histogram",
				   STR_FMT(e->map->name));
	if (type_is_aggregate(value))
		e->shape = shape_int(value->kind != TYPE_COUNT && value->is_signed);
	else
		e->shape = shape_of(*value);
	return 0;
}
