/* The text of a value that is kept as a number: strerror(n), and probe. Where a script compares it,
 * looks into it or measures it, the value becomes a text: a cast, which has all texts there can be
 * as literals, and finds the one of the number by halves. */
#include "script/check/value_text.h"

#include <errno.h>

#include "program/op.h"
#include "program/enum_text.h"
#include "script/check/check.h"
#include "script/check/value_type.h"
#include "script/parse/builtin.h"
#include "script/resolve/attachment.h"

#define NAMES_MOST 256 /* of places that a clause is attached to */

/* Are these the names of places, of which a clause knows its own? */
bool expr_is_place_name(const struct expr *e)
{
	return e->kind == EXPR_NAME && e->function && e->shape.type.kind == TYPE_NAME &&
	       (e->function->number == BUILTIN_PROBE || e->function->number == BUILTIN_FUNC);
}

uint32_t place_name_at(const struct expr *e, const struct attachment *p)
{
	return e->function->number == BUILTIN_FUNC ? p->attach.func : p->attach.name;
}

/* How many texts there may be; 0: the value is of another kind. */
unsigned value_text_count(const struct variant *v, const struct expr *e)
{
	if (expr_is_place_name(e))
		return (unsigned)v->count;
	return enum_text_count(&e->shape.type) ? enum_text_count(&e->shape.type) + 1 : 0;
}

/* One of them, by its place in their order; it lives in the arena. */
struct str value_text_at(struct script *s, const struct variant *v, const struct expr *e,
			 unsigned i)
{
	struct buf text = BUF_INIT;
	struct str copy;

	if (expr_is_place_name(e))
		return s->names.items[place_name_at(e, v->attachments[i])];
	enum_text_at(&e->shape.type, i, &text);
	copy = text.failed ? str_of(NULL, 0) : arena_str(&s->arena, buf_as_str(&text));
	buf_free(&text);
	return copy;
}

static void refuse_many(struct check *c, const struct expr *e)
{
	check_error(c, e, "too-big", "as a text '%.*s' can have %u names at most, not %zu",
		    STR_FMT(e->text), NAMES_MOST, c->v->count);
	diag_hint(c->d, "compare it with a whole name, or have fewer probes in the clause");
}

bool check_enum_text(struct check *c, struct expr *e)
{
	static const struct ctype string = {.kind = CTYPE_NAMED, .name = STR("string")};
	struct expr **args;

	if (c->err || !value_text_count(c->v, e))
		return false;
	args = arena_array(&c->s->arena, struct expr *, 1);
	if (args)
		args[0] = new_constant(c, e, *e);
	if (!args || !args[0]) {
		c->err = -ENOMEM;
		return false;
	}
	e->kind = EXPR_CAST;
	e->named = &string;
	e->args = args;
	e->arg_count = 1;
	check_expr(c, e);
	return true;
}

bool check_enum_text_cast(struct check *c, struct expr *e)
{
	const struct expr *a = e->args[0];
	unsigned count = value_text_count(c->v, a);
	size_t most = 1;

	if (expr_is_place_name(a) && count > NAMES_MOST)
		refuse_many(c, a);
	for (unsigned i = 0; i < count && !c->err; i++) {
		size_t len = value_text_at(c->s, c->v, a, i).len;

		most = len > most ? len : most;
	}
	if (count)
		e->shape = shape_of(type_text(TYPE_STR, most));
	return count;
}
