/* Calls and builtin names: the function is found, its arguments are checked against the letters of
 * its row in builtins.c, the rest is up to the row's own check. */
#include <errno.h>
#include <stdio.h>

#include "script/builtins.h"
#include "script/check.h"

static int wrong_count(struct check *c, const struct expr *e, const struct function *f)
{
	size_t least = strcspn(f->args, "[*"), most = strlen(f->args) - !!strchr(f->args, '[');

	if (strchr(f->args, '*'))
		return check_error(c, e, "wrong-arg-count", "'%s' takes at least %zu argument%s",
				   f->name, least, least == 1 ? "" : "s");
	if (least != most)
		return check_error(c, e, "wrong-arg-count",
				   "'%s' takes %zu to %zu arguments, not %u", f->name, least, most,
				   e->arg_count);
	return check_error(c, e, "wrong-arg-count", "'%s' takes %zu argument%s, not %u", f->name,
			   least, least == 1 ? "" : "s", e->arg_count);
}

static int check_map_arg(struct check *c, const struct function *f, struct expr *a, bool any)
{
	if (a->kind != EXPR_MAP)
		return check_error(c, a, "wrong-arg-type", "'%s' wants a map here", f->name);
	if (!any && a->arg_count)
		return check_error(c, a, "wrong-arg-type", "'%s' wants a whole map, without a key",
				   f->name);
	a->map = check_map(c, a->text);
	return a->map ? 0 : -ENOMEM;
}

static int check_arg(struct check *c, const struct function *f, struct expr *a, char letter)
{
	char what[64];
	int err;

	if (letter == 'x')
		return 0;
	if (letter == 'm' || letter == 'M')
		return check_map_arg(c, f, a, letter == 'M');
	if (letter == 's')
		return a->kind == EXPR_STRING
			       ? check_expr(c, a)
			       : check_error(c, a, "wrong-arg-type",
					     "'%s' wants a string in quotes here", f->name);
	err = check_expr(c, a);
	snprintf(what, sizeof(what), "this argument of '%s'", f->name);
	if (err)
		return err;
	switch (letter) {
	case 'i':
	case 'p': return check_int(c, a, what);
	case 'c':
		return expr_is_int(a) && a->is_const
			       ? 0
			       : check_error(c, a, "wrong-arg-type",
					     "'%s' wants a constant number here", f->name);
	case 't':
		return expr_is_text(a) || check_is_open(c, a)
			       ? 0
			       : check_error(c, a, "wrong-arg-type",
					     "'%s' wants a string here, not %s", f->name,
					     check_type_text(c, &a->shape.type));
	default: return a->is_whole ? 0 : check_storable(c, a, "an argument");
	}
}

static int check_args(struct check *c, const struct function *f, struct expr *e)
{
	const char *letter = f->args;
	bool optional = false;
	unsigned n = 0;
	int err = 0;

	for (; *letter && !err; letter++) {
		if (*letter == '[') {
			optional = true;
		} else if (*letter == '*') {
			for (; n < e->arg_count && !err; n++)
				err = check_arg(c, f, e->args[n], 'e');
			return err;
		} else if (n == e->arg_count) {
			return optional ? 0 : wrong_count(c, e, f);
		} else {
			err = check_arg(c, f, e->args[n++], *letter);
		}
	}
	if (!err && n < e->arg_count)
		return wrong_count(c, e, f);
	return err;
}

static int unknown_function(struct check *c, const struct expr *e)
{
	const char *guess = function_guess(e->text);

	if (function_is_foreign(e->text))
		return check_error(c, e, "unsupported", "'%.*s' is not supported yet",
				   STR_FMT(e->text));
	check_error(c, e, e->kind == EXPR_CALL ? "unknown-function" : "unknown-name",
		    "unknown %s '%.*s'", e->kind == EXPR_CALL ? "function" : "name",
		    STR_FMT(e->text));
	if (guess)
		diag_hint(c->d, "did you mean '%s'?", guess);
	return -EINVAL;
}

int check_call(struct check *c, struct expr *e)
{
	const struct function *f = function_find(e->text);
	int err;

	if (!f)
		return unknown_function(c, e);
	e->function = f;
	if (e->kind == EXPR_NAME && !(f->uses & USE_NAME)) {
		check_error(c, e, "not-called", "'%s' is a function", f->name);
		diag_hint(c->d, "write %s(...)", f->name);
		return -EINVAL;
	}
	if ((f->uses & USE_UNSAFE) && !c->s->options.unsafe) {
		check_error(c, e, "unsafe", "'%s' can change the system", f->name);
		diag_hint(c->d, "--unsafe allows it");
		return -EINVAL;
	}
	err = check_args(c, f, e);
	return err ? err : f->check(c, e);
}

int check_field(struct check *c, struct expr *e)
{
	const struct function *f = function_find(STR("args."));

	e->function = f;
	return f->check(c, e);
}
