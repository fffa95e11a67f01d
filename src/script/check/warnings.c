/* What a script says and cannot mean: values without a use, casts that change nothing,
 * statements that are never reached. Comes in: a tree whose types are found and that has no errors.
 * Goes out: warnings, each place once. */
#include "script/check/check.h"

#include "script/check/ctypes.h"
#include "script/check/map.h"
#include "script/check/value_type.h"
#include "script/parse/builtin.h"

#define MAX_PARAMS 64 /* positional ones that are warned of */

struct warning_walk {
	const struct script *s;
	struct diag *d;
	unsigned macros; /* around: their text is for many types */
	unsigned loops;
	uint64_t params; /* bit n: $n was warned of */
};

static void walk_body(struct warning_walk *w, const struct stmt *s);
static void walk_expr(struct warning_walk *w, const struct expr *e);

static struct span span_of(const struct warning_walk *w, struct mark m)
{
	return script_span(w->s, m);
}

/* ---- Values ---- */

/* Does the statement do nothing but compute a value? */
static bool is_unused(const struct expr *e)
{
	switch (e->kind) {
	case EXPR_STEP: return false;
	case EXPR_TERNARY:
		return (e->args[1] && !ternary_skips(e, true) && is_unused(e->args[1])) ||
		       (!ternary_skips(e, false) && is_unused(e->args[2]));
	case EXPR_BLOCK: return e->arg_count && !e->is_function && is_unused(e->args[0]);
	case EXPR_CALL:
		if (e->function && e->function->needs & NEED_NO_REG)
			return false; /* delete(@m, k) */
		return e->is_place || e->shape.type.kind != TYPE_NONE;
	default: return e->is_place || e->shape.type.kind != TYPE_NONE;
	}
}

static void warn_unused(struct warning_walk *w, const struct stmt *s)
{
	if (s->is_discard || !is_unused(s->value))
		return;
	diag_warn_at(w->d, "unused-value", span_of(w, s->value->macro ? s->mark : s->value->mark),
		     "this value is not used");
	diag_hint(w->d, "write '_ =' before it if that is meant");
}

/* ---- Casts ---- */

static unsigned shown_size(const struct type *t)
{
	return t->shown && t->shown < t->size ? t->shown : t->size;
}

/* Are both the same number, enum or pointer, for C and in a text? */
static bool same_word(const struct type *a, const struct type *b)
{
	const struct ctype *x = type_target(a), *y = type_target(b);

	if (a->kind != TYPE_INT || b->kind != TYPE_INT || a->show != b->show)
		return false;
	if (x || y)
		return x && y && ctype_same(ctype_resolve(x), ctype_resolve(y));
	return shown_size(a) == shown_size(b) && a->is_signed == b->is_signed;
}

/* Does the script itself say of which type this is? What a probe hands over has one type in this
 * program and another one in the next, and members that are cast are older scripts' habit. */
static bool has_fixed_type(const struct expr *e)
{
	switch (e->kind) {
	case EXPR_CAST: return e->named;
	case EXPR_VARIABLE: return e->variable && e->variable->let && e->variable->let->named;
	default: return false;
	}
}

static void warn_cast(struct warning_walk *w, const struct expr *e)
{
	const struct expr *a = e->args[0];
	struct buf type = BUF_INIT;

	if (w->macros || !e->named || a->is_const || !has_fixed_type(a) ||
	    !same_word(&e->shape.type, &a->shape.type))
		return;
	ctype_print(&type, e->named, STR(""));
	diag_warn_at(w->d, "needless-cast", span_of(w, e->mark),
		     "the cast changes nothing: this is of type %.*s already",
		     STR_FMT(buf_as_str(&type)));
	buf_free(&type);
}

/* ---- Assignments ---- */

/* The values that a type may have are among those of the other. */
static bool is_within(const struct type *t, const struct type *to)
{
	unsigned from = shown_size(t), room = to->size;

	if (t->is_signed == to->is_signed || type_is_flexible(t))
		return from <= room;
	return !t->is_signed && from < room;
}

/* let $x: uint8; $x = $large */
static void warn_cut(struct warning_walk *w, const struct stmt *s)
{
	const struct variable *v = s->target->variable;
	const struct type *to = v ? &v->shape.type : NULL, *t;
	struct buf name = BUF_INIT;

	if (!v || !v->let || !v->let->named || !s->value || s->op)
		return;
	t = &s->value->shape.type;
	if (to->kind != TYPE_INT || to->size == 8 || t->kind != TYPE_INT || t->is_open ||
	    type_target(t) || s->value->is_const || is_within(t, to))
		return;
	ctype_print(&name, v->let->named, STR(""));
	diag_warn_at(w->d, "cut-value", span_of(w, s->value->mark),
		     "only what %.*s has room for is kept of this", STR_FMT(buf_as_str(&name)));
	diag_hint(w->d, "write (%.*s) before it if that is meant", STR_FMT(buf_as_str(&name)));
	buf_free(&name);
}

/* ---- Other expressions ---- */

static void warn_param(struct warning_walk *w, const struct expr *e)
{
	if (e->number <= w->s->options.param_count || e->number >= MAX_PARAMS ||
	    w->params >> e->number & 1)
		return;
	w->params |= 1ull << e->number;
	diag_warn_at(w->d, "no-param", span_of(w, e->mark), "$%llu is not given: it is 0",
		     (unsigned long long)e->number);
}

static void warn_print(struct warning_walk *w, const struct expr *e)
{
	const struct expr *map = e->arg_count ? e->args[0] : NULL;

	if (!w->loops || !str_eq_text(e->text, "print") || !map || map->kind != EXPR_MAP ||
	    map->arg_count)
		return;
	diag_warn_at(w->d, "print-in-loop", span_of(w, e->mark),
		     "'%.*s' is printed later, as it is then: the loop may print it the same each "
		     "time",
		     STR_FMT(map->map->name));
	if (map->map->key.kind == TYPE_NONE)
		diag_hint(w->d, "print its value: $v = %.*s; print($v)", STR_FMT(map->map->name));
	else
		diag_hint(w->d, "print its entries: for ($kv : %.*s) { print($kv) }",
			  STR_FMT(map->map->name));
}

static void warn_pointers(struct warning_walk *w, const struct expr *e)
{
	bool compares = e->op >= OPERATOR_EQ && e->op <= OPERATOR_GE;

	if (compares && type_points_elsewhere(&e->args[0]->shape.type, &e->args[1]->shape.type))
		diag_warn_at(w->d, "other-pointers", span_of(w, e->mark),
			     "these are pointers to values of different types");
}

static void walk_expr(struct warning_walk *w, const struct expr *e)
{
	if (!e || e->macro == MACRO_STANDARD)
		return;
	w->macros += e->macro;
	switch (e->kind) {
	case EXPR_CAST: warn_cast(w, e); break;
	case EXPR_PARAM: warn_param(w, e); break;
	case EXPR_CALL: warn_print(w, e); break;
	case EXPR_BINARY: warn_pointers(w, e); break;
	default: break;
	}
	walk_body(w, e->body);
	for (unsigned i = 0; i < e->arg_count; i++)
		walk_expr(w, e->args[i]);
	w->macros -= e->macro;
}

/* ---- Statements ---- */

static bool is_exit(const struct stmt *s)
{
	return s->kind == STMT_EXPR && s->value->kind == EXPR_CALL &&
	       str_eq_text(s->value->text, "exit");
}

static bool leaves_block(const struct stmt *s)
{
	return s->kind == STMT_RETURN || s->kind == STMT_BREAK || s->kind == STMT_CONTINUE ||
	       is_exit(s);
}

static void walk_loop(struct warning_walk *w, const struct stmt *s)
{
	w->loops++;
	walk_body(w, s->body);
	w->loops--;
}

static void walk_stmt(struct warning_walk *w, const struct stmt *s)
{
	bool is_loop = s->kind == STMT_WHILE || s->kind == STMT_FOR;

	if (s->kind == STMT_EXPR)
		warn_unused(w, s);
	if (s->kind == STMT_ASSIGN || s->kind == STMT_LET)
		warn_cut(w, s);
	walk_expr(w, s->target);
	walk_expr(w, s->value);
	walk_expr(w, s->to);
	if (is_loop)
		walk_loop(w, s);
	else if (s->kind != STMT_IF || !stmt_skips(s, true))
		walk_body(w, s->body);
	if (s->other && !stmt_skips(s, false))
		walk_body(w, s->other);
}

static void walk_body(struct warning_walk *w, const struct stmt *s)
{
	for (; s; s = s->next) {
		walk_stmt(w, s);
		if (leaves_block(s) && s->next)
			diag_warn_at(w->d, "unreachable", span_of(w, s->next->mark),
				     "this is never reached");
		if (leaves_block(s))
			return;
	}
}

static void warn_variables(struct warning_walk *w, const struct variant *v)
{
	for (const struct variable *x = v->variables; x; x = x->next)
		if (x->let && !x->assigned)
			diag_warn_at(w->d, "never-assigned", span_of(w, x->let->mark),
				     "nothing assigns to variable '$%.*s'",
				     STR_FMT(variable_name(x->name)));
}

void warnings_find(const struct script *s, struct variant *const *first, struct diag *d)
{
	struct warning_walk w = {.s = s, .d = d};

	for (const struct tree_clause *c = s->tree.clauses; c; c = c->next) {
		walk_expr(&w, c->predicate);
		walk_body(&w, c->body);
		warn_variables(&w, *first++);
	}
}
