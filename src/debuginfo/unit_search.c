/* Finding the units that mention a name, without decoding any: the name's offset in .debug_str is
 * searched for in .debug_info, as bytes. Reading 100 MB so takes some 50 ms. What is found may be
 * something else by chance, so the caller looks at the unit. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "debuginfo/inside.h"

#define WINDOW	  (4u << 20) /* bytes that are looked at before their pages are given back */
#define MAX_TEXTS 4096	     /* strings that end in a name */

struct number_list {
	uint64_t *items;
	size_t count, cap;
};

static int add_number(struct number_list *list, uint64_t n)
{
	if (array_grow(list->items, list->count, list->cap))
		return -ENOMEM;
	list->items[list->count++] = n;
	return 0;
}

/* ---- Words ---- */

static int compare_words(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The words as the file has them, sorted, and a bit for each value of their lower 16 bits. */
struct word_set {
	uint32_t *items;
	size_t count;
	uint8_t bits[65536 / 8];
};

static int make_set(const struct debuginfo *di, const uint64_t *words, size_t count,
		    struct word_set *out)
{
	bool swap = di->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);

	*out = (struct word_set){.items = calloc(count + 1, sizeof(*out->items)), .count = count};
	if (!out->items)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		uint32_t w = (uint32_t)words[i];

		w = swap ? __builtin_bswap32(w) : w;
		out->items[i] = w;
		out->bits[(w & 0xffff) / 8] |= (uint8_t)(1 << w % 8);
	}
	qsort(out->items, count, sizeof(*out->items), compare_words);
	return 0;
}

/* The next word of the set in a window; `end`: none. The loops are all the time that a search
 * takes: some 30 ms for 100 MB when there is one word. */
static const char *next_word(const struct word_set *set, const char *at, const char *end)
{
	uint32_t w, only = set->items[0];

	if (set->count == 1) {
		for (; at < end; at++) {
			memcpy(&w, at, sizeof(w));
			if (w == only)
				return at;
		}
		return end;
	}
	for (; at < end; at++) {
		memcpy(&w, at, sizeof(w));
		if ((set->bits[(w & 0xffff) / 8] >> w % 8 & 1) &&
		    bsearch(&w, set->items, set->count, sizeof(w), compare_words))
			return at;
	}
	return end;
}

int find_words(struct debuginfo *di, struct str section, const uint64_t *words, size_t count,
	       found_word_fn *fn, void *arg)
{
	const char *at = section.ptr, *last, *end;
	struct word_set set;
	int err;

	if (!count || section.len < 4)
		return 0;
	last = at + section.len - 3;
	err = make_set(di, words, count, &set);
	while (!err && at < last) {
		end = (size_t)(last - at) > WINDOW ? at + WINDOW : last;
		while (!err && (at = next_word(&set, at, end)) < end)
			err = fn(arg, (uint64_t)(at++ - section.ptr));
		debuginfo_release(di);
	}
	free(set.items);
	return err;
}

/* ---- Texts ---- */

/* The next place of `text` with its NUL from `at` on; section.len: none. */
static size_t next_text(struct debuginfo *di, struct str section, const struct buf *text, size_t at)
{
	while (at < section.len) {
		size_t len = section.len - at;
		const char *found;

		if (len > WINDOW + text->len)
			len = WINDOW + text->len;
		found = memmem(section.ptr + at, len, text->ptr, text->len + 1);
		if (found)
			return (size_t)(found - section.ptr);
		debuginfo_release(di);
		at += WINDOW;
	}
	return section.len;
}

static int find_all(struct debuginfo *di, struct str section, struct str name, bool whole,
		    size_t most, struct number_list *out)
{
	struct buf text = BUF_INIT;
	int err = 0;

	buf_str(&text, name);
	if (text.failed)
		return -ENOMEM;
	for (size_t at = 0; name.len && !err && out->count < most; at++) {
		at = next_text(di, section, &text, at);
		if (at >= section.len)
			break;
		if (!whole || !at || !section.ptr[at - 1])
			err = add_number(out, at);
	}
	buf_free(&text);
	return err;
}

int find_text(struct debuginfo *di, struct str section, struct str text, uint64_t **offsets,
	      size_t *count)
{
	struct number_list list = {NULL, 0, 0};
	int err = find_all(di, section, text, true, MAX_TEXTS, &list);

	/* A linker may put a name where a longer one ends in it. */
	if (!err && !list.count)
		err = find_all(di, section, text, false, MAX_TEXTS, &list);
	*offsets = list.items;
	*count = list.count;
	return err;
}

/* ---- Units ---- */

struct unit_search {
	struct debuginfo *di;
	uint8_t *is_found; /* of each unit */
	unit_fn *fn;	   /* called for each at once; NULL: they are only marked */
	void *arg;
};

static int found_unit(struct unit_search *s, uint32_t unit)
{
	if (s->is_found[unit])
		return 0;
	s->is_found[unit] = 1;
	return s->fn ? s->fn(s->arg, unit) : 0;
}

static int mark_unit(void *arg, uint64_t at)
{
	struct unit_search *s = arg;
	uint32_t unit;

	return unit_of(s->di, at, &unit) ? found_unit(s, unit) : 0;
}

/* The word at `at` of .debug_str_offsets belongs to the units whose part begins last before it. */
static int mark_by_part(void *arg, uint64_t at)
{
	struct unit_search *s = arg;
	uint64_t best = 0;
	int err = 0;

	for (size_t i = 0; i < s->di->unit_count; i++)
		if (s->di->units[i].texts <= at && s->di->units[i].texts > best)
			best = s->di->units[i].texts;
	for (uint32_t i = 0; i < s->di->unit_count && best && !err; i++)
		if (s->di->units[i].texts == best)
			err = found_unit(s, i);
	return err;
}

static int list_units(struct unit_search *s, int err, uint32_t **units, size_t *count)
{
	size_t cap = 0;

	*units = NULL;
	*count = 0;
	for (size_t i = 0; i < s->di->unit_count && !err; i++) {
		if (!s->is_found[i])
			continue;
		err = array_grow(*units, *count, cap);
		if (!err)
			(*units)[(*count)++] = (uint32_t)i;
	}
	free(s->is_found);
	debuginfo_release(s->di);
	return err;
}

/* By the text's offset in `strings`, which are those of this file or of `alt`. */
static int mark_by_string(struct unit_search *s, struct str strings, struct str name)
{
	struct debuginfo *di = s->di;
	uint64_t *offsets;
	size_t count;
	int err = find_text(di, strings, name, &offsets, &count);

	if (!err && count)
		err = find_words(di, di->info, offsets, count, mark_unit, s);
	if (!err && count && di->string_offsets.len)
		err = units_describe(di);
	if (!err && count && di->string_offsets.len)
		err = find_words(di, di->string_offsets, offsets, count, mark_by_part, s);
	free(offsets);
	return err;
}

static int search_name(struct unit_search *s, struct str name)
{
	struct debuginfo *di = s->di;
	struct number_list inlined = {NULL, 0, 0};
	int err = s->is_found ? mark_by_string(s, di->strings, name) : -ENOMEM;

	if (!err && di->alt)
		err = mark_by_string(s, di->alt->strings, name);
	/* Short names are in .debug_info itself. */
	if (!err)
		err = find_all(di, di->info, name, false, SIZE_MAX, &inlined);
	for (size_t i = 0; i < inlined.count && !err; i++)
		err = mark_unit(s, inlined.items[i]);
	free(inlined.items);
	return err;
}

int units_naming_each(struct debuginfo *di, struct str name, unit_fn *fn, void *arg)
{
	struct unit_search s = {di, calloc(di->unit_count + 1, 1), fn, arg};
	int err = search_name(&s, name);

	free(s.is_found);
	debuginfo_release(di);
	return err;
}

int units_naming(struct debuginfo *di, struct str name, uint32_t **units, size_t *count)
{
	struct unit_search s = {.di = di, .is_found = calloc(di->unit_count + 1, 1)};
	int err = search_name(&s, name);

	return list_units(&s, err, units, count);
}

int units_referring(struct debuginfo *di, const uint64_t *offsets, size_t offset_count,
		    uint32_t **units, size_t *count)
{
	struct unit_search s = {.di = di, .is_found = calloc(di->unit_count + 1, 1)};
	int err = s.is_found ? find_words(di, di->info, offsets, offset_count, mark_unit, &s)
			     : -ENOMEM;

	return list_units(&s, err, units, count);
}
