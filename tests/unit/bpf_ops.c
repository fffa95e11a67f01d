/* The operations of the BPF engine on numbers and memory, one by one: each is run by the kernel in
 * a BEGIN clause, on values the verifier cannot know. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "help/bpf.h"

#include "engine/bpf/kernel/features.h"
#include "engine/bpf/kernel/bpf_syscall.h"

#define MIN64 INT64_MIN
#define MAX64 INT64_MAX

static void arithmetic(void **state)
{
	static const struct {
		enum op op;
		int64_t a, b, want;
	} rows[] = {
		{OP_ADD, MAX64, 1, MIN64},
		{OP_SUB, MIN64, 1, MAX64},
		{OP_MUL, -3, 7, -21},
		{OP_UDIV, -1, 2, MAX64},
		{OP_UDIV, 7, 0, 1},
		{OP_SDIV, -7, 2, -3},
		{OP_SDIV, 7, -2, -3},
		{OP_SDIV, -7, -2, 3},
		{OP_SDIV, 7, 0, 1},
		{OP_SDIV, -7, 0, 1},
		{OP_SDIV, MIN64, -1, MIN64},
		{OP_SDIV, MIN64, 1, MIN64},
		{OP_UMOD, -1, 10, 5},
		{OP_UMOD, 7, 0, 1},
		{OP_SMOD, -7, 2, -1},
		{OP_SMOD, 7, -2, 1},
		{OP_SMOD, -7, 0, 1},
		{OP_SMOD, MIN64, -1, 0},
		{OP_AND, 12, 10, 8},
		{OP_OR, 12, 10, 14},
		{OP_XOR, 12, 10, 6},
		{OP_SHL, 1, 63, MIN64},
		{OP_SHL, 1, 64, 1},
		{OP_SHR, -1, 63, 1},
		{OP_SHR, 8, 65, 4},
		{OP_SAR, -8, 1, -4},
		{OP_SAR, -8, 65, -4},
		{OP_EQ, 5, 5, 1},
		{OP_EQ, 5, 6, 0},
		{OP_NE, 5, 6, 1},
		{OP_NE, 5, 5, 0},
		{OP_ULT, 1, -1, 1},
		{OP_ULT, -1, 1, 0},
		{OP_ULE, 5, 5, 1},
		{OP_ULE, 6, 5, 0},
		{OP_SLT, -1, 1, 1},
		{OP_SLT, 1, -1, 0},
		{OP_SLE, 5, 5, 1},
		{OP_SLE, 6, 5, 0},
	};

	(void)state;
	SKIP_WITHOUT_ROOT();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct make *m = make_begin(2);
		char want[32];

		add_unknown(m, 0, rows[i].a);
		add_unknown(m, 1, rows[i].b);
		ADD(m, .op = (uint8_t)rows[i].op, .d = 0, .a = 0, .b = 1);
		make_print(m, &int_type, reg0, 1);
		snprintf(want, sizeof(want), "%lld;", (long long)rows[i].want);
		assert_run(m, want);
	}
}

static int64_t bits_of(double value)
{
	int64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static int64_t bits_of_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static void conversions(void **state)
{
	const struct {
		enum op op;
		int64_t a, imm, want;
	} rows[] = {
		{OP_NEG, 5, 0, -5},
		{OP_NEG, MIN64, 0, MIN64},
		{OP_NOT, 5, 0, -6},
		{OP_MOV, -9, 0, -9},
		{OP_ZEXT, -1, 1, 255},
		{OP_ZEXT, -1, 2, 65535},
		{OP_ZEXT, -1, 4, 4294967295},
		{OP_SEXT, 255, 1, -1},
		{OP_SEXT, 0x8000, 2, -32768},
		{OP_SEXT, 0x7fffffff, 4, 0x7fffffff},
		{OP_F2I, bits_of(0.0), 8, 0},
		{OP_F2I, bits_of(-0.0), 8, 0},
		{OP_F2I, bits_of(0.999), 8, 0},
		{OP_F2I, bits_of(1.0), 8, 1},
		{OP_F2I, bits_of(-1.5), 8, -1},
		{OP_F2I, bits_of(3.9), 8, 3},
		{OP_F2I, bits_of(1e15 + 0.5), 8, 1000000000000000},
		{OP_F2I, bits_of(9007199254740993.0), 8, 9007199254740992},
		{OP_F2I, bits_of(1e18), 8, 1000000000000000000},
		{OP_F2I, bits_of(-9223372036854775808.0), 8, MIN64},
		{OP_F2I, bits_of(9223372036854775808.0), 8, MIN64},
		{OP_F2I, bits_of(1e300), 8, MIN64},
		{OP_F2I, bits_of(NAN), 8, MIN64},
		{OP_F2I, bits_of(INFINITY), 8, MIN64},
		{OP_F2I, bits_of(5e-324), 8, 0},
		{OP_F2I, bits_of_float(2.5f), 4, 2},
		{OP_F2I, bits_of_float(-2.5f), 4, -2},
		{OP_F2I, bits_of_float(1e10f), 4, 10000000000},
		{OP_F2I, bits_of_float(NAN), 4, MIN64},
	};

	(void)state;
	SKIP_WITHOUT_ROOT();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct make *m = make_begin(2);
		char want[32];

		add_unknown(m, 0, rows[i].a);
		ADD(m, .op = (uint8_t)rows[i].op, .d = 0, .a = 0, .imm = rows[i].imm);
		make_print(m, &int_type, reg0, 1);
		snprintf(want, sizeof(want), "%lld;", (long long)rows[i].want);
		assert_run(m, want);
	}
}

/* 1 + 2 + ... until 7, with a jump out; then a loop that runs into its limit. */
static void loops_and_jumps(void **state)
{
	struct make *m = make_begin(4);
	struct run_stats stats;
	uint32_t loop, out;
	struct run r;

	(void)state;
	SKIP_WITHOUT_ROOT();
	add_unknown(m, 0, 0); /* r0: sum */
	add_unknown(m, 1, 0); /* r1: i */
	add_unknown(m, 3, 7);
	ADD(m, .op = OP_CONST, .d = 2, .imm = 1);
	loop = ADD(m, .op = OP_LOOP, .imm = 1000, .target = 0);
	ADD(m, .op = OP_ADD, .d = 1, .a = 1, .b = 2);
	ADD(m, .op = OP_ADD, .d = 0, .a = 0, .b = 1);
	ADD(m, .op = OP_EQ, .d = 2, .a = 1, .b = 3);
	out = ADD(m, .op = OP_JUMP_IF, .a = 2);
	ADD(m, .op = OP_CONST, .d = 2, .imm = 1);
	m->code[0][loop].target = ADD(m, .op = OP_NEXT, .target = loop) + 1;
	m->code[0][out].imm = m->clauses[0].insn_count;
	make_print(m, &int_type, reg0, 1);
	loop = ADD(m, .op = OP_LOOP, .imm = 5, .target = 0);
	ADD(m, .op = OP_ADD, .d = 0, .a = 0, .b = 3);
	m->code[0][loop].target = ADD(m, .op = OP_NEXT, .target = loop, .span = 9) + 1;
	make_print(m, &int_type, reg0, 1);
	EXPECT_START(r, m, 0);
	assert_int_equal(engine_bpf.run(r.e, ATTACH_BEGIN, 0, 0, &r.d), 0);
	assert_string_equal(run_text(&r), "28;63;");
	engine_bpf.stats(r.e, &stats);
	assert_int_equal(stats.loop_limits, 1);
	run_stop(&r);
}

/* A hundred thousand rounds in two loops: far more than the verifier would walk one by one. */
static void long_loops(void **state)
{
	struct make *m = make_begin(4);
	uint32_t outer, inner;

	(void)state;
	SKIP_WITHOUT_ROOT();
	ADD(m, .op = OP_CONST, .d = 0, .imm = 0);
	ADD(m, .op = OP_CONST, .d = 1, .imm = 1);
	outer = ADD(m, .op = OP_LOOP, .imm = 1000);
	inner = ADD(m, .op = OP_LOOP, .imm = 100);
	ADD(m, .op = OP_ADD, .d = 0, .a = 0, .b = 1);
	ADD(m, .op = OP_CONST, .d = 2, .imm = 3);
	ADD(m, .op = OP_UMOD, .d = 2, .a = 0, .b = 2);
	ADD(m, .op = OP_JUMP_IF, .a = 2, .imm = inner + 6);
	ADD(m, .op = OP_MOV, .d = 3, .a = 0);
	m->code[0][inner].target = ADD(m, .op = OP_NEXT, .target = inner) + 1;
	m->code[0][outer].target = ADD(m, .op = OP_NEXT, .target = outer) + 1;
	make_print(m, &int_type, reg0, 1);
	assert_run(m, "100000;");
}

/* A jump over more than 16 bits of instructions, taken and not taken. */
static void far_jumps(void **state)
{
	struct insn *code;
	struct features f;

	(void)state;
	SKIP_WITHOUT_ROOT();
	features_init(&f);
	if (!feature_has(&f, FEATURE_LONG_JUMP)) {
		print_message("this kernel has no long jumps: such a clause is refused\n");
		skip();
	}
	code = calloc(4200, sizeof(*code));
	for (int64_t taken = 0; taken < 2; taken++) {
		struct make *m = make_begin(2);
		uint32_t jump, n;

		add_unknown(m, 0, taken);
		jump = ADD(m, .op = OP_JUMP_IF, .a = 0, .imm = 0);
		n = m->clauses[0].insn_count;
		memcpy(code, m->code[0], n * sizeof(*code));
		while (n < 4150) /* 4 instructions each, without branches */
			code[n++] = (struct insn){.op = OP_MUL, .d = 0, .a = 0, .b = 0};
		code[n++] = (struct insn){.op = OP_CONST, .d = 0, .imm = 77};
		code[jump].imm = n;
		code[n++] = (struct insn){.op = OP_EMIT,
					  .imm = make_format(m, FORMAT_PRINTF, &int_type, 1),
					  .field_count = 1,
					  .fields = reg0};
		code[n++] = (struct insn){.op = OP_RETURN};
		m->clauses[0].code = code;
		m->clauses[0].insn_count = n;
		assert_run(m, taken ? "1;" : "77;");
	}
	free(code);
}

static void builtins_tell_the_truth(void **state)
{
	static const struct type fields[5] = {{.kind = TYPE_INT, .size = 8},
					      {.kind = TYPE_INT, .size = 8},
					      {.kind = TYPE_INT, .size = 8},
					      {.kind = TYPE_NAME},
					      {.kind = TYPE_STR, .size = 16}};
	static const struct field f[] = {
		{0, SLOT_NO}, {1, SLOT_NO}, {2, SLOT_NO}, {3, SLOT_NO}, {REG_NO, 0}};
	static const struct type name = {.kind = TYPE_STR, .size = 16};
	struct make *m = make_begin(5);
	char want[128], comm[32] = "";
	FILE *file = fopen("/proc/self/comm", "r");

	(void)state;
	SKIP_WITHOUT_ROOT();
	if (!fgets(comm, sizeof(comm), file))
		fail();
	fclose(file);
	comm[strcspn(comm, "\n")] = '\0';
	make_slot(m, name);
	ADD(m, .op = OP_BUILTIN, .d = 0, .imm = BUILTIN_PID);
	ADD(m, .op = OP_BUILTIN, .d = 1, .imm = BUILTIN_TID);
	ADD(m, .op = OP_BUILTIN, .d = 2, .imm = BUILTIN_UID);
	ADD(m, .op = OP_BUILTIN, .d = 3, .imm = BUILTIN_FUNC);
	ADD(m, .op = OP_COMM, .s = 0);
	make_print(m, fields, f, 5);
	snprintf(want, sizeof(want), "%d %d %d 1 '%s';", getpid(), getpid(), getuid(), comm);
	assert_run(m, want);
}

/* elapsed counts from the start, nsecs goes up, rand has 32 bits, cpu is below ncpus. */
static void builtins_are_in_range(void **state)
{
	static const struct {
		enum builtin small, large;
	} rows[] = {{BUILTIN_ELAPSED, BUILTIN_NSECS}, {BUILTIN_CPU, BUILTIN_NCPUS}};

	(void)state;
	SKIP_WITHOUT_ROOT();
	for (int i = 0; i < 2; i++) {
		struct make *m = make_begin(2);

		ADD(m, .op = OP_BUILTIN, .d = 0, .imm = rows[i].small);
		ADD(m, .op = OP_BUILTIN, .d = 1, .imm = rows[i].large);
		ADD(m, .op = OP_ULT, .d = 0, .a = 0, .b = 1);
		make_print(m, &int_type, reg0, 1);
		assert_run(m, "1;");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arithmetic),
		cmocka_unit_test(conversions),
		cmocka_unit_test(loops_and_jumps),
		cmocka_unit_test(long_loops),
		cmocka_unit_test(far_jumps),
		cmocka_unit_test(builtins_tell_the_truth),
		cmocka_unit_test(builtins_are_in_range),
	};

	return cmocka_run_group_tests_name("bpf_ops", tests, NULL, NULL);
}
