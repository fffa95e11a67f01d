/* Calls and builtin names: the function is found, its arguments are checked against the letters of
 * its row, the rest is up to the row's own check. */
#include "script/check/expr_kinds.h"

#include <errno.h>
#include <stdio.h>

#include "base/array.h"
#include "script/check/check.h"
#include "script/check/map.h"
#include "script/check/named.h"
#include "script/check/value_text.h"
#include "script/check/value_type.h"
#include "script/resolve/header_types.h"

static void wrong_count(struct check *c, const struct expr *e, const struct function *f)
{
	size_t least = strcspn(f->args, "[*"), most = strlen(f->args) - !!strchr(f->args, '[');
	const char *plural = least == 1 ? "" : "s";

	if (strchr(f->args, '*'))
		check_error(c, e, "wrong-arg-count", "'%s' takes at least %zu argument%s", f->name,
			    least, plural);
	else if (least != most)
		check_error(c, e, "wrong-arg-count", "'%s' takes %zu to %zu arguments, not %u",
			    f->name, least, most, e->arg_count);
	else
		check_error(c, e, "wrong-arg-count", "'%s' takes %zu argument%s, not %u", f->name,
			    least, plural, e->arg_count);
}

static void wrong_arg(struct check *c, const struct expr *a, const struct function *f,
		      const char *wanted)
{
	check_error(c, a, "wrong-arg-type", "'%s' expects %s", f->name, wanted);
}

/* One argument, which must be what the letter of the row says. */
static void check_arg(struct check *c, const struct function *f, struct expr *a, char letter)
{
	bool is_literal = letter == 's' || letter == 'f';
	char what[64];

	if (letter == 'x')
		return;
	if (is_literal && a->kind != EXPR_STRING)
		wrong_arg(c, a, f, "a string in quotes");
	if (letter == 'm' && (a->kind != EXPR_MAP || a->arg_count))
		wrong_arg(c, a, f, a->kind != EXPR_MAP ? "a map" : "a map without a key");
	if (letter == 'm')
		a->map = check_map(c, a->text);
	else if (is_literal)
		check_string(c, a, PROGRAM_MAX_TEXT);
	else
		check_expr(c, a);
	if (c->err || letter == 'm' || is_literal)
		return;
	if (letter == 't' && !check_as_text(c, a))
		check_enum_text(c, a);
	snprintf(what, sizeof(what), "this argument of '%s'", f->name);
	if (letter == 'i' || letter == 'p')
		check_int(c, a, what);
	if (c->err && f->group == GROUP_AGGREGATION && expr_is_text(a))
		diag_hint(c->d, "texts are counted, as keys: @[%.*s] = count(), or nopal count -k",
			  (int)a->mark.len, c->s->text.ptr + a->mark.at);
	else if (letter == 'c' && !(expr_is_int(a) && a->is_const))
		wrong_arg(c, a, f, "a constant");
	else if (letter == 't' && !expr_is_text(a) && !check_is_open(c, a))
		check_error(c, a, "wrong-arg-type", "'%s' expects a string, not %s", f->name,
			    check_type_text(c, &a->shape.type));
	else if (letter == 'e' && !a->is_whole)
		check_storable(c, a, "an argument");
}

static void check_args(struct check *c, const struct function *f, struct expr *e)
{
	const char *letter = f->args;
	bool optional = false;
	unsigned n = 0;

	for (; *letter && *letter != '*' && !c->err; letter++) {
		if (*letter == '[')
			optional = true;
		else if (n < e->arg_count)
			check_arg(c, f, e->args[n++], *letter);
		else if (optional)
			return;
		else
			wrong_count(c, e, f);
	}
	for (; *letter == '*' && n < e->arg_count && !c->err; n++)
		check_arg(c, f, e->args[n], 'e');
	if (n < e->arg_count)
		wrong_count(c, e, f);
}

/* What other tracers call it. */
static const struct {
	const char *theirs, *ours;
} synonyms[] = {
	/* clang-format off */
	{"quantize",   "hist"},      {"lquantize", "lhist"},   {"llquantize", "hist"},
	{"percentile", "pct"},      {"quantile", "pct"},    {"histogram",  "hist"},
	{"copyinstr",  "str"},       {"stringof",  "str"},     {"execname",   "comm"},
	{"ustackdepth", "ustack"},   {"stack",     "ustack"},  {"jstack",     "ustack"},
	{"timestamp",  "nsecs"},     {"walltimestamp", "nsecs"}, {"probename", "probe"},
	{"probefunc",  "func"},      {"average",   "avg"},     {"trunc",      "clear"},
	{"printa",     "print"},     {"tracemem",  "buf"},     {"vtimestamp", "nsecs"},
	{"curthread",  "curtask"},
	/* clang-format on */
};

static struct str synonym_of(struct str name)
{
	for (size_t i = 0; i < COUNT(synonyms); i++)
		if (str_eq_text(name, synonyms[i].theirs))
			return str_from(synonyms[i].ours);
	return STR("");
}

static void unknown_function(struct check *c, const struct expr *e)
{
	bool is_call = e->kind == EXPR_CALL;
	struct str guess = function_guess(c->s->builtins, e->text), synonym = synonym_of(e->text);
	struct str arg = is_call ? STR("") : named_guess(c, e->text);

	check_error(c, e, is_call ? "unknown-function" : "unknown-name", "unknown %s '%.*s'",
		    is_call ? "function" : "name", STR_FMT(e->text));
	if (arg.len)
		diag_hint(c->d, "did you mean 'args.%.*s'?", STR_FMT(arg));
	else if (synonym.len)
		diag_hint(c->d, "write '%.*s%s' here", STR_FMT(synonym), is_call ? "()" : "");
	else if (guess.len)
		diag_hint(c->d, "did you mean '%.*s'?", STR_FMT(guess));
	else if (!is_call && header_hint(c->s).len)
		diag_hint(c->d, "%.*s", STR_FMT(header_hint(c->s)));
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

/* What holds for every row, and then what the row adds. Every probe of the clause must be of the
 * types that the row names. */
static void check_row(struct check *c, struct expr *e, const struct function *f)
{
	struct str name = e->kind == EXPR_FIELD ? STR("args") : e->text;
	unsigned number;

	for (const struct probe_spec *s = c->v->clause->probes; f->probes && s && !c->err;
	     s = s->next) {
		if (f->probes >> s->type & 1)
			continue;
		check_error(c, e, "not-here", "'%.*s' can only be used in %.*s probes",
			    STR_FMT(name), STR_FMT(probe_types_text(&c->s->arena, f->probes)));
		if (s->type == PROBE_URETPROBE && arg_number(name, &number))
			diag_hint(c->d, "at the return 'args.arg%u' is the one of the call",
				  number);
	}
	e->shape = shape_of(f->result);
	if (!c->err && f->check)
		f->check(c, e);
}

void check_call(struct check *c, struct expr *e)
{
	const struct function *f = function_find(c->s->builtins, e->text);

	if (!f) {
		unknown_function(c, e);
		return;
	}
	e->function = f;
	if (f->group == GROUP_FOREIGN) {
		check_error(c, e, "unsupported", "'%s' is not supported%s%s", f->name,
			    f->help ? ": " : "", f->help ? f->help : "");
	} else if (e->kind == EXPR_NAME && f->group != GROUP_VALUE) {
		check_error(c, e, "not-called", "'%s' is a function", f->name);
		diag_hint(c->d, "write %s(...)", f->name);
	} else if ((f->needs & NEED_UNSAFE) && !c->s->options.unsafe) {
		check_error(c, e, "unsafe", "'%s' can change the system", f->name);
		diag_hint(c->d, "--unsafe allows it");
	} else {
		check_args(c, f, e);
		check_row(c, e, f);
	}
}

void check_field(struct check *c, struct expr *e)
{
	e->function = function_of_fields(c->s->builtins);
	check_row(c, e, e->function);
}
