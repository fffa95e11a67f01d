/* Builtin values: pid, arg0, comm, stacks, tracepoint fields. For each a type rule and a lowering;
 * the rows that name them are in builtins.c. */
#include "script/values.h"

#include "script/named.h"

#include <errno.h>

/* What a place is called in messages: the probe as the script has it. */
static struct str spec_text(const struct check *c, const struct probe_spec *spec)
{
	return str_of(c->s->text.ptr + spec->mark.at, spec->mark.len);
}

int check_number(struct check *c, struct expr *e)
{
	(void)c;
	e->shape = shape_int(false);
	return 0;
}

int check_comm(struct check *c, struct expr *e)
{
	(void)c;
	e->shape = shape_of(type_text(TYPE_STR, 16));
	return 0;
}

int check_name(struct check *c, struct expr *e)
{
	(void)c;
	e->shape = shape_of((struct type){.kind = TYPE_NAME});
	return 0;
}

/* nsecs or nsecs(monotonic) */
int check_nsecs(struct check *c, struct expr *e)
{
	const struct expr *a = e->arg_count ? e->args[0] : NULL;

	if (a && (a->kind != EXPR_NAME || !str_eq_text(a->text, "monotonic")))
		return check_error(c, a, "unsupported", "only the monotonic clock can be read");
	return check_number(c, e);
}

void lower_builtin(struct lower *l, const struct expr *e, uint16_t out)
{
	emit_di(l, OP_BUILTIN, out, (uint64_t)e->function->number);
}

void lower_comm(struct lower *l, const struct expr *e, uint16_t out)
{
	(void)e;
	emit_si(l, OP_COMM, out, 0);
}

static bool has_arguments(enum probe_type type)
{
	return type == PROBE_USDT || type == PROBE_UPROBE;
}

/* Every probe of the clause must be of the kinds that have this. */
static int check_probes(struct check *c, const struct expr *e, bool (*fits)(enum probe_type),
			const char *where)
{
	for (const struct probe_spec *s = c->v->clause->probes; s; s = s->next)
		if (!fits(s->type))
			return check_error(c, e, "not-here",
					   "'%.*s' is there in %s only, not in %s",
					   STR_FMT(e->text), where, probe_type_name(s->type));
	return 0;
}

static const char *unreadable(const struct script *s, const struct arch *arch,
			      const struct operand *o)
{
	return s->source.unreadable ? s->source.unreadable(s->source.self, arch, o)
				    : operand_problem(o);
}

const char *place_unreadable(const struct place *p, unsigned n)
{
	return unreadable(p->script, p->attach.arch, &p->attach.operands[n]);
}

int check_readable(struct check *c, const struct expr *e, const struct place *p, unsigned n)
{
	struct str site = c->s->names.items[p->attach.name];
	const char *problem;

	if (n >= p->attach.operand_count) {
		check_error(c, e, "missing-arg", "'%.*s' has no arg%u", STR_FMT(site), n);
		diag_hint(c->d, "it has %u argument%s", p->attach.operand_count,
			  p->attach.operand_count == 1 ? "" : "s");
		return -EINVAL;
	}
	problem = place_unreadable(p, n);
	return problem ? program_refuse_arg(&p->attach,
					    (struct arg_use){n, site, script_span(c->s, e->mark)},
					    problem, c->d)
		       : 0;
}

/* Signed when any place has it signed or narrow: C's int promotion over all sites. */
static struct shape arg_shape(const struct variant *v, unsigned n)
{
	struct type t = type_int(8, false);

	for (size_t i = 0; i < v->count; i++) {
		const struct operand *o = &v->places[i]->attach.operands[n];

		if (o->is_float)
			return shape_of((struct type){.kind = TYPE_FLOAT, .size = o->size});
		t.is_signed |= o->is_signed || o->size < 8;
		t.is_raw |= v->places[i]->spec->type == PROBE_UPROBE;
		if (o->size > t.shown)
			t.shown = o->size;
	}
	return v->count ? shape_of(t) : shape_open();
}

int check_arg_n(struct check *c, struct expr *e)
{
	unsigned n;
	int err = check_probes(c, e, has_arguments, "usdt and uprobe");

	if (err)
		return err;
	if (!arg_number(e->text, &n))
		return -EINVAL;
	for (size_t i = 0; i < c->v->count && !err; i++)
		err = check_readable(c, e, c->v->places[i], n);
	if (!err)
		e->shape = arg_shape(c->v, n);
	return err;
}

void lower_arg_n(struct lower *l, const struct expr *e, uint16_t out)
{
	unsigned n = 0;

	arg_number(e->text, &n);
	emit_di(l, OP_ARG, out, n);
}

static bool has_registers(enum probe_type type)
{
	return type == PROBE_USDT || type == PROBE_UPROBE || type == PROBE_URETPROBE;
}

static bool is_return(enum probe_type type)
{
	return type == PROBE_URETPROBE;
}

int check_retval(struct check *c, struct expr *e)
{
	int err = check_probes(c, e, is_return, "uretprobe");

	e->shape = shape_int(true);
	e->shape.type.is_raw = true;
	return err;
}

/* func: there is a function where there are registers. */
int check_func(struct check *c, struct expr *e)
{
	int err = check_probes(c, e, has_registers, "usdt, uprobe and uretprobe");

	return err ? err : check_name(c, e);
}

static const struct arch *variant_arch(const struct variant *v)
{
	return v->count && v->places[0]->attach.arch ? v->places[0]->attach.arch : arch_host();
}

void lower_retval(struct lower *l, const struct expr *e, uint16_t out)
{
	(void)e;
	emit_di(l, OP_REG, out, variant_arch(l->v)->call_ret);
}

/* A register by the names of bpftrace ("ip", "di"), or as operands write it ("rdi"). */
static bool find_register(const struct arch *arch, struct str name, uint8_t *id)
{
	const struct arch_reg *reg;
	char wide[16] = "r";

	if (str_eq_text(name, "ip") || str_eq_text(name, "pc")) {
		*id = arch->pc;
		return true;
	}
	if (str_eq_text(name, "sp")) {
		*id = arch->sp;
		return true;
	}
	reg = arch_find_reg(arch, name);
	if (!reg && name.len < sizeof(wide) - 2) {
		memcpy(wide + 1, name.ptr, name.len);
		reg = arch_find_reg(arch, str_of(wide, name.len + 1));
	}
	if (!reg)
		return false;
	*id = reg->id;
	return true;
}

/* reg("ip") */
int check_reg(struct check *c, struct expr *e)
{
	const struct arch *arch = variant_arch(c->v);
	struct operand reg = {.kind = OPERAND_REG, .size = 8};
	int err = check_probes(c, e, has_registers, "usdt, uprobe and uretprobe");

	if (err)
		return err;
	if (!arch || !find_register(arch, e->args[0]->text, &reg.reg) ||
	    unreadable(c->s, arch, &reg))
		return check_error(c, e->args[0], "unknown-register",
				   "there is no register '%.*s' to be read on %s",
				   STR_FMT(e->args[0]->text), arch ? arch->name : "this machine");
	e->shape = shape_int(false);
	e->shape.type.is_raw = true;
	return 0;
}

void lower_reg_call(struct lower *l, const struct expr *e, uint16_t out)
{
	uint8_t id = 0;

	find_register(variant_arch(l->v), e->args[0]->text, &id);
	emit_di(l, OP_REG, out, id);
}

static int stack_depth(struct check *c, const struct expr *a, uint64_t *depth)
{
	if (a->shape.type.kind != TYPE_INT || !a->is_const || a->value < 1 || a->value > 1023)
		return check_error(c, a, "wrong-arg-type",
				   "the depth of a stack is a number from 1 to 1023");
	*depth = a->value;
	return 0;
}

/* ustack, ustack(depth), ustack(bpftrace, depth) */
int check_stack(struct check *c, struct expr *e)
{
	uint64_t depth = c->s->options.ustack_depth;
	int err = 0;

	for (unsigned i = 0; i < e->arg_count && !err; i++) {
		struct expr *a = e->args[i];

		if (i == 0 && a->kind == EXPR_NAME) {
			if (!str_eq_text(a->text, "bpftrace"))
				err = check_error(c, a, "unsupported",
						  "stacks are printed in bpftrace's way only");
			continue;
		}
		if (i + 1 < e->arg_count)
			return check_error(c, a, "wrong-arg-type",
					   "before the depth stands how the stack is printed: "
					   "bpftrace");
		err = check_expr(c, a);
		if (!err)
			err = stack_depth(c, a, &depth);
	}
	e->shape = shape_of((struct type){.kind = (enum type_kind)e->function->number,
					  .size = (uint32_t)depth * 8});
	return err;
}

void lower_stack(struct lower *l, const struct expr *e, uint16_t out)
{
	emit_si(l, e->function->number == TYPE_USTACK ? OP_USTACK : OP_KSTACK, out, 0);
}

static bool has_fields(enum probe_type type)
{
	return type == PROBE_TRACEPOINT || type == PROBE_USDT;
}

int check_has_fields(struct check *c, const struct expr *e)
{
	return check_probes(c, e, has_fields, "usdt and tracepoint");
}

static const struct trace_field *find_field(const struct trace_event *event, struct str name)
{
	for (unsigned i = 0; event && i < event->field_count; i++)
		if (str_eq(event->fields[i].name, name))
			return &event->fields[i];
	return NULL;
}

static const struct trace_field *nearest_field(const struct trace_event *event, struct str name)
{
	const struct trace_field *best = NULL;
	unsigned nearest = 4;

	for (unsigned i = 0; event && i < event->field_count; i++) {
		unsigned distance = str_distance(event->fields[i].name, name, nearest);

		if (distance < nearest) {
			nearest = distance;
			best = &event->fields[i];
		}
	}
	return best;
}

static bool is_char_array(const struct trace_field *f)
{
	return (f->is_array || f->is_data_loc) && !f->is_rel_loc &&
	       str_index(f->c_type, 'c') >= 0 &&
	       (str_starts(f->c_type, STR("char")) || str_ends(f->c_type, STR("char[]")) ||
		str_starts(f->c_type, STR("const char")) ||
		str_starts(f->c_type, STR("__data_loc char")));
}

static int field_shape(struct check *c, struct expr *e, const struct trace_field *f)
{
	if (is_char_array(f)) {
		e->shape = shape_of(
			type_text(TYPE_STR, f->is_data_loc ? c->s->facts.max_strlen : f->size));
		if (f->is_data_loc || f->size <= UINT8_MAX)
			return 0;
	} else if (!f->is_array && !f->is_data_loc && !f->is_rel_loc &&
		   (f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8)) {
		e->shape = shape_of(type_int(f->size, f->is_signed));
		if (str_ends(f->c_type, STR("*")))
			e->shape.type.show = SHOW_POINTER;
		return 0;
	}
	if (e->is_part) {
		e->shape = shape_of((struct type){.kind = TYPE_NAME});
		return 0;
	}
	return check_error(c, e, "unsupported",
			   "field '%.*s' is '%.*s' of %u bytes, which "
			   "is not supported yet",
			   STR_FMT(f->name), STR_FMT(f->c_type), f->size);
}

/* args.field of a tracepoint, args.word of a usdt probe */
int check_field_value(struct check *c, struct expr *e)
{
	const struct trace_event *event = c->v->count ? c->v->places[0]->event : NULL;
	const struct trace_field *f;
	int err = check_has_fields(c, e);

	e->shape = shape_open();
	if (err || !c->v->count)
		return err;
	if (c->v->places[0]->spec->type == PROBE_USDT)
		return check_named(c, e);
	f = find_field(event, e->text);
	if (f)
		return field_shape(c, e, f);
	check_error(c, e, "unknown-field", "'%.*s' has no field '%.*s'",
		    STR_FMT(spec_text(c, c->v->places[0]->spec)), STR_FMT(e->text));
	f = nearest_field(event, e->text);
	if (f)
		diag_hint(c->d, "did you mean '%.*s'?", STR_FMT(f->name));
	return -EINVAL;
}

void lower_field_value(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct place *p = l->v->places[0];
	const struct trace_field *f = find_field(p->event, e->text);
	struct insn *i;

	if (p->spec->type == PROBE_USDT) {
		lower_named(l, e, out);
	} else if (e->shape.type.kind == TYPE_NAME) {
		lower_part_note(l, arena_printf(&l->s->arena, "(%.*s)", STR_FMT(f->c_type)), out);
	} else if (e->shape.type.kind == TYPE_STR) {
		i = lower_op(l, OP_FIELD_STR);
		i->s = out;
		i->imm = f->offset;
		i->size = f->is_data_loc ? 0 : (uint8_t)f->size;
	} else {
		i = lower_op(l, OP_FIELD);
		i->d = out;
		i->imm = f->offset;
		i->size = (uint8_t)f->size;
		i->is_signed = f->is_signed;
	}
}
