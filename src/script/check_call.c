/* Calls and builtin names: the function is found, its arguments are checked against the letters of
 * its row in builtins.c, the rest is up to the row's own check. */
#include <errno.h>
#include <stdio.h>

#include "script/inside.h"

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

static int check_map_arg(struct check *c, const struct function *f, struct expr *a)
{
	if (a->kind != EXPR_MAP)
		return check_error(c, a, "wrong-arg-type", "'%s' expects a map", f->name);
	if (a->arg_count)
		return check_error(c, a, "wrong-arg-type", "'%s' expects a map without a key",
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
	if (letter == 'm')
		return check_map_arg(c, f, a);
	if (letter == 's' || letter == 'f')
		return a->kind == EXPR_STRING
			       ? check_expr(c, a)
			       : check_error(c, a, "wrong-arg-type",
					     "'%s' expects a string in quotes", f->name);
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
			       : check_error(c, a, "wrong-arg-type", "'%s' expects a constant",
					     f->name);
	case 't':
		return expr_is_text(a) || check_is_open(c, a)
			       ? 0
			       : check_error(c, a, "wrong-arg-type",
					     "'%s' expects a string, not %s", f->name,
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
	struct str guess = function_guess(e->text);

	check_error(c, e, e->kind == EXPR_CALL ? "unknown-function" : "unknown-name",
		    "unknown %s '%.*s'", e->kind == EXPR_CALL ? "function" : "name",
		    STR_FMT(e->text));
	if (guess.len)
		diag_hint(c->d, "did you mean '%.*s'?", STR_FMT(guess));
	return -EINVAL;
}

/* "usdt, uprobe and uretprobe" */
static struct str probe_types_text(struct arena *a, unsigned probes)
{
	struct buf text = BUF_INIT;
	struct str copy;

	for (unsigned type = 0; probes; type++, probes >>= 1) {
		if (!(probes & 1))
			continue;
		if (text.len)
			buf_text(&text, probes > 1 ? ", " : " and ");
		buf_text(&text, probe_type_name((enum probe_type)type));
	}
	copy = arena_str(a, buf_as_str(&text));
	buf_free(&text);
	return copy;
}

/* Every probe of the clause must be of the types that the row names. */
static int check_probes(struct check *c, const struct expr *e, const struct function *f)
{
	struct str name = e->kind == EXPR_FIELD ? STR("args") : e->text;

	for (const struct probe_spec *s = c->v->clause->probes; f->probes && s; s = s->next)
		if (!(f->probes >> s->type & 1))
			return check_error(c, e, "not-here",
					   "'%.*s' can only be used in %.*s probes", STR_FMT(name),
					   STR_FMT(probe_types_text(&c->s->arena, f->probes)));
	return 0;
}

/* What holds for every row, and then what the row adds. */
static int check_row(struct check *c, struct expr *e, const struct function *f)
{
	int err = check_probes(c, e, f);

	e->shape = shape_of(f->result);
	if (!err && f->check)
		err = f->check(c, e);
	return err;
}

int check_call(struct check *c, struct expr *e)
{
	const struct function *f = function_find(e->text);
	int err;

	if (!f)
		return unknown_function(c, e);
	if (f->group == GROUP_FOREIGN)
		return check_error(c, e, "unsupported", "'%s' is not supported yet", f->name);
	e->function = f;
	if (e->kind == EXPR_NAME && f->group != GROUP_VALUE) {
		check_error(c, e, "not-called", "'%s' is a function", f->name);
		diag_hint(c->d, "write %s(...)", f->name);
		return -EINVAL;
	}
	if ((f->needs & NEED_UNSAFE) && !c->s->options.unsafe) {
		check_error(c, e, "unsafe", "'%s' can change the system", f->name);
		diag_hint(c->d, "--unsafe allows it");
		return -EINVAL;
	}
	err = check_args(c, f, e);
	return err ? err : check_row(c, e, f);
}

int check_field(struct check *c, struct expr *e)
{
	e->function = function_find(STR("args."));
	return check_row(c, e, e->function);
}
