/* Arguments by name: args.word of usdt probes, and `args` as a whole.
 *
 * What an argument is to a script follows from its C type and its operand: text where it is known
 * to be the address of text, a number with its sign, a float. It differs from probe to probe and
 * from site to site, so all attachments of a variant have the same values where they are used. */
#include "script/check/named.h"

#include <errno.h>

#include "script/check/check.h"
#include "script/check/ctypes.h"
#include "script/check/value_type.h"

bool is_of_function(const struct attachment *p)
{
	return p->spec->type == PROBE_UPROBE || p->spec->type == PROBE_URETPROBE;
}

void check_readable(struct check *c, const struct expr *e, const struct attachment *p, unsigned n)
{
	struct str site = c->s->names.items[p->attach.name];
	unsigned count = p->params ? p->numbered : attachment_args(p);
	const char *problem;

	if (n >= count && e->kind == EXPR_NAME) {
		check_error(c, e, "missing-arg", "'%.*s' has no arg%u", STR_FMT(site), n);
		diag_hint(c->d, "it has %u argument%s", count, count == 1 ? "" : "s");
		return;
	}
	problem = attachment_unreadable(p, n, false);
	if (problem)
		c->err = program_refuse_arg(&p->attach,
					    (struct arg_use){n, site, script_span(c->s, e->mark)},
					    problem, c->d);
}

bool is_undescribed(struct check *c, const struct expr *e, const struct attachment *p)
{
	struct str site = c->s->names.items[p->attach.name];

	if (!is_of_function(p) || p->params)
		return false;
	if (p->attach.into) {
		check_error(c, e, "no-params", "'%.*s' is not the start of a function",
			    STR_FMT(site));
		diag_hint(c->d, "parameters have names only where their function begins");
		return true;
	}
	check_error(c, e, "no-params", "the parameters of '%.*s' are not known", STR_FMT(site));
	diag_hint(c->d, "compile the program with -g, or install the package with its debug "
			"information; arg0 needs none");
	return true;
}

static void unknown_name(struct check *c, const struct expr *e, const struct attachment *p)
{
	struct str site = c->s->names.items[p->attach.name];
	unsigned count = attachment_args(p);
	struct guess guess = {.nearest = 4};
	struct buf names = BUF_INIT;
	bool has_names = false;

	if (is_undescribed(c, e, p))
		return;
	count = p->params ? p->param_count : count;
	for (unsigned i = 0; i < count; i++) {
		unsigned n = p->params ? p->params[i] : i;
		struct str known = p->attach.args[n].name;

		buf_text(&names, i ? ", " : "");
		buf_escaped(&names, named_name(p, n, &c->s->arena));
		if (!known.len)
			continue;
		guess_offer(&guess, e->text, known);
		has_names = true;
	}
	check_error(c, e, "unknown-arg", "'%.*s' has no argument '%.*s'", STR_FMT(site),
		    STR_FMT(e->text));
	if (guess.best.len)
		diag_hint(c->d, "did you mean '%.*s'? its arguments: %.*s", STR_FMT(guess.best),
			  STR_FMT(buf_as_str(&names)));
	else if (has_names)
		diag_hint(c->d, "its arguments: %.*s", STR_FMT(buf_as_str(&names)));
	else if (count)
		diag_hint(
			c->d,
			"the names of its arguments are unknown: add a provider file, or use %.*s",
			STR_FMT(buf_as_str(&names)));
	else
		diag_hint(c->d, "it has no arguments");
	buf_free(&names);
}

struct str named_guess(const struct check *c, struct str name)
{
	const struct attachment_list *list = c->v->clause->attachments;
	struct guess guess = {.nearest = 3};

	for (size_t i = 0; list && i < list->count; i++) {
		const struct attach *at = &list->items[i]->attach;

		for (unsigned n = 0; n < attachment_args(list->items[i]); n++)
			if (at->args[n].name.len)
				guess_offer(&guess, name, at->args[n].name);
	}
	return guess.best;
}

/* A struct that is passed by value is a place, whose members are read one by one. As a part of
 * `args` it becomes a value at once; false: it cannot. */
static bool check_by_value(struct check *c, struct expr *e, const struct arg_value *v)
{
	struct check quiet = *c;

	e->is_place = true;
	e->passed = v->passed;
	e->shape = shape_of((struct type){.kind = TYPE_NONE, .ctype = check_ctype(c, v->place_of)});
	if (!e->is_part)
		return true;
	quiet.d = NULL;
	check_settle(&quiet, e);
	e->is_place = !quiet.err;
	return e->is_place;
}

void check_named(struct check *c, struct expr *e)
{
	const struct attachment *p = c->v->attachments[0];
	struct arg_value v;
	unsigned n;

	if (!named_find(p, e->text, &n)) {
		unknown_name(c, e, p);
		return;
	}
	v = named_value_for(p, e, n);
	e->shape = v.is_text && e->is_part ? named_text_shape(p) : v.shape;
	if (v.shape.type.kind != TYPE_NONE)
		return;
	if (v.place_of && check_by_value(c, e, &v))
		return;
	if (e->is_part) {
		/* print(args) shows a note in its place, and the other arguments as they are. */
		e->shape = shape_of((struct type){.kind = TYPE_NAME});
	} else if (v.is_unreadable) {
		check_readable(c, e, p, n);
	} else {
		check_error(c, e, "large-arg",
			    "'%.*s' is a value of %llu bytes, too large for a script",
			    STR_FMT(e->text), (unsigned long long)v.size);
		diag_hint(c->d, "use arg%u for the raw operand", n);
	}
}

bool check_as_text(struct check *c, struct expr *e)
{
	if (c->err || !is_named_text(c->v, e))
		return false;
	e->shape = named_text_shape(c->v->attachments[0]);
	return true;
}

/* The number of an expression argN that the attachments have; false for others. */
static bool is_numbered_arg(const struct check *c, const struct expr *e, unsigned *n)
{
	return e->kind == EXPR_NAME && c->v->count && arg_number(e->text, n) &&
	       *n < attachment_args(c->v->attachments[0]);
}

void check_as_float(struct check *c, struct expr *e)
{
	struct arg_value v;
	unsigned n;

	if (!is_numbered_arg(c, e, &n))
		return;
	v = named_value(c->v->attachments[0], n);
	if (v.shape.type.kind == TYPE_FLOAT)
		e->shape = v.shape;
}

void hint_no_float(struct check *c, const struct expr *e)
{
	const struct attach *at;
	unsigned n;

	if (!is_numbered_arg(c, e, &n))
		return;
	at = &c->v->attachments[0]->attach;
	diag_hint(c->d, "arg%u ('%.*s') of '%.*s' at 0x%llx is not known to be a float", n,
		  STR_FMT(at->args[n].operand.raw), STR_FMT(c->s->names.items[at->name]),
		  (unsigned long long)at->offset);
}

/* retval: by the type of the function's result, or else the whole register. */
void check_retval(struct check *c, struct expr *e)
{
	const struct attachment *p = c->v->count ? c->v->attachments[0] : NULL;
	enum ctype_kind kind = p && p->result ? ctype_kind(p->result) : CTYPE_INTEGER;
	struct arg_value v;

	if (p && named_result(p, &v)) {
		e->shape = v.shape;
		return;
	}
	/* Of a pattern's functions some may return numbers, and others not. */
	if (!p || str_has_wildcard(p->spec->name) || (kind != CTYPE_VOID && kind != CTYPE_FLOAT))
		return;
	check_error(
		c, e, "no-result", "'%.*s' returns %s", STR_FMT(c->s->names.items[p->attach.name]),
		kind == CTYPE_VOID ? "nothing" : "a float, in a register that tracers cannot see");
}
