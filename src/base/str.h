/* Slices of text: borrowed bytes with a length, never assumed to end in NUL.
 * A str owns nothing: the owner of the bytes (an arena, a file image, the caller) keeps them alive.
 */
#ifndef NOPAL_BASE_STR_H
#define NOPAL_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
	const char *ptr;
	size_t len;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})
#define STR_FMT(s)   (int)(s).len, (s).ptr /* for "%.*s" */

static inline struct str str_from(const char *text)
{
	return (struct str){text, text ? strlen(text) : 0};
}

static inline struct str str_of(const char *ptr, size_t len)
{
	return (struct str){ptr, len};
}

/* A copy for the caller to free, with a NUL after it; its ptr is NULL when there is no memory. */
struct str str_copy(struct str s);
bool str_eq(struct str a, struct str b);
bool str_eq_text(struct str a, const char *text);
int str_cmp(struct str a, struct str b); /* byte order, shorter first: for sorting */
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
struct str str_trim(struct str s); /* without blanks at either end */
/* Whatever the locale. */
static inline bool char_is_digit(char c)
{
	return c >= '0' && c <= '9';
}
/* A letter, a digit or '_'. */
static inline bool char_is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || char_is_digit(c) || c == '_';
}
bool str_is_word(struct str s); /* a name in C: such characters, not a digit first */
/* Index of the first `c`, or -1. */
ptrdiff_t str_index(struct str s, char c);
/* Cut *rest at the first `sep`: returns the part before it; *rest becomes what is after it. Without
 * a `sep` the whole of *rest is returned and *rest is empty. */
struct str str_cut(struct str *rest, char sep);
/* What is after the last `sep`, the file of a path; without a `sep` all of `s`. */
struct str str_after_last(struct str s, char sep);
/* The whole of `s` as a number: C prefixes 0x and 0, optional sign. -EINVAL, -ERANGE. */
int str_to_u64(struct str s, uint64_t *out);
int str_to_s64(struct str s, int64_t *out);
/* The whole of `s` as hex digits, without a prefix. -EINVAL, -ERANGE. */
int str_to_hex(struct str s, uint64_t *out);
/* Cut the hex digits, at most 16, from the start of *rest. False: there are none, or more. */
bool str_take_hex(struct str *rest, uint64_t *out);
unsigned hex_digit(char c); /* its value; 16: it is not one */
/* Does `s` match `pattern`, in which `*` stands for any run of bytes and `?` for one? Linear
 * memory, no recursion. */
bool str_match(struct str pattern, struct str s);
bool str_has_wildcard(struct str s);
/* Edit distance, in which two exchanged letters are one edit, capped at `limit`: for "did you
 * mean". */
unsigned str_distance(struct str a, struct str b, unsigned limit);

/* The name nearest to the one asked for, of all that are offered. */
struct guess {
	struct str best;  /* empty: none is near enough */
	unsigned nearest; /* names must be nearer than this */
};

bool guess_offer(struct guess *g, struct str wanted, struct str name); /* true: it is best now */

#endif
