/* getopt("name", default, "what it does"): the value of an option of the script. */
#include <errno.h>

#include "script/builtins/function.h"
#include "script/lower/emit.h"
#include "script/parse/lex.h"

static void set_const(struct expr *e, struct type t, uint64_t value)
{
	e->shape = shape_of(t);
	e->is_const = true;
	e->value = value;
}

static void bad_option(struct check *c, const struct expr *e, const struct named_param *p,
		       const char *wanted)
{
	if (p->has_value)
		check_error(c, e, "bad-option-value", "the option '--%.*s' expects %s, not '%.*s'",
			    STR_FMT(p->name), wanted, STR_FMT(p->value));
	else
		check_error(c, e, "bad-option-value", "the option '--%.*s' expects %s: --%.*s=...",
			    STR_FMT(p->name), wanted, STR_FMT(p->name));
}

static void option_bool(struct check *c, struct expr *e, const struct named_param *p)
{
	uint64_t value = e->arg_count > 1 ? e->args[1]->value : 0;
	struct type t = type_int(1, false);

	t.show = SHOW_BOOL;
	if (p && (!p->has_value || str_eq_text(p->value, "true") || str_eq_text(p->value, "1")))
		value = 1;
	else if (p && (str_eq_text(p->value, "false") || str_eq_text(p->value, "0")))
		value = 0;
	else if (p)
		bad_option(c, e, p, "true or false");
	set_const(e, t, value);
}

static void option_number(struct check *c, struct expr *e, const struct named_param *p)
{
	uint64_t value = e->args[1]->value;
	bool is_negative = p && str_starts(p->value, STR("-"));

	if (p && lex_number(str_of(p->value.ptr + is_negative, p->value.len - is_negative), &value))
		bad_option(c, e, p, "an integer");
	set_const(e, e->args[1]->shape.type, is_negative ? -value : value);
}

static struct str option_text(const struct script *s, const struct expr *e)
{
	const struct named_param *p = params_find(s, e->args[0]->text);

	return p ? p->value : e->args[1]->text;
}

/* sizeof() says what any value of the option would take. */
static void option_string(struct check *c, struct expr *e)
{
	e->shape = shape_of(type_text(TYPE_STR, option_text(c->s, e).len));
	e->shape.type.capacity = c->s->facts.max_strlen;
}

/* getopt("name"), getopt("name", default), getopt("name", default, "what it does"): the default's
 * type is the option's, and without one it is a bool */
static void check_getopt(struct check *c, struct expr *e)
{
	const struct named_param *p = params_find(c->s, e->args[0]->text);
	struct expr *otherwise = e->arg_count > 1 ? e->args[1] : NULL;

	if (otherwise)
		check_expr(c, otherwise);
	if (!c->err && e->arg_count > 2 && e->args[2]->kind != EXPR_STRING)
		check_error(c, e->args[2], "wrong-arg-type",
			    "what the option does is a string in quotes");
	if (c->err)
		return;
	if (!otherwise || (otherwise->is_const && otherwise->shape.type.show == SHOW_BOOL))
		option_bool(c, e, p);
	else if (otherwise->kind == EXPR_STRING && p && !p->has_value)
		bad_option(c, e, p, "a text");
	else if (otherwise->kind == EXPR_STRING)
		option_string(c, e);
	else if (expr_is_int(otherwise) && otherwise->is_const)
		option_number(c, e, p);
	else
		check_error(c, otherwise, "wrong-arg-type",
			    "the default of an option must be a constant");
}

static void lower_getopt(struct lower *l, const struct expr *e, uint16_t out)
{
	emit_si(l, OP_TEXT, out, lower_intern(l, &l->s->literals, option_text(l->s, e)));
}

/* clang-format off */
const struct function option_rows[] = {
	{ "getopt", "s[xx", GROUP_FUNCTION, 0, 0, NO_RESULT, check_getopt, lower_getopt, 0,
	  "an option of the script: --name=value", "$limit = getopt(\"limit\", 10, \"lines\"); print($limit);" },
	{ .name = NULL },
};
/* clang-format on */
