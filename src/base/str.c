/* Slices: comparing, cutting, matching, numbers. */
#include "base/str.h"

#include <errno.h>

bool str_eq(struct str a, struct str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool str_eq_text(struct str a, const char *text)
{
	return str_eq(a, str_from(text));
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
		*rest = str_of(rest->ptr + rest->len, 0);
		return head;
	}
	head.len = (size_t)at;
	*rest = str_of(rest->ptr + at + 1, rest->len - (size_t)at - 1);
	return head;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

static unsigned take_base(struct str *s)
{
	if (s->len > 2 && s->ptr[0] == '0' && (s->ptr[1] | 0x20) == 'x') {
		*s = str_of(s->ptr + 2, s->len - 2);
		return 16;
	}
	return s->len > 1 && s->ptr[0] == '0' ? 8 : 10;
}

int str_to_u64(struct str s, uint64_t *out)
{
	uint64_t value = 0;
	unsigned base = take_base(&s);

	if (!s.len)
		return -EINVAL;
	for (size_t i = 0; i < s.len; i++) {
		unsigned digit = (unsigned)digit_value(s.ptr[i]);

		if (digit >= base)
			return -EINVAL;
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return -ERANGE;
	}
	*out = value;
	return 0;
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

unsigned str_distance(struct str a, struct str b, unsigned limit)
{
	unsigned row[65];

	if (a.len > 64 || b.len > 64)
		return limit;
	for (size_t j = 0; j <= b.len; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= a.len; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b.len; j++) {
			unsigned change = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);
			unsigned skip = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

			diagonal = row[j];
			row[j] = change < skip ? change : skip;
		}
	}
	return row[b.len] < limit ? row[b.len] : limit;
}
