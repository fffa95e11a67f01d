/* Probes made at run time: names and errors, the check, the values that arrive. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "help/runtime.h"

/* ---- Names and errors ---- */

static void bad_names_are_refused(void **state)
{
	static const char *const bad[] = {"", "a b", "8x", "-x", "a:b", "a/b", "\xc3\xa9", "a\n"};
	static const char *const good[] = {"a", "_", "a-b", "a.b", "A9", "query__start"};
	struct nopal_provider *r = provider("names");
	struct nopal_error e;
	char longest[NOPAL_MAX_NAME + 2];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		e = (struct nopal_error){0};
		assert_null(nopal_provider_new(bad[i], 0, &e));
		assert_int_equal(e.code, NOPAL_BAD_NAME);
		assert_true(strlen(e.text) > 10);
		assert_null(nopal_provider_probe(r, bad[i], NULL, 0, NULL, &e));
		assert_int_equal(e.code, NOPAL_BAD_NAME);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_string_equal(nopal_probe_name(probe(r, good[i], NULL, 0)), good[i]);
	assert_null(nopal_provider_new(NULL, 0, NULL));
	/* 1 + 2 * 50 bytes: the message has whole characters of them. */
	assert_null(
		nopal_provider_new("aéééééééééééééééééééééééééééééééééééééééééééééééééé", 0, &e));
	assert_true(!strncmp(e.text + 98, "\xc3\xa9' cannot", 10));
	memset(longest, 'x', sizeof(longest));
	longest[NOPAL_MAX_NAME + 1] = '\0';
	assert_null(nopal_provider_probe(r, longest, NULL, 0, NULL, &e));
	longest[NOPAL_MAX_NAME] = '\0';
	probe(r, longest, NULL, 0);
	longest[NOPAL_MAX_PROVIDER + 1] = '\0';
	assert_null(nopal_provider_new(longest, 0, &e));
	longest[NOPAL_MAX_PROVIDER] = '\0';
	struct nopal_provider *long_name = provider(longest);
	probe(long_name, "p", NULL, 0);
	load(long_name);
	nopal_provider_destroy(long_name);
	load(r);
	nopal_provider_destroy(r);
}

static void a_name_is_taken_once(void **state)
{
	struct nopal_provider *r = provider("twice"), *any;
	struct nopal_probe *p = probe(r, "same", NULL, 0);
	struct nopal_error e;

	(void)state;
	assert_null(nopal_provider_probe(r, "same", NULL, 0, NULL, &e));
	assert_int_equal(e.code, NOPAL_NAME_TAKEN);
	assert_string_equal(e.text, "'twice' already has a probe 'same'");
	assert_ptr_equal(nopal_provider_find(r, "same"), p);
	assert_null(nopal_provider_find(r, "other"));
	assert_int_equal(nopal_provider_probe_count(r), 1);
	nopal_provider_destroy(r);
	any = nopal_provider_new("a b", NOPAL_RUNTIME_ANY_NAME, &e);
	assert_non_null(any);
	assert_ptr_not_equal(probe(any, "x:y", NULL, 0), probe(any, "x:y", NULL, 0));
	load(any);
	nopal_provider_destroy(any);
}

static void bad_arguments_are_refused(void **state)
{
	struct nopal_probe_arg args[13];
	struct nopal_provider *r = provider("args");
	struct nopal_error e;

	(void)state;
	for (unsigned i = 0; i < 13; i++)
		args[i] = (struct nopal_probe_arg){NOPAL_INT32, "n"};
	assert_null(nopal_provider_probe(r, "many", args, 13, NULL, &e));
	assert_int_equal(e.code, NOPAL_BAD_ARGS);
	args[11].type = NOPAL_COUNTED;
	assert_null(nopal_provider_probe(r, "many", args, 12, NULL, &e));
	assert_int_equal(e.code, NOPAL_BAD_ARGS);
	assert_int_equal(nopal_probe_value_count(probe(r, "full", args + 1, 11)), 12);
	args[0].type = (enum nopal_type)99;
	assert_null(nopal_provider_probe(r, "unknown", args, 1, NULL, &e));
	assert_string_equal(e.text, "argument 0 has unknown type 99");
	args[0] = (struct nopal_probe_arg){NOPAL_INT8, "a-b"};
	assert_null(nopal_provider_probe(r, "named", args, 1, NULL, NULL));
	assert_null(nopal_provider_new("flags", 64, &e));
	assert_int_equal(e.code, NOPAL_UNSUPPORTED);
	assert_null(nopal_provider_probe(NULL, "p", NULL, 0, NULL, &e));
	assert_string_equal(e.text, "unknown flags 0x40"); /* what there is no provider for */
	nopal_provider_destroy(r);
	nopal_provider_destroy(NULL);
}

static void a_probe_knows_its_arguments(void **state)
{
	static const struct nopal_probe_arg args[] = {
		{NOPAL_COUNTED, "body"}, {NOPAL_DOUBLE, NULL}, {NOPAL_BOOL, "ok"}};
	struct nopal_provider *r = provider("known");
	struct nopal_probe *p = probe(r, "request", args, 3);

	(void)state;
	assert_ptr_equal(nopal_probe_provider(p), r);
	assert_string_equal(nopal_provider_name(r), "known");
	assert_int_equal(nopal_probe_arg_count(p), 3);
	assert_int_equal(nopal_probe_value_count(p), 4);
	assert_int_equal(nopal_probe_arg_type(p, 1), NOPAL_DOUBLE);
	assert_int_equal(nopal_probe_arg_type(p, 3), 0);
	assert_string_equal(nopal_probe_arg_name(p, 0), "body");
	assert_string_equal(nopal_probe_arg_name(p, 1), "");
	assert_string_equal(nopal_probe_arg_name(p, 2), "ok");
	assert_string_equal(nopal_probe_arg_name(p, 9), "");
	nopal_provider_destroy(r);
}

/* ---- The check ---- */

static void enabled_only_while_loaded_and_traced(void **state)
{
	struct nopal_provider *r = provider("check");
	struct nopal_probe *p = probe(r, "p", NULL, 0);

	(void)state;
	assert_false(nopal_probe_enabled(p));
	assert_int_equal(nopal_probe_fd(p), -1);
	nopal_probe_fire(p);
	nopal_probe_fire_words(p, NULL, 0);
	load(r);
	assert_true(nopal_provider_is_loaded(r));
	assert_true(nopal_probe_fd(p) >= 0);
	assert_false(nopal_probe_enabled(p));
	nopal_probe_fire(p);
	spy_on(p);
	assert_true(nopal_probe_enabled(p));
	nopal_probe_fire(p);
	assert_int_equal(spied.calls, 1);
	unload(r);
	assert_false(nopal_probe_enabled(p));
	nopal_probe_fire(p);
	assert_int_equal(spied.calls, 1);
	/* A thread that has seen it enabled finds the same code there. */
	((void (*)(void))spy_stub(p))();
	assert_false(nopal_provider_is_loaded(r));
	load(r);
	assert_false(nopal_probe_enabled(p));
	nopal_provider_destroy(r);
}

/* libstapsdt's probes: its users look at the first byte themselves. */
static void a_probe_with_a_one_byte_nop_is_enabled_as_others(void **state)
{
	struct nopal_provider *r = nopal_provider_new("short", NOPAL_RUNTIME_ONE_BYTE_NOP, NULL);
	struct nopal_probe *p = probe(r, "p", NULL, 0);

	(void)state;
	for (int round = 0; round < 2; round++) {
		assert_false(nopal_probe_enabled(p));
		assert_int_equal(nopal_provider_load(r, NULL), 0);
#if defined __x86_64__
		assert_int_equal(*spy_stub(p), 0x90);
#endif
		assert_false(nopal_probe_enabled(p));
		spy_write(p, "\xcc", 1);
		assert_true(nopal_probe_enabled(p));
		assert_int_equal(nopal_provider_unload(r, NULL), 0);
		assert_false(nopal_probe_enabled(p));
	}
	nopal_provider_destroy(r);
}

static void arguments_are_evaluated_only_when_enabled(void **state)
{
	static const struct nopal_probe_arg arg = {NOPAL_INT32, "n"};
	struct nopal_provider *r = provider("lazy");
	struct nopal_probe *p = probe(r, "p", &arg, 1);
	int n = 0;

	(void)state;
	load(r);
	nopal_probe_fire(p, n++);
	assert_int_equal(n, 0);
	spy_on(p);
	nopal_probe_fire(p, n++);
	assert_int_equal(n, 1);
	assert_int_equal(spied.words[0], 0);
	nopal_provider_destroy(r);
}

/* ---- Values ---- */

static void every_type_arrives_exactly(void **state)
{
	static const struct nopal_probe_arg args[] = {
		{NOPAL_INT8, "a"},    {NOPAL_UINT8, "b"},  {NOPAL_INT16, "c"},	{NOPAL_UINT16, "d"},
		{NOPAL_INT32, "e"},   {NOPAL_UINT32, "f"}, {NOPAL_INT64, "g"},	{NOPAL_UINT64, "h"},
		{NOPAL_POINTER, "i"}, {NOPAL_STRING, "j"}, {NOPAL_DOUBLE, "k"}, {NOPAL_FLOAT, "l"}};
	struct nopal_provider *r = provider("values");
	struct nopal_probe *p = probe(r, "all", args, 12);
	const char *text = "\xc3\xa9t\xc3\xa9";

	(void)state;
	load(r);
	spy_on(p);
	nopal_probe_fire(p, INT8_MIN, UINT8_MAX, INT16_MIN, UINT16_MAX, INT32_MIN, UINT32_MAX,
			 INT64_MIN, UINT64_MAX, (void *)p, text, -DBL_MIN, FLT_MAX);
	assert_true(spied.words[0] == (uint64_t)INT8_MIN);
	assert_true(spied.words[1] == UINT8_MAX);
	assert_true(spied.words[2] == (uint64_t)INT16_MIN);
	assert_true(spied.words[3] == UINT16_MAX);
	assert_true(spied.words[4] == (uint64_t)INT32_MIN);
	assert_true(spied.words[5] == UINT32_MAX);
	assert_true(spied.words[6] == (uint64_t)INT64_MIN);
	assert_true(spied.words[7] == UINT64_MAX);
	assert_true(spied.words[8] == (uintptr_t)p);
	assert_true(spied.words[9] == (uintptr_t)text);
	assert_true(spied.words[10] == nopal_bits_of_double(-DBL_MIN));
	assert_true(spied.words[11] == nopal_bits_of_float(FLT_MAX));
	nopal_probe_fire(p, NULL);
	for (unsigned i = 0; i < NOPAL_MAX_VALUES; i++)
		assert_true(spied.words[i] == 0);
	nopal_provider_destroy(r);
}

/* What arrives at an argument of `type` for a value; NOPAL_VALUE braces it. */
struct conversion {
	enum nopal_type type;
	struct nopal_value value;
	uint64_t expected;
};

static void values_are_converted_to_the_declared_type(void **state)
{
	const double nan_double = NAN, infinity = INFINITY;
	const float third = 1.0f / 3;
	const struct {
		int small : 7;
		unsigned three : 3;
		unsigned long long large : 40;
		bool yes : 1;
	} bits = {-5, 7, 1ull << 39, true};
	const struct conversion rows[] = {
		{NOPAL_INT8, NOPAL_VALUE(300), 44},
		{NOPAL_INT8, NOPAL_VALUE(200), (uint64_t)-56},
		{NOPAL_UINT8, NOPAL_VALUE(-1), 255},
		{NOPAL_UINT32, NOPAL_VALUE(-1), UINT32_MAX},
		{NOPAL_INT32, NOPAL_VALUE(UINT32_MAX), (uint64_t)-1},
		{NOPAL_INT64, NOPAL_VALUE('\xff'), (uint64_t)(char)'\xff'},
		{NOPAL_UINT64, NOPAL_VALUE((signed char)-1), UINT64_MAX},
		{NOPAL_BOOL, NOPAL_VALUE(256), 1},
		{NOPAL_BOOL, NOPAL_VALUE(0.5), 1},
		{NOPAL_BOOL, NOPAL_VALUE(0.0), 0},
		{NOPAL_INT32, NOPAL_VALUE(-2.9), (uint64_t)-2},
		{NOPAL_INT32, NOPAL_VALUE(1e30), INT32_MAX},
		{NOPAL_INT32, NOPAL_VALUE(-1e30), (uint64_t)INT32_MIN},
		{NOPAL_UINT16, NOPAL_VALUE(-1.0), 0},
		{NOPAL_UINT16, NOPAL_VALUE(65535.9f), 65535},
		{NOPAL_UINT16, NOPAL_VALUE(65536.0f), 65535},
		{NOPAL_INT64, NOPAL_VALUE(9223372036854775808.0), INT64_MAX},
		{NOPAL_INT64, NOPAL_VALUE(-9223372036854775808.0), (uint64_t)INT64_MIN},
		{NOPAL_UINT64, NOPAL_VALUE(18446744073709551615.0), UINT64_MAX},
		{NOPAL_UINT64, NOPAL_VALUE(9223372036854775808.0), 1ull << 63},
		{NOPAL_INT64, NOPAL_VALUE(nan_double), 0},
		{NOPAL_UINT64, NOPAL_VALUE(infinity), UINT64_MAX},
		{NOPAL_DOUBLE, NOPAL_VALUE(nan_double), 0},
		{NOPAL_DOUBLE, NOPAL_VALUE(-7), 0xc01c000000000000},
		{NOPAL_DOUBLE, NOPAL_VALUE(UINT64_MAX), 0x43f0000000000000},
		{NOPAL_DOUBLE, NOPAL_VALUE(1.5f), 0x3ff8000000000000},
		{NOPAL_FLOAT, NOPAL_VALUE(third), 0x3eaaaaab},
		{NOPAL_FLOAT, NOPAL_VALUE(1.0 / 3), 0x3eaaaaab},
		{NOPAL_FLOAT, NOPAL_VALUE(-1), 0xbf800000},
		{NOPAL_FLOAT, NOPAL_VALUE(0x1000001000000001), 0x5d800001},
		{NOPAL_FLOAT, NOPAL_VALUE(2.5L), 0x40200000},
		{NOPAL_INT64, NOPAL_VALUE(bits.small), (uint64_t)-5},
		{NOPAL_FLOAT, NOPAL_VALUE(bits.small), 0xc0a00000},
		{NOPAL_UINT8, NOPAL_VALUE(bits.three), 7},
		{NOPAL_UINT64, NOPAL_VALUE(bits.large), 1ull << 39},
		{NOPAL_FLOAT, NOPAL_VALUE(bits.large), 0x53000000},
		{NOPAL_BOOL, NOPAL_VALUE(bits.yes), 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct nopal_probe_arg arg = {rows[i].type, NULL};
		struct nopal_provider *r = provider("convert");
		struct nopal_probe *p = probe(r, "p", &arg, 1);
		uint64_t expected = rows[i].expected;

		if (rows[i].type == NOPAL_DOUBLE && !expected)
			expected = nopal_bits_of_double(nan_double);
		load(r);
		spy_on(p);
		nopal_probe_fire_values(p, &rows[i].value, 1);
		if (spied.words[0] != expected)
			fail_msg("row %zu: %#llx arrived, not %#llx", i,
				 (unsigned long long)spied.words[0], (unsigned long long)expected);
		nopal_provider_destroy(r);
	}
}

static void words_arrive_as_they_are(void **state)
{
	static const struct nopal_probe_arg args[] = {{NOPAL_INT8, "a"}, {NOPAL_FLOAT, "b"}};
	static const uint64_t words[] = {0x1234567890abcdef, 0xffffffff7fc00001, 3};
	struct nopal_provider *r = provider("words");
	struct nopal_probe *p = probe(r, "p", args, 2);

	(void)state;
	load(r);
	spy_on(p);
	nopal_probe_fire_words(p, words, 3);
	assert_true(spied.words[0] == words[0] && spied.words[1] == words[1]);
	assert_true(spied.words[2] == 0); /* beyond what the probe has */
	nopal_probe_fire_words(p, words, 1);
	assert_true(spied.words[0] == words[0] && spied.words[1] == 0);
	nopal_provider_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_names_are_refused),
		cmocka_unit_test(a_name_is_taken_once),
		cmocka_unit_test(bad_arguments_are_refused),
		cmocka_unit_test(a_probe_knows_its_arguments),
		cmocka_unit_test(enabled_only_while_loaded_and_traced),
		cmocka_unit_test(a_probe_with_a_one_byte_nop_is_enabled_as_others),
		cmocka_unit_test(arguments_are_evaluated_only_when_enabled),
		cmocka_unit_test(every_type_arrives_exactly),
		cmocka_unit_test(values_are_converted_to_the_declared_type),
		cmocka_unit_test(words_arrive_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
