/* The ground everything stands on: slices, UTF-8, buffers, messages, JSON, arenas, cursors. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/cursor.h"
#include "base/diag.h"
#include "base/json.h"
#include "base/utf8.h"

static void strings_compare_by_bytes(void **state)
{
	(void)state;
	assert_true(str_eq(STR(""), str_of(NULL, 0)));
	assert_false(str_eq(STR("a"), STR("a\0")));
	assert_true(str_cmp(STR("a"), STR("ab")) < 0);
	assert_true(str_cmp(STR("b"), STR("ab")) > 0);
	assert_true(str_cmp(STR("\xff"), STR("a")) > 0);
	assert_int_equal(str_cmp(STR("x"), STR("x")), 0);
	assert_true(str_starts(STR("usdt:x"), STR("usdt:")));
	assert_false(str_starts(STR("us"), STR("usdt:")));
	assert_true(str_ends(STR("a.so"), STR(".so")));
	assert_false(str_ends(STR("so"), STR(".so")));
	assert_true(str_ends(STR("so"), STR("")));
}

static void strings_are_cut_and_trimmed(void **state)
{
	struct str rest = STR("a:b::");

	(void)state;
	assert_true(str_eq(str_cut(&rest, ':'), STR("a")));
	assert_true(str_eq(str_cut(&rest, ':'), STR("b")));
	assert_true(str_eq(str_cut(&rest, ':'), STR("")));
	assert_int_equal(rest.len, 0);
	assert_true(str_eq(str_cut(&rest, ':'), STR("")));
	assert_true(str_eq(str_trim(STR(" \t\r\na b \n")), STR("a b")));
	assert_int_equal(str_trim(STR("  ")).len, 0);
	assert_int_equal(str_index(STR("abc"), 'c'), 2);
	assert_int_equal(str_index(STR("abc"), 'd'), -1);
	assert_int_equal(str_index(str_of(NULL, 0), 'd'), -1);
	assert_true(str_eq(str_after_last(STR("/usr/bin/x"), '/'), STR("x")));
	assert_true(str_eq(str_after_last(STR("x"), '/'), STR("x")));
	assert_int_equal(str_after_last(STR("/usr/"), '/').len, 0);
	assert_int_equal(str_after_last(STR(""), '/').len, 0);
}

static void numbers_are_read_to_the_last_bit(void **state)
{
	static const struct {
		const char *text;
		int err;
		uint64_t value;
	} rows[] = {
		{"0", 0, 0},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"0xffffffffffffffff", 0, UINT64_MAX},
		{"0x10000000000000000", -ERANGE, 0},
		{"0X1f", 0, 31},
		{"017", 0, 15},
		{"08", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"0x", -EINVAL, 0},
		{" 1", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{"12a", -EINVAL, 0},
	};
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		value = 77;
		assert_int_equal(str_to_u64(str_from(rows[i].text), &value), rows[i].err);
		assert_int_equal(value, rows[i].err ? 77 : rows[i].value);
	}
}

static void hex_numbers_are_read_whole_or_cut_off(void **state)
{
	struct str rest = STR("7fFf-1000");
	uint64_t value = 77;

	(void)state;
	assert_int_equal(str_to_hex(STR(""), &value), -EINVAL);
	assert_int_equal(str_to_hex(STR("0x1"), &value), -EINVAL);
	assert_int_equal(str_to_hex(STR("10000000000000000"), &value), -ERANGE);
	assert_int_equal(value, 77);
	assert_int_equal(str_to_hex(STR("ffffFFFFffffFFFF"), &value), 0);
	assert_int_equal(value, UINT64_MAX);
	assert_true(str_take_hex(&rest, &value));
	assert_int_equal(value, 0x7fff);
	assert_true(str_eq(rest, STR("-1000")));
	assert_false(str_take_hex(&rest, &value));
	assert_int_equal(rest.len, 5);
	rest = STR("00000000000000001"); /* 17 digits */
	assert_false(str_take_hex(&rest, &value));
	assert_int_equal(value, 0x7fff);
	assert_int_equal(hex_digit('9'), 9);
	assert_int_equal(hex_digit('F'), 15);
	assert_int_equal(hex_digit('g'), 16);
}

static void signed_numbers_have_both_ends(void **state)
{
	int64_t value = 0;

	(void)state;
	assert_int_equal(str_to_s64(STR("-9223372036854775808"), &value), 0);
	assert_true(value == INT64_MIN);
	assert_int_equal(str_to_s64(STR("+9223372036854775807"), &value), 0);
	assert_true(value == INT64_MAX);
	assert_int_equal(str_to_s64(STR("9223372036854775808"), &value), -ERANGE);
	assert_int_equal(str_to_s64(STR("-9223372036854775809"), &value), -ERANGE);
	assert_int_equal(str_to_s64(STR("--1"), &value), -EINVAL);
	assert_int_equal(str_to_s64(STR("-"), &value), -EINVAL);
	assert_int_equal(str_to_s64(STR("-0x10"), &value), 0);
	assert_int_equal(value, -16);
}

static void patterns_match(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} rows[] = {
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "abc", true},
		{"a*c", "abbbc", true},
		{"a*c", "ab", false},
		{"*a*a*", "xaya", true},
		{"?", "a", true},
		{"?", "", false},
		{"gc__*", "gc__start", true},
		{"*__start", "gc__start", true},
		{"a?c", "abc", true},
		{"a**c", "ac", true},
		{"*b", "aab", true},
		{"*ab", "aaab", true},
		{"abc", "ab", false},
		{"ab", "abc", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(str_match(str_from(rows[i].pattern), str_from(rows[i].text)),
				 rows[i].matches);
	assert_true(str_has_wildcard(STR("a*")));
	assert_true(str_has_wildcard(STR("a?")));
	assert_false(str_has_wildcard(STR("a[")));
}

static void distances_are_capped(void **state)
{
	struct buf long_name = BUF_INIT;

	(void)state;
	assert_int_equal(str_distance(STR("qery"), STR("query"), 9), 1);
	assert_int_equal(str_distance(STR("kitten"), STR("sitting"), 9), 3);
	assert_int_equal(str_distance(STR("kitten"), STR("sitting"), 2), 2);
	assert_int_equal(str_distance(STR(""), STR("abc"), 9), 3);
	assert_int_equal(str_distance(STR("a"), STR("a"), 9), 0);
	assert_int_equal(str_distance(STR("prinft"), STR("printf"), 9), 1);
	assert_int_equal(str_distance(STR("lsit"), STR("list"), 9), 1);
	assert_int_equal(str_distance(STR("badc"), STR("abcd"), 9), 2);
	buf_fill(&long_name, 'a', 65);
	assert_int_equal(str_distance(buf_as_str(&long_name), STR("a"), 5), 5);
	buf_free(&long_name);
}

/* "prin" was taken for pton. */
static void the_nearest_name_is_guessed(void **state)
{
	static const struct {
		const char *wanted, *best;
	} rows[] = {
		{"prin", "print"},    {"prinf", "printf"}, {"prinft", "printf"}, {"tim", "time"},
		{"prints", "printf"}, {"ptno", "pton"},	   {"timee", "time"},	 {"xyz", ""},
	};
	static const char *const names[] = {"pid", "tid", "pton", "print", "time", "printf"};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct guess guess = {.nearest = 3};

		for (size_t n = 0; n < COUNT(names); n++)
			guess_offer(&guess, str_from(rows[i].wanted), str_from(names[n]));
		if (!str_eq_text(guess.best, rows[i].best))
			fail_msg("'%s' is taken for '%.*s'", rows[i].wanted, STR_FMT(guess.best));
	}
}

static void only_honest_utf8_is_printable(void **state)
{
	static const struct {
		const char *text;
		size_t printable, decoded;
	} rows[] = {
		{"abc", 3, 1},
		{"\xc3\xa9", 2, 2},	    /* é */
		{"\xe2\x82\xac", 3, 3},	    /* € */
		{"\xf0\x9f\x98\x80", 4, 4}, /* U+1F600 */
		{"a\nb", 1, 1},
		{"\x1b[2J", 0, 1},	/* escape sequence */
		{"\x7f", 0, 1},		/* DEL */
		{"\xc2\x9b", 0, 2},	/* C1 control */
		{"\xe2\x80\xae", 0, 3}, /* right-to-left override */
		{"\xc0\xaf", 0, 0},	/* overlong / */
		{"\xe0\x80\xaf", 0, 0},
		{"\xf0\x80\x80\xaf", 0, 0},
		{"\xed\xa0\x80", 0, 0},	    /* surrogate */
		{"\xf4\x90\x80\x80", 0, 0}, /* beyond U+10FFFF */
		{"\xf8\x88\x80\x80\x80", 0, 0},
		{"\x80", 0, 0},	    /* a continuation alone */
		{"\xe2\x82", 0, 0}, /* cut off */
		{"\xff", 0, 0},
	};
	uint32_t code;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(utf8_printable(str_from(rows[i].text)), rows[i].printable);
		assert_int_equal(utf8_decode(str_from(rows[i].text), &code), rows[i].decoded);
	}
	assert_int_equal(utf8_printable(str_of(NULL, 0)), 0);
	assert_int_equal(utf8_decode(str_of(NULL, 0), &code), 0);
	assert_int_equal(utf8_decode(STR("\xe2\x82\xac"), &code), 3);
	assert_int_equal(code, 0x20ac);
}

static void check_escaped(struct str text, const char *want)
{
	struct buf out = BUF_INIT;

	buf_escaped(&out, text);
	assert_string_equal(out.ptr, want);
	buf_free(&out);
}

static void strangers_text_is_escaped(void **state)
{
	(void)state;
	check_escaped(STR("plain \xc3\xa9"), "plain \xc3\xa9");
	check_escaped(STR("\x1b[31m"), "\\x1b[31m");
	check_escaped(STR("a\0b"), "a\\x00b");
	check_escaped(STR("\n\t\r"), "\\x0a\\x09\\x0d");
	check_escaped(STR("\xe2\x80\xae"), "\\xe2\\x80\\xae");
	check_escaped(STR("\xff\xe2\x82"), "\\xff\\xe2\\x82");
}

static void buffers_grow_and_end_in_nul(void **state)
{
	struct buf out = BUF_INIT;

	(void)state;
	assert_int_equal(buf_as_str(&out).len, 0);
	assert_non_null(buf_as_str(&out).ptr);
	buf_u64(&out, UINT64_MAX);
	buf_char(&out, ' ');
	buf_s64(&out, INT64_MIN);
	buf_char(&out, ' ');
	buf_hex(&out, 0xdeadbeef);
	buf_printf(&out, " %s-%d", "x", -3);
	assert_string_equal(out.ptr, "18446744073709551615 -9223372036854775808 deadbeef x--3");
	buf_clear(&out);
	for (int i = 0; i < 10000; i++)
		buf_printf(&out, "%04d", i);
	assert_int_equal(out.len, 40000);
	assert_memory_equal(out.ptr + 39996, "9999", 5);
	buf_clear(&out);
	buf_fill(&out, '~', 3);
	assert_string_equal(out.ptr, "~~~");
	buf_free(&out);
	buf_free(&out);
}

static void a_failed_buffer_stays_failed(void **state)
{
	struct buf out = BUF_INIT;

	(void)state;
	buf_text(&out, "ab");
	assert_int_equal(buf_reserve(&out, SIZE_MAX), -ENOMEM);
	assert_true(out.failed);
	buf_text(&out, "cd");
	assert_string_equal(out.ptr, "ab");
	buf_clear(&out);
	buf_text(&out, "cd");
	assert_string_equal(out.ptr, "cd");
	buf_free(&out);
}

static struct span span_in(const char *source, size_t at, size_t len)
{
	return (struct span){STR("script.bt"), str_from(source), at, len, 0};
}

static void check_render(struct diag *d, const char *want)
{
	struct buf out = BUF_INIT;

	diag_render(d, &out);
	assert_string_equal(out.ptr, want);
	buf_free(&out);
	diag_free(d);
}

static void messages_show_the_place(void **state)
{
	struct diag d = DIAG_INIT;

	(void)state;
	assert_int_equal(diag_error_at(&d, -ENOENT, "unknown-probe",
				       span_in("BEGIN\nusdt:x { }\n", 6, 6), "unknown probe '%s'",
				       "x"),
			 -ENOENT);
	diag_hint(&d, "did you mean '%s'?", "y");
	assert_int_equal(d.errors, 1);
	assert_string_equal(d.first->tag, "unknown-probe");
	check_render(&d, "script.bt:2:1: error: unknown probe 'x'\n"
			 "usdt:x { }\n"
			 "^~~~~~\n"
			 "hint: did you mean 'y'?\n");
}

static void marks_stand_under_tabs_and_at_the_end(void **state)
{
	struct diag d = DIAG_INIT;

	(void)state;
	diag_error_at(&d, -EINVAL, "t", span_in("\ta\tb", 3, 50), "x");
	diag_warn_at(&d, "t", span_in("ab", 2, 0), "y");
	diag_warn_at(&d, "t", span_in("a\x1b", 0, 1), "z");
	assert_int_equal(d.warnings, 2);
	check_render(&d, "script.bt:1:4: error: x\n\ta\tb\n\t \t^\n"
			 "script.bt:1:3: warning: y\nab\n  ^\n"
			 "script.bt:1:1: warning: z\na\\x1b\n^\n");
}

/* A script of one line of a megabyte was shown whole, and once more in blanks under it. */
static void a_message_was_as_long_as_its_source_line(void **state)
{
	struct buf source = BUF_INIT, out = BUF_INIT;
	struct diag d = DIAG_INIT;

	(void)state;
	buf_fill(&source, 'a', 500000);
	buf_text(&source, "wrong");
	buf_fill(&source, 'b', 500000);
	diag_error_at(&d, -EINVAL, "t", span_in(source.ptr, 500000, 5), "no '%s'", source.ptr);
	diag_render(&d, &out);
	assert_in_range(out.len, 300, 2600);
	assert_non_null(strstr(out.ptr, "script.bt:1:500001: error: no 'aaa"));
	assert_non_null(strstr(out.ptr, "\n...aaaaaaaaaa"));
	assert_non_null(strstr(out.ptr, "aaawrongbbb"));
	assert_non_null(strstr(out.ptr, "bbb...\n          "));
	/* The marks are under the word: as many columns from the start of their lines. */
	const char *line = strstr(out.ptr, "\n...a") + 1, *marks = strchr(line, '\n') + 1;

	assert_int_equal(strstr(line, "wrong") - line, strchr(marks, '^') - marks);
	assert_string_equal(strchr(marks, '^'), "^~~~~\n");
	buf_free(&source);
	buf_free(&out);
	diag_free(&d);
}

/* A column for each character that is shown: two bytes of UTF-8 are one, an escape is four. */
static void marks_stand_under_what_is_shown(void **state)
{
	struct diag d = DIAG_INIT;

	(void)state;
	diag_error_at(&d, -1, "t", span_in("\xc3\xa4\x01 x\xc3\xb6z!", 4, 4), "x");
	check_render(&d, "script.bt:1:5: error: x\n\xc3\xa4\\x01 x\xc3\xb6z!\n      ^~~\n");
}

/* Probes and files have the names that strangers gave them. */
static void messages_cannot_steer_the_terminal(void **state)
{
	struct diag d = DIAG_INIT;

	(void)state;
	diag_error(&d, -1, "t", "no '%s'", "\x1b[2J");
	diag_log(&d, STR("R0\n\x1b[2JR1\t= 2"));
	diag_hint(&d, "did you mean '%s'?", "\x1b]0;x\a");
	check_render(&d, "error: no '\\x1b[2J': R0\n\\x1b[2JR1\t= 2\n"
			 "hint: did you mean '\\x1b]0;x\\x07'?\n");
}

/* A line feed in such a name made the rest of it look like another message. */
static void a_file_name_is_not_another_message(void **state)
{
	struct diag d = DIAG_INIT;

	(void)state;
	diag_warn(&d, "t", "'%s' is not traced", "x'\nerror: the disk is full");
	diag_hint(&d, "see '%s'", "x\nhint: run rm -r /");
	check_render(&d, "warning: 'x'\\x0aerror: the disk is full' is not traced\n"
			 "hint: see 'x\\x0ahint: run rm -r /'\n");
}

static void messages_without_a_place(void **state)
{
	struct diag d = DIAG_INIT;

	(void)state;
	diag_error(&d, -1, "t", "no such file '%s'", "x");
	diag_warn(&d, "u", "careful");
	check_render(&d, "error: no such file 'x'\nwarning: careful\n");
	assert_int_equal(diag_error(NULL, -EPERM, "t", "x"), -EPERM);
	assert_int_equal(diag_ensure(NULL, -EPERM, "x"), -EPERM);
	diag_hint(NULL, "x");
	diag_warn(NULL, "t", "x");
}

static void no_failure_is_silent(void **state)
{
	struct diag d = DIAG_INIT;

	(void)state;
	assert_int_equal(diag_ensure(&d, 0, "do it"), 0);
	assert_int_equal(diag_ensure(&d, 3, "do it"), 3);
	assert_null(d.first);
	diag_warn(&d, "u", "careful");
	assert_int_equal(diag_ensure(&d, -EPERM, "do it"), -EPERM);
	assert_int_equal(diag_ensure(&d, -EIO, "do more"), -EIO);
	check_render(&d, "warning: careful\nerror: cannot do it: Operation not permitted\n");
}

static void endless_messages_are_counted_not_kept(void **state)
{
	struct diag d = DIAG_INIT;
	struct buf out = BUF_INIT;
	struct str rest, last = STR("");
	unsigned lines = 0;

	(void)state;
	for (int i = 0; i < 1000; i++)
		diag_error(&d, -EINVAL, "t", "number %d", i);
	diag_hint(&d, "of the last one, which is not kept");
	diag_render(&d, &out);
	for (rest = buf_as_str(&out); rest.len; lines++)
		last = str_cut(&rest, '\n');
	assert_int_equal(lines, DIAG_LIMIT + 1);
	assert_true(str_eq(last, STR("(and 900 more messages)")));
	buf_free(&out);
	diag_free(&d);
}

static void json_is_always_valid(void **state)
{
	struct buf out = BUF_INIT;
	struct json j = {&out, false};

	(void)state;
	json_open(&j, '{');
	json_key(&j, "a");
	json_open(&j, '[');
	json_u64(&j, UINT64_MAX);
	json_s64(&j, -1);
	json_hex(&j, 255);
	json_bool(&j, true);
	json_close(&j, ']');
	json_key_str(&j, STR("k\""));
	json_text(&j, "\\ \n \x01 \x7f");
	json_key(&j, "bytes");
	json_str(&j, STR("\xff\xc3\xa9\0"));
	json_key(&j, "hidden");
	json_str(&j, STR("\xe2\x80\xae\xc2\x85"));
	json_key(&j, "empty");
	json_open(&j, '{');
	json_close(&j, '}');
	json_close(&j, '}');
	assert_string_equal(out.ptr, "{\"a\": [18446744073709551615, -1, \"0xff\", true], "
				     "\"k\\\"\": \"\\\\ \\n \\u0001 \\u007f\", "
				     "\"bytes\": \"\\u00ff\xc3\xa9\\u0000\", "
				     "\"hidden\": \"\\u202e\\u0085\", \"empty\": {}}");
	buf_free(&out);
}

static void arenas_give_zeroed_aligned_memory(void **state)
{
	struct arena a = ARENA_INIT;
	char *text;

	(void)state;
	for (size_t size = 0; size < 5000; size += 37) {
		unsigned char *p = arena_alloc(&a, size);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, size);
	}
	assert_non_null(arena_alloc(&a, 3 << 20));
	assert_null(arena_alloc(&a, SIZE_MAX));
	assert_null(arena_alloc_array(&a, SIZE_MAX / 2, 3));
	text = arena_text(&a, STR("abc"));
	assert_string_equal(text, "abc");
	assert_string_equal(arena_printf(&a, "%d-%s", 5, "x").ptr, "5-x");
	assert_true(str_eq(arena_str(&a, str_of(NULL, 0)), STR("")));
	arena_free(&a);
	assert_int_equal(a.used, 0);
	assert_non_null(arena_alloc(&a, 1));
	arena_free(&a);
}

static void arena_arrays_keep_their_items(void **state)
{
	struct arena a = ARENA_INIT;
	uint32_t *items = NULL;
	size_t cap = 0;

	(void)state;
	for (uint32_t i = 0; i < 5000; i++) {
		assert_int_equal(arena_grow(&a, (void **)&items, i, &cap, sizeof(*items)), 0);
		items[i] = i * 3;
	}
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(items[i], i * 3);
	arena_free(&a);
}

static void cursors_read_both_byte_orders(void **state)
{
	static const unsigned char bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	struct cursor little = cursor_of(bytes, sizeof(bytes), false);
	struct cursor big = cursor_of(bytes, sizeof(bytes), true);
	uint64_t u64;
	uint32_t u32;
	uint16_t u16;
	uint8_t u8;

	(void)state;
	assert_true(cursor_u8(&little, &u8) && u8 == 1);
	assert_true(cursor_u16(&little, &u16) && u16 == 0x0302);
	assert_true(cursor_u32(&little, &u32) && u32 == 0x07060504);
	assert_true(cursor_u64(&little, &u64) && u64 == 0x0f0e0d0c0b0a0908);
	assert_int_equal(cursor_left(&little), 0);
	assert_true(cursor_u8(&big, &u8) && u8 == 1);
	assert_true(cursor_u16(&big, &u16) && u16 == 0x0203);
	assert_true(cursor_u32(&big, &u32) && u32 == 0x04050607);
	assert_true(cursor_word(&big, 4, &u64) && u64 == 0x08090a0b);
}

static void a_cursor_never_passes_the_end(void **state)
{
	struct cursor c = cursor_of("abc", 3, false);
	struct str text = STR("same");
	uint32_t u32 = 77;
	uint8_t u8 = 77;

	(void)state;
	assert_false(cursor_u32(&c, &u32));
	assert_int_equal(u32, 77);
	assert_true(c.failed);
	assert_false(cursor_u8(&c, &u8)); /* failed once, failed for good */
	assert_int_equal(u8, 77);
	c = cursor_of("abc", 3, false);
	assert_false(cursor_bytes(&c, SIZE_MAX, &text));
	assert_string_equal(text.ptr, "same");
	c = cursor_of("abc", 3, false);
	assert_false(cursor_text(&c, &text)); /* no NUL */
	c = cursor_of("ab\0c", 4, false);
	assert_true(cursor_text(&c, &text));
	assert_true(str_eq(text, STR("ab")));
	assert_int_equal(cursor_left(&c), 1);
	assert_true(cursor_skip(&c, 1));
	assert_true(cursor_skip(&c, 0));
	assert_false(cursor_skip(&c, 1));
	c = cursor_of(NULL, 0, false);
	assert_false(cursor_u8(&c, &u8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_compare_by_bytes),
		cmocka_unit_test(strings_are_cut_and_trimmed),
		cmocka_unit_test(numbers_are_read_to_the_last_bit),
		cmocka_unit_test(hex_numbers_are_read_whole_or_cut_off),
		cmocka_unit_test(signed_numbers_have_both_ends),
		cmocka_unit_test(patterns_match),
		cmocka_unit_test(distances_are_capped),
		cmocka_unit_test(the_nearest_name_is_guessed),
		cmocka_unit_test(only_honest_utf8_is_printable),
		cmocka_unit_test(strangers_text_is_escaped),
		cmocka_unit_test(buffers_grow_and_end_in_nul),
		cmocka_unit_test(a_failed_buffer_stays_failed),
		cmocka_unit_test(messages_show_the_place),
		cmocka_unit_test(marks_stand_under_tabs_and_at_the_end),
		cmocka_unit_test(a_message_was_as_long_as_its_source_line),
		cmocka_unit_test(marks_stand_under_what_is_shown),
		cmocka_unit_test(messages_cannot_steer_the_terminal),
		cmocka_unit_test(a_file_name_is_not_another_message),
		cmocka_unit_test(messages_without_a_place),
		cmocka_unit_test(no_failure_is_silent),
		cmocka_unit_test(endless_messages_are_counted_not_kept),
		cmocka_unit_test(json_is_always_valid),
		cmocka_unit_test(arenas_give_zeroed_aligned_memory),
		cmocka_unit_test(arena_arrays_keep_their_items),
		cmocka_unit_test(cursors_read_both_byte_orders),
		cmocka_unit_test(a_cursor_never_passes_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
