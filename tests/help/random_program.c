#include "help/random_program.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* What the programs are made of. */
static const struct type pair[] = {
	{.kind = TYPE_INT, .size = 8, .is_signed = true},
	{.kind = TYPE_STR, .size = 64},
};

#define INT64                                                  \
	{                                                      \
		.kind = TYPE_INT, .size = 8, .is_signed = true \
	}
#define STR8                                \
	{                                   \
		.kind = TYPE_STR, .size = 8 \
	}
#define STR64                                \
	{                                    \
		.kind = TYPE_STR, .size = 64 \
	}
#define PAIR                                                             \
	{                                                                \
		.kind = TYPE_TUPLE, .elements = pair, .element_count = 2 \
	}
#define BUF16                                \
	{                                    \
		.kind = TYPE_BUF, .size = 16 \
	}
#define USYM DISPLAY_TYPE("usym", 2)

enum { S_INT, S_STR, S_STR2, S_LONG, S_LONG2, S_PAIR, S_PAIR2, S_BUF, S_USYM, S_COUNT };

static const struct slot slots[S_COUNT] = {
	[S_INT] = {INT64},  [S_STR] = {STR8},	 [S_STR2] = {STR8},
	[S_LONG] = {STR64}, [S_LONG2] = {STR64}, [S_PAIR] = {PAIR},
	[S_PAIR2] = {PAIR}, [S_BUF] = {BUF16},	 [S_USYM] = {USYM},
};

static const struct map_def maps[] = {
	{STR("@a"), {.kind = TYPE_NONE}, INT64, 1, false, false, false, {0, 0}, false, false},
	{STR("@b"), STR8, INT64, 3, false, false, false, {0, 0}, false, false},
	{STR("@c"), INT64, STR64, 3, false, false, false, {0, 0}, false, false},
	{STR("@d"),
	 {.kind = TYPE_NONE},
	 {.kind = TYPE_AVG, .is_signed = true},
	 1,
	 false,
	 false,
	 false,
	 {0, 0},
	 false,
	 false},
	{STR("@e"),
	 INT64,
	 {.kind = TYPE_HIST, .is_signed = true},
	 3,
	 false,
	 false,
	 false,
	 {0, 0},
	 false,
	 false},
	{STR("@f"),
	 PAIR,
	 {.kind = TYPE_LHIST, .min = -5, .max = 50, .step = 7},
	 3,
	 false,
	 false,
	 false,
	 {0, 0},
	 false,
	 false},
	{STR("@g"),
	 {.kind = TYPE_NONE},
	 {.kind = TYPE_MAX, .is_signed = true},
	 1,
	 false,
	 false,
	 false,
	 {0, 0},
	 false,
	 false},
	{STR("@h"), INT64, {.kind = TYPE_MIN}, 4, false, false, false, {0, 0}, false, false},
	{STR("@i"), STR64, {.kind = TYPE_COUNT}, 4, false, false, false, {0, 0}, false, false},
	{STR("@j"),
	 {.kind = TYPE_NONE},
	 {.kind = TYPE_HIST, .bits = 3},
	 1,
	 false,
	 false,
	 false,
	 {0, 0},
	 false,
	 false},
	{STR("@k"),
	 {.kind = TYPE_NONE},
	 {.kind = TYPE_SUM, .is_signed = true},
	 1,
	 false,
	 false,
	 false,
	 {0, 0},
	 false,
	 false},
	{STR("@l"), PAIR, PAIR, 4, false, false, false, {0, 0}, false, false},
	{STR("@m"), {.kind = TYPE_NONE}, STR8, 1, false, false, false, {0, 0}, false, false},
	{STR("@n"),
	 INT64,
	 {.kind = TYPE_STATS, .is_signed = true},
	 4,
	 false,
	 false,
	 false,
	 {0, 0},
	 false,
	 false},
	{STR("@o"),
	 {.kind = TYPE_NONE},
	 {.kind = TYPE_AVG},
	 1,
	 false,
	 false,
	 false,
	 {0, 0},
	 false,
	 false},
	{STR("@p"),
	 {.kind = TYPE_NONE},
	 {.kind = TYPE_BIT_OR},
	 1,
	 false,
	 false,
	 false,
	 {0, 0},
	 false,
	 false},
	{STR("@q"), STR8, {.kind = TYPE_BIT_OR}, 4, false, false, false, {0, 0}, false, false},
};

static const struct type fields[] = {INT64, STR8, STR64, PAIR, BUF16, USYM};

/* A format for each run of fields. */
static const struct format formats[] = {
	{.kind = FORMAT_VALUE, .fields = fields, .field_count = 1},
	{.kind = FORMAT_PRINTF, .fields = fields, .field_count = 2},
	{.kind = FORMAT_PRINTF, .fields = fields, .field_count = 4},
	{.kind = FORMAT_VALUE, .fields = fields + 2, .field_count = 1},
	{.kind = FORMAT_PRINTF, .fields = fields + 3, .field_count = 2},
	{.kind = FORMAT_VALUE, .fields = fields + 5, .field_count = 1},
};

static const struct str literals[] = {STR("text"), STR(""), STR("8 bytes."),
				      STR("longer than eight")};

static const struct str names[] = {STR("BEGIN")};

static const struct attach begin = {.kind = ATTACH_BEGIN};

#define GUARD 1024 /* pages around it, so that no pointer of a script gets past them */

static char *page;
static size_t page_size;

void random_page_open(void)
{
	static const char text[] =
		"hello, world\0short\0\xff\x80\x01\0exactly8\0and a longer line of "
		"text that fills more than sixty-four bytes of memory, surely";

	page_size = (size_t)sysconf(_SC_PAGESIZE);
	page = mmap(NULL, (2 * GUARD + 1) * page_size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(page != MAP_FAILED);
	mprotect(page, GUARD * page_size, PROT_NONE);
	page += GUARD * page_size;
	mprotect(page + page_size, GUARD * page_size, PROT_NONE);
	memset(page, 'x', page_size);
	memcpy(page, text, sizeof(text));
	memcpy(page + page_size - 8, "the end", 8);
}

/* xorshift64*, so that a seed means the same program everywhere. */
static uint64_t draw(struct maker *m, uint64_t limit)
{
	m->random ^= m->random >> 12;
	m->random ^= m->random << 25;
	m->random ^= m->random >> 27;
	return (m->random * UINT64_C(0x2545f4914f6cdd1d) >> 11) % limit;
}

static struct insn *add(struct maker *m, struct insn i)
{
	i.span = m->count;
	m->code[m->count] = i;
	return &m->code[m->count++];
}

static uint16_t any_reg(struct maker *m)
{
	uint16_t reg;

	do
		reg = (uint16_t)draw(m, REGS);
	while (!(m->regs >> reg & 1));
	return reg;
}

static uint16_t new_reg(struct maker *m)
{
	uint16_t reg = (uint16_t)draw(m, REGS);

	m->regs |= 1u << reg;
	return reg;
}

/* A register with this number in it. */
static uint16_t with_const(struct maker *m, int64_t imm)
{
	uint16_t reg = new_reg(m);

	add(m, (struct insn){.op = OP_CONST, .d = reg, .imm = imm});
	return reg;
}

static int64_t odd_number(struct maker *m)
{
	static const int64_t numbers[] = {0,
					  1,
					  -1,
					  2,
					  7,
					  63,
					  64,
					  255,
					  -128,
					  65535,
					  INT32_MAX,
					  INT32_MIN,
					  UINT32_MAX,
					  INT64_MAX,
					  INT64_MIN,
					  1000000,
					  0x3ff8000000000000,
					  -4503599627370496,
					  0x43e0000000000000,
					  0x7ff8000000000000,
					  0x3fc00000,
					  0xdf000000};

	return draw(m, 4) ? numbers[draw(m, COUNT(numbers))] : (int64_t)draw(m, 100);
}

static int64_t some_address(struct maker *m)
{
	static const int offsets[] = {0, 3, 13, 19, 23, 32};

	switch (draw(m, 8)) {
	case 0: return 0;
	case 1: return 16;
	case 2: return (int64_t)(uintptr_t)page + (int64_t)page_size - (int64_t)draw(m, 12);
	default: return (int64_t)(uintptr_t)page + offsets[draw(m, COUNT(offsets))];
	}
}

static void make_number(struct maker *m)
{
	uint16_t a = any_reg(m), b = any_reg(m);
	uint8_t op = (uint8_t)(OP_ADD + draw(m, OP_SLE - OP_ADD + 1));

	add(m, (struct insn){.op = op, .d = new_reg(m), .a = a, .b = b});
}

static void make_const(struct maker *m)
{
	with_const(m, odd_number(m));
}

static void make_extension(struct maker *m)
{
	uint16_t a = any_reg(m);

	switch (draw(m, 4)) {
	case 0:
		add(m,
		    (struct insn){.op = OP_F2I, .d = new_reg(m), .a = a, .imm = 4 << draw(m, 2)});
		break;
	case 1: add(m, (struct insn){.op = OP_MOV, .d = new_reg(m), .a = a}); break;
	default:
		add(m, (struct insn){.op = (uint8_t)(OP_ZEXT + draw(m, 2)),
				     .d = new_reg(m),
				     .a = a,
				     .imm = 1 << draw(m, 3)});
	}
}

static void make_builtin(struct maker *m)
{
	static const enum builtin known[] = {BUILTIN_PID, BUILTIN_TID, BUILTIN_UID, BUILTIN_GID,
					     BUILTIN_PROBE};

	add(m,
	    (struct insn){.op = OP_BUILTIN, .d = new_reg(m), .imm = known[draw(m, COUNT(known))]});
}

static void make_load(struct maker *m)
{
	uint16_t a = with_const(m, some_address(m));

	add(m, (struct insn){.op = OP_LOAD,
			     .d = new_reg(m),
			     .a = a,
			     .size = (uint8_t)(1 << draw(m, 4)),
			     .is_signed = draw(m, 2)});
}

/* Write some text into `slot`. */
static void fill_text(struct maker *m, uint16_t slot)
{
	uint16_t a, b = REG_NO;

	m->slots |= 1u << slot;
	switch (draw(m, 4)) {
	case 0:
		add(m, (struct insn){.op = OP_TEXT,
				     .s = slot,
				     .imm = (int64_t)draw(m, slots[slot].type.size > 16 ? 4 : 3)});
		return;
	case 1: add(m, (struct insn){.op = OP_COMM, .s = slot}); return;
	case 2: b = draw(m, 3) ? with_const(m, (int64_t)draw(m, 12)) : any_reg(m);
	}
	a = with_const(m, some_address(m));
	add(m, (struct insn){.op = OP_STR,
			     .s = slot,
			     .a = a,
			     .b = b == a ? REG_NO : b,
			     .imm = (int64_t)draw(m, slots[slot].type.size + 1)});
}

/* Write all of `slot`. */
static void fill(struct maker *m, uint16_t slot)
{
	uint16_t from, a, b;

	switch (slot) {
	case S_INT: add(m, (struct insn){.op = OP_PUT, .s = slot, .a = any_reg(m)}); break;
	case S_USYM:
		add(m, (struct insn){.op = OP_PUT, .s = slot, .a = any_reg(m)});
		add(m, (struct insn){.op = OP_PUT, .s = slot, .a = any_reg(m), .imm = 8});
		break;
	case S_PAIR:
	case S_PAIR2:
		from = S_LONG + draw(m, 2);
		fill_text(m, from);
		add(m, (struct insn){.op = OP_PUT, .s = slot, .a = any_reg(m)});
		add(m, (struct insn){.op = OP_COPY, .s = slot, .t = from, .imm = 8});
		break;
	case S_BUF:
		b = with_const(m, (int64_t)draw(m, 20));
		a = draw(m, REGS);
		if (a == b)
			a = (a + 1) % REGS;
		m->regs |= 1u << a;
		add(m, (struct insn){.op = OP_CONST, .d = a, .imm = some_address(m)});
		add(m, (struct insn){.op = OP_BUF,
				     .s = slot,
				     .a = a,
				     .b = b,
				     .imm = (int64_t)draw(m, slots[slot].type.size + 1)});
		break;
	default: fill_text(m, slot);
	}
	m->slots |= 1u << slot;
}

/* `slot` is written: mostly it is already. */
static uint16_t ready(struct maker *m, uint16_t slot)
{
	if (!(m->slots >> slot & 1) || !draw(m, 3))
		fill(m, slot);
	return slot;
}

static void make_slot(struct maker *m)
{
	uint16_t slot = (uint16_t)draw(m, S_COUNT);

	switch (draw(m, 6)) {
	case 0: add(m, (struct insn){.op = OP_ZERO, .s = slot}); break;
	case 1:
		ready(m, S_PAIR);
		add(m, (struct insn){.op = OP_PART, .s = S_LONG2, .t = S_PAIR, .imm = 8});
		slot = S_LONG2;
		break;
	case 2:
		ready(m, S_PAIR);
		add(m, (struct insn){.op = OP_COPY, .s = S_PAIR2, .t = S_PAIR});
		slot = S_PAIR2;
		break;
	case 3:
		slot = ready(m, slot);
		add(m, (struct insn){.op = OP_GET, .d = new_reg(m), .s = slot});
		break;
	default: fill(m, slot);
	}
	m->slots |= 1u << slot;
}

static void make_comparison(struct maker *m)
{
	static const uint16_t texts[] = {S_STR, S_STR2, S_LONG, S_LONG2};
	uint16_t s = ready(m, texts[draw(m, 4)]), t = ready(m, texts[draw(m, 4)]);

	if (s != t && !draw(m, 4)) {
		add(m, (struct insn){.op = OP_APPEND, .s = s, .t = t});
		return;
	}
	if (!draw(m, 4)) {
		bool marks = draw(m, 2);

		add(m, (struct insn){.op = marks ? OP_MARK : OP_PUSH,
				     .s = s,
				     .t = marks ? t : SLOT_NO,
				     .a = marks ? REG_NO : any_reg(m)});
		return;
	}
	if (!draw(m, 4)) {
		uint16_t at = any_reg(m); /* before there is a new one */

		add(m, (struct insn){.op = OP_BYTE, .d = new_reg(m), .s = s, .a = at});
		return;
	}
	add(m, (struct insn){.op = OP_STRCMP,
			     .d = new_reg(m),
			     .s = s,
			     .t = t,
			     .imm = (int64_t)draw(m, 12) - 1});
}

/* The slot of a type; `second` chooses another one where there are two. */
static uint16_t slot_of(const struct type *t, bool second)
{
	switch (t->kind) {
	case TYPE_NONE: return SLOT_NO;
	case TYPE_STR: return t->size == 8 ? S_STR + second : S_LONG + second;
	case TYPE_TUPLE: return S_PAIR + second;
	case TYPE_BUF: return S_BUF;
	case TYPE_DISPLAY: return S_USYM;
	default: return S_INT;
	}
}

static void make_map(struct maker *m)
{
	uint16_t map = (uint16_t)draw(m, COUNT(maps));
	const struct map_def *def = &maps[map];
	struct insn i = {.map = map, .d = REG_NO, .a = REG_NO, .s = slot_of(&def->key, draw(m, 2))};
	uint64_t choice = draw(m, 8);

	if (i.s == S_INT) {
		add(m, (struct insn){
			       .op = OP_PUT, .s = S_INT, .a = with_const(m, (int64_t)draw(m, 6))});
		m->slots |= 1u << S_INT;
	} else if (i.s != SLOT_NO) {
		ready(m, i.s);
	}
	if (choice == 0) {
		i.op = OP_MAP_DEL;
		if (draw(m, 2))
			i.d = new_reg(m);
	} else if (choice == 1) {
		i.op = OP_MAP_HAS;
		i.d = new_reg(m);
	} else if (type_is_aggregate(&def->value)) {
		bool readable = def->value.kind < TYPE_STATS;
		bool histogram = def->value.kind == TYPE_HIST || def->value.kind == TYPE_LHIST;

		i.op = choice >= 4 ? OP_AGGREGATE
		       : readable  ? OP_MAP_GET
		       : histogram ? OP_PERCENTILE
				   : OP_AGGREGATE;
		i.imm = histogram ? 1 + (int64_t)draw(m, MILLION) : 0;
		if (i.op != OP_AGGREGATE)
			i.d = new_reg(m);
		else if (def->value.kind != TYPE_COUNT || draw(m, 2))
			i.a = any_reg(m);
	} else if (def->value.kind == TYPE_INT) {
		i.op = choice < 4 ? OP_MAP_GET : choice < 6 ? OP_MAP_SET : OP_MAP_ADD;
		if (i.op != OP_MAP_GET)
			i.a = any_reg(m);
		if (i.op == OP_MAP_GET || (i.op == OP_MAP_ADD && draw(m, 2)))
			i.d = new_reg(m);
	} else {
		i.op = choice < 5 ? OP_MAP_COPY : OP_MAP_PUT;
		i.t = slot_of(&def->value, true);
		if (i.op == OP_MAP_PUT)
			ready(m, i.t);
		m->slots |= 1u << i.t;
	}
	add(m, i);
}

static void make_record(struct maker *m)
{
	uint32_t number = (uint32_t)draw(m, COUNT(formats));
	const struct format *f = &formats[number];
	struct field made[MAX_FIELDS];
	struct insn *i;

	for (unsigned n = 0; n < f->field_count; n++) {
		if (f->fields[n].kind == TYPE_INT)
			made[n] = (struct field){any_reg(m), SLOT_NO};
		else
			made[n] = (struct field){REG_NO,
						 ready(m, slot_of(&f->fields[n], draw(m, 2)))};
	}
	memcpy(m->fields[m->count], made, sizeof(made));
	i = add(m, (struct insn){
			   .op = OP_EMIT, .imm = number, .field_count = (uint8_t)f->field_count});
	i->fields = m->fields[m->count - 1];
}

static void make_block(struct maker *m, unsigned length);

/* What is written in a branch is not written behind it. */
static void make_branch(struct maker *m)
{
	unsigned regs = m->regs, written = m->slots;
	uint32_t jump = m->count, over;

	add(m, (struct insn){.op = (uint8_t)(OP_JUMP_IF + draw(m, 2)), .a = any_reg(m)});
	make_block(m, 4);
	if (draw(m, 2)) {
		over = m->count;
		add(m, (struct insn){.op = OP_JUMP});
		m->code[jump].imm = m->count;
		m->regs = regs;
		m->slots = written;
		make_block(m, 3);
		jump = over;
	}
	m->code[jump].imm = m->count;
	m->regs = regs;
	m->slots = written;
}

static void make_loop(struct maker *m)
{
	unsigned regs = m->regs, written = m->slots;
	uint32_t loop = m->count, out = 0;

	add(m, (struct insn){.op = OP_LOOP, .imm = 1 + (int64_t)draw(m, 5)});
	make_block(m, 2);
	if (draw(m, 2)) {
		out = m->count;
		add(m, (struct insn){.op = OP_JUMP_IF, .a = any_reg(m)});
	}
	make_block(m, 3);
	add(m, (struct insn){.op = OP_NEXT, .target = loop});
	m->code[loop].target = m->count;
	if (out)
		m->code[out].imm = m->count;
	m->regs = regs;
	m->slots = written;
}

/* The entries have no order, so nothing may depend on which came last. */
static void make_each(struct maker *m)
{
	static const uint16_t keyed[] = {1, 7, 8, 16}; /* @b @h @i @q: numbers */
	uint16_t map = keyed[draw(m, 4)], slot = slot_of(&maps[map].key, draw(m, 2));
	unsigned regs = m->regs, written = m->slots;
	uint32_t loop = m->count;
	uint16_t value = new_reg(m);

	add(m, (struct insn){.op = OP_EACH, .imm = 4, .d = value, .s = slot, .map = map});
	add(m, (struct insn){.op = OP_MAP_ADD, .a = value, .d = REG_NO, .s = SLOT_NO, .map = 0});
	add(m, (struct insn){.op = OP_NEXT, .target = loop});
	m->code[loop].target = m->count;
	add(m, (struct insn){.op = OP_CONST, .d = value, .imm = 0});
	add(m, (struct insn){.op = OP_ZERO, .s = slot});
	m->regs = regs;
	m->slots = written;
}

static void make_step(struct maker *m)
{
	static void (*const steps[])(struct maker *) = {
		make_number,  make_number, make_number, make_const,  make_extension,
		make_builtin, make_load,   make_slot,	make_slot,   make_map,
		make_map,     make_map,	   make_record, make_record, make_comparison,
	};

	if (m->count > MAX_CODE - 100)
		return;
	m->depth++;
	if (m->depth < 4 && !draw(m, 8))
		make_branch(m);
	else if (m->depth < 4 && !draw(m, 12))
		make_loop(m);
	else if (m->depth < 4 && !draw(m, 16))
		make_each(m);
	else
		steps[draw(m, COUNT(steps))](m);
	m->depth--;
}

static void make_block(struct maker *m, unsigned length)
{
	for (unsigned i = 0; i < length; i++)
		make_step(m);
}

static void make_clause(struct maker *m, uint64_t seed)
{
	*m = (struct maker){.random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
	with_const(m, odd_number(m));
	with_const(m, odd_number(m));
	make_block(m, 6 + (unsigned)draw(m, 12));
	make_record(m);
	add(m, (struct insn){.op = OP_RETURN});
}

void random_program_make(struct random_program *r, uint64_t seed)
{
	make_clause(&r->maker, seed);
	r->clause = (struct clause){.code = r->maker.code,
				    .insn_count = r->maker.count,
				    .reg_count = REGS,
				    .slots = slots,
				    .slot_count = S_COUNT,
				    .attaches = &begin,
				    .attach_count = 1};
	r->program = (struct program){.clauses = &r->clause,
				      .clause_count = 1,
				      .maps = maps,
				      .map_count = COUNT(maps),
				      .formats = formats,
				      .format_count = COUNT(formats),
				      .literals = literals,
				      .literal_count = COUNT(literals),
				      .names = names,
				      .name_count = 1,
				      .spans = r->spans,
				      .span_count = MAX_CODE};
}

void random_page_close(void)
{
	munmap(page - GUARD * page_size, (2 * GUARD + 1) * page_size);
}

struct str random_page(void)
{
	return str_of(page, page_size);
}
