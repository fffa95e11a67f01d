/* The BPF engine, traced for real: programs made by hand, fired by tests/targets/bpf_sites. */
#include "help/bpf.h"

static const struct type none = {.kind = TYPE_NONE};
static const struct type counter = {.kind = TYPE_COUNT};

static void counts_events(void **state)
{
	struct target t;
	struct run r;
	struct make *m = make_new();

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 1);
	make_site(m, &t, "int", "-4@%edi 8@%rsi");
	make_map(m, none, counter, 1);
	ADD(m, .op = OP_AGGREGATE, .s = SLOT_NO, .a = REG_NO);
	EXPECT_START(r, m, 0);
	assert_map(&r, 0, "");
	target_tell(&t, "int 1000");
	target_tell(&t, "threads 4 5000");
	assert_map(&r, 0, ":21000;");
	run_stop(&r);
	target_stop(&t);
}

static void prints_int_and_text(void **state)
{
	static const struct type fields[] = {{.kind = TYPE_INT, .size = 4, .is_signed = true},
					     {.kind = TYPE_STR, .size = 64}};
	struct target t;
	struct run r;
	struct make *m = make_new();
	uint16_t s;

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 2);
	make_site(m, &t, "str", "-4@%edi 8@%rsi");
	s = make_slot(m, str_type);
	ADD(m, .op = OP_ARG, .d = 0, .imm = 0);
	ADD(m, .op = OP_ARG, .d = 1, .imm = 1);
	ADD(m, .op = OP_STR, .s = s, .a = 1, .b = REG_NO);
	ADD(m, .op = OP_EMIT, .imm = make_format(m, FORMAT_PRINTF, fields, 2), .field_count = 2,
	    .fields = (struct field[]){{0, SLOT_NO}, {REG_NO, s}});
	EXPECT_START(r, m, 0);
	target_tell(&t, "str hello world");
	target_tell(&t, "str x");
	target_tell(&t, "null");
	target_tell(&t, "bad");
	target_tell(&t, "edge");
	assert_string_equal(run_text(&r), "-7 'hello world';-7 'x';-7 ''!4;-7 ''!2;-7 'edge';");
	run_stop(&r);
	target_stop(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_events),
		cmocka_unit_test(prints_int_and_text),
	};

	return cmocka_run_group_tests_name("bpf", tests, NULL, NULL);
}
