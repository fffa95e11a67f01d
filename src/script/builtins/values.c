/* Builtin values: pid, arg0, comm, stacks, tracepoint fields. For each a type rule and a lowering;
 * the rows that name them are at the end. */
#include <errno.h>

#include "base/array.h"
#include "script/builtins/function.h"
#include "script/check/ctypes.h"
#include "script/check/named.h"
#include "script/lower/emit.h"
#include "script/lower/named_code.h"
#include "script/resolve/script_source.h"

/* What an attachment is called in messages: the probe as the script has it. */
static struct str spec_text(const struct check *c, const struct probe_spec *spec)
{
	return str_of(c->s->text.ptr + spec->mark.at, spec->mark.len);
}

/* The clocks of nsecs(). */
static const struct {
	const char *name;
	enum builtin builtin;
	enum type_clock clock;
} clocks[] = {
	{"monotonic", BUILTIN_NSECS, CLOCK_SINCE_BOOT},
	{"boot", BUILTIN_BOOT, CLOCK_WITH_SLEEP},
	{"tai", BUILTIN_TAI, CLOCK_OF_DAY},
	{"sw_tai", BUILTIN_TAI, CLOCK_OF_DAY},
};

/* nsecs, nsecs(boot): e->number is the clock */
static void check_nsecs(struct check *c, struct expr *e)
{
	const struct expr *a = e->arg_count ? e->args[0] : NULL;

	e->number = 0;
	for (size_t i = 0; a && i < COUNT(clocks); i++)
		if (a->kind == EXPR_NAME && str_eq_text(a->text, clocks[i].name)) {
			e->number = i;
			e->shape.type.clock = clocks[i].clock;
			return;
		}
	if (a)
		check_error(c, a, "wrong-arg-type",
			    "the clock of 'nsecs' is monotonic, boot, tai or sw_tai");
}

/* pid, pid(curr_ns), pid(init): e->number is 1 for the kernel's own numbers */
static void check_pid(struct check *c, struct expr *e)
{
	const struct expr *a = e->arg_count ? e->args[0] : NULL;

	e->number = a && a->kind == EXPR_NAME && str_eq_text(a->text, "init");
	if (a && !e->number && (a->kind != EXPR_NAME || !str_eq_text(a->text, "curr_ns")))
		check_error(c, a, "wrong-arg-type", "the namespace of '%s' is curr_ns or init",
			    e->function->name);
}

static void lower_pid(struct lower *l, const struct expr *e, uint16_t out)
{
	bool is_thread = e->function->number == BUILTIN_TID;

	if (!e->number)
		emit_di(l, OP_BUILTIN, out, (uint64_t)e->function->number);
	else
		emit_di(l, OP_BUILTIN, out, is_thread ? BUILTIN_INIT_TID : BUILTIN_INIT_PID);
}

static void lower_nsecs(struct lower *l, const struct expr *e, uint16_t out)
{
	emit_di(l, OP_BUILTIN, out, clocks[e->number].builtin);
}

/* Programs and their probes run in user mode. */
static void check_usermode(struct check *c, struct expr *e)
{
	(void)c;
	e->is_const = true;
	e->value = 1;
}

static const char *kind_of_probe(enum probe_type type)
{
	bool is_own = type == PROBE_BEGIN || type == PROBE_END || type >= PROBE_TEST; /* ORDER */

	return is_own ? "special" : probe_type_name(type);
}

static void check_probetype(struct check *c, struct expr *e)
{
	const struct probe_spec *first = c->v->clause->probes;

	for (const struct probe_spec *s = first; s; s = s->next)
		if (s->type != first->type)
			check_error(c, e, "not-here", "'probetype' needs probes of one type");
	e->kind = EXPR_STRING;
	e->text = str_from(kind_of_probe(first->type));
	check_expr(c, e);
}

static void lower_builtin(struct lower *l, const struct expr *e, uint16_t out)
{
	emit_di(l, OP_BUILTIN, out, (uint64_t)e->function->number);
}

/* comm(pid): the name of another thread, which is looked up when it is shown */
static void check_comm(struct check *c, struct expr *e)
{
	static const struct type name = DISPLAY_TYPE("comm", 1);

	(void)c;
	if (e->arg_count)
		e->shape = shape_of(name);
}

static void lower_comm(struct lower *l, const struct expr *e, uint16_t out)
{
	if (e->arg_count)
		emit_put(l, out, 0, lower_word(l, e->args[0]));
	else
		emit_si(l, OP_COMM, out, 0);
}

/* Signed when any attachment has it signed or narrow: C's int promotion over all sites. An argument
 * of a function is "raw": its register is read whole, and of an int the calling convention leaves
 * the upper half undefined. */
static struct shape arg_shape(const struct variant *v, unsigned n)
{
	struct type t = type_int(8, false);

	for (size_t i = 0; i < v->count; i++) {
		const struct operand *o = &v->attachments[i]->attach.args[n].operand;

		if (o->is_float)
			return shape_of((struct type){.kind = TYPE_FLOAT, .size = o->size});
		t.is_signed |= o->is_signed || o->size < 8;
		t.is_raw |= v->attachments[i]->spec->type == PROBE_UPROBE ||
			    v->attachments[i]->spec->type == PROBE_KPROBE;
		t.is_kernel |= check_is_kernel_probe(v->attachments[i]->spec);
		if (o->size > t.shown)
			t.shown = o->size;
	}
	return v->count ? shape_of(t) : shape_open();
}

static void check_arg_n(struct check *c, struct expr *e)
{
	unsigned n = 0;

	arg_number(e->text, &n);
	for (size_t i = 0; i < c->v->count && !c->err; i++)
		check_readable(c, e, c->v->attachments[i], n);
	if (!c->err)
		e->shape = arg_shape(c->v, n);
}

static void lower_arg_n(struct lower *l, const struct expr *e, uint16_t out)
{
	unsigned n = 0;

	arg_number(e->text, &n);
	emit_di(l, OP_ARG, out, n);
}

static const struct arch *variant_arch(const struct variant *v)
{
	return v->count && v->attachments[0]->attach.arch ? v->attachments[0]->attach.arch
							  : arch_host();
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
static void check_reg(struct check *c, struct expr *e)
{
	const struct arch *arch = variant_arch(c->v);
	struct operand reg = {.kind = OPERAND_REG, .size = 8};

	if (!arch || !find_register(arch, e->args[0]->text, &reg.reg) ||
	    source_unreadable(c->s->source, arch, &reg, false))
		check_error(c, e->args[0], "unknown-register", "unknown register '%.*s' on %s",
			    STR_FMT(e->args[0]->text), arch ? arch->name : "this machine");
}

static void lower_reg_call(struct lower *l, const struct expr *e, uint16_t out)
{
	uint8_t id = 0;

	find_register(variant_arch(l->v), e->args[0]->text, &id);
	emit_di(l, OP_REG, out, id);
}

/* bswap(n): as many bytes as the type of n has; of a constant, as many as it needs */
static void check_bswap(struct check *c, struct expr *e)
{
	const struct type *t = &e->args[0]->shape.type;
	bool is_plain = e->args[0]->is_const && t->shown;

	(void)c;
	e->shape = shape_of(type_int(is_plain ? t->shown : t->size, false));
}

/* Swap neighbours of 8 bits, then of 16, then of 32; what was wanted is at the top. */
static void lower_bswap(struct lower *l, const struct expr *e, uint16_t out)
{
	static const uint64_t masks[] = {0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0xffffffff};
	uint16_t low = lower_reg(l), high = lower_reg(l), n = lower_word(l, e->args[0]);

	for (unsigned i = 0; i < 3; i++) {
		uint16_t mask = lower_const(l, masks[i]), bits = lower_const(l, 8u << i);

		emit_dab(l, OP_SHR, high, n, bits);
		emit_dab(l, OP_AND, high, high, mask);
		emit_dab(l, OP_AND, low, n, mask);
		emit_dab(l, OP_SHL, low, low, bits);
		emit_dab(l, OP_OR, low, low, high);
		n = low;
	}
	emit_dab(l, OP_SHR, out, n, lower_const(l, 64 - 8 * e->shape.type.size));
}

static uint64_t stack_depth(struct check *c, const struct expr *e)
{
	if (!expr_is_int(e) || !e->is_const || e->value < 1 || e->value > 1024)
		check_error(c, e, "wrong-arg-type", "the depth of a stack must be from 1 to 1024");
	return e->value;
}

static struct shape script_stack(uint64_t depth)
{
	return shape_of((struct type){.kind = TYPE_LSTACK, .size = (uint32_t)depth * 16});
}

#define SCRIPT_DEPTH 255 /* of a mixed stack: one function of C runs many of a script */

static struct shape mixed_stack(struct check *c, uint64_t depth)
{
	struct type *parts = arena_array(&c->s->arena, struct type, 2);

	if (!parts) {
		c->err = -ENOMEM;
		return script_stack(depth);
	}
	parts[0] = (struct type){.kind = TYPE_USTACK, .size = (uint32_t)depth * 8};
	parts[1] = script_stack(depth > SCRIPT_DEPTH ? depth : SCRIPT_DEPTH).type;
	return shape_of((struct type){
		.kind = TYPE_TUPLE, .show = SHOW_MIXED, .elements = parts, .element_count = 2});
}

/* ustack, ustack(depth), ustack(perf), ustack(perf, depth) */
static void check_stack(struct check *c, struct expr *e)
{
	uint64_t depth = c->s->options.ustack_depth;
	uint8_t show = c->s->options.stack_mode;

	for (unsigned i = 0; i < e->arg_count && !c->err; i++) {
		struct expr *a = e->args[i];
		bool is_word = i == 0 && a->kind == EXPR_NAME;

		if (is_word && is_lang_stack(e))
			continue;
		if (is_word ? !config_stack_mode(a->text, &show) : i + 1 < e->arg_count)
			check_error(c, a, is_word ? "unsupported" : "wrong-arg-type",
				    "the stack mode must be 'bpftrace', 'perf', 'raw', 'file', "
				    "'build_id' or, of ustack, 'lang' or 'mixed'");
		if (is_word && show == SHOW_BUILD_ID && e->function->number == TYPE_KSTACK)
			check_error(
				c, a, "unsupported",
				"the kernel's functions are in no file: 'build_id' is for ustack");
		if (is_word)
			continue;
		if (stack_has_mode(e, "mixed"))
			check_error(c, a, "unsupported",
				    "'ustack(mixed)' has no depth: it needs both stacks whole");
		check_expr(c, a);
		depth = stack_depth(c, a);
	}
	if (stack_has_mode(e, "mixed"))
		e->shape = mixed_stack(c, depth);
	else if (is_lang_stack(e))
		e->shape = script_stack(depth);
	else
		e->shape = shape_of((struct type){.kind = (enum type_kind)e->function->number,
						  .size = (uint32_t)depth * 8,
						  .show = show});
}

/* Of bpftrace, where ustack follows frame pointers; here it takes what is known best, always. */
static void check_dwarf_stack(struct check *c, struct expr *e)
{
	check_unstable(c, e, "unstable_dw_ustack", c->s->facts.unstable_dw_ustack);
	check_stack(c, e);
}

static void lower_mixed(struct lower *l, const struct type *t, uint16_t out)
{
	uint16_t native = lower_slot(l, &t->elements[0]), script;

	emit_si(l, OP_USTACK, native, 0);
	emit_sti(l, OP_COPY, out, native, 0);
	lower_free_slot(l, native);
	script = lower_slot(l, &t->elements[1]);
	emit_si(l, OP_LSTACK, script, LANGUAGE_ANY | LANGUAGE_ENTRIES);
	emit_sti(l, OP_COPY, out, script, type_memory(&t->elements[0]));
	lower_free_slot(l, script);
}

static void lower_stack(struct lower *l, const struct expr *e, uint16_t out)
{
	if (type_is_mixed(&e->shape.type)) {
		lower_mixed(l, &e->shape.type, out);
		return;
	}
	if (e->shape.type.kind == TYPE_LSTACK)
		emit_si(l, OP_LSTACK, out, LANGUAGE_ANY);
	else
		emit_si(l, e->function->number == TYPE_USTACK ? OP_USTACK : OP_KSTACK, out, 0);
}

/* langstack, pystack(depth): e->function->number is the language */
static void check_script_stack(struct check *c, struct expr *e)
{
	e->shape = script_stack(e->arg_count ? stack_depth(c, e->args[0])
					     : c->s->options.ustack_depth);
}

static void lower_script_stack(struct lower *l, const struct expr *e, uint16_t out)
{
	emit_si(l, OP_LSTACK, out, (uint64_t)e->function->number);
}

static bool is_char_array(const struct trace_field *f)
{
	return (f->is_array || f->is_data_loc) && !f->is_rel_loc &&
	       str_index(f->c_type, 'c') >= 0 &&
	       (str_starts(f->c_type, STR("char")) || str_ends(f->c_type, STR("char[]")) ||
		str_starts(f->c_type, STR("const char")) ||
		str_starts(f->c_type, STR("__data_loc char")));
}

/* A field that points has the type that the kernel's text for it says. */
static void pointer_field(struct check *c, struct expr *e, const struct trace_field *f)
{
	const struct ctype *t = NULL;
	size_t at = 0;

	e->shape.type.show = SHOW_HEX;
	e->shape.type.is_kernel = check_is_kernel_probe(c->v->attachments[0]->spec);
	if (!c_scope_type_name(&c->s->tree.types, STR(""), f->c_type, &at, &t, NULL) &&
	    at == f->c_type.len)
		e->shape.type.ctype = check_value_type(c, t).ctype;
}

/* "unsigned long[6]": numbers, as a value with elements. The kernel's text gives all bytes, and may
 * have the name of a constant as the count. */
static bool number_array(struct check *c, const struct trace_field *f, struct type *out)
{
	struct str rest = f->c_type, of = str_cut(&rest, '[');
	const struct ctype *t = NULL;
	struct type element;
	size_t at = 0;
	unsigned count;

	if (!f->is_array || f->is_data_loc || f->is_rel_loc ||
	    c_scope_type_name(&c->s->tree.types, STR(""), of, &at, &t, NULL) || at != of.len)
		return false;
	element = check_value_type(c, t);
	count = element.kind == TYPE_INT ? f->size / element.size : 0;
	if (!count || count > PROGRAM_MAX_PARTS || f->size % element.size)
		return false;
	*out = check_array_of(c, &element, count);
	return true;
}

static void field_shape(struct check *c, struct expr *e, const struct trace_field *f)
{
	struct type numbers;

	if (is_char_array(f)) {
		e->shape = shape_of(
			type_text(TYPE_STR, f->is_data_loc ? c->s->facts.max_strlen : f->size));
		if (f->is_data_loc || f->size <= UINT8_MAX) /* insn.size has 8 bits */
			return;
	} else if (!f->is_array && !f->is_data_loc && !f->is_rel_loc &&
		   (f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8)) {
		e->shape = shape_of(type_int(f->size, f->is_signed));
		if (str_ends(f->c_type, STR("*")))
			pointer_field(c, e, f);
		return;
	} else if (number_array(c, f, &numbers)) {
		e->shape = shape_of(numbers);
		return;
	}
	if (e->is_part)
		e->shape = shape_of((struct type){.kind = TYPE_NAME});
	else
		check_error(c, e, "unsupported",
			    "field '%.*s' is '%.*s' of %u bytes, which is not supported yet",
			    STR_FMT(f->name), STR_FMT(f->c_type), f->size);
}

/* args.field of a tracepoint, args.word of a usdt probe */
static void check_field_value(struct check *c, struct expr *e)
{
	const struct trace_event *event = c->v->count ? c->v->attachments[0]->event : NULL;
	const struct trace_field *f;
	struct guess guess = {.nearest = 4};

	e->shape = shape_open();
	if (!c->v->count)
		return;
	if (c->v->attachments[0]->spec->type != PROBE_TRACEPOINT) {
		check_named(c, e);
		return;
	}
	f = event_field(event, e->text);
	if (f) {
		field_shape(c, e, f);
		return;
	}
	check_error(c, e, "unknown-field", "'%.*s' has no field '%.*s'",
		    STR_FMT(spec_text(c, c->v->attachments[0]->spec)), STR_FMT(e->text));
	for (unsigned i = 0; event && i < event->field_count; i++)
		guess_offer(&guess, e->text, event->fields[i].name);
	if (guess.best.len)
		diag_hint(c->d, "did you mean '%.*s'?", STR_FMT(guess.best));
}

static void read_field(struct lower *l, uint16_t out, uint32_t offset, uint32_t size,
		       bool is_signed)
{
	struct insn *i = lower_op(l, OP_FIELD);

	i->d = out;
	i->imm = offset;
	i->size = (uint8_t)size;
	i->is_signed = is_signed;
}

static void lower_field_array(struct lower *l, const struct trace_field *f, const struct type *t,
			      uint16_t out)
{
	const struct type *of = &t->elements[0];
	uint16_t part = lower_reg(l);

	for (unsigned i = 0; i < t->element_count; i++) {
		read_field(l, part, f->offset + i * of->size, of->size, of->is_signed);
		emit_put(l, out, 8ull * i, part);
	}
}

static void lower_field_value(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct attachment *p = l->v->attachments[0];
	const struct trace_field *f = event_field(p->event, e->text);
	struct insn *i;

	if (p->spec->type != PROBE_TRACEPOINT) {
		lower_named(l, e, out);
	} else if (e->shape.type.kind == TYPE_NAME) {
		lower_part_note(l, arena_printf(&l->s->arena, "(%.*s)", STR_FMT(f->c_type)), out);
	} else if (e->shape.type.kind == TYPE_STR) {
		i = lower_op(l, OP_FIELD_STR);
		i->s = out;
		i->imm = f->offset;
		i->size = f->is_data_loc ? 0 : (uint8_t)f->size;
	} else if (e->shape.type.kind == TYPE_TUPLE) {
		lower_field_array(l, f, &e->shape.type, out);
	} else {
		read_field(l, out, f->offset, f->size, f->is_signed);
	}
}

/* clang-format off */
#define RESULT_REGISTER { .kind = TYPE_INT, .size = 8, .is_raw = true }
#define RESULT_RETVAL   { .kind = TYPE_INT, .size = 8, .is_signed = true, .is_raw = true }
#define RESULT_U32      { .kind = TYPE_INT, .size = 8, .shown = 4 }
#define RESULT_U8       { .kind = TYPE_INT, .size = 8, .shown = 1 }
#define RESULT_COMM     { .kind = TYPE_STR, .size = 16 }

/* name, arguments, group, needs, probe types, result, check, lowering, number, help, example */
const struct function value_rows[] = {
	{ "argN", "", GROUP_VALUE, NEED_ARGUMENT, HAVE_ARGUMENTS, NO_RESULT, check_arg_n, lower_arg_n, 0,
	  "argument N, from 0", "@[arg0] = count();" },
	{ "args", "", GROUP_VALUE, NEED_ALL_ARGS, HAVE_NAMED_FIELDS, NO_RESULT, check_whole, lower_whole, 0,
	  "all arguments", "print(args);" },
	{ "args.", "", GROUP_VALUE, NEED_FIELD, HAVE_NAMED_FIELDS, NO_RESULT, check_field_value, lower_field_value, 0,
	  "an argument or tracepoint field by its name", "@ = sum(args.size);" },
	{ "retval", "", GROUP_VALUE, NEED_ARCH | NEED_RESULT, HAVE_RETVAL, RESULT_RETVAL, check_retval, lower_retval, 0,
	  "what the function returns", "@ = hist(retval);" },
	{ "pid", "[x", GROUP_VALUE, 0, 0, RESULT_U32, check_pid, lower_pid, BUILTIN_PID,
	  "process", "@[pid] = count();" },
	{ "tid", "[x", GROUP_VALUE, 0, 0, RESULT_U32, check_pid, lower_pid, BUILTIN_TID,
	  "thread", "@start[tid] = nsecs;" },
	{ "uid", "", GROUP_VALUE, 0, 0, RESULT_U64, NULL, lower_builtin, BUILTIN_UID,
	  "user", "@[uid] = count();" },
	{ "gid", "", GROUP_VALUE, 0, 0, RESULT_U64, NULL, lower_builtin, BUILTIN_GID,
	  "group", "@[gid] = count();" },
	{ "comm", "[i", GROUP_VALUE, 0, 0, RESULT_COMM, check_comm, lower_comm, 0,
	  "name of the thread", "@[comm] = count();" },
	{ "cpu", "", GROUP_VALUE, 0, 0, RESULT_U64, NULL, lower_builtin, BUILTIN_CPU,
	  "CPU of the event", "@[cpu] = count();" },
	{ "ncpus", "", GROUP_VALUE, 0, 0, RESULT_U64, NULL, lower_builtin, BUILTIN_NCPUS,
	  "number of CPUs", "print(ncpus);" },
	{ "nsecs", "[x", GROUP_VALUE, 0, 0, RESULT_U64, check_nsecs, lower_nsecs, 0,
	  "nanoseconds since boot", "@start[tid] = nsecs;" },
	{ "elapsed", "", GROUP_VALUE, 0, 0, RESULT_U64, NULL, lower_builtin, BUILTIN_ELAPSED,
	  "nanoseconds since the run began", "print(elapsed / 1000000);" },
	{ "jiffies", "", GROUP_VALUE, 0, 0, RESULT_U64, NULL, lower_builtin, BUILTIN_JIFFIES,
	  "the kernel's ticks", "print(jiffies);" },
	{ "numaid", "", GROUP_VALUE, 0, 0, RESULT_U64, NULL, lower_builtin, BUILTIN_NUMA,
	  "the memory node of the CPU", "@[numaid] = count();" },
	{ "usermode", "", GROUP_VALUE, 0, HAVE_SITES | IN(BEGIN) | IN(END), RESULT_U8, check_usermode, NULL, 0,
	  "1: the probe was hit in user mode", "print(usermode);" },
	{ "probetype", "", GROUP_VALUE, 0, 0, NO_RESULT, check_probetype, NULL, 0,
	  "the type of the probe: usdt, uprobe, ...", "print(probetype);" },
	{ "probe", "", GROUP_VALUE, 0, 0, RESULT_NAME, NULL, lower_builtin, BUILTIN_PROBE,
	  "name of the probe that was hit", "@[probe] = count();" },
	{ "func", "", GROUP_VALUE, NEED_FUNC, HAVE_FUNCTION, RESULT_NAME, NULL, lower_builtin, BUILTIN_FUNC,
	  "the function around the probe", "@[func] = count();" },
	{ "ustack", "[xx", GROUP_VALUE, NEED_STACKS, 0, NO_RESULT, check_stack, lower_stack, TYPE_USTACK,
	  "user stack; ustack(n) has at most n frames", "@[ustack(5)] = count();" },
	{ "dw_ustack", "[xx", GROUP_VALUE, NEED_STACKS, 0, NO_RESULT, check_dwarf_stack, lower_stack, TYPE_USTACK,
	  "the same as ustack", "@[dw_ustack(5)] = count();" },
	{ "kstack", "[xx", GROUP_VALUE, NEED_STACKS, 0, NO_RESULT, check_stack, lower_stack, TYPE_KSTACK,
	  "kernel stack; kstack(n): n frames", "@[kstack] = count();" },
	{ "langstack", "[c", GROUP_VALUE, NEED_LANG, 0, NO_RESULT, check_script_stack, lower_script_stack, LANGUAGE_ANY,
	  "stack of the script that the thread runs", "@[langstack] = count();" },
	{ "pystack", "[c", GROUP_VALUE, NEED_LANG, 0, NO_RESULT, check_script_stack, lower_script_stack, LANGUAGE_PYTHON,
	  "stack of the Python code", "@[pystack(5)] = count();" },
	{ "phpstack", "[c", GROUP_VALUE, NEED_LANG, 0, NO_RESULT, check_script_stack, lower_script_stack, LANGUAGE_PHP,
	  "stack of the PHP code", "@[phpstack] = count();" },
	{ "rbstack", "[c", GROUP_VALUE, NEED_LANG, 0, NO_RESULT, check_script_stack, lower_script_stack, LANGUAGE_RUBY,
	  "stack of the Ruby code", "@[rbstack] = count();" },
	{ "plstack", "[c", GROUP_VALUE, NEED_LANG, 0, NO_RESULT, check_script_stack, lower_script_stack, LANGUAGE_PERL,
	  "stack of the Perl code", "@[plstack] = count();" },
	{ "cgroup", "", GROUP_VALUE, 0, 0, RESULT_U64, NULL, lower_builtin, BUILTIN_CGROUP,
	  "number of the control group", "@[cgroup] = count();" },
	{ "curtask", "", GROUP_VALUE, 0, 0, RESULT_U64, check_task, lower_builtin, BUILTIN_TASK,
	  "the kernel's struct task_struct of the thread", "print(curtask->prio);" },
	{ "rand", "", GROUP_VALUE, 0, 0, RESULT_U32, NULL, lower_builtin, BUILTIN_RAND,
	  "a random number of 32 bits", "if (rand % 100 == 0) { print(pid); }" },
	{ "bswap", "i", GROUP_FUNCTION, 0, 0, NO_RESULT, check_bswap, lower_bswap, 0,
	  "the bytes of an integer in reverse order", "print(bswap((uint16)arg0));" },
	{ "reg", "s", GROUP_FUNCTION, NEED_ARCH, HAVE_REGISTERS, RESULT_REGISTER, check_reg, lower_reg_call, 0,
	  "a register of the CPU", "print(reg(\"ip\"));" },
	{ .name = "ctx", .group = GROUP_FOREIGN, .help = "only iter probes have members of it; reg(\"di\") reads a register" },
	{ .name = "sarg0", .group = GROUP_FOREIGN, .help = "newer bpftrace has none either: *(uint64 *)(reg(\"sp\") + 8)" },
	{ .name = "socket_cookie", .group = GROUP_FOREIGN, .help = "the kernel takes only pointers that its verifier trusts" },
	{ .name = NULL },
};
/* clang-format on */
