/* A set of 32-bit hashes. */
#include "provider/words.h"

#include <errno.h>

#include "base/hash.h"

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static uint32_t hash_word(struct str word)
{
	uint64_t h = hash_str(0, word);

	h ^= h >> 32;
	return h & UINT32_MAX ? (uint32_t)h : 1;
}

/* The next word of *rest; empty at its end. */
static struct str cut_word(struct str *rest)
{
	size_t start = 0, end;

	while (start < rest->len && !is_word(rest->ptr[start]))
		start++;
	for (end = start; end < rest->len && is_word(rest->ptr[end]);)
		end++;
	struct str word = str_of(rest->ptr + start, end - start);

	*rest = str_of(rest->ptr + end, rest->len - end);
	return word;
}

/* Where the hash is, or belongs. */
static uint32_t *place_of(const struct words *w, uint32_t h)
{
	size_t at = h & w->mask;

	while (w->hashes[at] && w->hashes[at] != h)
		at = (at + 1) & w->mask;
	return &w->hashes[at];
}

int words_of(struct str text, struct arena *a, struct words *out)
{
	struct str rest = text, word;
	size_t count = 0, size = 64;

	while ((word = cut_word(&rest)).len)
		count++;
	while (size < 2 * count)
		size *= 2;
	out->hashes = arena_array(a, uint32_t, size);
	if (!out->hashes)
		return -ENOMEM;
	out->mask = size - 1;
	for (rest = text; (word = cut_word(&rest)).len;) {
		uint32_t h = hash_word(word);

		*place_of(out, h) = h;
	}
	return 0;
}

bool words_have(const struct words *w, struct str word)
{
	return word.len && *place_of(w, hash_word(word));
}
