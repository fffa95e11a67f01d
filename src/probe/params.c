/* Where a function has its parameters at its first instruction, by the calling convention of the
 * machine. Comes in: the function's C type, and what the compiler says of registers. Goes out:
 * arguments, of which those that cannot be read, or whose place is not certain, say why.
 *
 * x86_64: System V ABI, AMD64 supplement, 3.2.3. aarch64: AAPCS64, 6.8. Elsewhere numbers and
 * addresses that fit a register are known, up to the first parameter that is something else. */
#include <elf.h>
#include <errno.h>
#include <limits.h>

#include "probe/probe.h"

#define NO_PLACE    UINT_MAX /* it has one, which cannot be read as one number */
#define NOT_CERTAIN (UINT_MAX - 1)

/* What the parameters before have used up. */
struct passing {
	const struct arch *arch;
	struct ctype_machine machine;
	unsigned ints, floats;	       /* registers of each kind */
	unsigned stack;		       /* words */
	bool is_c, is_lost;	       /* lost: it is not known where the others are */
	const char *why;	       /* of the last one without a place */
	const struct arch_reg *vector; /* of the last one, when it is a float in this register */
	/* Of the last struct: how it is passed, and which argN is its first word. */
	enum argument_passed passed;
	unsigned at;
	bool is_reference; /* argN is its address */
};

/* The number that `argN` has for a word on the stack. */
static unsigned take_stack(struct passing *p, unsigned words, unsigned align)
{
	unsigned first;

	if (align > p->machine.word && p->stack % 2)
		p->stack++;
	first = p->arch->call_reg_count + p->stack;
	p->stack += words;
	return first;
}

static unsigned lose_place(struct passing *p, const char *why)
{
	p->is_lost = true;
	p->why = why;
	return NOT_CERTAIN;
}

static unsigned take_ints(struct passing *p, unsigned words, unsigned align)
{
	unsigned first = p->ints;

	if (p->arch->machine == EM_AARCH64 && align > 8)
		first += first % 2;
	if (first + words > p->arch->call_reg_count) {
		/* There an argument is never split, and none comes back to a register. */
		if (p->arch->machine == EM_AARCH64)
			p->ints = p->arch->call_reg_count;
		return take_stack(p, words, align);
	}
	p->ints = first + words;
	return first;
}

/* A float or a vector of `count` registers. */
static unsigned take_floats(struct passing *p, unsigned count, unsigned words, unsigned align)
{
	p->why = "it is passed in a vector register, which tracers cannot see";
	if (p->floats + count <= 8) {
		p->floats += count;
		return NO_PLACE;
	}
	if (p->arch->machine == EM_AARCH64)
		p->floats = 8;
	return take_stack(p, words, align);
}

/* The vector register that has float number n; NULL: it is not known. */
static const struct arch_reg *float_register(const struct arch *arch, unsigned n)
{
	static const char *const x86[] = {"xmm0", "xmm1", "xmm2", "xmm3",
					  "xmm4", "xmm5", "xmm6", "xmm7"};
	static const char *const arm[] = {"v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7"};
	const char *const *names = arch->machine == EM_X86_64 ? x86 : arm;

	return n < 8 ? arch_find_reg(arch, str_from(names[n])) : NULL;
}

/* A number of 4 or 8 bytes is the low ones of its register, which not every tracer can read. */
static unsigned take_float(struct passing *p, struct ctype_layout is)
{
	unsigned n = p->floats, place = take_floats(p, 1, is.size > 8 ? 2 : 1, is.align);

	if (place == NO_PLACE && (is.size == 4 || is.size == 8))
		p->vector = float_register(p->arch, n);
	return place;
}

/* The numbers in a struct, wherever they are in it: which of its words have other than floats, and
 * how many floats of one size there are. */
struct content {
	bool has_int[2];
	unsigned floats, float_size;
	bool is_mixed;
	bool in_memory; /* x86_64: one that is not aligned, or an 80-bit float */
};

static void look_inside(const struct passing *p, const struct ctype *t, uint64_t offset,
			struct content *out, unsigned *steps)
{
	struct ctype_layout is;
	uint64_t count = 0;

	t = ctype_resolve(t);
	if (!(*steps)--) {
		*steps = 0;
		out->is_mixed = out->has_int[0] = out->has_int[1] = true;
		return;
	}
	if (t->kind == CTYPE_STRUCT || t->kind == CTYPE_UNION) {
		ctype_complete(t);
		for (unsigned i = 0; i < t->member_count && *steps; i++)
			look_inside(p, t->members[i].type, offset + t->members[i].offset, out,
				    steps);
		return;
	}
	is = ctype_layout(t, &p->machine);
	if (ctype_count(t, &count)) {
		is = ctype_layout(t->to, &p->machine);
		for (uint64_t i = 0; i < count && is.size && *steps; i++)
			look_inside(p, t->to, offset + i * is.size, out, steps);
		return;
	}
	out->in_memory |= is.align && offset % is.align;
	if (t->kind != CTYPE_FLOAT) {
		out->is_mixed = true;
		out->has_int[offset >= 8] = true;
		out->has_int[1] |= offset + is.size > 8;
		return;
	}
	out->in_memory |= is.size > 8;
	out->is_mixed |= out->floats && out->float_size != is.size;
	out->float_size = (unsigned)is.size;
	out->floats++;
}

static unsigned struct_on_stack(struct passing *p, unsigned words, unsigned align)
{
	p->at = take_stack(p, words, align);
	p->passed = PASSED_AT_ADDRESS;
	return NO_PLACE;
}

/* A few floats of one size are in vector registers; what has at most 16 bytes is in others, and of
 * a larger struct there is a copy whose address is passed. */
static unsigned take_struct_aarch64(struct passing *p, const struct content *content,
				    unsigned words, struct ctype_layout is)
{
	if (!content->is_mixed && content->floats <= 4) {
		unsigned place = take_floats(p, content->floats, words, is.align);

		if (place == NO_PLACE)
			return NO_PLACE;
		p->at = place;
	} else if (is.size > 16) {
		p->at = take_ints(p, 1, 8);
		p->is_reference = true;
	} else {
		p->at = take_ints(p, words, is.align);
	}
	p->passed = p->at < p->arch->call_reg_count && !p->is_reference ? PASSED_IN_WORDS
									: PASSED_AT_ADDRESS;
	return NO_PLACE;
}

static unsigned take_struct(struct passing *p, const struct ctype *t, struct ctype_layout is)
{
	unsigned words = (unsigned)((is.size + 7) / 8), steps = 1000, ints, floats;
	struct content content = {.float_size = 0};

	p->why = "it is a struct that is passed by value";
	if (!p->is_c || !is.size || is.size > 1u << 20)
		return lose_place(p, "how such a value is passed is not known");
	if (p->arch->machine == EM_X86_64 && is.size > 16)
		return struct_on_stack(p, words, is.align);
	look_inside(p, t, 0, &content, &steps);
	if (p->arch->machine == EM_AARCH64)
		return take_struct_aarch64(p, &content, words, is);
	ints = content.has_int[0] + (words > 1 && content.has_int[1]);
	floats = words - ints;
	if (content.in_memory || p->ints + ints > 6 || p->floats + floats > 8)
		return struct_on_stack(p, words, is.align);
	p->passed = floats ? PASSED_AS_NUMBER : PASSED_IN_WORDS;
	if (floats)
		p->why = "some of it is passed in a vector register, which tracers cannot see";
	p->at = p->ints;
	p->ints += ints;
	p->floats += floats;
	return NO_PLACE;
}

/* The number of the next parameter among argN; or NO_PLACE, NOT_CERTAIN. */
static unsigned take_place(struct passing *p, const struct ctype *t)
{
	struct ctype_layout is = ctype_layout_passed(t, &p->machine);
	bool is_known_abi = p->arch->machine == EM_X86_64 || p->arch->machine == EM_AARCH64;
	enum ctype_kind kind = ctype_kind(t);

	p->passed = PASSED_AS_NUMBER;
	p->is_reference = false;
	p->vector = NULL;
	if (p->is_lost)
		return NOT_CERTAIN;
	switch (kind) {
	case CTYPE_BOOL:
	case CTYPE_CHAR:
	case CTYPE_INTEGER:
	case CTYPE_ENUM:
	case CTYPE_POINTER:
	case CTYPE_STRING:
	case CTYPE_ARRAY:
	case CTYPE_FUNCTION:
		if (is.size <= p->machine.word)
			return take_ints(p, 1, 8);
		if (!is_known_abi || is.size > 16)
			break;
		p->why = "it is a number of 16 bytes";
		return take_ints(p, 2, 16), NO_PLACE;
	case CTYPE_FLOAT:
		if (!is_known_abi)
			break;
		if (p->arch->machine == EM_X86_64 && is.size > 8) {
			p->why = "it is a float of 16 bytes";
			return take_stack(p, 2, 16), NO_PLACE;
		}
		return take_float(p, is);
	case CTYPE_STRUCT:
	case CTYPE_UNION:
		if (is_known_abi)
			return take_struct(p, t, is);
		break;
	default: break;
	}
	return lose_place(p, "how such a value is passed is not known");
}

/* A result that does not fit registers goes where a hidden first parameter points. */
static void pass_result(struct passing *p, const struct ctype *result)
{
	enum ctype_kind kind = ctype_kind(result);
	uint64_t size = ctype_layout(result, &p->machine).size;
	struct content content = {.float_size = 0};
	unsigned steps = 1000;

	if (kind != CTYPE_STRUCT && kind != CTYPE_UNION && kind != CTYPE_BYTES)
		return;
	if (p->arch->machine == EM_AARCH64 && p->is_c)
		return; /* in a register of its own */
	if (size <= 16)
		look_inside(p, result, 0, &content, &steps);
	if (p->arch->machine != EM_X86_64 || !p->is_c || !size || content.in_memory)
		lose_place(p, "how the function returns its result is not known");
	else if (size > 16)
		p->ints = 1;
}

/* The compiler says which register has the parameter, and it is another one: it left out some
 * before. Its numbers are ours on these machines. */
static unsigned correct_number(const struct passing *p, unsigned n, int said)
{
	if (said < 0 || (p->arch->machine != EM_X86_64 && p->arch->machine != EM_AARCH64))
		return n;
	for (unsigned i = 0; i < p->arch->call_reg_count; i++)
		if (p->arch->call_regs[i] == said)
			return i;
	return n;
}

/* Does what the compiler says of one parameter contradict the convention? */
static bool is_changed(struct passing p, const struct ctype *function, const int16_t *registers)
{
	unsigned i = 0;

	for (const struct ctype_param *q = function->params; q; q = q->next, i++) {
		unsigned n = take_place(&p, q->type);

		if (n < NOT_CERTAIN && correct_number(&p, n, registers[i]) != n)
			return true;
	}
	return false;
}

/* Where a struct is in memory, or which registers have it. */
static void place_struct(const struct passing *p, struct argument *arg)
{
	struct operand o;

	if (p->at > UINT8_MAX || !operand_call_arg(p->arch, p->at, &o))
		return;
	if (p->passed == PASSED_AT_ADDRESS && !p->is_reference)
		o.kind = OPERAND_ADDRESS;
	o.raw = p->passed == PASSED_AT_ADDRESS ? STR("stack") : STR("registers");
	arg->operand = o;
	arg->passed = (uint8_t)p->passed;
	arg->first_word = (uint8_t)p->at;
}

static struct operand vector_operand(const struct passing *p, const struct ctype *t)
{
	uint8_t size = (uint8_t)ctype_layout(t, &p->machine).size;

	return (struct operand){.kind = OPERAND_REG,
				.size = size,
				.bytes = size,
				.is_float = true,
				.reg = p->vector->id,
				.raw = STR("")};
}

int function_arguments(struct arena *a, const struct arch *arch, const struct function_params *f,
		       struct argument **args, unsigned *count, const uint16_t **order,
		       unsigned *order_count)
{
	struct passing p = {.arch = arch,
			    .machine = ctype_machine_of(arch->machine, arch->word),
			    .is_c = f->is_c};
	struct argument *all = arena_array(a, struct argument, *count + 256u);
	uint16_t *indexes = arena_array(a, uint16_t, 256);
	unsigned next = *count, n = 0, most = *count;
	bool changed;

	if (!all || !indexes)
		return -ENOMEM;
	memcpy(all, *args, *count * sizeof(*all));
	pass_result(&p, f->type->to);
	changed = is_changed(p, f->type, f->registers);
	for (const struct ctype_param *q = f->type->params; q && n < 255; q = q->next, n++) {
		unsigned at = take_place(&p, q->type);

		if (at < NOT_CERTAIN)
			at = changed && f->registers[n] < 0
				     ? NOT_CERTAIN
				     : correct_number(&p, at, f->registers[n]);
		if (at >= most) {
			const char *why = at != NOT_CERTAIN ? p.why
					  : p.is_lost	    ? p.why
							    : "the compiler may have left it out";

			all[next] = (struct argument){
				.operand = {.kind = OPERAND_BAD, .raw = STR(""), .why = why},
				.counted_by = -1};
			if (at == NO_PLACE && p.passed && !changed)
				place_struct(&p, &all[next]);
			if (at == NO_PLACE && p.vector && !changed)
				all[next].operand = vector_operand(&p, q->type);
			/* Further up the stack than argN go. */
			if (at < NOT_CERTAIN && operand_call_arg(arch, at, &all[next].operand))
				all[next].operand.raw = STR("stack");
			at = next++;
		}
		all[at].name = q->name;
		all[at].type = q->type;
		all[at].name_from = all[at].type_from = ORIGIN_PROGRAM;
		indexes[n] = (uint16_t)at;
	}
	*args = all;
	*count = next;
	*order = indexes;
	*order_count = n;
	return 0;
}
