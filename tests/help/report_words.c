#include "help/report_words.h"

#include <errno.h>
#include <stdlib.h>

void skip_blanks(struct str *s)
{
	while (s->len && (*s->ptr == ' ' || *s->ptr == '\t'))
		*s = str_of(s->ptr + 1, s->len - 1);
}

bool take(struct str *s, char c)
{
	skip_blanks(s);
	if (!s->len || *s->ptr != c)
		return false;
	*s = str_of(s->ptr + 1, s->len - 1);
	return true;
}

struct str take_word(struct str *s)
{
	size_t len = 0;
	struct str word;

	skip_blanks(s);
	while (len < s->len && !strchr(" \t,()[]=/:*", s->ptr[len]))
		len++;
	word = str_of(s->ptr, len);
	*s = str_of(s->ptr + len, s->len - len);
	return word;
}

int64_t take_number(struct str *s)
{
	struct str word = take_word(s);
	uint64_t u = 0;
	int64_t i = 0;

	if (word.len && *word.ptr == '-') {
		assert_int_equal(str_to_s64(word, &i), 0);
		return i;
	}
	assert_int_equal(str_to_u64(word, &u), 0);
	return (int64_t)u;
}

unsigned char take_hex(struct str *s)
{
	char digits[3] = {0};

	assert_true(s->len >= 2);
	memcpy(digits, s->ptr, 2);
	*s = str_of(s->ptr + 2, s->len - 2);
	return (unsigned char)strtoul(digits, NULL, 16);
}

static unsigned char take_escape(struct str *s)
{
	char c = *s->ptr;

	*s = str_of(s->ptr + 1, s->len - 1);
	if (c == 'n')
		return '\n';
	if (c == 't')
		return '\t';
	return c == 'x' ? take_hex(s) : (unsigned char)c;
}

struct str take_quoted(struct arena *a, struct str *s)
{
	struct buf out = BUF_INIT;
	struct str copy;

	assert_true(take(s, '"'));
	while (s->len && *s->ptr != '"') {
		char c = *s->ptr;

		*s = str_of(s->ptr + 1, s->len - 1);
		buf_char(&out, c == '\\' ? (char)take_escape(s) : c);
	}
	assert_true(take(s, '"'));
	copy = arena_str(a, buf_as_str(&out));
	buf_free(&out);
	return copy;
}

/* ---- types ---- */

static const struct {
	const char *name;
	struct type type;
} types[] = {
	{"none", {.kind = TYPE_NONE}},
	{"int64", {.kind = TYPE_INT, .size = 8, .is_signed = true}},
	{"int32", {.kind = TYPE_INT, .size = 4, .is_signed = true}},
	{"int16", {.kind = TYPE_INT, .size = 2, .is_signed = true}},
	{"int8", {.kind = TYPE_INT, .size = 1, .is_signed = true}},
	{"uint64", {.kind = TYPE_INT, .size = 8}},
	{"uint32", {.kind = TYPE_INT, .size = 4}},
	{"uint8", {.kind = TYPE_INT, .size = 1}},
	{"double", {.kind = TYPE_FLOAT, .size = 8}},
	{"float", {.kind = TYPE_FLOAT, .size = 4}},
	{"str", {.kind = TYPE_STR, .size = 64}},
	{"buf", {.kind = TYPE_BUF, .size = 64}},
	{"name", {.kind = TYPE_NAME}},
	{"ustack", {.kind = TYPE_USTACK, .size = 64}},
	{"kstack", {.kind = TYPE_KSTACK, .size = 64}},
	{"lstack", {.kind = TYPE_LSTACK, .size = 64}},
	{"usym", DISPLAY_TYPE("usym", 2)},
	{"ksym", DISPLAY_TYPE("ksym", 2)},
	{"count", {.kind = TYPE_COUNT}},
	{"sum", {.kind = TYPE_SUM, .is_signed = true}},
	{"usum", {.kind = TYPE_SUM}},
	{"min", {.kind = TYPE_MIN, .is_signed = true}},
	{"max", {.kind = TYPE_MAX, .is_signed = true}},
	{"umax", {.kind = TYPE_MAX}},
	{"bit_or", {.kind = TYPE_BIT_OR, .show = SHOW_HEX}},
	{"avg", {.kind = TYPE_AVG, .is_signed = true}},
	{"stats", {.kind = TYPE_STATS, .is_signed = true}},
	{"hist", {.kind = TYPE_HIST, .is_signed = true}},
	{"lhist", {.kind = TYPE_LHIST, .is_signed = true}},
};

static struct type take_tuple_type(struct arena *a, struct str *s)
{
	struct type t = {.kind = TYPE_TUPLE};
	struct type *elements = arena_array(a, struct type, MOST);

	do {
		elements[t.element_count++] = take_type(a, s);
	} while (take(s, ','));
	assert_true(take(s, ')'));
	t.elements = elements;
	return t;
}

struct type take_type(struct arena *a, struct str *s)
{
	struct type t = {.kind = TYPE_NONE};
	struct str word;

	if (take(s, '('))
		return take_tuple_type(a, s);
	word = take_word(s);
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (!str_eq_text(word, types[i].name))
			continue;
		t = types[i].type;
		if (t.kind == TYPE_HIST && take(s, '(')) {
			t.bits = (uint8_t)take_number(s);
			take(s, ')');
		} else if (t.kind == TYPE_LHIST) {
			assert_true(take(s, '('));
			t.min = take_number(s);
			assert_true(take(s, ','));
			t.max = take_number(s);
			assert_true(take(s, ','));
			t.step = take_number(s);
			assert_true(take(s, ')'));
		}
		return t;
	}
	fail_msg("unknown type '%.*s'", STR_FMT(word));
	return t;
}

/* ---- values, as engines write them ---- */

static void put(struct buf *out, uint64_t word)
{
	buf_add(out, &word, sizeof(word));
}

static void put_padded(struct buf *out, struct str bytes, size_t size)
{
	buf_str(out, bytes);
	if (bytes.len < size)
		buf_fill(out, '\0', size - bytes.len);
}

static size_t padded(size_t len)
{
	return (len + 7) & ~(size_t)7;
}

/* "text", or null, unreadable; cut behind it. */
static void put_text(struct arena *a, const struct type *t, struct str *s, bool packed,
		     struct buf *out)
{
	struct str text = {"", 0};
	uint32_t head[2] = {0, 0};

	skip_blanks(s);
	if (s->len && *s->ptr == '"') {
		text = take_quoted(a, s);
	} else {
		struct str word = take_word(s);

		head[1] = str_eq_text(word, "null") ? TEXT_NULL : TEXT_UNREADABLE;
	}
	skip_blanks(s);
	if (str_starts(*s, STR("cut"))) {
		take_word(s);
		head[1] |= TEXT_CUT;
	}
	assert_true(text.len <= t->size);
	head[0] = (uint32_t)text.len;
	buf_add(out, head, sizeof(head));
	put_padded(out, text, packed ? padded(text.len) : t->size);
}

/* [PID address address ...] */
static void put_stack(const struct type *t, struct str *s, bool packed, struct buf *out)
{
	uint64_t frames[8] = {0};
	uint32_t head[2] = {0, 0};

	assert_true(take(s, '['));
	head[1] = (uint32_t)take_number(s);
	while (!take(s, ']'))
		frames[head[0]++] = (uint64_t)take_number(s);
	buf_add(out, head, sizeof(head));
	put_padded(out, str_of((const char *)frames, 8 * head[0]), packed ? 0 : t->size);
}

/* A float with its point, inf, -inf or nan. */
static uint64_t take_float(const struct type *t, struct str *s)
{
	struct str word = take_word(s);
	char text[64] = "";
	double wide;
	float narrow;
	uint64_t bits = 0;
	uint32_t low;

	memcpy(text, word.ptr, word.len < 63 ? word.len : 63);
	wide = strtod(text, NULL);
	narrow = (float)wide;
	memcpy(&low, &narrow, sizeof(low));
	memcpy(&bits, &wide, sizeof(bits));
	return t->size == 4 ? low : bits;
}

/* count/total of a mean; VALUE*COUNT ... of a histogram; N or unset of an extreme. */
static void put_aggregate(const struct type *t, struct str *s, struct buf *out)
{
	uint64_t buckets[4096] = {0};

	switch (t->kind) {
	case TYPE_MIN:
	case TYPE_MAX:
		skip_blanks(s);
		if (str_starts(*s, STR("unset"))) {
			put(out, 0);
			put(out, 0);
		} else {
			put(out, (uint64_t)take_number(s));
			put(out, 1);
		}
		return;
	case TYPE_AVG:
	case TYPE_STATS:
		put(out, (uint64_t)take_number(s));
		assert_true(take(s, '/'));
		put(out, (uint64_t)take_number(s));
		return;
	case TYPE_HIST:
	case TYPE_LHIST:
		for (skip_blanks(s); s->len; skip_blanks(s)) {
			int64_t value = take_number(s);
			unsigned at = t->kind == TYPE_HIST
					      ? hist_bucket((uint64_t)value, true, t->bits)
					      : lhist_bucket(t, value);

			assert_true(take(s, '*'));
			buckets[at] += (uint64_t)take_number(s);
		}
		buf_add(out, buckets, type_memory(t));
		return;
	default: put(out, (uint64_t)take_number(s)); return;
	}
}

void put_value(struct arena *a, const struct type *t, struct str *s, bool packed, struct buf *out)
{
	switch (t->kind) {
	case TYPE_NONE: break;
	case TYPE_FLOAT: put(out, take_float(t, s)); break;
	case TYPE_STR:
	case TYPE_BUF: put_text(a, t, s, packed, out); break;
	case TYPE_USTACK:
	case TYPE_KSTACK:
	case TYPE_LSTACK: put_stack(t, s, packed, out); break;
	case TYPE_DISPLAY: { /* PID:address */
		int64_t pid = take_number(s);

		assert_true(take(s, ':'));
		put(out, (uint64_t)take_number(s));
		put(out, (uint64_t)pid);
		break;
	}
	case TYPE_TUPLE: /* a tuple lies in a record as it does in memory */
		assert_true(take(s, '('));
		for (unsigned i = 0; i < t->element_count; i++) {
			assert_true(!i || take(s, ','));
			put_value(a, &t->elements[i], s, false, out);
		}
		assert_true(take(s, ')'));
		break;
	default: put_aggregate(t, s, out); break;
	}
}

struct str take_value(struct arena *a, const struct type *t, struct str *s)
{
	struct buf out = BUF_INIT;
	struct str copy;

	put_value(a, t, s, false, &out);
	assert_int_equal(out.len, type_memory(t));
	copy = arena_str(a, buf_as_str(&out));
	buf_free(&out);
	return copy;
}
