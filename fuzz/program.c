/* Random bytes -> a program -> program_check; what is accepted is printed and run by the
 * interpreter. The decoder makes operands small, so that many programs are nearly right. Nothing
 * may crash, read what was not written, or run for long; an accepted program must run without an
 * error. */
#include <stdlib.h>

#include "engine/interp/state.h"
#include "program/op.h"

#define MAX_CODE 64
#define MAX_WORK 20000 /* rounds of all loops multiplied, in a program we run */

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
	{.kind = TYPE_USYM},
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
	{{.kind = TYPE_USYM}},
};
static const struct map_def maps[] = {
	{STR("@a"), {.kind = TYPE_NONE}, {.kind = TYPE_INT, .size = 8}, 1, false},
	{STR("@b"), {.kind = TYPE_STR, .size = 8}, {.kind = TYPE_INT, .size = 8}, 3, false},
	{STR("@c"), {.kind = TYPE_INT, .size = 8}, {.kind = TYPE_STR, .size = 8}, 3, false},
	{STR("@d"), {.kind = TYPE_NONE}, {.kind = TYPE_AVG, .is_signed = true}, 1, false},
	{STR("@e"), {.kind = TYPE_INT, .size = 8}, {.kind = TYPE_HIST, .bits = 1}, 3, false},
	{STR("@f"),
	 {.kind = TYPE_TUPLE, .elements = pair, .element_count = 2},
	 {.kind = TYPE_LHIST, .min = -5, .max = 5, .step = 3},
	 3,
	 false},
	{STR("@g"), {.kind = TYPE_NONE}, {.kind = TYPE_MAX}, 1, false},
	{STR("@h"), {.kind = TYPE_NONE}, {.kind = TYPE_COUNT}, 1, false},
};
static const struct format formats[] = {
	{.kind = FORMAT_VALUE, .fields = types, .field_count = 1},
	{.kind = FORMAT_PRINTF, .fields = types, .field_count = 2},
	{.kind = FORMAT_PRINTF, .fields = types + 3, .field_count = 4},
	{.kind = FORMAT_EXIT},
};
static const struct str literals[] = {STR("text"), STR(""), STR("a text that is too long")};
static const struct str names[] = {STR("place")};
static const struct arch_reg regs[] = {{"r0", 0, 8, 0, 0}, {"r1", 1, 8, 0, 0}};
static const struct arch arch = {.name = "fuzz",
				 .word = 8,
				 .pc = 16,
				 .sp = 1,
				 .tls = 17,
				 .zero = REG_NONE,
				 .zero_base = REG_NONE,
				 .regs = regs,
				 .reg_count = 2};
static const struct operand operands[] = {
	{.kind = OPERAND_REG,
	 .size = 4,
	 .is_signed = true,
	 .reg = 0,
	 .base = REG_NONE,
	 .index = REG_NONE},
	{.kind = OPERAND_MEM, .size = 8, .base = 1, .index = REG_NONE, .value = -8},
	{.kind = OPERAND_BAD, .base = REG_NONE, .index = REG_NONE},
};
static const struct attach uprobe = {.kind = ATTACH_UPROBE,
				     .path = STR("/x"),
				     .arch = &arch,
				     .operands = operands,
				     .operand_count = 3};
static const struct attach event = {.kind = ATTACH_TRACEPOINT, .tracepoint = STR("a:b")};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

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
	if (i->op == OP_LOOP)
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

/* Rounds of all loops multiplied: a bound of what one run does per instruction. */
static uint64_t work_of(const struct clause *c)
{
	uint64_t work = 1;

	for (uint32_t i = 0; i < c->insn_count && work <= MAX_WORK; i++) {
		if (c->code[i].op == OP_LOOP)
			work *= (uint64_t)c->code[i].imm + 1;
	}
	return work;
}

/* What came out of a run: the bytes of all records and maps. */
struct outcome {
	const struct program *p;
	struct buf bytes;
	unsigned entries;
};

static int take_record(void *arg, struct str bytes)
{
	struct outcome *o = arg;
	struct record r;
	struct value v;

	if (record_open(o->p, bytes, &r))
		abort();
	for (unsigned i = 0; i < r.format->field_count; i++) {
		if (record_field(&r, &r.format->fields[i], &v))
			abort();
	}
	if (cursor_left(&r.rest))
		abort();
	buf_str(&o->bytes, bytes);
	return 0;
}

static int take_entry(void *arg, struct str key, struct str value)
{
	struct outcome *o = arg;

	if (++o->entries > 3)
		abort();
	buf_str(&o->bytes, key);
	buf_str(&o->bytes, value);
	return 0;
}

static void fire(struct engine *e, unsigned char garbage)
{
	static const char memory[] = "text in memory\0\x80\xff";
	static const uint64_t frames[] = {1, 2, 3};
	const struct area area = {0x1000, {memory, sizeof(memory)}};
	struct context c = {.areas = &area,
			    .area_count = 1,
			    .event = STR("\x04\x00\x08\x00"
					 "an event"),
			    .comm = STR("comm"),
			    .ustack = frames,
			    .ustack_count = 3};
	struct unit *u = &e->units[0];

	c.regs[0] = 0x1000;
	c.regs[1] = 0x1008;
	memset(u->regs, garbage, u->clause->reg_count * sizeof(*u->regs));
	for (uint32_t i = 0; i < u->clause->slot_count; i++)
		memset(u->frame + u->slot_at[i], garbage, type_memory(&slots[i].type));
	if (interp_fire(e, 0, 0, &c) != 1)
		abort();
}

static void run(struct outcome *o, unsigned char garbage)
{
	const struct engine_options options = {.ring_bytes = 256};
	struct engine *e;

	if (engine_interp.open(&options, &e, NULL))
		return;
	if (engine_interp.build(e, o->p, NULL) || engine_interp.attach(e, NULL))
		abort();
	interp_set_start(e, 0);
	for (unsigned i = 0; i < 3; i++)
		fire(e, (unsigned char)(garbage + i));
	if (engine_interp.drain(e, 0, take_record, o) < 0)
		abort();
	for (uint32_t i = 0; i < o->p->map_count; i++) {
		o->entries = 0;
		engine_interp.map_each(e, i, take_entry, o);
	}
	engine_interp.close(e);
}

static void run_twice(const struct program *p)
{
	struct outcome one = {.p = p}, two = {.p = p};

	run(&one, 0x11);
	run(&two, 0xee);
	if (!str_eq(buf_as_str(&one.bytes), buf_as_str(&two.bytes)))
		abort();
	buf_free(&one.bytes);
	buf_free(&two.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c = cursor_of(data, size, false);
	struct insn code[MAX_CODE];
	struct field fields[MAX_CODE][4];
	struct clause clause = {.code = code,
				.reg_count = 4,
				.slots = slots,
				.slot_count = COUNT(slots),
				.attaches = take(&c) & 1 ? &event : &uprobe,
				.attach_count = 1};
	struct program p = {.clauses = &clause,
			    .clause_count = 1,
			    .maps = maps,
			    .map_count = COUNT(maps),
			    .formats = formats,
			    .format_count = COUNT(formats),
			    .literals = literals,
			    .literal_count = COUNT(literals),
			    .names = names,
			    .name_count = 1};
	struct diag d = DIAG_INIT;
	struct buf text = BUF_INIT;
	int err;

	while (cursor_left(&c) && clause.insn_count < MAX_CODE - 1) {
		uint32_t at = clause.insn_count++;

		take_insn(&c, &code[at], at, fields[at]);
	}
	code[clause.insn_count++] = (struct insn){.op = OP_RETURN};
	err = program_check(&p, &d);
	if (err && !d.first)
		abort();
	program_print(&p, &text);
	if (!err && work_of(&clause) <= MAX_WORK)
		run_twice(&p);
	buf_free(&text);
	diag_free(&d);
	return 0;
}
