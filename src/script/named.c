/* Arguments by name: args.word of usdt probes, and `args` as a whole.
 *
 * What an argument is to a script follows from its C type and its operand: text where it is known
 * to be the address of text, a number with its sign, a float. It differs from probe to probe and
 * from site to site, so all attachments of a variant have the same values where they are used. */
#include "script/inside.h"

#include <errno.h>

#define MAX_PARTS 64 /* of `args` as a whole */

/* How a script reads an argument: worked out when it is needed, from the argument's C type and
 * operand, which are the only record of it. */
struct arg_value {
	struct shape shape;	      /* INT, FLOAT or STR; NONE: a script cannot have it */
	bool is_unreadable;	      /* NONE: the operand cannot be read; else it is too large */
	uint64_t size;		      /* NONE: bytes of the whole */
	const struct ctype *place_of; /* NONE: a struct that can be read member by member */
	uint8_t passed, first_word;   /* ... as the argument has them */
	uint8_t extend_from; /* INT: so many bytes of the operand; 0: it is right as it is */
	bool is_text;	     /* STR; or INT: the address of text, which can become it */
	int counted_by;	     /* of text: the argument that has its length; -1: it ends in a NUL */
};

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

static struct shape text_shape(const struct attachment *p)
{
	return shape_of(type_text(TYPE_STR, p->script->facts.max_strlen));
}

/* A char * of a usdt probe is its text: the probe has it to be shown. One of a function is a
 * pointer, as in C: it may lead to a buffer that is not filled yet, and str() says when to read. */
static struct arg_value text_value(const struct attachment *p, const struct argument *arg,
				   const struct ctype_layout *is)
{
	struct arg_value v = {.shape = text_shape(p)};

	if (p->spec->type != PROBE_USDT) {
		v = number_value(&arg->operand, arg->type, is);
		v.shape.type.is_kernel = check_is_kernel_probe(p->spec);
	}
	v.is_text = true;
	v.counted_by = arg->counted_by;
	return v;
}

/* An argument or result of this type, in the program of an attachment. */
static struct ctype_layout layout_passed(const struct attachment *p, const struct ctype *t)
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
	struct ctype_layout is = layout_passed(p, arg->type);
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

static struct arg_value value_of(const struct attachment *p, unsigned n)
{
	static const struct ctype_layout unknown = {.size = 0};
	const struct argument *arg = &p->attach.args[n];
	const struct operand *o = &arg->operand;

	if (attachment_unreadable(p, n, false))
		return (struct arg_value){.is_unreadable = true};
	if (arg->passed)
		return (struct arg_value){.size = layout_passed(p, arg->type).size,
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
static struct arg_value value_for(const struct attachment *p, const struct expr *e, unsigned n)
{
	if (e->is_part && p->spec->type == PROBE_UPROBE && attachment_unreadable(p, n, true))
		return (struct arg_value){.is_unreadable = true};
	return value_of(p, n);
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
static bool find_named(const struct attachment *p, struct str name, unsigned *out)
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

static struct str name_of(const struct attachment *p, unsigned n, struct arena *a)
{
	struct str known = p->attach.args[n].name;

	return known.len ? known : arena_printf(a, "arg%u", n);
}

static bool same_argument(const struct attachment *a, const struct attachment *b, unsigned n)
{
	struct arg_value x = value_of(a, n), y = value_of(b, n);

	return same_value(&x, &y);
}

static bool same_field(const struct attachment *a, const struct attachment *b, struct str name)
{
	unsigned n = 0, m = 0;
	bool in_a = find_named(a, name, &n), in_b = find_named(b, name, &m);

	return in_a && in_b ? n == m && same_argument(a, b, n) : in_a == in_b;
}

/* 0: it is not a float. */
static unsigned float_size(const struct attachment *p, unsigned n)
{
	struct arg_value v = {.size = 0};

	if (n < attachment_args(p))
		v = value_of(p, n);
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
static bool result_value(const struct attachment *p, struct arg_value *out)
{
	const struct operand o = {.kind = OPERAND_REG, .size = 8};
	struct ctype_layout is;
	enum ctype_kind kind;

	if (!p->result)
		return false;
	kind = ctype_kind(p->result);
	is = layout_passed(p, p->result);
	if (!is.size || kind == CTYPE_VOID || is_no_number(kind, &is))
		return false;
	*out = number_value(&o, p->result, &is);
	out->shape.type.is_kernel = ctype_is_address(p->result) && check_is_kernel_probe(p->spec);
	return true;
}

static bool same_result(const struct attachment *a, const struct attachment *b)
{
	struct arg_value x, y;
	bool in_a = result_value(a, &x), in_b = result_value(b, &y);

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

/* ---- Types ---- */

static bool is_function(const struct attachment *p)
{
	return p->spec->type == PROBE_UPROBE || p->spec->type == PROBE_URETPROBE;
}

/* Without debug information the names of parameters are not known. */
static bool is_undescribed(struct check *c, const struct expr *e, const struct attachment *p)
{
	struct str site = c->s->names.items[p->attach.name];

	if (!is_function(p) || p->params)
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
		buf_escaped(&names, name_of(p, n, &c->s->arena));
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

	if (!find_named(p, e->text, &n)) {
		unknown_name(c, e, p);
		return;
	}
	v = value_for(p, e, n);
	e->shape = v.is_text && e->is_part ? text_shape(p) : v.shape;
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

/* args.x that is text, or the address of one. */
static bool find_text(const struct variant *variant, const struct expr *e, unsigned *n,
		      struct arg_value *out)
{
	const struct attachment *p = variant->count ? variant->attachments[0] : NULL;

	if (e->kind != EXPR_FIELD || !p || p->event || !find_named(p, e->text, n))
		return false;
	*out = value_of(p, *n);
	return out->is_text;
}

bool is_named_text(const struct variant *variant, const struct expr *e)
{
	struct arg_value v;
	unsigned n;

	return find_text(variant, e, &n, &v);
}

bool check_as_text(struct check *c, struct expr *e)
{
	if (c->err || !is_named_text(c->v, e))
		return false;
	e->shape = text_shape(c->v->attachments[0]);
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
	v = value_of(c->v->attachments[0], n);
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

static void make_part(struct check *c, struct expr *whole, struct str name)
{
	struct expr *part = arena_new(&c->s->arena, struct expr);

	if (!part || !name.ptr) {
		c->err = -ENOMEM;
		return;
	}
	part->kind = EXPR_FIELD;
	part->is_part = true;
	part->mark = whole->mark;
	part->span = whole->span;
	part->text = name;
	if (whole->number == MAX_PARTS)
		check_error(c, whole, "too-big", "too many arguments: the limit is %d", MAX_PARTS);
	else
		whole->args[whole->number++] = part;
	check_expr(c, part);
}

/* retval: by the type of the function's result, or else the whole register. */
void check_retval(struct check *c, struct expr *e)
{
	const struct attachment *p = c->v->count ? c->v->attachments[0] : NULL;
	enum ctype_kind kind = p && p->result ? ctype_kind(p->result) : CTYPE_INTEGER;
	struct arg_value v;

	if (p && result_value(p, &v)) {
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

void lower_retval(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct attachment *p = l->v->count ? l->v->attachments[0] : NULL;
	const struct arch *arch = p && p->attach.arch ? p->attach.arch : arch_host();
	struct arg_value v;

	(void)e;
	emit_di(l, OP_REG, out, arch->call_ret);
	if (p && result_value(p, &v) && v.extend_from)
		emit_dai(l, v.shape.type.is_signed ? OP_SEXT : OP_ZEXT, out, out, v.extend_from);
}

/* args: one part for each argument, or of a tracepoint each field of its own. They are made anew
 * for each variant. print and printf take them one by one. */
void check_whole(struct check *c, struct expr *e)
{
	const struct attachment *p = c->v->count ? c->v->attachments[0] : NULL;
	const struct trace_event *event = p ? p->event : NULL;
	unsigned count;

	e->number = 0;
	e->is_whole = true;
	e->args = arena_array(&c->s->arena, struct expr *, MAX_PARTS);
	if (!e->args)
		c->err = -ENOMEM;
	/* Of a pattern's functions some may be described and others not. */
	if (p && !event && !str_has_wildcard(p->spec->name) && is_undescribed(c, e, p))
		return;
	if (p && is_function(p))
		count = p->param_count;
	else
		count = p && !event ? attachment_args(p) : 0;
	for (unsigned i = 0; i < count && !c->err; i++)
		make_part(c, e, name_of(p, p->params ? p->params[i] : i, &c->s->arena));
	for (unsigned i = 0; event && i < event->field_count && !c->err; i++)
		if (!str_starts(event->fields[i].name, STR("common_")))
			make_part(c, e, event->fields[i].name);
}

/* { .a = 1, .b = x }: `args` where a value is stored, the only element of its args. */
void check_whole_value(struct check *c, struct expr *e)
{
	struct expr *record = arena_new(&c->s->arena, struct expr), **args;
	struct buf names = BUF_INIT;

	if (!e->number)
		check_error(c, e, "no-value", "there are no arguments");
	args = arena_array(&c->s->arena, struct expr *, 1);
	for (unsigned i = 0; i < e->number; i++)
		buf_printf(&names, "%s%.*s", i ? " " : "", STR_FMT(e->args[i]->text));
	if (!record || !args || names.failed)
		c->err = c->err ? c->err : -ENOMEM;
	if (!c->err) {
		*record = (struct expr){.kind = EXPR_TUPLE,
					.mark = e->mark,
					.args = e->args,
					.arg_count = (uint16_t)e->number,
					.text = arena_str(&c->s->arena, buf_as_str(&names))};
		check_expr(c, record);
		e->args = args;
		e->args[0] = record;
		e->shape = record->shape;
		e->is_whole = false;
	}
	buf_free(&names);
}

void lower_whole(struct lower *l, const struct expr *e, uint16_t out)
{
	lower_value_to(l, e->args[0], out);
}

bool named_word(const struct variant *v, const struct expr *e, unsigned *offset)
{
	const struct attachment *p = v->attachments[0];
	const struct operand *o;
	unsigned n = 0;

	if (!find_named(p, e->text, &n))
		return false;
	o = &p->attach.args[n].operand;
	*offset = (unsigned)o->value;
	return o->kind == OPERAND_CONTEXT;
}

/* ---- Code ---- */

void lower_part_note(struct lower *l, struct str text, uint16_t out)
{
	emit_di(l, OP_CONST, out, lower_intern(l, &l->s->names, text));
}

void lower_argument(struct lower *l, unsigned n, uint16_t out)
{
	if (l->kept)
		kept_argument(l, n, out);
	else
		emit_di(l, OP_ARG, out, n);
}

/* The smaller one of two lengths; REG_NO is none. */
static uint16_t lower_shorter(struct lower *l, uint16_t a, uint16_t b)
{
	uint16_t least, is_less;
	struct label done = {0};

	if (a == REG_NO || b == REG_NO)
		return a == REG_NO ? b : a;
	least = lower_reg(l);
	is_less = lower_reg(l);
	emit_dai(l, OP_MOV, least, a, 0);
	emit_operator(l, OPERATOR_LT, false, a, b, is_less);
	lower_goto(l, OP_JUMP_IF, is_less, &done);
	emit_dai(l, OP_MOV, least, b, 0);
	lower_bind(l, &done);
	return least;
}

void lower_named_text(struct lower *l, const struct expr *e, uint16_t length, uint32_t most,
		      uint16_t out)
{
	uint16_t address = lower_reg(l), count = REG_NO;
	struct arg_value v = {.counted_by = -1};
	unsigned n = 0;

	find_text(l->v, e, &n, &v);
	lower_argument(l, n, address);
	if (v.counted_by >= 0) {
		count = lower_reg(l);
		lower_argument(l, (unsigned)v.counted_by, count);
	}
	emit_read(l, OP_STR, out, address, lower_shorter(l, count, length), most);
}

/* What the file says of a member may be wrong: then there is no such word. */
void lower_by_value(struct lower *l, const struct expr *e, unsigned word, uint16_t out)
{
	const struct attachment *p = l->v->attachments[0];
	const struct argument *arg;
	unsigned n = 0;

	find_named(p, e->text, &n);
	arg = &p->attach.args[n];
	if (e->passed == PASSED_IN_WORDS) {
		n = arg->first_word;
		n += word < (layout_passed(p, arg->type).size + 7) / 8 ? word : 0;
	}
	lower_argument(l, n, out);
}

void lower_named(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct attachment *p = l->v->attachments[0];
	struct arg_value v;
	unsigned n = 0;
	uint16_t raw;

	find_named(p, e->text, &n);
	v = value_for(p, e, n);
	if (e->shape.type.kind == TYPE_STR) {
		lower_named_text(l, e, REG_NO, l->s->facts.max_strlen, out);
	} else if (v.shape.type.kind != TYPE_NONE) {
		raw = v.extend_from ? lower_reg(l) : out;
		lower_argument(l, n, raw);
		if (v.extend_from)
			emit_dai(l, v.shape.type.is_signed ? OP_SEXT : OP_ZEXT, out, raw,
				 v.extend_from);
	} else if (v.is_unreadable) {
		lower_part_note(l, STR("(unreadable)"), out);
	} else {
		lower_part_note(
			l, arena_printf(&l->s->arena, "(%llu bytes)", (unsigned long long)v.size),
			out);
	}
}
