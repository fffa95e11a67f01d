#include "help/program_text.h"

#include <stddef.h>
#include <stdlib.h>

#define TEXT_MAX 64 /* maps, slots, instructions ... of a test */

/* A machine with registers 0..15, program counter 16, thread pointer 17. */
static const struct arch_reg test_regs[] = {
	{"r0", 0, 8, 0, 0},   {"r1", 1, 8, 0, 0},   {"r2", 2, 8, 0, 0},	  {"r3", 3, 8, 0, 0},
	{"r4", 4, 8, 0, 0},   {"r5", 5, 8, 0, 0},   {"r6", 6, 8, 0, 0},	  {"r7", 7, 8, 0, 0},
	{"r8", 8, 8, 0, 0},   {"r9", 9, 8, 0, 0},   {"r10", 10, 8, 0, 0}, {"r11", 11, 8, 0, 0},
	{"r12", 12, 8, 0, 0}, {"r13", 13, 8, 0, 0}, {"r14", 14, 8, 0, 0}, {"r15", 15, 8, 0, 0},
};

/* clang-format off */
#define TEST_ARCH(bytes)                                                                  \
	.word = (bytes), .pc = 16, .sp = 15, .tls = 17, .zero = 14, .zero_base = 13, .regs = test_regs, \
	.reg_count = 16

static const struct arch test_arch = { .name = "test", TEST_ARCH(8) };
const struct arch test_arch32 = { .name = "test32", TEST_ARCH(4) };
/* clang-format on */

static void read_failed(struct test_program *t, const char *what)
{
	fail_msg("program text: expected %s before '%s'", what, t->at);
	abort();
}

static void skip_blanks(struct test_program *t)
{
	t->at += strspn(t->at, " \t,");
}

static bool take(struct test_program *t, const char *text)
{
	skip_blanks(t);
	if (strncmp(t->at, text, strlen(text)) != 0)
		return false;
	t->at += strlen(text);
	return true;
}

static void want(struct test_program *t, const char *text)
{
	if (!take(t, text))
		read_failed(t, text);
}

static int64_t read_number(struct test_program *t)
{
	char *end;
	int64_t out;

	skip_blanks(t);
	out = *t->at == '-' ? strtoll(t->at, &end, 0) : (int64_t)strtoull(t->at, &end, 0);
	if (end == t->at)
		read_failed(t, "a number");
	t->at = end;
	return out;
}

static struct str read_word(struct test_program *t)
{
	struct str out;

	skip_blanks(t);
	out = str_of(t->at, strspn(t->at, "abcdefghijklmnopqrstuvwxyz_0123456789"));
	t->at += out.len;
	return out;
}

/* "text" with \" \\ \xNN. */
static struct str read_quoted(struct test_program *t)
{
	char *out = arena_alloc(&t->arena, strlen(t->at) + 1);
	size_t len = 0;

	want(t, "\"");
	for (; *t->at && *t->at != '"'; t->at++) {
		if (*t->at != '\\') {
			out[len++] = *t->at;
		} else if (*++t->at == 'x') {
			char digits[3] = {t->at[1], t->at[2], 0};

			out[len++] = (char)strtoul(digits, NULL, 16);
			t->at += 2;
		} else {
			out[len++] = *t->at;
		}
	}
	want(t, "\"");
	return str_of(out, len);
}

static void read_elements(struct test_program *t, const struct type **out, unsigned *count)
{
	struct type *elements = arena_array(&t->arena, struct type, TEXT_MAX);

	want(t, "(");
	while (!take(t, ")"))
		elements[(*count)++] = read_type(t);
	*out = elements;
}

static bool read_sign(struct test_program *t)
{
	bool is_signed = take(t, "(int64)");

	if (!is_signed)
		want(t, "(uint64)");
	return is_signed;
}

static uint32_t read_size(struct test_program *t)
{
	uint32_t size;

	want(t, "[");
	size = (uint32_t)read_number(t);
	want(t, "]");
	return size;
}

/* What stands behind the name of a type: b bits, s [size], f [frames], i (sign), h hist, l lhist.
 */
static void read_form(struct test_program *t, char form, bool is_unsigned, struct type *out)
{
	switch (form) {
	case 'b':
		out->size = (uint32_t)read_number(t) / 8;
		out->is_signed = out->kind == TYPE_INT && !is_unsigned;
		break;
	case 's': out->size = read_size(t); break;
	case 'f': out->size = 8 * read_size(t); break;
	case 'p': out->size = 16 * read_size(t); break;
	case 'i': out->is_signed = read_sign(t); break;
	case 'h':
		want(t, "(");
		out->bits = (uint8_t)read_number(t);
		out->is_signed = !take(t, "unsigned");
		want(t, ")");
		break;
	case 'l':
		want(t, "(");
		out->min = read_number(t);
		out->max = read_number(t);
		out->step = read_number(t);
		want(t, ")");
		break;
	}
}

struct type read_type(struct test_program *t)
{
	static const struct {
		const char *name;
		enum type_kind kind;
		char form; /* of read_form */
	} kinds[] = {
		{"uint", TYPE_INT, 'b'},      {"int", TYPE_INT, 'b'},
		{"float", TYPE_FLOAT, 'b'},   {"string", TYPE_STR, 's'},
		{"buffer", TYPE_BUF, 's'},    {"name", TYPE_NAME, 0},
		{"none", TYPE_NONE, 0},	      {"ustack", TYPE_USTACK, 'f'},
		{"lstack", TYPE_LSTACK, 'p'}, {"kstack", TYPE_KSTACK, 'f'},
		{"usym", TYPE_DISPLAY, 'd'},  {"ksym", TYPE_DISPLAY, 'd'},
		{"time", TYPE_DISPLAY, 'd'},  {"count", TYPE_COUNT, 0},
		{"sum", TYPE_SUM, 'i'},	      {"min", TYPE_MIN, 'i'},
		{"max", TYPE_MAX, 'i'},	      {"bit_or", TYPE_BIT_OR, 0},
		{"avg", TYPE_AVG, 'i'},	      {"stats", TYPE_STATS, 'i'},
		{"lhist", TYPE_LHIST, 'l'},   {"hist", TYPE_HIST, 'h'},
	};
	struct type out = {0};

	skip_blanks(t);
	if (*t->at == '(') {
		out.kind = TYPE_TUPLE;
		read_elements(t, &out.elements, &out.element_count);
		return out;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		bool is_unsigned = *t->at == 'u';

		if (!take(t, kinds[i].name))
			continue;
		out.kind = kinds[i].kind;
		read_form(t, kinds[i].form, is_unsigned, &out);
		if (out.kind == TYPE_DISPLAY)
			out = (struct type)DISPLAY_TYPE(kinds[i].name, 2);
		return out;
	}
	read_failed(t, "a type");
	return out;
}

static uint16_t read_index(struct test_program *t, const char *prefix)
{
	if (take(t, "-"))
		return REG_NO;
	want(t, prefix);
	return (uint16_t)read_number(t);
}

static void read_part(struct test_program *t, uint16_t *slot, int64_t *imm)
{
	*slot = read_index(t, "s");
	want(t, "[");
	*imm = read_number(t);
	want(t, "]");
}

static void read_fields(struct test_program *t, struct insn *i)
{
	struct field *fields = arena_array(&t->arena, struct field, 256);

	i->imm = read_number(t);
	want(t, "(");
	for (; !take(t, ")"); i->field_count++) {
		bool slot = *t->at == 's';
		uint16_t number = read_index(t, slot ? "s" : "r");

		fields[i->field_count] =
			(struct field){slot ? REG_NO : number, slot ? number : SLOT_NO};
	}
	i->fields = fields;
}

static int64_t read_builtin(struct test_program *t)
{
	struct str name = read_word(t);

	for (unsigned i = 0; i < BUILTIN_COUNT_; i++) {
		if (str_eq_text(name, builtin_name(i)))
			return i;
	}
	read_failed(t, "a builtin");
	return -1;
}

static void read_operand(struct test_program *t, char letter, struct insn *i)
{
	switch (letter) {
	case 'd':
	case 'D': i->d = read_index(t, "r"); break;
	case 'a':
	case 'A': i->a = read_index(t, "r"); break;
	case 'b':
	case 'B': i->b = read_index(t, "r"); break;
	case 's': i->s = read_index(t, "s"); break;
	case 't': i->t = read_index(t, "s"); break;
	case 'p':
	case 'g': read_part(t, &i->s, &i->imm); break;
	case 'q': read_part(t, &i->t, &i->imm); break;
	case 'E': i->map = read_index(t, "m"); break;
	case 'k':
		i->map = read_index(t, "m");
		if (take(t, "[")) {
			i->s = read_index(t, "s");
			want(t, "]");
		}
		break;
	case 'x':
		i->is_signed = take(t, "i");
		if (!i->is_signed)
			want(t, "u");
		i->size = (uint8_t)(read_number(t) / 8);
		break;
	case 'h': i->size = (uint8_t)read_number(t); break;
	case 'l': i->target = (uint32_t)read_number(t); break;
	case 'o': i->imm = read_builtin(t); break;
	case 'e': read_fields(t, i); break;
	case 'm': i->imm = *t->at ? read_number(t) : 0; break;
	default: i->imm = read_number(t); break;
	}
}

static const struct op_info *find_op(struct test_program *t, uint8_t *op)
{
	struct str name = read_word(t);

	for (unsigned i = 0; i < OP_COUNT_; i++) {
		*op = (uint8_t)i;
		if (str_eq_text(name, op_info(i)->name))
			return op_info(i);
	}
	read_failed(t, "an operation");
	return NULL;
}

static void read_insn(struct test_program *t, struct clause *c)
{
	struct insn *i = (struct insn *)&c->code[c->insn_count];
	char *equals, *result;
	const struct op_info *info;

	*i = (struct insn){.d = REG_NO, .a = REG_NO, .b = REG_NO, .s = SLOT_NO, .t = SLOT_NO};
	skip_blanks(t);
	if (*t->at >= '0' && *t->at <= '9' && read_number(t) != c->insn_count)
		read_failed(t, "the number of the instruction");
	result = t->at;
	equals = strstr(t->at, " = ");
	if (equals)
		t->at = equals + 3;
	info = find_op(t, &i->op);
	for (const char *letter = info->operands; *letter; letter++)
		read_operand(t, *letter, i);
	if (equals) {
		t->at = result;
		for (const char *letter = info->results; *letter; letter++) {
			if (letter == info->results || take(t, ", "))
				read_operand(t, *letter, i);
		}
	}
	i->span = c->insn_count++;
}

/* "-4@%3", "8f@$1", "4@-8(1,2,3)" */
static struct operand read_arg(struct test_program *t)
{
	struct operand o = {.base = REG_NONE, .index = REG_NONE};
	char *end = t->at;

	o.raw = read_quoted(t);
	end = t->at;
	t->at = arena_text(&t->arena, o.raw);
	o.is_signed = take(t, "-");
	o.size = (uint8_t)read_number(t);
	o.is_float = take(t, "f");
	want(t, "@");
	if (take(t, "$")) {
		o.kind = OPERAND_CONST;
		o.value = read_number(t);
	} else if (take(t, "%")) {
		o.kind = OPERAND_REG;
		o.reg = (uint8_t)read_number(t);
		o.reg_shift = take(t, ">>") ? (uint8_t)read_number(t) : 0;
	} else if (take(t, "?")) {
		o.kind = OPERAND_BAD;
		o.why = "a test";
	} else {
		o.kind = OPERAND_MEM;
		o.value = read_number(t);
		want(t, "(");
		if (!take(t, "-"))
			o.base = (uint8_t)read_number(t);
		if (!take(t, ")")) {
			o.index = (uint8_t)read_number(t);
			o.scale_shift = (uint8_t)read_number(t);
		}
	}
	t->at = end;
	return o;
}

static bool read_attach_kind(struct test_program *t, enum attach_kind *kind)
{
	for (unsigned i = 0; attach_name(i); i++) {
		*kind = i;
		if (take(t, attach_name(i)))
			return true;
	}
	return false;
}

static bool read_attach(struct test_program *t, struct clause *c)
{
	struct attach *a = (struct attach *)&c->attaches[c->attach_count];
	struct argument *args = arena_array(&t->arena, struct argument, TEXT_MAX);

	*a = (struct attach){.arch = t->arch, .args = args};
	if (!read_attach_kind(t, &a->kind))
		return false;
	if (a->kind == ATTACH_INTERVAL || a->kind == ATTACH_PROFILE)
		a->period = (uint64_t)read_number(t);
	if (a->kind == ATTACH_TRACEPOINT)
		a->tracepoint = read_quoted(t);
	if (a->kind == ATTACH_UPROBE || a->kind == ATTACH_URETPROBE) {
		a->path = read_quoted(t);
		a->offset = (uint64_t)read_number(t);
	}
	if (take(t, "semaphore"))
		a->sema_offset = (uint64_t)read_number(t);
	want(t, "name");
	a->name = (uint32_t)read_number(t);
	want(t, "func");
	a->func = (uint32_t)read_number(t);
	if (take(t, "args"))
		for (skip_blanks(t); *t->at; skip_blanks(t))
			args[a->arg_count++].operand = read_arg(t);
	c->attach_count++;
	return true;
}

static void read_format(struct test_program *t)
{
	struct format *f = &t->formats[t->program.format_count];
	struct str kind;

	want(t, "format");
	if (read_number(t) != t->program.format_count)
		read_failed(t, "the number of the format");
	kind = read_word(t);
	while (format_name(f->kind) && !str_eq_text(kind, format_name(f->kind)))
		f->kind++;
	f->text = read_quoted(t);
	read_elements(t, &f->fields, &f->field_count);
	if (f->kind == FORMAT_PRINTF || f->kind == FORMAT_CAT || f->kind == FORMAT_SYSTEM ||
	    f->kind == FORMAT_MESSAGE)
		assert_int_equal(format_parse(f->text, &t->arena, f), 0);
	f->map = take(t, "m") ? (uint32_t)read_number(t) : 0;
	f->top = take(t, "top") ? read_number(t) : 0;
	f->div = take(t, "div") ? read_number(t) : 0;
	f->exit_code = take(t, "exit") ? read_number(t) : 0;
	t->program.format_count++;
}

static void read_map(struct test_program *t)
{
	struct map_def *m = &t->maps[t->program.map_count];

	want(t, "map m");
	if (read_number(t) != t->program.map_count++)
		read_failed(t, "the number of the map");
	m->name = read_quoted(t);
	m->key = read_type(t);
	want(t, "->");
	m->value = read_type(t);
	m->max_entries = (uint32_t)read_number(t);
	want(t, "entries");
}

static void read_text_line(struct test_program *t, const char *word, struct str *items,
			   uint32_t *count)
{
	want(t, word);
	if (read_number(t) != *count)
		read_failed(t, "the number of the text");
	items[(*count)++] = read_quoted(t);
}

static void read_clause(struct test_program *t)
{
	struct clause *c = &t->clauses[t->program.clause_count];

	want(t, "clause");
	if (read_number(t) != t->program.clause_count++)
		read_failed(t, "the number of the clause");
	want(t, ":");
	c->reg_count = (uint32_t)read_number(t);
	c->code = arena_array(&t->arena, struct insn, TEXT_MAX);
	c->slots = arena_array(&t->arena, struct slot, TEXT_MAX);
	c->attaches = arena_array(&t->arena, struct attach, TEXT_MAX);
}

static void read_slot(struct test_program *t, struct clause *c)
{
	want(t, "s");
	if (read_number(t) != c->slot_count)
		read_failed(t, "the number of the slot");
	((struct slot *)c->slots)[c->slot_count++].type = read_type(t);
}

/* "s3 int64" and not "s3 = ..." or "s3[8] = ..." */
static bool is_slot_line(const char *line)
{
	return *line == 's' && line[1] >= '0' && line[1] <= '9' && !strchr(line, '=');
}

static void read_line(struct test_program *t)
{
	struct clause *c =
		t->program.clause_count ? &t->clauses[t->program.clause_count - 1] : NULL;

	skip_blanks(t);
	if (!*t->at)
		return;
	if (strncmp(t->at, "map m", 5) == 0)
		read_map(t);
	else if (strncmp(t->at, "literal ", 8) == 0)
		read_text_line(t, "literal", t->literals, &t->program.literal_count);
	else if (strncmp(t->at, "name ", 5) == 0)
		read_text_line(t, "name", t->names, &t->program.name_count);
	else if (strncmp(t->at, "format ", 7) == 0)
		read_format(t);
	else if (strncmp(t->at, "clause ", 7) == 0)
		read_clause(t);
	else if (c && is_slot_line(t->at))
		read_slot(t, c);
	else if (c && !read_attach(t, c))
		read_insn(t, c);
}

void program_read(struct test_program *t, const char *text)
{
	const struct arch *arch = t->arch ? t->arch : &test_arch;
	char *rest;

	*t = (struct test_program){.arch = arch};
	t->clauses = arena_array(&t->arena, struct clause, TEXT_MAX);
	t->maps = arena_array(&t->arena, struct map_def, TEXT_MAX);
	t->formats = arena_array(&t->arena, struct format, TEXT_MAX);
	t->literals = arena_array(&t->arena, struct str, TEXT_MAX);
	t->names = arena_array(&t->arena, struct str, TEXT_MAX);
	rest = arena_text(&t->arena, str_from(text));
	while (rest) {
		t->at = strsep(&rest, "\n");
		read_line(t);
	}
	if (!t->program.name_count)
		t->names[t->program.name_count++] = str_from("");
	t->program.arena = &t->arena;
	t->program.clauses = t->clauses;
	t->program.maps = t->maps;
	t->program.formats = t->formats;
	t->program.literals = t->literals;
	t->program.names = t->names;
}

void program_unread(struct test_program *t)
{
	arena_free(&t->arena);
}
