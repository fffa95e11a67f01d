/* path(ctx->file->f_path): the name of a file that the kernel has. The kernel must have handed over
 * the first pointer, and only members of it and what they point to can follow. */
#include "script/builtins/function.h"
#include "script/check/named.h"
#include "script/lower/emit.h"

static const struct expr *path_of(const struct expr *e)
{
	const struct expr *a = e->args[0];

	return a->kind == EXPR_UNARY && a->op == OPERATOR_ADDRESS ? a->args[0] : a;
}

/* Where the place `e` is, for imm of OP_PATH, and the number of pointers before it; false: it is
 * not found by pointers alone from what the kernel hands over. */
static bool path_steps(const struct variant *v, const struct expr *e, uint64_t *imm,
		       unsigned *count)
{
	uint64_t offset = 0;
	unsigned n;

	for (; e->kind == EXPR_MEMBER && e->is_place; e = e->args[0]) {
		offset += e->member->offset;
		if (!e->args[0]->is_place || e->args[0]->shape.type.kind == TYPE_INT)
			break;
	}
	if (e->kind == EXPR_FIELD && named_word(v, e, &n)) {
		*count = 0;
		*imm = 0;
		offset = n;
	} else if (e->kind != EXPR_MEMBER || e->number != 1 ||
		   !path_steps(v, e->args[0], imm, count)) {
		return false;
	} else {
		++*count;
	}
	*imm |= PATH_STEP(*count, offset);
	return *count <= PATH_POINTERS && !(offset >> PATH_BITS);
}

static void check_path(struct check *c, struct expr *e)
{
	uint64_t imm, most = c->s->facts.max_strlen;
	const struct expr *place;
	const struct ctype *t;
	unsigned count;

	check_expr(c, e->args[0]);
	if (c->err)
		return;
	place = path_of(e);
	t = place->shape.type.ctype;
	if (e->arg_count > 1 && e->args[1]->value < most)
		most = e->args[1]->value;
	e->shape = shape_of(type_text(TYPE_STR, most));
	if (!c->v->count)
		return;
	if (!t || t->kind != CTYPE_STRUCT || !str_eq_text(t->name, "path"))
		check_error(c, e->args[0], "wrong-arg-type", "'path' expects a struct path");
	else if (!path_steps(c->v, place, &imm, &count))
		check_error(c, e->args[0], "wrong-arg-type",
			    "the kernel finds a path only by '->' from an argument of the probe");
	else
		return;
	diag_hint(c->d, "iter:task_file { print(path(ctx->file->f_path)) }");
}

static void lower_path(struct lower *l, const struct expr *e, uint16_t out)
{
	uint64_t imm = 0;
	unsigned count = 0;

	path_steps(l->v, path_of(e), &imm, &count);
	emit_si(l, OP_PATH, out, imm | count);
}

/* clang-format off */

/* name, arguments, group, needs, probe types, result, check, lowering, number, help, example */
const struct function path_rows[] = {
	{ "path", "x[c", GROUP_FUNCTION, 0, IN(ITER) | IN(FENTRY) | IN(FEXIT), NO_RESULT, check_path, lower_path, 0,
	  "the file that a struct path of the kernel is", "print(path(ctx->file->f_path));" },
	{ .name = NULL },
};
/* clang-format on */
