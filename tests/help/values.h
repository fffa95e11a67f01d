/* Run-time probes of every type, each fired with the edges of its type, and the lines that a tracer
 * has to print of them: "int8 -128". tests/targets/runtime_values.c is traced from outside,
 * tests/unit/values.c runs the interpreter on the same values; tests/cases/values.txt has the
 * scripts.
 *
 *   int8 ... uint64, bool    the number
 *   pointer                  in hexadecimal
 *   float, double            the bits in hexadecimal, and the number as %a
 *   string                   the text
 *   counted                  the length, and the bytes as %r shows them
 *   long, bulk               64 KiB: as string and counted, behind a sum of all 8-byte words
 *   six, twelve              several types at once */
#ifndef NOPAL_TEST_VALUES_H
#define NOPAL_TEST_VALUES_H

#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nopal/runtime.h"

#define LONGEST 65536

struct values_probe {
	const char *name;
	struct nopal_probe_arg args[NOPAL_MAX_VALUES];
	unsigned count;
	void (*fire)(const struct nopal_probe *p, FILE *expected);
};

#define FIRE_EACH(name, type, format, shown, ...)                                   \
	static void fire_##name(const struct nopal_probe *p, FILE *expected)        \
	{                                                                           \
		static const type values[] = {__VA_ARGS__};                         \
                                                                                    \
		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {   \
			nopal_probe_fire(p, values[i]);                             \
			fprintf(expected, #name " " format "\n", (shown)values[i]); \
		}                                                                   \
	}

FIRE_EACH(int8, int8_t, "%d", int, INT8_MIN, INT8_MIN + 1, -1, 0, 1, INT8_MAX)
FIRE_EACH(uint8, uint8_t, "%u", unsigned, 0, 1, INT8_MAX, INT8_MAX + 1, UINT8_MAX)
FIRE_EACH(int16, int16_t, "%d", int, INT16_MIN, INT16_MIN + 1, INT8_MIN - 1, -1, 0, 1, 256,
	  INT16_MAX)
FIRE_EACH(uint16, uint16_t, "%u", unsigned, 0, 1, 255, 256, INT16_MAX, INT16_MAX + 1, UINT16_MAX)
FIRE_EACH(int32, int32_t, "%d", int, INT32_MIN, INT32_MIN + 1, INT16_MIN - 1, -1, 0, 1, 65536,
	  INT32_MAX)
FIRE_EACH(uint32, uint32_t, "%u", unsigned, 0, 1, 65535, 65536, INT32_MAX, (uint32_t)INT32_MAX + 1,
	  UINT32_MAX)
FIRE_EACH(int64, int64_t, "%" PRId64, int64_t, INT64_MIN, INT64_MIN + 1, (int64_t)INT32_MIN - 1, -1,
	  0, 1, (int64_t)UINT32_MAX + 1, INT64_MAX)
FIRE_EACH(uint64, uint64_t, "%" PRIu64, uint64_t, 0, 1, UINT32_MAX, (uint64_t)UINT32_MAX + 1,
	  INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX)
FIRE_EACH(bool, bool, "%d", int, false, true)
FIRE_EACH(pointer, uintptr_t, "%" PRIxPTR, uintptr_t, 0, 1, 0x7ffffffff000, 0x8000000000000000,
	  UINTPTR_MAX)

static void fire_float(const struct nopal_probe *p, FILE *expected)
{
	const float values[] = {0.0f,	 -0.0f,	    1.5f,     -0.1f,	 FLT_MAX, -FLT_MAX,
				FLT_MIN, 0x1p-149f, INFINITY, -INFINITY, NAN,	  -NAN};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		nopal_probe_fire(p, values[i]);
		fprintf(expected, "float %" PRIx64 " %a\n", nopal_bits_of_float(values[i]),
			(double)values[i]);
	}
}

static void fire_double(const struct nopal_probe *p, FILE *expected)
{
	const double values[] = {0.0,	  -0.0,	     1.5,      -0.1,	  DBL_MAX, -DBL_MAX,
				 DBL_MIN, 0x1p-1074, INFINITY, -INFINITY, NAN,	   -NAN};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		nopal_probe_fire(p, values[i]);
		fprintf(expected, "double %" PRIx64 " %a\n", nopal_bits_of_double(values[i]),
			values[i]);
	}
}

/* The last has as many bytes as bpftrace 0.17 can be told to show. */
static void fire_string(const struct nopal_probe *p, FILE *expected)
{
	static char wide[200];
	const char *const values[] = {"",
				      "a",
				      "two words",
				      "gr\u00fc\u00dfe \u20ac \U0001f335 \u65e5\u672c",
				      "\x01\x1b[1m\t\x7f",
				      "\xff\xc3 no UTF-8 \xe2\x82",
				      "(null)",
				      wide};

	memset(wide, 'w', sizeof(wide) - 1);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		nopal_probe_fire(p, values[i]);
		fprintf(expected, "string %s\n", values[i]);
	}
}

static void print_bytes(const char *bytes, size_t len, FILE *to)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] >= ' ' && bytes[i] <= '~')
			putc(bytes[i], to);
		else
			fprintf(to, "\\x%02x", (unsigned char)bytes[i]);
}

static void fire_counted(const struct nopal_probe *p, FILE *expected)
{
	static const struct {
		const char *bytes;
		size_t len;
	} values[] = {{"not these", 0},
		      {"x and more", 1},
		      {"a\0b", 3},
		      {"\0\0", 2},
		      {"gr\u00fc\u00dfe and more", 7},
		      {"\xff\xfe\x80", 3},
		      {"\n\t\x01\x7f", 4}};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		nopal_probe_fire(p, values[i].bytes, values[i].len);
		fprintf(expected, "counted %zu ", values[i].len);
		print_bytes(values[i].bytes, values[i].len, expected);
		putc('\n', expected);
	}
}

/* A sum that every byte and every place of a byte changes. */
static uint64_t sum_of(const char *text)
{
	uint64_t sum = 0, word;

	for (size_t i = 0; i < LONGEST; i += sizeof(word)) {
		memcpy(&word, text + i, sizeof(word));
		sum = sum * 31 + word;
	}
	return sum;
}

/* The unit again and again; where it does not fit any more, dots; then the end, if any. */
static void fill(char text[LONGEST + 1], size_t len, const char *unit)
{
	size_t step = strlen(unit), at = 0;

	for (; at + step <= len; at += step)
		memcpy(text + at, unit, step);
	memset(text + at, '.', len - at);
	memset(text + len, '\0', LONGEST + 1 - len);
}

/* Every text stays as it is: the interpreter reads them when all have been fired. */
static void fire_long(const struct nopal_probe *p, FILE *expected)
{
	static char texts[6][LONGEST + 1];
	static const char *const units[] = {"abcdefghijk ", "gr\u00fc\u00dfe \u20ac ",
					    "\x01\x1b[1m \x7f\xff"};

	for (size_t i = 0; i < 6; i++) {
		fill(texts[i], LONGEST - i % 2, units[i / 2]);
		nopal_probe_fire(p, texts[i]);
		fprintf(expected, "long %" PRIx64 " %s\n", sum_of(texts[i]), texts[i]);
	}
}

static void fire_bulk(const struct nopal_probe *p, FILE *expected)
{
	static char text[LONGEST + 1];

	fill(text, LONGEST, "0123456789\u20ac");
	text[LONGEST] = '!';
	nopal_probe_fire(p, text, LONGEST);
	fprintf(expected, "bulk %d %" PRIx64 " %.*s\n", LONGEST, sum_of(text), LONGEST, text);
}

static void fire_six(const struct nopal_probe *p, FILE *expected)
{
	nopal_probe_fire(p, (int8_t)-1, UINT16_MAX, INT32_MIN, UINT64_MAX, -2.5, "s\u00ebx");
	fprintf(expected,
		"six -1 65535 -2147483648 18446744073709551615 c004000000000000 s\u00ebx\n");
}

static void fire_twelve(const struct nopal_probe *p, FILE *expected)
{
	nopal_probe_fire(p, INT8_MIN, UINT8_MAX, INT16_MIN, UINT16_MAX, INT32_MIN, UINT32_MAX,
			 INT64_MIN, UINT64_MAX, true, 0.5f, -2.5, "tw\u00eblve");
	fprintf(expected,
		"twelve -128 255 -32768 65535 -2147483648 4294967295 -9223372036854775808 "
		"18446744073709551615 1 3f000000 c004000000000000 tw\u00eblve\n");
}

#define ONE_VALUE(name, type)                              \
	{                                                  \
#name, {{type, "value" } }, 1, fire_##name \
	}

static const struct values_probe values_probes[] = {
	ONE_VALUE(int8, NOPAL_INT8),
	ONE_VALUE(uint8, NOPAL_UINT8),
	ONE_VALUE(int16, NOPAL_INT16),
	ONE_VALUE(uint16, NOPAL_UINT16),
	ONE_VALUE(int32, NOPAL_INT32),
	ONE_VALUE(uint32, NOPAL_UINT32),
	ONE_VALUE(int64, NOPAL_INT64),
	ONE_VALUE(uint64, NOPAL_UINT64),
	ONE_VALUE(bool, NOPAL_BOOL),
	ONE_VALUE(pointer, NOPAL_POINTER),
	ONE_VALUE(float, NOPAL_FLOAT),
	ONE_VALUE(double, NOPAL_DOUBLE),
	ONE_VALUE(string, NOPAL_STRING),
	ONE_VALUE(counted, NOPAL_COUNTED),
	ONE_VALUE(long, NOPAL_STRING),
	ONE_VALUE(bulk, NOPAL_COUNTED),
	{"six",
	 {{NOPAL_INT8, "a"},
	  {NOPAL_UINT16, "b"},
	  {NOPAL_INT32, "c"},
	  {NOPAL_UINT64, "d"},
	  {NOPAL_DOUBLE, "e"},
	  {NOPAL_STRING, "f"}},
	 6,
	 fire_six},
	{"twelve",
	 {{NOPAL_INT8, "a"},
	  {NOPAL_UINT8, "b"},
	  {NOPAL_INT16, "c"},
	  {NOPAL_UINT16, "d"},
	  {NOPAL_INT32, "e"},
	  {NOPAL_UINT32, "f"},
	  {NOPAL_INT64, "g"},
	  {NOPAL_UINT64, "h"},
	  {NOPAL_BOOL, "i"},
	  {NOPAL_FLOAT, "j"},
	  {NOPAL_DOUBLE, "k"},
	  {NOPAL_STRING, "l"}},
	 12,
	 fire_twelve},
};

#define VALUES_PROBES (sizeof(values_probes) / sizeof(values_probes[0]))

#endif
