#include "help/outcome.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "help/check.h"

static void add_hex(struct buf *out, struct str bytes)
{
	for (size_t i = 0; i < bytes.len; i++)
		buf_printf(out, i % 8 == 7 ? "%02x " : "%02x", (unsigned char)bytes.ptr[i]);
}

int outcome_record(void *arg, struct str bytes)
{
	struct outcome *o = arg;

	buf_text(&o->text, "record ");
	add_hex(&o->text, bytes);
	buf_char(&o->text, '\n');
	return 0;
}

static int take_entry(void *arg, struct str key, struct str value)
{
	struct outcome *o = arg;
	struct buf line = BUF_INIT;

	add_hex(&line, key);
	buf_text(&line, "-> ");
	add_hex(&line, value);
	assert_true(o->count < COUNT(o->entries));
	o->entries[o->count++] = arena_str(&o->arena, buf_as_str(&line));
	buf_free(&line);
	return 0;
}

int outcome_fault(void *arg, const struct run_fault *fault)
{
	struct outcome *o = arg;

	assert_true(o->count < COUNT(o->entries));
	o->entries[o->count++] = arena_printf(&o->arena, "place %04u kind %d: %llu", fault->span,
					      (int)fault->kind, (unsigned long long)fault->count);
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void add_sorted(struct outcome *o, struct str what)
{
	qsort(o->entries, o->count, sizeof(*o->entries), compare_entries);
	for (size_t i = 0; i < o->count; i++)
		buf_printf(&o->text, "%.*s %.*s\n", STR_FMT(what), STR_FMT(o->entries[i]));
	o->count = 0;
}

void outcome_maps(struct outcome *o, const struct map_store *maps)
{
	for (uint32_t i = 0; i < o->p->map_count; i++) {
		assert_int_equal(map_each(maps, i, take_entry, o), 0);
		add_sorted(o, o->p->maps[i].name);
	}
}

void outcome_counts(struct outcome *o, const struct run_stats *stats)
{
	add_sorted(o, STR("fault"));
	buf_printf(&o->text, "lost %llu records, %llu updates, %llu loops cut\n",
		   (unsigned long long)stats->lost_records, (unsigned long long)stats->lost_updates,
		   (unsigned long long)stats->loop_limits);
}

void outcome_free(struct outcome *o)
{
	buf_free(&o->text);
	arena_free(&o->arena);
}

bool outcome_same(const struct outcome *a, const char *a_name, const struct outcome *b,
		  const char *b_name)
{
	struct str x = buf_as_str(&a->text), y = buf_as_str(&b->text);

	if (str_eq(x, y))
		return true;
	for (unsigned shown = 0; shown < 8 && (x.len || y.len);) {
		struct str of_a = str_cut(&x, '\n'), of_b = str_cut(&y, '\n');

		if (str_eq(of_a, of_b))
			continue;
		printf("# %s: %.*s\n# %s: %.*s\n", a_name, STR_FMT(of_a), b_name, STR_FMT(of_b));
		shown++;
	}
	return false;
}
