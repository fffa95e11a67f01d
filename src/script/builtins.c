/* Finding builtins, and the text of --help-script. */
#include "script/inside.h"
#include "script/parse.h"
#include <errno.h>

#include "base/array.h"

static const struct function *const tables[] = {
	value_rows,   text_rows,      network_rows,  search_rows,   output_rows, printf_rows,
	map_rows,     constant_rows,  option_rows,   standard_rows, unsafe_rows, series_rows,
	address_rows, normalize_rows, typeinfo_rows, path_rows,
};

bool arg_number(struct str name, unsigned *out)
{
	uint64_t number;

	if (name.len < 4 || name.len > 6 || !str_starts(name, STR("arg")) ||
	    (name.ptr[3] == '0' && name.len > 4) || name.ptr[3] < '0' || name.ptr[3] > '9' ||
	    str_to_u64(str_of(name.ptr + 3, name.len - 3), &number) || number > 127)
		return false;
	*out = (unsigned)number;
	return true;
}

/* Rows of which the name is not all that scripts write: argN, args.x */
#define OPEN_NAMES (NEED_ARGUMENT | NEED_FIELD)

/* The row with this need, of OPEN_NAMES; 0: with this name. */
static const struct function *find_row(unsigned need, struct str name)
{
	for (size_t i = 0; i < COUNT(tables); i++)
		for (const struct function *f = tables[i]; f->name; f++)
			if ((f->needs & OPEN_NAMES) == need && (need || str_eq_text(name, f->name)))
				return f;
	return NULL;
}

const struct function *function_find(struct str name)
{
	unsigned number;

	return find_row(arg_number(name, &number) ? NEED_ARGUMENT : 0, name);
}

const struct function *function_of_fields(void)
{
	return find_row(NEED_FIELD, STR(""));
}

bool parse_known_name(const struct tree *t, struct str name)
{
	const struct ctype *type;
	int64_t value;

	return function_find(name) || c_scope_constant(&t->types, name, &type, &value) ||
	       str_eq_text(name, "true") || str_eq_text(name, "false");
}

bool parse_is_value(struct str name)
{
	const struct function *f = function_find(name);

	return f && f->group == GROUP_VALUE;
}

struct str function_guess(struct str name)
{
	struct guess guess = {.nearest = 3};

	for (size_t i = 0; i < COUNT(tables); i++)
		for (const struct function *f = tables[i]; f->name; f++)
			if (f->group != GROUP_FOREIGN && !(f->needs & OPEN_NAMES))
				guess_offer(&guess, name, str_from(f->name));
	return guess.best;
}

void script_print_builtins(struct buf *out)
{
	/* ORDER: enum builtin_group */
	static const char *const titles[] = {"Values", "Functions", "Statements", "Aggregations"};

	for (unsigned group = GROUP_VALUE; group < GROUP_FOREIGN; group++) {
		buf_printf(out, "%s%s:\n", group ? "\n" : "", titles[group]);
		for (size_t i = 0; i < COUNT(tables); i++)
			for (const struct function *f = tables[i]; f->name; f++)
				if (f->group == group)
					buf_printf(out, "  %-9s %-45s %s\n", f->name, f->help,
						   f->example);
	}
}

int script_each_builtin(script_builtin_fn *fn, void *arg)
{
	int err = 0;

	for (size_t i = 0; i < COUNT(tables); i++)
		for (const struct function *f = tables[i]; f->name && !err; f++)
			if (f->group != GROUP_FOREIGN)
				err = fn(arg, f->name, f->help, f->example);
	return err;
}

/* ---- What a clause needs of its sites ---- */

struct walk {
	struct arena *arena;
	struct uses *uses;
	int err;
};

static void add_field(struct walk *w, struct str name)
{
	struct uses *u = w->uses;

	for (size_t i = 0; i < u->field_count; i++)
		if (str_eq(u->fields[i], name))
			return;
	if (arena_grow(w->arena, (void **)&u->fields, u->field_count, &u->field_cap,
		       sizeof(*u->fields)))
		w->err = -ENOMEM;
	else
		u->fields[u->field_count++] = name;
}

static void set_bit(uint64_t *bits, unsigned n)
{
	bits[n / 64] |= UINT64_C(1) << (n % 64);
}

static void walk_builtin(struct walk *w, const struct expr *e)
{
	const struct function *f = function_find(e->text);
	unsigned number;

	w->uses->has_unknown |= !f;
	if (!f)
		return;
	w->uses->needs |= f->needs | (is_lang_stack(e) ? NEED_LANG : 0);
	if ((f->needs & NEED_ARGUMENT) && arg_number(e->text, &number))
		set_bit(w->uses->args, number);
	if (!f->args || *f->args != 'f' || !e->arg_count || e->args[0]->kind != EXPR_STRING)
		return;
	/* The argN that %f shows must be floats. */
	for (unsigned i = 1; i < e->arg_count; i++)
		if (e->args[i]->kind == EXPR_NAME && arg_number(e->args[i]->text, &number) &&
		    printf_wants_float(e->args[0]->text, i - 1))
			set_bit(w->uses->floats, number);
}

static void walk_body(struct walk *w, const struct stmt *s);

static void walk_expr(struct walk *w, const struct expr *e)
{
	if (!e)
		return;
	if (e->kind == EXPR_NAME || e->kind == EXPR_CALL)
		walk_builtin(w, e);
	if (e->kind == EXPR_FIELD)
		add_field(w, e->text);
	for (unsigned i = 0; i < e->arg_count; i++)
		walk_expr(w, e->args[i]);
	walk_body(w, e->body);
}

static void walk_body(struct walk *w, const struct stmt *s)
{
	for (; s; s = s->next) {
		walk_expr(w, s->target);
		walk_expr(w, s->value);
		walk_expr(w, s->to);
		walk_body(w, s->body);
		walk_body(w, s->other);
	}
}

int uses_find(struct arena *a, const struct tree_clause *c, struct uses *out)
{
	struct walk w = {.arena = a, .uses = out};

	memset(out, 0, sizeof(*out));
	walk_expr(&w, c->predicate);
	walk_body(&w, c->body);
	return w.err;
}
