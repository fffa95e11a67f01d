/* Texts and records of the BPF engine: compared, put together, cut, kept in order. */
#include <sys/prctl.h>

#include "help/bpf.h"

static void literal(struct make *m, uint16_t slot, const char *text)
{
	m->literals[m->p.literal_count] = str_from(text);
	ADD(m, .op = OP_TEXT, .s = slot, .imm = m->p.literal_count++);
}

/* Text that the generator does not know to be a literal: it went through a map. */
static void unknown_text(struct make *m, uint16_t slot, const char *text)
{
	uint16_t map = make_map(m, none, str_type, 1), help = make_slot(m, str_type);

	literal(m, help, text);
	ADD(m, .op = OP_MAP_PUT, .s = SLOT_NO, .map = map, .t = help);
	ADD(m, .op = OP_MAP_COPY, .s = SLOT_NO, .map = map, .t = slot);
}

static void compares_texts(void **state)
{
	static const struct {
		const char *a, *b;
		int64_t most, want;
	} rows[] = {
		{"", "", -1, 0},
		{"a", "", -1, 1},
		{"hello", "hello", -1, 0},
		{"hello", "hellp", -1, 1},
		{"hello", "hell", -1, 1},
		{"hello", "hell", 4, 0},
		{"hello", "help", 3, 0},
		{"hello", "help", 4, 1},
		{"hello", "hell", 5, 1},
		{"hello", "xello", 0, 0},
		{"12345678", "12345678", -1, 0},
		{"123456789", "123456780", -1, 1},
		{"123456789", "123456780", 8, 0},
		{"1234567890123456", "1234567890123457", 16, 1},
		{"short", "short", 100, 0},
		{"0123456789012345678901234567890123456789012345678901234567890123",
		 "0123456789012345678901234567890123456789012345678901234567890123", -1, 0},
		{"0123456789012345678901234567890123456789012345678901234567890123",
		 "012345678901234567890123456789012345678901234567890123456789012x", -1, 1},
	};

	(void)state;
	SKIP_WITHOUT_ROOT();
	for (size_t i = 0; i < 3 * sizeof(rows) / sizeof(*rows); i++) {
		struct make *m = make_begin(1);
		uint16_t s = make_slot(m, str_type), t = make_slot(m, str_type);
		unsigned row = i / 3;
		char want[32];

		/* The literal on the right, on the left, nowhere. */
		if (i % 3 == 1)
			literal(m, s, rows[row].a);
		else
			unknown_text(m, s, rows[row].a);
		if (i % 3 == 0)
			literal(m, t, rows[row].b);
		else
			unknown_text(m, t, rows[row].b);
		ADD(m, .op = OP_STRCMP, .d = 0, .s = s, .t = t, .imm = rows[row].most);
		make_print(m, &int_type, reg0, 1);
		snprintf(want, sizeof(want), "%lld;", (long long)rows[row].want);
		assert_run(m, want);
	}
}

static void slots_are_memory(void **state)
{
	static const struct type pair[] = {{.kind = TYPE_INT, .size = 8, .is_signed = true},
					   {.kind = TYPE_STR, .size = 64}};
	static const struct type tuple = {.kind = TYPE_TUPLE, .elements = pair, .element_count = 2};
	static const struct type fields[] = {{.kind = TYPE_INT, .size = 8, .is_signed = true},
					     {.kind = TYPE_STR, .size = 64},
					     {.kind = TYPE_INT, .size = 8, .is_signed = true}};
	struct make *m = make_begin(3);
	uint16_t text, whole, part;

	(void)state;
	SKIP_WITHOUT_ROOT();
	text = make_slot(m, str_type);
	whole = make_slot(m, tuple);
	part = make_slot(m, str_type);
	add_unknown(m, 0, 42);
	unknown_text(m, text, "inside a tuple");
	ADD(m, .op = OP_ZERO, .s = whole);
	ADD(m, .op = OP_PUT, .s = whole, .imm = 0, .a = 0);
	ADD(m, .op = OP_COPY, .s = whole, .imm = 8, .t = text);
	ADD(m, .op = OP_PART, .s = part, .t = whole, .imm = 8);
	ADD(m, .op = OP_GET, .d = 1, .s = whole, .imm = 0);
	ADD(m, .op = OP_NEG, .d = 2, .a = 1);
	static struct field f[] = {{1, SLOT_NO}, {REG_NO, 0}, {2, SLOT_NO}};

	f[1].slot = part;
	make_print(m, fields, f, 3);
	assert_run(m, "42 'inside a tuple' -42;");
}

static void control_records_keep_their_order(void **state)
{
	struct make *m = make_begin(1);
	char want[64];

	(void)state;
	SKIP_WITHOUT_ROOT();
	make_map(m, none, int_type, 1);
	add_unknown(m, 0, 5);
	make_print(m, &int_type, reg0, 1);
	ADD(m, .op = OP_EMIT, .imm = make_format(m, FORMAT_CLEAR, NULL, 0));
	make_print(m, &int_type, reg0, 1);
	ADD(m, .op = OP_EMIT, .imm = make_format(m, FORMAT_EXIT, NULL, 0));
	make_print(m, &int_type, reg0, 1); /* exit() ends the clause */
	snprintf(want, sizeof(want), "5;<%d>;5;<%d>;", FORMAT_CLEAR, FORMAT_EXIT);
	assert_run(m, want);
}

/* A record is put together around its first text; the same text twice, and fields behind it. */
static void a_record_around_its_text(void **state)
{
	static const struct type fields[] = {{.kind = TYPE_INT, .size = 8, .is_signed = true},
					     {.kind = TYPE_STR, .size = 64},
					     {.kind = TYPE_INT, .size = 8, .is_signed = true},
					     {.kind = TYPE_STR, .size = 64},
					     {.kind = TYPE_STR, .size = 64}};
	static const struct field same[] = {
		{0, SLOT_NO}, {REG_NO, 0}, {0, SLOT_NO}, {REG_NO, 0}, {REG_NO, 1}};
	struct make *m = make_begin(1);

	(void)state;
	SKIP_WITHOUT_ROOT();
	make_slot(m, str_type);
	make_slot(m, str_type);
	add_unknown(m, 0, 5);
	literal(m, 0, "nine char");
	literal(m, 1, "other");
	make_print(m, fields, same, 5); /* wanted again: copied */
	make_print(m, fields, same, 4); /* for the last time: in place */
	assert_run(m, "5 'nine char' 5 'nine char' 'other';5 'nine char' 5 'nine char';");
}

/* The name of a thread in a slot that is too small for it says so. */
static void a_cut_comm_says_so(void **state)
{
	static const struct type small = {.kind = TYPE_STR, .size = 8};
	static const struct field f[] = {{REG_NO, 0}};
	struct make *m = make_begin(1);
	char name[16];

	(void)state;
	SKIP_WITHOUT_ROOT();
	make_slot(m, small);
	ADD(m, .op = OP_COMM, .s = 0);
	make_print(m, &small, f, 1);
	prctl(PR_GET_NAME, name);
	prctl(PR_SET_NAME, "nine char");
	assert_run(m, "'nine cha'!1;");
	prctl(PR_SET_NAME, name);
}

static void long_records_and_texts(void **state)
{
	static const struct type wide = {.kind = TYPE_STR, .size = 1024};
	static const struct type fields[] = {{.kind = TYPE_STR, .size = 1024},
					     {.kind = TYPE_STR, .size = 1024}};
	static const struct field f[] = {{REG_NO, 0}, {REG_NO, 1}};
	static char text[1025], want[2100];
	struct make *m = make_begin(1);

	(void)state;
	SKIP_WITHOUT_ROOT();
	make_slot(m, wide);
	make_slot(m, wide);
	for (int i = 0; i < 1024; i++)
		text[i] = (char)('a' + i % 26);
	literal(m, 0, text);
	literal(m, 1, "");
	make_print(m, fields, f, 2);
	make_print(m, fields, f, 1);
	snprintf(want, sizeof(want), "'%s' '';'%s';", text, text);
	assert_run(m, want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compares_texts),
		cmocka_unit_test(slots_are_memory),
		cmocka_unit_test(control_records_keep_their_order),
		cmocka_unit_test(a_record_around_its_text),
		cmocka_unit_test(a_cut_comm_says_so),
		cmocka_unit_test(long_records_and_texts),
	};

	return cmocka_run_group_tests_name("bpf_text", tests, NULL, NULL);
}
