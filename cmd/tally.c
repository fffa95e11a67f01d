/* Reading maps again and again. */
#include "tally.h"

#include <stdlib.h>
#include <string.h>

static int compare_keys(const void *a, const void *b)
{
	return strcmp(((const struct tally_row *)a)->key, ((const struct tally_row *)b)->key);
}

/* The texts of a key in one block: the parts, and what they are together. */
static bool copy_key(struct tally_row *row, const struct nopal_map_entry *e)
{
	size_t size = strlen(e->key) + 1, list = e->part_count * sizeof(char *);
	char *at;

	for (unsigned i = 0; i < e->part_count; i++)
		size += strlen(e->parts[i]) + 1;
	row->parts = malloc(list + size);
	if (!row->parts)
		return false;
	at = (char *)row->parts + list;
	for (unsigned i = 0; i < e->part_count; i++) {
		row->parts[i] = at;
		at = stpcpy(at, e->parts[i]) + 1;
	}
	row->part_count = e->part_count;
	row->key = at;
	strcpy(at, e->key);
	return true;
}

/* The row of a key, which may be new; NULL: out of memory. */
static struct tally_row *row_of(struct tally *tally, const struct nopal_map_entry *e)
{
	const struct tally_row wanted = {.key = (char *)(uintptr_t)e->key};
	struct tally_row *row = NULL, *bigger;

	if (tally->known)
		row = bsearch(&wanted, tally->rows, tally->known, sizeof(wanted), compare_keys);
	if (row)
		return row;
	if (tally->count == tally->cap) {
		size_t cap = tally->cap ? 2 * tally->cap : 64;

		bigger = realloc(tally->rows, cap * sizeof(*bigger));
		if (!bigger)
			return NULL;
		tally->rows = bigger;
		tally->cap = cap;
	}
	row = &tally->rows[tally->count];
	*row = (struct tally_row){.number = (unsigned)tally->count};
	if (!copy_key(row, e))
		return NULL;
	tally->count++;
	return row;
}

/* Those of the last interval: all, without the earlier ones. */
static void take_histogram(struct tally_row *row, const struct nopal_histogram *now)
{
	row->recent = nopal_histogram_copy(now);
	if (row->recent && row->all)
		nopal_histogram_subtract(row->recent, row->all);
	nopal_histogram_free(row->all);
	row->all = nopal_histogram_copy(now);
}

static int take_entry(void *arg, const struct nopal_map_entry *e)
{
	struct tally *tally = arg;
	struct tally_row *row = row_of(tally, e);
	uint64_t total = e->histogram ? nopal_histogram_count(e->histogram) : (uint64_t)e->number;

	if (!row)
		return 0;
	if (e->histogram) {
		take_histogram(row, e->histogram);
	} else if (!e->adds_up) {
		free(row->text);
		row->text = strdup(e->text);
		return 0;
	}
	row->count = total - row->total;
	row->total = total;
	return 0;
}

void tally_update(struct tally *tally, struct nopal_trace *t, const char *name)
{
	for (size_t i = 0; i < tally->count; i++) {
		tally->rows[i].count = 0;
		nopal_histogram_free(tally->rows[i].recent);
		tally->rows[i].recent = NULL;
	}
	if (tally->count)
		qsort(tally->rows, tally->count, sizeof(*tally->rows), compare_keys);
	tally->known = tally->count;
	nopal_trace_map(t, name, take_entry, tally, NULL);
}

bool tally_has_news(const struct tally *tally)
{
	for (size_t i = 0; i < tally->count; i++)
		if (tally->rows[i].count)
			return true;
	return false;
}

void tally_free(struct tally *tally)
{
	for (size_t i = 0; i < tally->count; i++) {
		free(tally->rows[i].parts);
		free(tally->rows[i].text);
		nopal_histogram_free(tally->rows[i].all);
		nopal_histogram_free(tally->rows[i].recent);
	}
	free(tally->rows);
	*tally = (struct tally){.rows = NULL};
}
