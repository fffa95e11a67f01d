/* Code in the making: instructions one after the other, registers and slots taken for values, jumps
 * that wait for their target, records and their formats. */
#include "script/lower/emit.h"

#include <errno.h>

#include "script/check/map.h"
#include "script/check/value_type.h"

#define MAX_INSNS 65536

void lower_fail(struct lower *l, int err)
{
	if (!l->err)
		l->err = err;
}

static void too_big(struct lower *l)
{
	if (!l->err)
		l->err = diag_error_at(l->d, -E2BIG, "too-big",
				       script_span(l->s, l->v->clause->mark),
				       "the code of this clause is too large");
}

/* Is there room for one more in the list? */
static bool has_room(struct lower *l, void **list, size_t count, size_t *cap, size_t size,
		     size_t most)
{
	if (l->err || count >= most || arena_grow(l->arena, list, count, cap, size)) {
		too_big(l);
		return false;
	}
	return true;
}

struct insn *lower_op(struct lower *l, enum op op)
{
	bool fits = has_room(l, (void **)&l->code, l->count, &l->cap, sizeof(*l->code), MAX_INSNS);
	struct insn *i = fits ? &l->code[l->count++] : &l->spare;

	*i = (struct insn){.op = (uint8_t)op,
			   .d = REG_NO,
			   .a = REG_NO,
			   .b = REG_NO,
			   .s = SLOT_NO,
			   .t = SLOT_NO,
			   .span = l->span};
	return i;
}

/* An instruction of the shape that most have. */
static struct insn *emit_insn(struct lower *l, enum op op, uint16_t d, uint16_t a, uint16_t s,
			      uint64_t imm)
{
	struct insn *i = lower_op(l, op);

	i->d = d;
	i->a = a;
	i->s = s;
	i->imm = (int64_t)imm;
	return i;
}

void emit_di(struct lower *l, enum op op, uint16_t d, uint64_t imm)
{
	emit_insn(l, op, d, REG_NO, SLOT_NO, imm);
}

void emit_dai(struct lower *l, enum op op, uint16_t d, uint16_t a, uint64_t imm)
{
	emit_insn(l, op, d, a, SLOT_NO, imm);
}

void emit_dab(struct lower *l, enum op op, uint16_t d, uint16_t a, uint16_t b)
{
	emit_insn(l, op, d, a, SLOT_NO, 0)->b = b;
}

void emit_si(struct lower *l, enum op op, uint16_t s, uint64_t imm)
{
	emit_insn(l, op, REG_NO, REG_NO, s, imm);
}

struct insn *emit_ds(struct lower *l, enum op op, uint16_t d, uint16_t s, uint64_t imm)
{
	return emit_insn(l, op, d, REG_NO, s, imm);
}

void emit_sti(struct lower *l, enum op op, uint16_t s, uint16_t t, uint64_t imm)
{
	emit_insn(l, op, REG_NO, REG_NO, s, imm)->t = t;
}

void emit_strcmp(struct lower *l, uint16_t d, uint16_t s, uint16_t t, int64_t bytes)
{
	emit_ds(l, OP_STRCMP, d, s, (uint64_t)bytes)->t = t;
}

void emit_load(struct lower *l, uint16_t d, uint16_t a, const struct type *t)
{
	struct insn *i = emit_insn(l, t->is_kernel ? OP_KLOAD : OP_LOAD, d, a, SLOT_NO, 0);

	i->size = (uint8_t)t->size;
	i->is_signed = t->is_signed;
}

void emit_put(struct lower *l, uint16_t s, uint64_t offset, uint16_t a)
{
	emit_insn(l, OP_PUT, REG_NO, a, s, offset);
}

void emit_read(struct lower *l, enum op op, uint16_t s, uint16_t a, uint16_t length, uint32_t most)
{
	bool is_cut = !l->err && most < l->slots[s].type.size;

	emit_insn(l, op, REG_NO, a, s, is_cut ? most : 0)->b = length;
}

struct insn *emit_map(struct lower *l, enum op op, const struct map *m, uint16_t key)
{
	struct insn *i = emit_insn(l, op, REG_NO, REG_NO, key, 0);

	i->map = (uint16_t)m->index;
	return i;
}

/* Registers are a stack: a statement gives back what it took (release). */
uint16_t lower_reg(struct lower *l)
{
	if (l->next_reg >= REG_NO - 1) {
		too_big(l);
		return 0;
	}
	if (l->next_reg + 1 > l->most_regs)
		l->most_regs = l->next_reg + 1;
	return (uint16_t)l->next_reg++;
}

uint16_t lower_const(struct lower *l, uint64_t value)
{
	uint16_t reg = lower_reg(l);

	emit_di(l, OP_CONST, reg, value);
	return reg;
}

/* A slot that an earlier statement has given back, if its type is the same. Large slots of
 * different types share memory in the engine, by their live ranges (engine/bpf/gen/frame.c). */
uint16_t lower_slot(struct lower *l, const struct type *t)
{
	for (size_t i = 0; i < l->slot_count; i++) {
		if (!l->slots[i].is_busy && type_equal(&l->slots[i].type, t)) {
			l->slots[i].is_busy = true;
			l->slots[i].owner = l->depth;
			return (uint16_t)i;
		}
	}
	if (!has_room(l, (void **)&l->slots, l->slot_count, &l->slot_cap, sizeof(*l->slots),
		      SLOT_NO - 1))
		return 0;
	l->slots[l->slot_count] = (struct lower_slot){*t, true, l->depth};
	return (uint16_t)l->slot_count++;
}

uint16_t lower_slot_like(struct lower *l, uint16_t slot)
{
	struct type type = l->slots[slot].type; /* a copy: the slots may move */

	return lower_slot(l, &type);
}

void lower_free_slot(struct lower *l, uint16_t slot)
{
	if (slot < l->slot_count)
		l->slots[slot].is_busy = false;
}

uint32_t lower_intern(struct lower *l, struct text_list *list, struct str text)
{
	uint32_t number = 0;

	if (!text.ptr || text_intern(l->s, list, text, &number))
		lower_fail(l, -ENOMEM);
	return number;
}

void lower_bind(struct lower *l, struct label *label)
{
	uint32_t at = label->last;

	while (at) {
		struct insn *i = &l->code[at - 1];

		at = (uint32_t)i->imm;
		i->imm = (int64_t)l->count;
	}
	label->last = 0;
}

void lower_goto(struct lower *l, enum op op, uint16_t reg, struct label *label)
{
	struct insn *i = lower_op(l, op);

	i->a = reg;
	if (i == &l->spare)
		return;
	i->imm = label->last;
	label->last = (uint32_t)l->count;
}

/* Equal formats share a number, so the variants of a clause, and what is compiled later for other
 * images, send records that the report knows already. */
static int format_intern(struct script *s, const struct format *f, uint32_t *out)
{
	struct format_list *list = &s->formats;
	struct piece *pieces;
	struct type *types;

	for (size_t i = 0; i < list->count; i++) {
		if (format_equal(&list->items[i], f)) {
			*out = (uint32_t)i;
			return 0;
		}
	}
	types = arena_array(&s->arena, struct type, f->field_count + 1u);
	pieces = arena_array(&s->arena, struct piece, f->piece_count + 1u);
	if (!types || !pieces ||
	    arena_grow(&s->arena, (void **)&list->items, list->count, &list->cap,
		       sizeof(*list->items)))
		return -ENOMEM;
	if (f->field_count)
		memcpy(types, f->fields, f->field_count * sizeof(*types));
	if (f->piece_count)
		memcpy(pieces, f->pieces, f->piece_count * sizeof(*pieces));
	list->items[list->count] = *f;
	list->items[list->count].fields = types;
	list->items[list->count].pieces = pieces;
	*out = (uint32_t)list->count++;
	return 0;
}

void lower_emit(struct lower *l, const struct format *f, const struct field *fields)
{
	struct field *copy;
	struct insn *i;
	uint32_t number;

	if (l->err)
		return;
	copy = arena_array(l->arena, struct field, f->field_count + 1u);
	if (!copy || format_intern(l->s, f, &number)) {
		lower_fail(l, -ENOMEM);
		return;
	}
	if (number > UINT16_MAX) {
		l->err = diag_error_at(l->d, -E2BIG, "too-big",
				       script_span(l->s, l->v->clause->mark),
				       "the script sends too many kinds of records");
		return;
	}
	if (f->field_count)
		memcpy(copy, fields, f->field_count * sizeof(*copy));
	i = lower_op(l, OP_EMIT);
	i->imm = number;
	i->fields = copy;
	i->field_count = (uint8_t)f->field_count;
}

/* ---- operators */

struct binary_ops {
	enum op is_signed, is_unsigned;
	bool swap; /* a > b is b < a */
};

/* clang-format off */
static const struct binary_ops binary_ops[] = {
	/*                  signed   unsigned swap  */
	[OPERATOR_BOR]  = { OP_OR,   OP_OR,   false },
	[OPERATOR_XOR]  = { OP_XOR,  OP_XOR,  false },
	[OPERATOR_BAND] = { OP_AND,  OP_AND,  false },
	[OPERATOR_EQ]   = { OP_EQ,   OP_EQ,   false },
	[OPERATOR_NE]   = { OP_NE,   OP_NE,   false },
	[OPERATOR_LT]   = { OP_SLT,  OP_ULT,  false },
	[OPERATOR_LE]   = { OP_SLE,  OP_ULE,  false },
	[OPERATOR_GT]   = { OP_SLT,  OP_ULT,  true  },
	[OPERATOR_GE]   = { OP_SLE,  OP_ULE,  true  },
	[OPERATOR_SHL]  = { OP_SHL,  OP_SHL,  false },
	[OPERATOR_SHR]  = { OP_SAR,  OP_SHR,  false },
	[OPERATOR_ADD]  = { OP_ADD,  OP_ADD,  false },
	[OPERATOR_SUB]  = { OP_SUB,  OP_SUB,  false },
	[OPERATOR_MUL]  = { OP_MUL,  OP_MUL,  false },
	[OPERATOR_DIV]  = { OP_SDIV, OP_UDIV, false },
	[OPERATOR_MOD]  = { OP_SMOD, OP_UMOD, false },
};
/* clang-format on */

void emit_operator(struct lower *l, enum operator op, bool is_signed, uint16_t a, uint16_t b,
		   uint16_t out)
{
	const struct binary_ops *ops = &binary_ops[op];

	emit_dab(l, is_signed ? ops->is_signed : ops->is_unsigned, out, ops->swap ? b : a,
		 ops->swap ? a : b);
}

/* ---- the end */

int lower_finish(struct lower *l, struct clause *out)
{
	struct slot *slots = arena_array(l->arena, struct slot, l->slot_count + 1);

	if (!slots)
		lower_fail(l, -ENOMEM);
	if (l->err)
		return l->err;
	for (size_t i = 0; i < l->slot_count; i++)
		slots[i].type = l->slots[i].type;
	out->code = l->code;
	out->insn_count = (uint32_t)l->count;
	out->reg_count = l->most_regs;
	out->slots = slots;
	out->slot_count = (uint32_t)l->slot_count;
	out->span = script_span(l->s, l->v->clause->mark);
	return 0;
}
