/* Places in memory -> code: their addresses, and the values that are read from them. */
#include "script/lower/places.h"

#include "script/check/ctypes.h"
#include "script/check/value_type.h"
#include "script/lower/emit.h"
#include "script/lower/named_code.h"

static uint16_t add_offset(struct lower *l, uint16_t address, uint64_t offset)
{
	uint16_t out;

	if (!offset)
		return address;
	out = lower_reg(l);
	emit_operator(l, OPERATOR_ADD, false, address, lower_const(l, offset), out);
	return out;
}

/* Is it a struct or array in memory, whose members are where it is? */
static bool has_parts(const struct expr *e)
{
	const struct ctype *t = e->is_place ? e->shape.type.ctype : NULL;

	return t && e->shape.type.kind != TYPE_INT &&
	       (ctype_is_composite(t) || t->kind == CTYPE_ARRAY);
}

/* Where the parts of `e` are: its own address, or the one that it is. */
static uint16_t lower_base(struct lower *l, const struct expr *e)
{
	return has_parts(e) ? lower_address(l, e) : lower_word(l, e);
}

static uint16_t member_address(struct lower *l, const struct expr *e)
{
	const struct type pointer = {
		.kind = TYPE_INT, .size = 8, .is_kernel = e->args[0]->shape.type.is_kernel};
	uint16_t at = lower_base(l, e->args[0]);

	for (uint64_t levels = e->number; levels > 1; levels--) {
		uint16_t next = lower_reg(l);

		emit_load(l, next, at, &pointer);
		at = next;
	}
	return add_offset(l, at, e->member->offset);
}

/* Elements of an array whose length the type has; 0: it may be any. */
static uint64_t known_count(const struct expr *array)
{
	uint64_t count;

	return has_parts(array) && ctype_count(array->shape.type.ctype, &count) ? count : 0;
}

/* An element outside of its array is not read. */
static void check_inside(struct lower *l, const struct expr *array, uint16_t index)
{
	uint64_t count = known_count(array);
	uint16_t is;

	if (!count || !l->outside)
		return;
	is = lower_reg(l);
	emit_dab(l, OP_ULT, is, index, lower_const(l, count));
	lower_missing(l, is, FAULT_INDEX);
	lower_goto(l, OP_JUMP_NOT, is, l->outside);
}

static uint16_t index_address(struct lower *l, const struct expr *e)
{
	const struct expr *a = e->args[0], *index = e->args[1];
	uint16_t base = lower_base(l, a), by, out;

	if (index->is_const)
		return add_offset(l, base, index->value * e->number);
	by = lower_word(l, index);
	check_inside(l, a, by);
	out = lower_reg(l);
	if (e->number != 1)
		emit_dab(l, OP_MUL, out, by, lower_const(l, e->number));
	emit_operator(l, OPERATOR_ADD, false, base, e->number != 1 ? out : by, out);
	return out;
}

uint16_t lower_address(struct lower *l, const struct expr *e)
{
	switch (e->kind) {
	case EXPR_MEMBER: return member_address(l, e);
	case EXPR_INDEX: return index_address(l, e);
	case EXPR_FIELD: {
		uint16_t out = lower_reg(l);

		lower_by_value(l, e, 0, out);
		return out;
	}
	default: return lower_base(l, e->args[0]);
	}
}

/* The number of a bit-field from that of its bytes. */
static void take_bits(struct lower *l, const struct ctype_member *m, bool is_signed, uint16_t reg)
{
	unsigned above = 64u - m->bit_offset - m->bit_width;

	emit_operator(l, OPERATOR_SHL, false, reg, lower_const(l, above), reg);
	emit_operator(l, OPERATOR_SHR, is_signed, reg, lower_const(l, 64u - m->bit_width), reg);
}

/* A slot that gets its value piece by piece from what is at `base`, or in registers. */
struct fill {
	uint16_t slot, base;
	const struct expr *words; /* NULL: at `base` */
};

/* The struct in registers that `e` is a part of, and where in it; NULL: it is in memory. */
static const struct expr *find_words(const struct expr *e, uint64_t *offset)
{
	for (*offset = 0; has_parts(e) || e->kind == EXPR_MEMBER || e->kind == EXPR_INDEX;
	     e = e->args[0]) {
		if (e->kind == EXPR_FIELD)
			return e->passed == PASSED_IN_WORDS ? e : NULL;
		if (!has_parts(e->args[0]))
			return NULL;
		if (e->kind == EXPR_MEMBER)
			*offset += e->member->offset;
		else if (e->kind == EXPR_INDEX)
			*offset += e->args[1]->value * e->number;
		/* else it is *array: the first element */
	}
	return NULL;
}

bool place_in_memory(const struct expr *e)
{
	uint64_t offset;

	return !find_words(e, &offset);
}

/* A number from the registers of a struct; its members do not cross words. */
static void take_from_words(struct lower *l, const struct expr *words, const struct type *t,
			    uint64_t offset, uint16_t out)
{
	lower_by_value(l, words, (unsigned)(offset / 8), out);
	if (offset % 8)
		emit_operator(l, OPERATOR_SHR, false, out, lower_const(l, offset % 8 * 8), out);
	if (t->size < 8)
		emit_dai(l, t->is_signed ? OP_SEXT : OP_ZEXT, out, out, t->size);
}

static void load_number(struct lower *l, const struct fill *f, const struct type *t,
			const struct ctype_member *m, uint64_t offset, uint16_t out)
{
	if (f->words)
		take_from_words(l, f->words, t, offset, out);
	else
		emit_load(l, out, add_offset(l, f->base, offset), t);
	if (m && m->bit_width)
		take_bits(l, m, t->is_signed, out);
}

/* An array of characters up to its NUL, or all of it; or all numbers of an array. */
static void lower_text_at(struct lower *l, const struct type *t, uint16_t address, uint16_t slot)
{
	uint64_t count = 0;

	if (!t->ctype || !ctype_count(t->ctype, &count))
		count = t->size;
	if (t->kind == TYPE_BUF)
		emit_read(l, t->is_kernel ? OP_KBUF : OP_BUF, slot, address,
			  lower_const(l, count * t->bits), UINT32_MAX);
	else if (t->is_kernel)
		emit_read(l, OP_KSTR, slot, address, REG_NO, (uint32_t)count);
	else
		emit_read(l, OP_STR, slot, address, lower_const(l, count), UINT32_MAX);
}

/* An array of characters in registers, byte by byte up to its NUL. */
static void push_words(struct lower *l, const struct fill *f, const struct type *t, uint64_t offset,
		       uint16_t slot)
{
	static const struct type byte = {.kind = TYPE_INT, .size = 1};
	struct label end = {0};
	uint64_t count = 0;
	uint16_t reg = lower_reg(l);

	if (!t->ctype || !ctype_count(t->ctype, &count))
		count = 0;
	emit_si(l, OP_ZERO, slot, 0);
	for (uint64_t i = 0; i < count; i++) {
		struct insn *push;

		take_from_words(l, f->words, &byte, offset + i, reg);
		lower_goto(l, OP_JUMP_NOT, reg, &end);
		push = lower_op(l, OP_PUSH);
		push->s = slot;
		push->a = reg;
	}
	lower_bind(l, &end);
}

static void lower_text_of(struct lower *l, const struct fill *f, const struct type *t,
			  uint64_t offset, uint16_t slot)
{
	if (f->words)
		push_words(l, f, t, offset, slot);
	else
		lower_text_at(l, t, add_offset(l, f->base, offset), slot);
}

static uint64_t fill_value(struct lower *l, const struct fill *f, const struct type *as,
			   const struct ctype_member *m, uint64_t offset, uint64_t to);

static uint64_t fill_members(struct lower *l, const struct fill *f, const struct type *as,
			     unsigned *n, const struct ctype *t, uint64_t offset, uint64_t to)
{
	for (unsigned i = 0; i < t->member_count && *n < as->element_count; i++) {
		const struct ctype_member *m = &t->members[i];

		if (!m->name.len) /* its members count as ours */
			to = fill_members(l, f, as, n, ctype_resolve(m->type), offset + m->offset,
					  to);
		else
			to = fill_value(l, f, &as->elements[(*n)++], m, offset + m->offset, to);
	}
	return to;
}

static uint64_t fill_array(struct lower *l, const struct fill *f, const struct type *as,
			   uint64_t offset, uint64_t to)
{
	uint64_t size = 0;

	for (unsigned i = 0; i < as->element_count; i++) {
		to = fill_value(l, f, &as->elements[i], NULL, offset, to);
		size = size ? size : ctype_layout(as->ctype->to, &l->s->tree.types.machine).size;
		offset += size;
	}
	return to;
}

/* The value at base + offset becomes slot[to...]; returns where the next one goes. */
static uint64_t fill_value(struct lower *l, const struct fill *f, const struct type *as,
			   const struct ctype_member *m, uint64_t offset, uint64_t to)
{
	uint32_t before = l->next_reg;
	unsigned n = 0;

	if (as->kind == TYPE_TUPLE && as->show == SHOW_ARRAY)
		return fill_array(l, f, as, offset, to);
	if (as->kind == TYPE_TUPLE)
		return fill_members(l, f, as, &n, as->ctype, offset, to);
	if (type_is_word(as)) {
		uint16_t word = lower_reg(l);

		load_number(l, f, as, m, offset, word);
		emit_put(l, f->slot, to, word);
	} else if (as->kind == TYPE_DISPLAY) { /* there is nothing in it */
		emit_put(l, f->slot, to, lower_const(l, 0));
	} else {
		uint16_t text = lower_slot(l, as);

		lower_text_of(l, f, as, offset, text);
		emit_sti(l, OP_COPY, f->slot, text, to);
		lower_free_slot(l, text);
	}
	l->next_reg = before;
	return to + type_memory(as);
}

static void read_place(struct lower *l, const struct expr *e, uint16_t out)
{
	uint64_t offset;
	struct fill f = {.slot = out, .words = find_words(e, &offset)};

	if (!f.words) {
		f.base = lower_address(l, e);
		offset = 0;
	}
	if (type_is_word(&e->shape.type))
		load_number(l, &f, &e->shape.type, e->member, offset, out);
	else if (e->shape.type.kind == TYPE_STR || e->shape.type.kind == TYPE_BUF)
		lower_text_of(l, &f, &e->shape.type, offset, out);
	else
		fill_value(l, &f, &e->shape.type, NULL, offset, 0);
}

static void lower_zero(struct lower *l, const struct type *t, uint16_t out)
{
	if (type_is_word(t))
		emit_dai(l, OP_MOV, out, lower_const(l, 0), 0);
	else
		emit_si(l, OP_ZERO, out, 0);
}

void lower_place(struct lower *l, const struct expr *e, uint16_t out)
{
	struct label outside = {0}, end = {0}, *around = l->outside;

	l->outside = &outside;
	read_place(l, e, out);
	l->outside = around;
	if (!outside.last)
		return;
	lower_goto(l, OP_JUMP, REG_NO, &end);
	lower_bind(l, &outside);
	lower_zero(l, &e->shape.type, out);
	lower_bind(l, &end);
}

/* array[i], where i is not known before: one after the other is compared with it. */
void lower_chosen(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct type *t = &e->args[0]->shape.type;
	uint16_t array = lower_memory(l, e->args[0], t), index = lower_word(l, e->args[1]);
	uint16_t sum = lower_const(l, 0), one = lower_reg(l), is = lower_reg(l);

	emit_dab(l, OP_ULT, is, index, lower_const(l, t->element_count));
	lower_missing(l, is, FAULT_INDEX);
	for (unsigned i = 0; i < t->element_count && !l->err; i++) {
		uint32_t before = l->next_reg;

		emit_dab(l, OP_EQ, is, index, lower_const(l, i));
		emit_ds(l, OP_GET, one, array, 8ull * i);
		emit_dab(l, OP_MUL, one, one, is);
		emit_dab(l, OP_OR, sum, sum, one);
		l->next_reg = before;
	}
	emit_dai(l, OP_MOV, out, sum, 0);
}

/* (uint64)array: its bytes in memory order */
void lower_joined(struct lower *l, const struct expr *array, uint16_t out)
{
	const struct type *t = &array->shape.type;
	unsigned size = t->elements[0].size;
	bool is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	uint16_t from = lower_memory(l, array, t), sum = lower_const(l, 0), part = lower_reg(l);

	for (unsigned i = 0; i < t->element_count; i++) {
		unsigned place = is_big ? t->element_count - 1 - i : i;
		uint32_t before = l->next_reg;

		emit_ds(l, OP_GET, part, from, 8ull * i);
		if (size < 8)
			emit_dai(l, OP_ZEXT, part, part, size);
		emit_dab(l, OP_SHL, part, part, lower_const(l, 8ull * size * place));
		emit_dab(l, OP_OR, sum, sum, part);
		l->next_reg = before;
	}
	emit_dai(l, OP_MOV, out, sum, 0);
}

/* The bytes of an integer in memory order, as elements of an array. */
void lower_byte_array(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct type *of = &e->shape.type.elements[0];
	unsigned count = e->shape.type.element_count;
	bool is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	uint16_t all = lower_word(l, e->args[0]), part = lower_reg(l);

	for (unsigned i = 0; i < count; i++) {
		unsigned place = is_big ? count - 1 - i : i;

		emit_operator(l, OPERATOR_SHR, false, all, lower_const(l, 8 * of->size * place),
			      part);
		if (of->size < 8)
			emit_dai(l, of->is_signed ? OP_SEXT : OP_ZEXT, part, part, of->size);
		emit_put(l, out, 8ull * i, part);
	}
}
