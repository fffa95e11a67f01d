/* Random bytes -> a program, for fuzz targets. The decoder makes operands small, so that many
 * programs are nearly right. */
#ifndef NOPAL_FUZZ_PROGRAM_BYTES_H
#define NOPAL_FUZZ_PROGRAM_BYTES_H

#include "base/array.h"
#include "base/cursor.h"
#include "program/op.h"

#define MAX_CODE 64

static const struct type pair[] = {
	{.kind = TYPE_INT, .size = 8, .is_signed = true},
	{.kind = TYPE_STR, .size = 8},
};
static const struct type types[] = {
	{.kind = TYPE_INT, .size = 8, .is_signed = true},
	{.kind = TYPE_STR, .size = 8},
	{.kind = TYPE_STR, .size = 16},
	{.kind = TYPE_TUPLE, .elements = pair, .element_count = 2},
	{.kind = TYPE_BUF, .size = 8},
	{.kind = TYPE_USTACK, .size = 16},
	DISPLAY_TYPE("usym", 2),
	{.kind = TYPE_KSTACK, .size = 8},
};
static const struct slot slots[] = {
	{{.kind = TYPE_INT, .size = 8}},
	{{.kind = TYPE_STR, .size = 8}},
	{{.kind = TYPE_STR, .size = 8}},
	{{.kind = TYPE_STR, .size = 16}},
	{{.kind = TYPE_TUPLE, .elements = pair, .element_count = 2}},
	{{.kind = TYPE_BUF, .size = 8}},
	{{.kind = TYPE_USTACK, .size = 16}},
	{DISPLAY_TYPE("usym", 2)},
};
/* clang-format off */
static const struct map_def maps[] = {
	{.name = STR("@a"), .max_entries = 1, .value = {.kind = TYPE_INT, .size = 8}},
	{.name = STR("@b"), .max_entries = 3, .value = {.kind = TYPE_INT, .size = 8}, .key = {.kind = TYPE_STR, .size = 8}},
	{.name = STR("@c"), .max_entries = 3, .value = {.kind = TYPE_STR, .size = 8}, .key = {.kind = TYPE_INT, .size = 8}},
	{.name = STR("@d"), .max_entries = 1, .value = {.kind = TYPE_AVG, .is_signed = true}},
	{.name = STR("@e"), .max_entries = 3, .value = {.kind = TYPE_HIST, .bits = 1}, .key = {.kind = TYPE_INT, .size = 8}},
	{.name = STR("@f"), .max_entries = 3, .value = {.kind = TYPE_LHIST, .min = -5, .max = 5, .step = 3},
	 .key = {.kind = TYPE_TUPLE, .elements = pair, .element_count = 2}},
	{.name = STR("@g"), .max_entries = 1, .value = {.kind = TYPE_MAX}},
	{.name = STR("@h"), .max_entries = 1, .value = {.kind = TYPE_COUNT}},
};
/* clang-format on */
static const struct format formats[] = {
	{.kind = FORMAT_VALUE, .fields = types, .field_count = 1},
	{.kind = FORMAT_PRINTF, .fields = types, .field_count = 2},
	{.kind = FORMAT_PRINTF, .fields = types + 3, .field_count = 4},
	{.kind = FORMAT_EXIT},
};
static const struct str literals[] = {STR("text"), STR(""), STR("a text that is too long")};
static const struct str names[] = {STR("place")};
static const struct arch_reg regs[] = {{"r0", 0, 8, 0, 0}, {"r1", 1, 8, 0, 0}};
static const struct arch made_arch = {.name = "fuzz",
				      .word = 8,
				      .pc = 16,
				      .sp = 1,
				      .tls = 17,
				      .zero = REG_NONE,
				      .zero_base = REG_NONE,
				      .regs = regs,
				      .reg_count = 2};
static const struct argument made_args[] = {
	{.operand = {.kind = OPERAND_REG,
		     .raw = STR("-4@%0"),
		     .size = 4,
		     .is_signed = true,
		     .reg = 0,
		     .base = REG_NONE,
		     .index = REG_NONE}},
	{.operand = {.kind = OPERAND_MEM,
		     .raw = STR("8@-8(1)"),
		     .size = 8,
		     .base = 1,
		     .index = REG_NONE,
		     .value = -8}},
	{.operand = {.kind = OPERAND_BAD, .raw = STR("0@?"), .base = REG_NONE, .index = REG_NONE}},
};
static const struct attach uprobe = {.kind = ATTACH_UPROBE,
				     .path = STR("/x"),
				     .arch = &made_arch,
				     .args = made_args,
				     .arg_count = 3};
static const struct attach event = {.kind = ATTACH_TRACEPOINT, .tracepoint = STR("a:b")};

static uint8_t take(struct cursor *c)
{
	uint8_t byte = 0;

	cursor_u8(c, &byte);
	return byte;
}

/* Small numbers mostly; 0xff is none. */
static uint16_t take_index(struct cursor *c, unsigned limit)
{
	uint8_t byte = take(c);

	return byte == 0xff ? REG_NO : byte % (limit + (byte > 0xf0));
}

static int64_t take_imm(struct cursor *c)
{
	static const int64_t odd[] = {INT64_MIN, INT64_MAX, -1,	     0x1000,
				      0x1007,	 1 << 24,   0x10000, -8};
	uint8_t byte = take(c);
	uint64_t wide = 0;

	if (byte == 0xff && cursor_u64(c, &wide))
		return (int64_t)wide;
	return byte >= 0xf8 ? odd[byte - 0xf8] : byte >= 0x80 ? 8 * (byte & 7) : byte & 31;
}

static void take_insn(struct cursor *c, struct insn *i, uint32_t at, struct field *fields)
{
	*i = (struct insn){.op = take(c) % (OP_COUNT_ + 1),
			   .d = take_index(c, 4),
			   .a = take_index(c, 4),
			   .b = take_index(c, 4),
			   .s = take_index(c, COUNT(slots)),
			   .t = take_index(c, COUNT(slots)),
			   .map = take(c) % (COUNT(maps) + 1),
			   .imm = take_imm(c),
			   .fields = fields};
	i->size = 1u << (take(c) & 3);
	i->is_signed = take(c) & 1;
	i->target = take(c) & 31;
	if (op_is_loop(i->op))
		i->target += at;
	if (i->op >= OP_JUMP && i->op <= OP_JUMP_NOT && i->imm < 32)
		i->imm += at;
	if (i->op != OP_EMIT)
		return;
	i->imm &= 7;
	i->field_count = take(c) % 5;
	for (unsigned n = 0; n < i->field_count; n++) {
		uint8_t byte = take(c);

		fields[n] = byte & 0x80 ? (struct field){REG_NO, byte & 7}
					: (struct field){byte & 3, SLOT_NO};
	}
}

/* A program and the room it lies in; made in place, as it points into itself. */
struct made_program {
	struct insn code[MAX_CODE];
	struct field fields[MAX_CODE][4];
	struct piece pieces[2];
	struct format formats[COUNT(formats)];
	struct clause clause;
	struct program program;
};

/* The pieces of a printf format, from the last bytes, which are code, too. */
static void make_pieces(struct made_program *m, const uint8_t *data, size_t size)
{
	memcpy(m->formats, formats, sizeof(formats));
	memset(m->pieces, 0, sizeof(m->pieces));
	for (size_t i = 0; i < 2 && size >= 6 * (i + 1); i++) {
		const uint8_t *byte = data + size - 6 * (i + 1);

		m->pieces[i] = (struct piece){.text = STR("%"),
					      .letter = (char)byte[0],
					      .length = byte[1] & 15,
					      .flags = byte[2],
					      .field = byte[3] & 3,
					      .width = (uint16_t)(byte[4] << 8),
					      .precision = (int16_t)(byte[5] << 8)};
	}
	m->formats[1].pieces = m->pieces;
	m->formats[1].piece_count = 2;
}

static void make_program(struct made_program *m, const uint8_t *data, size_t size)
{
	struct cursor c = cursor_of(data, size, false);

	make_pieces(m, data, size);
	m->clause = (struct clause){.code = m->code,
				    .reg_count = 4,
				    .slots = slots,
				    .slot_count = COUNT(slots),
				    .attaches = take(&c) & 1 ? &event : &uprobe,
				    .attach_count = 1};
	m->program = (struct program){.clauses = &m->clause,
				      .clause_count = 1,
				      .maps = maps,
				      .map_count = COUNT(maps),
				      .formats = m->formats,
				      .format_count = COUNT(formats),
				      .literals = literals,
				      .literal_count = COUNT(literals),
				      .names = names,
				      .name_count = 1};
	while (cursor_left(&c) && m->clause.insn_count < MAX_CODE - 1) {
		uint32_t at = m->clause.insn_count++;

		take_insn(&c, &m->code[at], at, m->fields[at]);
	}
	m->code[m->clause.insn_count++] = (struct insn){.op = OP_RETURN};
}

#endif
