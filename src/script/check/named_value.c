/* What an argument, or a result, is to a script: text, a number with its sign, a float, or a struct
 * that is read member by member. */
#include "script/check/named.h"

#include "script/check/check.h"
#include "script/check/ctypes.h"
#include "script/check/value_type.h"

bool check_is_kernel_probe(const struct probe_spec *s)
{
	unsigned types = HAVE_BTF_ARGS | IN(KPROBE) | IN(KRETPROBE) | IN(ITER);

	return types >> s->type & 1 ||
	       (s->type == PROBE_TRACEPOINT && !str_eq_text(s->provider, "syscalls"));
}

/* An integer as it is declared; as the operand has it when that is narrower, as constants are, or
 * when nothing is declared. An operand of fewer than 8 bytes counts as signed: it fits, whatever
 * its sign is. One that is wider than the declared type is cut to it, since the other bytes of
 * the register may hold anything. */
static struct arg_value number_value(const struct operand *o, const struct ctype *t,
				     const struct ctype_layout *is)
{
	struct arg_value v = {.shape = shape_int(o->is_signed || o->size < 8)};

	v.shape.type.ctype = t;
	if (!is->size)
		return v;
	if (ctype_is_address(t)) {
		v.shape.type.is_signed = false;
		v.shape.type.show = SHOW_HEX;
		return v;
	}
	if (ctype_kind(t) == CTYPE_BOOL) {
		v.shape.type.show = SHOW_BOOL;
		return v;
	}
	if (ctype_kind(t) == CTYPE_CHAR && is->size == 1)
		v.shape.type.show = SHOW_CHAR;
	if (ctype_kind(t) == CTYPE_ENUM && !ctype_complete(ctype_resolve(t)) &&
	    ctype_resolve(t)->constant_count)
		v.shape.type.show = SHOW_ENUM;
	if (is->size > o->size)
		return v;
	if (is->size < 8 && (is->size < o->size || is->is_signed != o->is_signed))
		v.extend_from = (uint8_t)is->size;
	v.shape.type.is_signed = is->is_signed;
	return v;
}

static struct arg_value float_value(unsigned size)
{
	return (struct arg_value){
		.shape = shape_of((struct type){.kind = TYPE_FLOAT, .size = size})};
}

struct shape named_text_shape(const struct attachment *p)
{
	return shape_of(type_text(TYPE_STR, p->script->facts.max_strlen));
}

/* A char * of a usdt probe is its text: the probe has it to be shown. One of a function is a
 * pointer, as in C: it may lead to a buffer that is not filled yet, and str() says when to read. */
static struct arg_value text_value(const struct attachment *p, const struct argument *arg,
				   const struct ctype_layout *is)
{
	struct arg_value v = {.shape = named_text_shape(p)};

	if (p->spec->type != PROBE_USDT) {
		v = number_value(&arg->operand, arg->type, is);
		v.shape.type.is_kernel = check_is_kernel_probe(p->spec);
	}
	v.is_text = true;
	v.counted_by = arg->counted_by;
	return v;
}

/* An argument or result of this type, in the program of an attachment. */
struct ctype_layout named_layout(const struct attachment *p, const struct ctype *t)
{
	const struct arch *arch = p->attach.arch;
	struct ctype_machine m = ctype_machine_of(arch ? arch->machine : 0, arch ? arch->word : 8);

	return ctype_layout_passed(t, &m);
}

/* Is it more than a number that scripts compute with? */
static bool is_no_number(enum ctype_kind kind, const struct ctype_layout *is)
{
	return is->size > 8 || kind == CTYPE_FLOAT || kind == CTYPE_BYTES || kind == CTYPE_STRUCT ||
	       kind == CTYPE_UNION;
}

/* The value that an argument of a known type has. */
static struct arg_value typed_value(const struct attachment *p, const struct argument *arg)
{
	const struct operand *o = &arg->operand;
	const struct arch *arch = p->attach.arch;
	struct ctype_layout is = named_layout(p, arg->type);
	enum ctype_kind kind = ctype_kind(arg->type);
	struct arg_value v;

	if (kind == CTYPE_FLOAT && is.size == o->size && is.size >= 4)
		return float_value((unsigned)is.size);
	if (argument_is_text(arg) && (o->kind == OPERAND_CONST || (arch && o->size == arch->word)))
		return text_value(p, arg, &is);
	if (is.size && is_no_number(kind, &is))
		return (struct arg_value){.size = is.size};
	v = number_value(o, arg->type, &is);
	v.shape.type.is_kernel = ctype_is_address(arg->type) && check_is_kernel_probe(p->spec);
	return v;
}

struct arg_value named_value(const struct attachment *p, unsigned n)
{
	static const struct ctype_layout unknown = {.size = 0};
	const struct argument *arg = &p->attach.args[n];
	const struct operand *o = &arg->operand;

	if (attachment_unreadable(p, n, false))
		return (struct arg_value){.is_unreadable = true};
	if (arg->passed)
		return (struct arg_value){.size = named_layout(p, arg->type).size,
					  .place_of = ctype_resolve(arg->type),
					  .passed = arg->passed,
					  .first_word = arg->first_word};
	if (o->kind == OPERAND_ADDRESS) {
		struct arg_value address = {.shape = shape_int(false)};

		address.shape.type.show = SHOW_HEX;
		return address;
	}
	if (o->is_float)
		return float_value(o->size);
	return arg->type ? typed_value(p, arg) : number_value(o, NULL, &unknown);
}

/* The same of an argument that is named, or is a part of `args`. Only user mode reads vector
 * registers, and it traces only some functions: so `args` has what all engines of the run read. */
struct arg_value named_value_for(const struct attachment *p, const struct expr *e, unsigned n)
{
	if (e->is_part && p->spec->type == PROBE_UPROBE && attachment_unreadable(p, n, true))
		return (struct arg_value){.is_unreadable = true};
	return named_value(p, n);
}

/* The struct or union that a pointer leads to, whose members a script may ask for; or NULL. */
static const struct ctype *target_of(const struct ctype *t)
{
	t = t ? ctype_resolve(t) : NULL;
	if (!t || t->kind != CTYPE_POINTER)
		return NULL;
	t = ctype_resolve(t->to);
	return ctype_is_composite(t) ? t : NULL;
}

static bool same_value(const struct arg_value *a, const struct arg_value *b)
{
	const struct ctype *x = target_of(a->shape.type.ctype), *y = target_of(b->shape.type.ctype);

	return type_equal(&a->shape.type, &b->shape.type) && a->is_unreadable == b->is_unreadable &&
	       a->size == b->size && a->place_of == b->place_of && a->passed == b->passed &&
	       a->first_word == b->first_word && a->extend_from == b->extend_from &&
	       a->is_text == b->is_text && a->counted_by == b->counted_by &&
	       (x && y ? ctype_same(x, y) : x == y);
}

/* The argument called `name`: as declared, or arg0. */
bool named_find(const struct attachment *p, struct str name, unsigned *out)
{
	for (unsigned n = 0; n < attachment_args(p); n++) {
		struct str known = p->attach.args[n].name;

		if (known.len && str_eq(known, name)) {
			*out = n;
			return true;
		}
	}
	return arg_number(name, out) && *out < attachment_args(p);
}

struct str named_name(const struct attachment *p, unsigned n, struct arena *a)
{
	struct str known = p->attach.args[n].name;

	return known.len ? known : arena_printf(a, "arg%u", n);
}

static bool same_argument(const struct attachment *a, const struct attachment *b, unsigned n)
{
	struct arg_value x = named_value(a, n), y = named_value(b, n);

	return same_value(&x, &y);
}

static bool same_field(const struct attachment *a, const struct attachment *b, struct str name)
{
	unsigned n = 0, m = 0;
	bool in_a = named_find(a, name, &n), in_b = named_find(b, name, &m);

	return in_a && in_b ? n == m && same_argument(a, b, n) : in_a == in_b;
}

/* 0: it is not a float. */
static unsigned float_size(const struct attachment *p, unsigned n)
{
	struct arg_value v = {.size = 0};

	if (n < attachment_args(p))
		v = named_value(p, n);
	return v.shape.type.kind == TYPE_FLOAT ? v.shape.type.size : 0;
}

static bool same_arguments(const struct attachment *a, const struct attachment *b)
{
	if (attachment_args(a) != attachment_args(b))
		return false;
	for (unsigned n = 0; n < attachment_args(a); n++)
		if (!str_eq(a->attach.args[n].name, b->attach.args[n].name) ||
		    !same_argument(a, b, n))
			return false;
	return true;
}

/* What a function returns, when its type is known and is a number. */
bool named_result(const struct attachment *p, struct arg_value *out)
{
	const struct operand o = {.kind = OPERAND_REG, .size = 8};
	struct ctype_layout is;
	enum ctype_kind kind;

	if (!p->result)
		return false;
	kind = ctype_kind(p->result);
	is = named_layout(p, p->result);
	if (!is.size || kind == CTYPE_VOID || is_no_number(kind, &is))
		return false;
	*out = number_value(&o, p->result, &is);
	out->shape.type.is_kernel = ctype_is_address(p->result) && check_is_kernel_probe(p->spec);
	return true;
}

static bool same_result(const struct attachment *a, const struct attachment *b)
{
	struct arg_value x, y;
	bool in_a = named_result(a, &x), in_b = named_result(b, &y);

	return in_a && in_b ? same_value(&x, &y) : in_a == in_b;
}

bool named_same(const struct uses *u, const struct attachment *a, const struct attachment *b)
{
	for (size_t i = 0; i < u->field_count; i++)
		if (!same_field(a, b, u->fields[i]))
			return false;
	for (unsigned n = 0; n < 128; n++)
		if (u->floats[n / 64] >> (n % 64) & 1 && float_size(a, n) != float_size(b, n))
			return false;
	if ((u->needs & NEED_RESULT) && !same_result(a, b))
		return false;
	return !(u->needs & NEED_ALL_ARGS) || same_arguments(a, b);
}

/* args.x that is text, or the address of one. */
bool named_find_text(const struct variant *variant, const struct expr *e, unsigned *n,
		     struct arg_value *out)
{
	const struct attachment *p = variant->count ? variant->attachments[0] : NULL;

	if (e->kind != EXPR_FIELD || !p || p->event || !named_find(p, e->text, n))
		return false;
	*out = named_value(p, *n);
	return out->is_text;
}

bool is_named_text(const struct variant *variant, const struct expr *e)
{
	struct arg_value v;
	unsigned n;

	return named_find_text(variant, e, &n, &v);
}

bool named_word(const struct variant *v, const struct expr *e, unsigned *offset)
{
	const struct attachment *p = v->attachments[0];
	const struct operand *o;
	unsigned n = 0;

	if (!named_find(p, e->text, &n))
		return false;
	o = &p->attach.args[n].operand;
	*offset = (unsigned)o->value;
	return o->kind == OPERAND_CONTEXT;
}
