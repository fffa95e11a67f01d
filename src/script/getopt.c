/* Options of the script's own: getopt("name", default, "what it does"), given after the script as
 * --name=value. What begins with -- among the parameters is one of these; the other parameters are
 * $1, $2 and so on. */
#include "script/inside.h"

#include <errno.h>
#include <stdlib.h>

#include "script/parse.h"

/* "--name=value", "--name"; false: a parameter without a name. */
static bool split_param(struct str text, struct named_param *out)
{
	ptrdiff_t equals;

	if (!str_starts(text, STR("--")) || text.len < 3)
		return false;
	text = str_of(text.ptr + 2, text.len - 2);
	equals = str_index(text, '=');
	*out = (struct named_param){.name = text};
	if (equals >= 0) {
		out->name.len = (size_t)equals;
		out->value = str_of(text.ptr + equals + 1, text.len - (size_t)equals - 1);
		out->has_value = true;
	}
	return true;
}

int params_take(struct script *s)
{
	unsigned count = s->options.param_count, kept = 0;
	struct str *copies = arena_array(&s->arena, struct str, count + 1);

	s->named = arena_array(&s->arena, struct named_param, count + 1);
	if (!copies || !s->named)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++) {
		struct str copy = arena_str(&s->arena, s->options.params[i]);

		if (!copy.ptr)
			return -ENOMEM;
		if (split_param(copy, &s->named[s->named_count]))
			s->named_count++;
		else
			copies[kept++] = copy;
	}
	s->options.params = copies;
	s->options.param_count = kept;
	return 0;
}

static bool same_default(const struct expr *a, const struct expr *b)
{
	bool same;

	if (!a || !b)
		return a == b;
	same = a->kind == b->kind && a->op == b->op && a->number == b->number &&
	       str_eq(a->text, b->text) && a->arg_count == b->arg_count;
	for (unsigned i = 0; same && i < a->arg_count; i++)
		same = same_default(a->args[i], b->args[i]);
	return same;
}

void parse_note_option(struct parser *p, const struct expr *e)
{
	const struct expr *otherwise = e->arg_count > 1 ? e->args[1] : NULL;
	struct declared_option **last, *o;

	if (p->err || !p->tree || !e->arg_count || e->args[0]->kind != EXPR_STRING)
		return;
	for (last = &p->tree->declared; *last; last = &(*last)->next) {
		if (!str_eq((*last)->name, e->args[0]->text))
			continue;
		if (!same_default((*last)->otherwise, otherwise))
			parse_error(p, e->mark, "option-default",
				    "the option '%.*s' has another default elsewhere",
				    STR_FMT(e->args[0]->text));
		return;
	}
	o = *last = arena_new(p->arena, struct declared_option);
	if (!o) {
		parse_fail(p, -ENOMEM);
		return;
	}
	o->name = e->args[0]->text;
	o->otherwise = otherwise;
	if (e->arg_count > 2 && e->args[2]->kind == EXPR_STRING)
		o->about = e->args[2]->text;
}

static bool is_declared(const struct script *s, struct str name)
{
	for (const struct declared_option *o = s->tree.declared; o; o = o->next)
		if (str_eq(o->name, name))
			return true;
	return false;
}

/* "its options are --limit, --all" */
static void list_options(const struct script *s, struct diag *d)
{
	struct buf list = BUF_INIT;

	for (const struct declared_option *o = s->tree.declared; o; o = o->next)
		buf_printf(&list, "%s--%.*s%s%.*s%s", list.len ? ", " : "", STR_FMT(o->name),
			   o->about.len ? " (" : "", STR_FMT(o->about), o->about.len ? ")" : "");
	if (list.len)
		diag_hint(d, "its options are %.*s", STR_FMT(buf_as_str(&list)));
	else
		diag_hint(d, "a script declares options with getopt(\"name\")");
	buf_free(&list);
}

/* "--limit=10", "--all" */
static void print_option(const struct script *s, const struct declared_option *o, struct buf *out)
{
	struct mark text = o->otherwise ? o->otherwise->mark : (struct mark){0, 0};

	buf_printf(out, "--%.*s", STR_FMT(o->name));
	if (text.len)
		buf_printf(out, "=%.*s", (int)text.len, s->text.ptr + text.at);
}

void script_help(const struct script *s, struct buf *out)
{
	struct buf option = BUF_INIT;
	int width = 0;

	buf_printf(out, s->tree.declared ? "Options of %.*s:\n" : "%.*s has no options\n",
		   STR_FMT(s->path));
	for (int is_last = 0; is_last < 2; is_last++)
		for (const struct declared_option *o = s->tree.declared; o; o = o->next) {
			buf_clear(&option);
			print_option(s, o, &option);
			if (!is_last)
				width = (int)option.len > width ? (int)option.len : width;
			else if (o->about.len)
				buf_printf(out, "  %-*.*s  %.*s\n", width,
					   STR_FMT(buf_as_str(&option)), STR_FMT(o->about));
			else
				buf_printf(out, "  %.*s\n", STR_FMT(buf_as_str(&option)));
		}
	buf_free(&option);
}

int params_check(struct script *s, struct diag *d)
{
	for (unsigned i = 0; i < s->named_count; i++) {
		struct str name = s->named[i].name;

		if (is_declared(s, name))
			continue;
		if (str_eq_text(name, "help")) {
			s->facts.wants_help = true;
			continue;
		}
		diag_error(d, -EINVAL, "unknown-param", "the script has no option '--%.*s'",
			   STR_FMT(name));
		list_options(s, d);
		return -EINVAL;
	}
	return 0;
}

/* The last one counts, as with every option. NULL: it is not given. */
static const struct named_param *find_named(const struct script *s, struct str name)
{
	for (unsigned i = s->named_count; i; i--)
		if (str_eq(s->named[i - 1].name, name))
			return &s->named[i - 1];
	return NULL;
}

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
	const struct named_param *p = find_named(s, e->args[0]->text);

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
	const struct named_param *p = find_named(c->s, e->args[0]->text);
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
