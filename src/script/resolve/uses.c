/* Walks the tree of a clause for what it asks of its attachments: arguments, fields, stacks. */
#include "script/resolve/uses.h"

#include <errno.h>

bool stack_has_mode(const struct expr *e, const char *word)
{
	return str_eq_text(e->text, "ustack") && e->arg_count && e->args[0]->kind == EXPR_NAME &&
	       str_eq_text(e->args[0]->text, word);
}

bool is_lang_stack(const struct expr *e)
{
	return stack_has_mode(e, "lang") || stack_has_mode(e, "mixed");
}

/* Is the value of this number, in the order of the arguments after the format, to be a float? */
static bool shows_float(struct str format, unsigned value)
{
	struct piece p;

	for (unsigned n = 0; piece_next(&format, &p);)
		if (p.letter && p.letter != PIECE_BAD && n++ == value)
			return strchr(FLOAT_LETTERS, p.letter) != NULL;
	return false;
}

struct uses_walk {
	struct arena *arena;
	const struct builtins *builtins;
	struct uses *uses;
	int err;
};

static void add_field(struct uses_walk *w, struct str name)
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

static void walk_builtin(struct uses_walk *w, const struct expr *e)
{
	const struct function *f = function_find(w->builtins, e->text);
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
		    shows_float(e->args[0]->text, i - 1))
			set_bit(w->uses->floats, number);
}

static void walk_body(struct uses_walk *w, const struct stmt *s);

static void walk_expr(struct uses_walk *w, const struct expr *e)
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

static void walk_body(struct uses_walk *w, const struct stmt *s)
{
	for (; s; s = s->next) {
		walk_expr(w, s->target);
		walk_expr(w, s->value);
		walk_expr(w, s->to);
		walk_body(w, s->body);
		walk_body(w, s->other);
	}
}

int uses_find(struct script *s, const struct tree_clause *c, struct uses *out)
{
	struct uses_walk w = {.arena = &s->arena, .builtins = s->builtins, .uses = out};

	memset(out, 0, sizeof(*out));
	walk_expr(&w, c->predicate);
	walk_body(&w, c->body);
	return w.err;
}
