/* Types, histograms, records and the dump. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "help/program_text.h"

#include "program/record.h"

static void type_text(const struct type *t, const char *want)
{
	struct buf b = BUF_INIT;

	type_print(t, &b);
	assert_string_equal(b.ptr, want);
	buf_free(&b);
}

/* Text of a type, and what a value takes. */
static const struct {
	const char *text;
	size_t memory;
} type_rows[] = {
	{"none", 0},
	{"int8", 8},
	{"uint64", 8},
	{"float32", 8},
	{"name", 8},
	{"string[64]", 72},
	{"buffer[8]", 16},
	{"(int64,string[16],(uint8,usym))", 8 + 24 + 8 + 16},
	{"ustack[127]", 8 + 127 * 8},
	{"kstack[1]", 16},
	{"ksym", 16},
	{"time", 16},
	{"count", 8},
	{"sum(int64)", 8},
	{"min(uint64)", 16},
	{"max(int64)", 16},
	{"avg(uint64)", 16},
	{"stats(int64)", 16},
	{"hist(0)", 66 * 8},
	{"hist(5)", 1921 * 8},
	{"hist(0,unsigned)", 66 * 8},
	{"lhist(0,100,10)", 12 * 8},
	{"lhist(-9223372036854775808,9223372036854775807,9223372036854775807)", 4 * 8},
};

static void types_have_names_and_sizes(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(type_rows); i++) {
		struct test_program t = {.at = strdup(type_rows[i].text)};
		char *text = t.at;
		struct type type = read_type(&t);

		type_text(&type, type_rows[i].text);
		assert_int_equal(type_memory(&type), type_rows[i].memory);
		assert_true(type_equal(&type, &type));
		free(text);
		arena_free(&t.arena);
	}
}

static void types_differ(void **state)
{
	const struct type i32 = {.kind = TYPE_INT, .size = 4, .is_signed = true};
	const struct type u64 = {.kind = TYPE_INT, .size = 8};
	const struct type s8 = {.kind = TYPE_STR, .size = 8}, s16 = {.kind = TYPE_STR, .size = 16};
	const struct type a[] = {i32, s8}, b[] = {u64, s8}, c[] = {u64, s16};
	const struct type ta = {.kind = TYPE_TUPLE, .elements = a, .element_count = 2};
	const struct type tb = {.kind = TYPE_TUPLE, .elements = b, .element_count = 2};
	const struct type tc = {.kind = TYPE_TUPLE, .elements = c, .element_count = 2};

	(void)state;
	assert_false(type_equal(&i32, &u64));
	assert_true(type_same_layout(&i32, &u64));
	assert_false(type_same_layout(&s8, &s16));
	assert_false(type_equal(&ta, &tb));
	assert_true(type_same_layout(&ta, &tb));
	assert_false(type_same_layout(&tb, &tc));
	assert_false(type_same_layout(&ta, &i32));
}

/* Buckets: value, sign, bits -> bucket. */
static const struct {
	uint64_t value;
	bool is_signed;
	unsigned bits, bucket;
} hist_rows[] = {
	{(uint64_t)-1, true, 0, 0},
	{(uint64_t)INT64_MIN, true, 5, 0},
	{0, true, 0, 1},
	{1, true, 0, 2},
	{2, true, 0, 3},
	{3, true, 0, 3},
	{4, true, 0, 4},
	{1023, true, 0, 11},
	{1024, true, 0, 12},
	{INT64_MAX, true, 0, 64},
	{(uint64_t)INT64_MIN, false, 0, 65},
	{UINT64_MAX, false, 0, 65},
	{3, true, 1, 4},
	{4, true, 1, 5},
	{5, true, 1, 5},
	{6, true, 1, 6},
	{8, true, 1, 7},
	{63, true, 5, 64},
	{64, true, 5, 65},
	{65, true, 5, 65},
	{66, true, 5, 66},
	{UINT64_MAX, false, 5, 1920},
};

static void hist_puts_values_into_buckets(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(hist_rows); i++)
		assert_int_equal(
			hist_bucket(hist_rows[i].value, hist_rows[i].is_signed, hist_rows[i].bits),
			hist_rows[i].bucket);
}

/* Of the most detailed histogram, whatever the values are. */
static void percentiles_are_less_than_one_percent_off(void **state)
{
	static uint64_t words[((65 - HIST_MAX_BITS) << HIST_MAX_BITS) + 1];
	struct type t = {.kind = TYPE_HIST, .bits = HIST_MAX_BITS};

	(void)state;
	assert_int_equal(sizeof(words), type_memory(&t));
	assert_int_equal(aggregate_percentile(&t, words, MILLION / 2), 0);
	for (uint64_t n = 1; n < UINT64_MAX / 64; n = n * 33 / 32 + 1) {
		uint64_t got;

		memset(words, 0, sizeof(words));
		aggregate_take(&t, words, 0);
		aggregate_take(&t, words, n);
		aggregate_take(&t, words, UINT64_MAX);
		assert_int_equal(aggregate_percentile(&t, words, 1), 0);
		got = aggregate_percentile(&t, words, MILLION / 2);
		assert_true((got > n ? got - n : n - got) <= n / 100);
		got = aggregate_percentile(&t, words, MILLION);
		assert_true(UINT64_MAX - got <= UINT64_MAX / 100);
	}
}

/* Each bucket begins where the one below ends, for every number of bits. */
static void hist_buckets_touch(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits <= HIST_MAX_BITS; bits++) {
		assert_int_equal(hist_bucket_low(0, bits), INT64_MIN);
		for (unsigned b = 1; b < hist_buckets(bits); b++) {
			uint64_t low = hist_bucket_low(b, bits);

			assert_int_equal(hist_bucket(low, false, bits), b);
			if (b > 1)
				assert_int_equal(hist_bucket(low - 1, false, bits), b - 1);
		}
		assert_int_equal(hist_bucket(UINT64_MAX, false, bits), hist_buckets(bits) - 1);
		assert_int_equal(hist_bucket_low(hist_buckets(bits), bits), 0);
	}
}

static const struct {
	int64_t min, max, step, value;
	unsigned bucket;
} lhist_rows[] = {
	{0, 100, 10, -1, 0},
	{0, 100, 10, 0, 1},
	{0, 100, 10, 9, 1},
	{0, 100, 10, 10, 2},
	{0, 100, 10, 99, 10},
	{0, 100, 10, 100, 11},
	{0, 100, 10, INT64_MAX, 11},
	{0, 100, 10, INT64_MIN, 0},
	{-5, 5, 3, -5, 1},
	{-5, 5, 3, 4, 4},
	{-5, 5, 3, 5, 4},
	{INT64_MIN, INT64_MAX, INT64_MAX, INT64_MIN, 1},
	{INT64_MIN, INT64_MAX, INT64_MAX, 0, 2},
	{INT64_MIN, INT64_MAX, INT64_MAX, INT64_MAX, 3},
};

static void lhist_puts_values_into_buckets(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(lhist_rows); i++) {
		const struct type t = {.kind = TYPE_LHIST,
				       .min = lhist_rows[i].min,
				       .max = lhist_rows[i].max,
				       .step = lhist_rows[i].step};

		assert_int_equal(lhist_bucket(&t, lhist_rows[i].value), lhist_rows[i].bucket);
		assert_true(lhist_bucket(&t, lhist_rows[i].value) < lhist_buckets(&t));
	}
}

/* The dump of a program with everything in it; reading and printing it again changes nothing. */
static const char everything[] =
	"map m0 \"@\" none -> count, 1 entries\n"
	"map m1 \"@lat\" (int64,string[16]) -> hist(2), 100 entries\n"
	"literal 0 \"a\\\"b\\\\c\\x0a\"\n"
	"name 0 \"usdt:/bin/x:p:n\"\n"
	"name 1 \"main\"\n"
	"format 0 printf \"%d %s\\x0a\" (int64, string[16]) m0 top 0 div 0 exit 0\n"
	"format 1 print \"\" () m1 top 5 div 2 exit 0\n"
	"format 2 exit \"\" () m0 top 0 div 0 exit -1\n"
	"clause 0: 3 registers\n"
	"  uprobe \"/bin/x\" 0x1234 semaphore 0x20 name 0 func 1 args \"-4@%3\" \"8@-8(1,2,3)\"\n"
	"  uprobe \"/bin/y\" 0x1 name 0 func 1 args \"8f@$7\" \"1@%0>>8\"\n"
	"  s0 string[16]\n"
	"  s1 (int64,string[16])\n"
	"    0  r0 = arg 1\n"
	"    1  s0 = str r0, -\n"
	"    2  s1[0] = put r0\n"
	"    3  s1[8] = copy s0\n"
	"    4  aggregate m1[s1], r0\n"
	"    5  loop 5, 9\n"
	"    6  r1 = load r0, i32\n"
	"    7  jump_if r1, 9\n"
	"    8  next 5\n"
	"    9  r2 = builtin nsecs\n"
	"   10  r2 = sext r2, 4\n"
	"   11  r1 = strcmp s0, s0, -1\n"
	"   12  aggregate m0, -\n"
	"   13  emit 0(r2, s0)\n"
	"   14  emit 2()\n"
	"   15  return\n"
	"clause 1: 2 registers\n"
	"  tracepoint \"sched:sched_switch\" name 0 func 1\n"
	"    0  r0 = field 24, u8\n"
	"    1  emit 1()\n"
	"    2  return\n"
	"clause 2: 0 registers\n"
	"  begin name 0 func 1\n"
	"  interval 1000000000 name 0 func 1\n"
	"    0  return\n";

static void dump_is_stable(void **state)
{
	struct test_program t = {0};
	struct diag d = DIAG_INIT;
	struct buf b = BUF_INIT;

	(void)state;
	program_read(&t, everything);
	assert_int_equal(program_check(&t.program, &d), 0);
	program_print(&t.program, &b);
	assert_string_equal(b.ptr, everything);
	buf_free(&b);
	program_unread(&t);
}

/* Records as lists of 8-byte words, against the types of their fields. */
static const struct {
	const char *formats;
	uint64_t words[8];
	size_t count;
	int open, field; /* results */
	uint64_t bits;
	const char *bytes;
} record_rows[] = {
#define HEAD(size, format, flags) \
	((uint64_t)(size) | (uint64_t)(format) << 32 | (uint64_t)(flags) << 48)
	{"int64", {HEAD(16, 0, 0), 42}, 2, 0, 0, 42, NULL},
	{"int64", {HEAD(8, 0, 0)}, 1, 0, -EPROTO, 0, NULL},
	{"int64", {HEAD(24, 0, 0), 42}, 2, -EPROTO, 0, 0, NULL},
	{"int64", {HEAD(12, 0, 0), 42}, 2, -EPROTO, 0, 0, NULL},
	{"int64", {HEAD(16, 1, 0), 42}, 2, -EPROTO, 0, 0, NULL},
	{"int64", {HEAD(16, 0, 1), 42}, 2, -EPROTO, 0, 0, NULL},
	{"string[16]", {HEAD(24, 0, 0), 3, 0x636261}, 3, 0, 0, 0, "abc"},
	{"string[16]", {HEAD(16, 0, 0), 0}, 2, 0, 0, 0, ""},
	{"string[16]", {HEAD(16, 0, 0), 1}, 2, 0, -EPROTO, 0, NULL},
	{"string[16]", {HEAD(40, 0, 0), 17, 1, 2, 3}, 5, 0, -EPROTO, 0, NULL},
	{"string[16]", {HEAD(16, 0, 0), 0xffffffff}, 2, 0, -EPROTO, 0, NULL},
	{"ustack[2]", {HEAD(24, 0, 0), 1, 0x61}, 3, 0, 0, 0, "a"},
	{"ustack[2]", {HEAD(24, 0, 0), 2, 0x61}, 3, 0, -EPROTO, 0, NULL},
	{"ustack[2]", {HEAD(40, 0, 0), 3, 1, 2, 3}, 5, 0, -EPROTO, 0, NULL},
	{"usym", {HEAD(24, 0, 0), 7, 8}, 3, 0, 0, 7, NULL},
	{"usym", {HEAD(16, 0, 0), 7}, 2, 0, -EPROTO, 0, NULL},
	{"(int64,string[8])", {HEAD(24, 0, 0), 7, 0}, 3, 0, -EPROTO, 0, NULL},
	{"(int64,string[8])", {HEAD(32, 0, 0), 7, 1, 0x61}, 4, 0, 0, 0, NULL},
};

static void records_are_not_trusted(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(record_rows); i++) {
		struct test_program t = {0};
		struct record r;
		struct value v = {0};
		char text[100];

		snprintf(text, sizeof(text), "format 0 value \"\" (%s)", record_rows[i].formats);
		program_read(&t, text);
		assert_int_equal(record_open(&t.program,
					     str_of((const char *)record_rows[i].words,
						    8 * record_rows[i].count),
					     &r),
				 record_rows[i].open);
		if (!record_rows[i].open) {
			assert_int_equal(record_field(&r, &r.format->fields[0], &v),
					 record_rows[i].field);
			if (!record_rows[i].field)
				assert_int_equal(cursor_left(&r.rest), 0);
		}
		if (record_rows[i].bytes)
			assert_memory_equal(v.bytes.ptr, record_rows[i].bytes,
					    strlen(record_rows[i].bytes));
		assert_int_equal(v.bits, record_rows[i].bits);
		program_unread(&t);
	}
}

/* Two values as words in memory, and their order. */
static const struct {
	const char *type;
	uint64_t a[4], b[4];
	int order;
} order_rows[] = {
	{"int64", {(uint64_t)-1}, {1}, -1},
	{"uint64", {(uint64_t)-1}, {1}, 1},
	{"float64", {0x3ff0000000000000}, {0xbff0000000000000}, 1},
	{"float64", {0x7ff8000000000000}, {0x3ff0000000000000}, 1},
	{"float64", {0x7ff8000000000000}, {0x7ff8000000000000}, 0},
	{"float32", {0x3f800000}, {0xbf800000}, 1},
	{"string[16]", {1, 'a'}, {1, 'b'}, -1},
	{"string[16]", {1, 'a'}, {2, 'a' | 'a' << 8}, -1},
	{"(int64,int64)", {1, 5}, {1, (uint64_t)-5}, 1},
	{"(int64,string[8])", {1, 1, 'x'}, {1, 1, 'x'}, 0},
	{"usym", {7, 1}, {7, 2}, -1},
	{"count", {1}, {2}, -1},
	{"sum(int64)", {(uint64_t)-1}, {2}, -1},
	{"sum(uint64)", {(uint64_t)-1}, {2}, 1},
	{"max(int64)", {(uint64_t)-5, 1}, {3, 1}, -1},
	{"avg(int64)", {2, (uint64_t)-10}, {1, 1}, -1},
	{"avg(int64)", {0, 7}, {(uint64_t)-1, (uint64_t)INT64_MIN}, 0},
	{"stats(uint64)", {2, 10}, {5, 10}, 1},
	{"lhist(0,2,1)", {1, 0, 3, 0}, {0, 0, 0, 3}, 1},
};

static void values_have_an_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(order_rows); i++) {
		struct test_program t = {.at = strdup(order_rows[i].type)};
		char *text = t.at;
		struct type type = read_type(&t);
		struct cursor ca = cursor_of(order_rows[i].a, type_memory(&type), false);
		struct cursor cb = cursor_of(order_rows[i].b, type_memory(&type), false);
		struct value a, b;

		assert_int_equal(value_decode(&type, &ca, &a), 0);
		assert_int_equal(value_decode(&type, &cb, &b), 0);
		assert_int_equal(value_compare(&a, &b), order_rows[i].order);
		assert_int_equal(value_compare(&b, &a), -order_rows[i].order);
		free(text);
		arena_free(&t.arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_have_names_and_sizes),
		cmocka_unit_test(types_differ),
		cmocka_unit_test(hist_puts_values_into_buckets),
		cmocka_unit_test(percentiles_are_less_than_one_percent_off),
		cmocka_unit_test(hist_buckets_touch),
		cmocka_unit_test(lhist_puts_values_into_buckets),
		cmocka_unit_test(dump_is_stable),
		cmocka_unit_test(records_are_not_trusted),
		cmocka_unit_test(values_have_an_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
