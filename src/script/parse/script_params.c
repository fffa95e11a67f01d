/* Options of the script's own: getopt("name", default, "what it does"), given after the script as
 * --name=value. What begins with -- among the parameters is one of these; the other parameters are
 * $1, $2 and so on. */
#include <errno.h>

#include "script/parse/parse.h"
#include "script/parse/script_state.h"

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

const struct named_param *params_find(const struct script *s, struct str name)
{
	for (unsigned i = s->named_count; i; i--)
		if (str_eq(s->named[i - 1].name, name))
			return &s->named[i - 1];
	return NULL;
}
