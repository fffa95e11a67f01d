/* What an operation inside a traced process costs, in ns: the functions that trampolines call, on
 * one thread, with the records read in between. Prints "name ns" a line, the best of several
 * rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/rseq.h>
#include <time.h>

#include "user/memory/store.h"

#define ROUNDS	  15
#define TIMES	  20000
#define KEYS	  100
#define TEXT_SIZE 64

enum {
	COUNT_ALL,
	COUNT_BY_INT,
	COUNT_BY_TEXT,
	HIST_ALL,
	HIST_BY_INT,
	NUMBER,
	NUMBERS,
	TEXTS,
	MAPS
};

#define INT_KEY	 .key = {.kind = TYPE_INT, .size = 8}, .max_entries = 4096
#define TEXT_KEY .key = {.kind = TYPE_STR, .size = TEXT_SIZE}, .max_entries = 4096
static const struct map_def maps[MAPS] = {
	[COUNT_ALL] = {.value = {.kind = TYPE_COUNT}, .max_entries = 1},
	[COUNT_BY_INT] = {INT_KEY, .value = {.kind = TYPE_COUNT}},
	[COUNT_BY_TEXT] = {TEXT_KEY, .value = {.kind = TYPE_COUNT}},
	[HIST_ALL] = {.value = {.kind = TYPE_HIST}, .max_entries = 1},
	[HIST_BY_INT] = {INT_KEY, .value = {.kind = TYPE_HIST}},
	[NUMBER] = {.value = {.kind = TYPE_INT, .size = 8}, .max_entries = 1},
	[NUMBERS] = {INT_KEY, .value = {.kind = TYPE_INT, .size = 8}},
	[TEXTS] = {INT_KEY, .value = {.kind = TYPE_STR, .size = TEXT_SIZE}},
};
static const struct type fields[] = {{.kind = TYPE_INT, .size = 8},
				     {.kind = TYPE_STR, .size = TEXT_SIZE}};
static const struct format formats[] = {
	{.kind = FORMAT_PRINTF, .fields = fields, .field_count = 2}};
static const struct span no_span;
static const struct program program = {.maps = maps,
				       .map_count = MAPS,
				       .formats = formats,
				       .format_count = 1,
				       .spans = &no_span,
				       .span_count = 1};

static struct native_store *store;
static struct hit *hit;
static const char text[] = "a text of 21 letters.";
static uint64_t slot[1 + TEXT_SIZE / 8];
static uint64_t frame[2 + TEXT_SIZE / 8];
static const struct {
	uint64_t head; /* struct emit_shape */
	struct emit_field fields[2];
} shape_int = {UINT64_C(1) << 32, {{.words = 1}}},
  shape_both = {UINT64_C(2) << 32,
		{{.words = 1}, {.at = 8, .form = FORM_TEXT, .words = 1 + TEXT_SIZE / 8}}};

static const struct map_shape *shape(int map)
{
	return &store->shapes[map];
}

static void set_text(uint64_t i)
{
	inside_text(slot, TEXT_SIZE, text, sizeof(text) - 1);
	slot[1] += i % KEYS;
}

/* clang-format off */
static void do_count(uint64_t i) { (void)i; inside_aggregate(hit, shape(COUNT_ALL), NULL, 0, 0); }
static void do_count_int(uint64_t i) { i %= KEYS; inside_aggregate(hit, shape(COUNT_BY_INT), &i, 0, 0); }
static void do_count_text(uint64_t i) { set_text(i); inside_aggregate(hit, shape(COUNT_BY_TEXT), slot, 0, 0); }
static void do_text(uint64_t i) { set_text(i); }
static void do_hist(uint64_t i) { inside_aggregate(hit, shape(HIST_ALL), NULL, i, 0); }
static void do_hist_int(uint64_t i) { uint64_t k = i % KEYS; inside_aggregate(hit, shape(HIST_BY_INT), &k, i, 0); }
static void do_set(uint64_t i) { inside_map_set(hit, shape(NUMBER), NULL, i, 0); }
static void do_add_int(uint64_t i) { i %= KEYS; inside_map_add(hit, shape(NUMBERS), &i, 1, 0); }
static void do_get_int(uint64_t i) { i %= KEYS; inside_map_get(hit, shape(NUMBERS), &i); }
static void do_pair(uint64_t i)
{
	i += 1000;
	inside_map_set(hit, shape(NUMBERS), &i, i, 0);
	inside_map_get(hit, shape(NUMBERS), &i);
	inside_map_del(hit, shape(NUMBERS), &i);
}
static void do_pair_again(uint64_t i)
{
	i %= KEYS;
	inside_map_set(hit, shape(NUMBERS), &i, i, 0);
	inside_map_get(hit, shape(NUMBERS), &i);
	inside_map_del(hit, shape(NUMBERS), &i);
}
static void do_put_text(uint64_t i) { i %= KEYS; set_text(i); inside_map_put(hit, shape(TEXTS), &i, slot, 0); }
static void do_str(uint64_t i) { (void)i; inside_str(hit, slot, (uintptr_t)text, UINT64_MAX, INSIDE_SIZES(TEXT_SIZE, TEXT_SIZE), 0); }
static void do_emit(uint64_t i) { frame[0] = i; hit->tsc = 0; inside_emit(hit, (const void *)&shape_int, (const char *)frame); }
static void do_emit_both(uint64_t i) { frame[0] = i; hit->tsc = 0; inside_emit(hit, (const void *)&shape_both, (const char *)frame); }
static void do_nothing(uint64_t i) { (void)i; }

/* clang-format on */

static const struct {
	const char *name;
	void (*fn)(uint64_t i);
} rows[] = {
	{"count()", do_count},
	{"count() by int", do_count_int},
	{"count() by text", do_count_text},
	{"(making that text)", do_text},
	{"hist()", do_hist},
	{"hist() by int", do_hist_int},
	{"@ = n", do_set},
	{"@[int]++", do_add_int},
	{"@[int] read", do_get_int},
	{"set, read and delete @[int], a new key each time", do_pair},
	{"... a key of some threads", do_pair_again},
	{"@[int] = text", do_put_text},
	{"str(), 21 letters", do_str},
	{"record of an int", do_emit},
	{"record of an int and a text", do_emit_both},
};

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int drop(void *arg, struct str bytes)
{
	(void)arg;
	(void)bytes;
	return 0;
}

static double measure(void (*fn)(uint64_t))
{
	double best = 1e9;

	for (int r = 0; r < ROUNDS; r++) {
		uint64_t before = now();
		double each;

		for (uint64_t i = 0; i < TIMES; i++)
			fn(i);
		each = (double)(now() - before) / TIMES;
		best = each < best ? each : best;
		native_ring_drain(store, drop, NULL, NULL, NULL);
	}
	return best;
}

int main(void)
{
	const struct native_sizes sizes = {.ring_bytes = 8 << 20};
	static struct process_page process = {.range_count = 1};
	double nothing;

	if (native_store_open(&program, &sizes, &store, NULL))
		return 1;
	hit = &store->hit;
	process.ranges[0] = (struct memory_range){(uintptr_t)text, (uintptr_t)text + sizeof(text)};
	hit->process = &process;
	hit->rseq = __rseq_size ? (char *)__builtin_thread_pointer() + __rseq_offset : NULL;
	inside_text(frame + 1, TEXT_SIZE, text, sizeof(text) - 1);
	nothing = measure(do_nothing);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		printf("%s\t%.1f\n", rows[i].name, measure(rows[i].fn) - nothing);
	native_store_close(store);
	return 0;
}
