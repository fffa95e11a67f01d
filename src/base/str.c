/* Slices: comparing, cutting, matching, numbers. */
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

bool str_eq(struct str a, struct str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool str_eq_text(struct str a, const char *text)
{
	return str_eq(a, str_from(text));
}

struct str str_copy(struct str s)
{
	char *copy = malloc(s.len + 1);

	if (!copy)
		return str_of(NULL, 0);
	if (s.len)
		memcpy(copy, s.ptr, s.len);
	copy[s.len] = '\0';
	return str_of(copy, s.len);
}

int str_cmp(struct str a, struct str b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int order = n ? memcmp(a.ptr, b.ptr, n) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

bool str_starts(struct str s, struct str prefix)
{
	return s.len >= prefix.len && str_eq(str_of(s.ptr, prefix.len), prefix);
}

bool str_ends(struct str s, struct str suffix)
{
	return s.len >= suffix.len &&
	       str_eq(str_of(s.ptr + s.len - suffix.len, suffix.len), suffix);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct str str_trim(struct str s)
{
	while (s.len && is_blank(s.ptr[0])) {
		s.ptr++;
		s.len--;
	}
	while (s.len && is_blank(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

bool str_is_word(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!char_is_word(s.ptr[i]))
			return false;
	return s.len && !char_is_digit(s.ptr[0]);
}

ptrdiff_t str_index(struct str s, char c)
{
	const char *at = s.len ? memchr(s.ptr, c, s.len) : NULL;

	return at ? at - s.ptr : -1;
}

struct str str_cut(struct str *rest, char sep)
{
	ptrdiff_t at = str_index(*rest, sep);
	struct str head = *rest;

	if (at < 0) {
		*rest = rest->len ? str_of(rest->ptr + rest->len, 0) : head;
		return head;
	}
	head.len = (size_t)at;
	*rest = str_of(rest->ptr + at + 1, rest->len - (size_t)at - 1);
	return head;
}

struct str str_after_last(struct str s, char sep)
{
	size_t at = s.len;

	while (at && s.ptr[at - 1] != sep)
		at--;
	return str_of(s.ptr + at, s.len - at);
}

unsigned hex_digit(char c)
{
	if (char_is_digit(c))
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a' + 10);
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A' + 10);
	return 16;
}

/* All of `s` as digits of one base. */
static int read_digits(struct str s, unsigned base, uint64_t *out)
{
	uint64_t value = 0;

	if (!s.len)
		return -EINVAL;
	for (size_t i = 0; i < s.len; i++) {
		unsigned digit = hex_digit(s.ptr[i]);

		if (digit >= base)
			return -EINVAL;
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return -ERANGE;
	}
	*out = value;
	return 0;
}

int str_to_u64(struct str s, uint64_t *out)
{
	if (s.len > 2 && s.ptr[0] == '0' && (s.ptr[1] | 0x20) == 'x')
		return str_to_hex(str_of(s.ptr + 2, s.len - 2), out);
	return read_digits(s, s.len > 1 && s.ptr[0] == '0' ? 8 : 10, out);
}

int str_to_hex(struct str s, uint64_t *out)
{
	return read_digits(s, 16, out);
}

bool str_take_hex(struct str *rest, uint64_t *out)
{
	size_t len = 0;

	while (len < rest->len && len <= 16 && hex_digit(rest->ptr[len]) < 16)
		len++;
	if (len > 16 || str_to_hex(str_of(rest->ptr, len), out))
		return false;
	*rest = str_of(rest->ptr + len, rest->len - len);
	return true;
}

int str_to_s64(struct str s, int64_t *out)
{
	bool negative = s.len && s.ptr[0] == '-';
	uint64_t magnitude;
	int err;

	if (s.len && (s.ptr[0] == '-' || s.ptr[0] == '+'))
		s = str_of(s.ptr + 1, s.len - 1);
	err = str_to_u64(s, &magnitude);
	if (err)
		return err;
	if (magnitude > (uint64_t)INT64_MAX + negative)
		return -ERANGE;
	*out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
	return 0;
}

bool str_match(struct str pattern, struct str s)
{
	size_t p = 0, i = 0, star = SIZE_MAX, mark = 0;

	while (i < s.len) {
		if (p < pattern.len && pattern.ptr[p] == '*') {
			star = p++;
			mark = i;
		} else if (p < pattern.len &&
			   (pattern.ptr[p] == '?' || pattern.ptr[p] == s.ptr[i])) {
			p++;
			i++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			i = ++mark;
		} else {
			return false;
		}
	}
	while (p < pattern.len && pattern.ptr[p] == '*')
		p++;
	return p == pattern.len;
}

bool str_has_wildcard(struct str s)
{
	return str_index(s, '*') >= 0 || str_index(s, '?') >= 0;
}

/* Is the text before `i` of one and `j` of the other the same except for its last two letters,
 * which are exchanged? */
static bool is_swap(struct str a, size_t i, struct str b, size_t j)
{
	return i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1];
}

/* Levenshtein's table row by row, with exchanged neighbours: of the last three rows, number i is
 * rows[i % 3]. */
unsigned str_distance(struct str a, struct str b, unsigned limit)
{
	unsigned rows[3][65];

	if (a.len > 64 || b.len > 64)
		return limit;
	for (size_t j = 0; j <= b.len; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a.len; i++) {
		const unsigned *above = rows[(i - 1) % 3], *second = rows[(i + 1) % 3];
		unsigned *row = rows[i % 3];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b.len; j++) {
			unsigned change = above[j - 1] + (a.ptr[i - 1] != b.ptr[j - 1]);
			unsigned skip = (above[j] < row[j - 1] ? above[j] : row[j - 1]) + 1;

			row[j] = change < skip ? change : skip;
			if (is_swap(a, i, b, j) && second[j - 2] + 1 < row[j])
				row[j] = second[j - 2] + 1;
		}
	}
	return rows[a.len % 3][b.len] < limit ? rows[a.len % 3][b.len] : limit;
}

/* Are the letters of `part` in `whole`, in their order? */
static bool has_letters(struct str whole, struct str part)
{
	size_t found = 0;

	for (size_t i = 0; i < whole.len && found < part.len; i++)
		found += whole.ptr[i] == part.ptr[found];
	return found == part.len;
}

/* Of names that are as near, one that only lacks letters ("prinf" is printf), then one that is as
 * long ("prinft" is printf, not print). */
static unsigned measure_likeness(struct str wanted, struct str name)
{
	return has_letters(name, wanted) ? 2 : name.len == wanted.len;
}

bool guess_offer(struct guess *g, struct str wanted, struct str name)
{
	unsigned distance = str_distance(name, wanted, g->nearest + 1);

	if (distance > g->nearest ||
	    (distance == g->nearest &&
	     (!g->best.len || measure_likeness(wanted, name) <= measure_likeness(wanted, g->best))))
		return false;
	g->nearest = distance;
	g->best = name;
	return true;
}
