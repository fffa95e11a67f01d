/* Addresses of symbols: kaddr, uaddr. Where a program is loaded is known only when the probe is
 * hit, so uaddr() is the address of the probe, and the distance from there. Each attachment has its
 * own distance, as one more argument that has no name. */
#include <errno.h>

#include "script/builtins/function.h"
#include "script/check/ctypes.h"
#include "script/lower/emit.h"
#include "script/resolve/attachment.h"
#include "script/resolve/script_source.h"

/* kaddr("symbol") */
static void check_kaddr(struct check *c, struct expr *e)
{
	const struct script_source *source = c->s->source;
	struct diag said = DIAG_INIT;
	int err = -ENOENT;

	e->shape.type.is_kernel = true;
	e->shape.type.show = SHOW_HEX;
	e->is_const = true;
	if (source->kernel_symbol)
		err = source->kernel_symbol(source->self, e->args[0]->text, &e->value, &said);
	if (err) {
		check_error(c, e->args[0], "unknown-symbol", "the kernel has no symbol '%.*s'",
			    STR_FMT(e->args[0]->text));
		if (said.first && said.first->hint.len)
			diag_hint(c->d, "%.*s", STR_FMT(said.first->hint));
	}
	diag_free(&said);
}

static void lower_kaddr(struct lower *l, const struct expr *e, uint16_t out)
{
	emit_di(l, OP_CONST, out, e->value);
}

static const struct added_arg *find_added(const struct attachment *p, struct str symbol)
{
	for (const struct added_arg *a = p->added; a; a = a->next)
		if (str_eq(a->symbol, symbol))
			return a;
	return NULL;
}

/* Argument `number`, a constant; what is missing before it is 0. */
static int add_constant(struct arena *a, struct attachment *p, unsigned number, uint64_t value)
{
	static const struct operand none = {.kind = OPERAND_CONST, .size = 8};
	struct argument *args = arena_array(a, struct argument, number + 1);

	if (!args)
		return -ENOMEM;
	if (p->attach.arg_count)
		memcpy(args, p->attach.args, p->attach.arg_count * sizeof(*args));
	for (unsigned i = p->attach.arg_count; i <= number; i++)
		args[i].operand = none;
	args[number].operand.value = (int64_t)value;
	p->added_count += number + 1 - p->attach.arg_count;
	p->attach.args = args;
	p->attach.arg_count = number + 1;
	return 0;
}

/* A symbol of a file, as seen from one place of it: other places of the same code need not open the
 * file again. */
struct known_symbol {
	const struct file *file;
	struct str name;
	uint64_t offset; /* of the place */
	struct found_symbol found;
	struct known_symbol *next;
};

static bool find_known(const struct script *s, const struct attach *at, struct str name,
		       struct found_symbol *out)
{
	for (const struct known_symbol *k = s->symbols; k; k = k->next) {
		if (k->file != at->file || !str_eq(k->name, name) || at->offset < k->found.first ||
		    at->offset >= k->found.end)
			continue;
		*out = k->found;
		out->site += at->offset - k->offset;
		return true;
	}
	return false;
}

/* A symbol of the file that an attachment is in. */
static int find_symbol(struct check *c, const struct attach *at, struct str name,
		       struct found_symbol *out)
{
	const struct script_source *source = c->s->source;
	struct known_symbol *known;
	int err;

	if (!at->file || !source->symbol)
		return -ENOENT;
	if (find_known(c->s, at, name, out))
		return 0;
	err = source->symbol(at->file, at->path, at->offset, name, out, c->d);
	known = err ? NULL : arena_new(&c->s->arena, struct known_symbol);
	if (!err && !known)
		return -ENOMEM;
	if (known) {
		*known = (struct known_symbol){at->file, name, at->offset, *out, c->s->symbols};
		c->s->symbols = known;
	}
	return err;
}

/* The distance of a symbol from the place of one attachment. */
static void add_distance(struct check *c, const struct expr *e, struct attachment *p,
			 unsigned number)
{
	struct str symbol = e->args[0]->text;
	struct added_arg *added = arena_new(&c->s->arena, struct added_arg);
	struct found_symbol found;
	int err = find_symbol(c, &p->attach, symbol, &found);

	if (err == -ENOENT)
		check_error(c, e->args[0], "unknown-symbol", "'%.*s' has no symbol '%.*s'",
			    STR_FMT(p->attach.path), STR_FMT(symbol));
	else if (err)
		c->err = err;
	if (c->err)
		return;
	if (!added || add_constant(&c->s->arena, p, number, found.address - found.site)) {
		c->err = -ENOMEM;
		return;
	}
	*added = (struct added_arg){symbol, number, found.size, p->added};
	p->added = added;
}

/* What a symbol of `size` bytes is. */
static const struct ctype *number_type(uint64_t size)
{
	static const struct ctype types[] = {
		{.kind = CTYPE_INTEGER, .name = STR("int8"), .size = 1, .is_signed = true},
		{.kind = CTYPE_INTEGER, .name = STR("int16"), .size = 2, .is_signed = true},
		{.kind = CTYPE_INTEGER, .name = STR("int32"), .size = 4, .is_signed = true},
		{.kind = CTYPE_INTEGER, .name = STR("int64"), .size = 8, .is_signed = true},
	};

	return &types[size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3];
}

/* uaddr("symbol"): the same argument of all attachments has it */
static void check_uaddr(struct check *c, struct expr *e)
{
	const struct added_arg *known = NULL;
	unsigned number = 0;

	e->shape = shape_open();
	if (!c->v->count)
		return;
	for (size_t i = 0; i < c->v->count; i++) {
		struct attachment *p = c->v->attachments[i];

		known = i && !known ? NULL : find_added(p, e->args[0]->text);
		number = p->attach.arg_count > number ? p->attach.arg_count : number;
	}
	for (size_t i = 0; !known && i < c->v->count && !c->err; i++)
		add_distance(c, e, c->v->attachments[i], number);
	if (c->err)
		return;
	known = find_added(c->v->attachments[0], e->args[0]->text);
	e->number = known->number;
	e->shape = shape_of(type_int(8, false));
	e->shape.type.show = SHOW_HEX;
	e->shape.type.ctype = check_pointer_to(c, number_type(known->size));
}

static void lower_uaddr(struct lower *l, const struct expr *e, uint16_t out)
{
	uint16_t place = lower_reg(l), distance = lower_reg(l);

	emit_di(l, OP_BUILTIN, place, BUILTIN_IP);
	emit_di(l, OP_ARG, distance, e->number);
	emit_operator(l, OPERATOR_ADD, false, place, distance, out);
}

/* cgroup_path(id), cgroup_path(id, "filter"): the number, and that of the filter among the names */
static void check_cgroup_path(struct check *c, struct expr *e)
{
	static const struct type path = DISPLAY_TYPE("cgroup", 2);

	if (e->arg_count > 1 && e->args[1]->kind != EXPR_STRING)
		check_error(c, e->args[1], "wrong-arg-type",
			    "'cgroup_path' expects a string in quotes");
	e->shape = shape_of(path);
}

static void lower_cgroup_path(struct lower *l, const struct expr *e, uint16_t out)
{
	struct str filter = e->arg_count > 1 ? e->args[1]->text : STR("*");
	uint32_t number = lower_intern(l, &l->s->names, filter);

	emit_put(l, out, 0, lower_word(l, e->args[0]));
	emit_put(l, out, 8, lower_const(l, number));
}

/* clang-format off */

/* name, arguments, group, needs, probe types, result, check, lowering, number, help, example */
const struct function address_rows[] = {
	{ "kaddr", "s", GROUP_FUNCTION, 0, 0, RESULT_U64, check_kaddr, lower_kaddr, 0,
	  "the address of a symbol of the kernel", "print(*kaddr(\"jiffies\"));" },
	{ "uaddr", "s", GROUP_FUNCTION, 0, HAVE_ARGUMENTS | IN(URETPROBE), NO_RESULT, check_uaddr, lower_uaddr, 0,
	  "the address of a symbol of the program", "print(*uaddr(\"counter\"));" },
	{ "cgroup_path", "i[x", GROUP_FUNCTION, 0, 0, NO_RESULT, check_cgroup_path, lower_cgroup_path, 0,
	  "the folder of a control group", "@[cgroup_path(cgroup)] = count();" },
	{ .name = NULL },
};
/* clang-format on */
