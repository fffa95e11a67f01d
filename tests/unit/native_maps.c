/* Maps in shared memory under load: threads, signal handlers that come in the middle, processes
 * that are killed in the middle, and maps that are full. What is counted must come out exactly. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "help/check.h"
#include "help/hook.h"

#include "base/array.h"
#include "user/inside/inside_chain.c"
#include "user/inside/inside_map.c"
#include "user/memory/store.h"
#include "user/memory/take.c"

#define THREADS	   6
#define ROUNDS	   repetitions(2000, 6000)
#define KILLS	   repetitions(50, 200)
#define KEYS	   32
#define WIDE_WORDS 9

/* Room for `keys` keys: a thread that is stopped while its key falls asleep keeps another out. */
#define ROOM_FOR(keys) ((keys) + THREADS)

static const struct type text_type = {.kind = TYPE_STR, .size = 8 * WIDE_WORDS - 8};

enum { NUMBERS, COUNTS, WIDE, BY_TEXT, SINGLE, ONE_COUNT, SMALLEST, LIKE_HIST, AVERAGES, MAPS };

static struct map_def maps[MAPS] = {
	[NUMBERS] = {.key = {.kind = TYPE_INT, .size = 8}, .value = {.kind = TYPE_INT, .size = 8}},
	[COUNTS] = {.key = {.kind = TYPE_INT, .size = 8}, .value = {.kind = TYPE_COUNT}},
	[WIDE] = {.key = {.kind = TYPE_INT, .size = 8}},
	[BY_TEXT] = {.value = {.kind = TYPE_INT, .size = 8}},
	[SINGLE] = {.value = {.kind = TYPE_INT, .size = 8}},
	[ONE_COUNT] = {.value = {.kind = TYPE_COUNT}},
	[SMALLEST] = {.key = {.kind = TYPE_INT, .size = 8}, .value = {.kind = TYPE_MIN}},
	[LIKE_HIST] = {.key = {.kind = TYPE_INT, .size = 8}, .value = {.kind = TYPE_HIST}},
	[AVERAGES] = {.value = {.kind = TYPE_AVG}},
};
static const struct span no_span;
static struct program program = {
	.maps = maps, .map_count = MAPS, .spans = &no_span, .span_count = 1};

static struct native_store *open_maps(uint32_t max_entries)
{
	const struct native_sizes sizes = {.cpus = 2};
	struct native_store *s = NULL;

	maps[WIDE].value = text_type;
	maps[WIDE].value.kind = TYPE_USTACK;
	maps[WIDE].value.size = 8 * WIDE_WORDS;
	maps[BY_TEXT].key = text_type;
	for (int i = 0; i < MAPS; i++)
		maps[i].max_entries = maps[i].key.kind == TYPE_NONE ? 1 : max_entries;
	assert_int_equal(native_store_open(&program, &sizes, &s, NULL), 0);
	return s;
}

/* ---- sums of what is in a map */

struct sum {
	uint64_t keys, total;
	uint64_t by_key[2 * KEYS];
	bool twice;
};

static int add_up(void *arg, struct str key, struct str value)
{
	struct sum *sum = arg;
	uint64_t k = 0, v;

	if (key.len == 8)
		memcpy(&k, key.ptr, 8);
	memcpy(&v, value.ptr, 8);
	sum->keys++;
	sum->total += v;
	if (k < 2 * KEYS) {
		sum->twice |= sum->by_key[k] != 0;
		sum->by_key[k] += v;
	}
	return 0;
}

static struct sum sum_of(struct native_store *s, uint32_t map)
{
	const struct map_store m = native_store_maps(s);
	struct sum sum = {0};

	assert_int_equal(map_each(&m, map, add_up, &sum), 0);
	assert_false(sum.twice);
	return sum;
}

static uint64_t lost_updates(const struct native_store *s)
{
	struct run_stats stats;

	native_store_stats(s, &stats);
	return stats.lost_updates;
}

/* ---- threads */

struct worker {
	struct native_store *s;
	struct hit hit;
	unsigned number;
	uint64_t random;
	uint64_t failures;
	pthread_t thread;
};

static void run_workers(struct native_store *s, unsigned count, void *(*fn)(void *))
{
	struct worker workers[16];

	hook_set(let_others_run, 20);
	for (unsigned i = 0; i < count; i++) {
		workers[i] =
			(struct worker){.s = s, .hit = s->hit, .number = i, .random = i * 77 + 1};
		assert_int_equal(pthread_create(&workers[i].thread, NULL, fn, &workers[i]), 0);
	}
	for (unsigned i = 0; i < count; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_int_equal(workers[i].failures, 0);
	}
	hook_set(NULL, 0);
}

/* All threads count by the same keys; each also sets, reads and deletes a key of its own, whose
 * entries therefore go from hand to hand. */
static void *count_and_churn(void *arg)
{
	struct worker *w = arg;
	const struct map_shape *shapes = w->s->shapes;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t random = next_random(&w->random), key = random % KEYS;
		uint64_t own = 1000 + w->number * 16 + random / KEYS % 4, stamp = random | 1;

		inside_map_add(&w->hit, &shapes[NUMBERS], &key, 1, 0);
		inside_aggregate(&w->hit, &shapes[COUNTS], &key, 0, 0);
		inside_map_add(&w->hit, &shapes[SINGLE], NULL, 1, 0);
		inside_aggregate(&w->hit, &shapes[ONE_COUNT], NULL, 0, 0);
		inside_aggregate(&w->hit, &shapes[LIKE_HIST], &key, random % 64, 0);
		inside_aggregate(&w->hit, &shapes[AVERAGES], NULL, 10, 0);
		inside_map_set(&w->hit, &shapes[NUMBERS], &own, stamp, 0);
		w->failures += inside_map_get(&w->hit, &shapes[NUMBERS], &own) != stamp;
		inside_map_del(&w->hit, &shapes[NUMBERS], &own);
		w->failures += inside_map_has(&w->hit, &shapes[NUMBERS], &own);
		inside_aggregate(&w->hit, &shapes[COUNTS], &own, 0, 0);
		w->failures += inside_map_get(&w->hit, &shapes[COUNTS], &own) != 1;
		inside_map_del(&w->hit, &shapes[COUNTS], &own);
		w->failures += inside_map_get(&w->hit, &shapes[COUNTS], &own) != 0;
	}
	return NULL;
}

static void threads_count_exactly(void **state)
{
	struct native_store *s = open_maps(ROOM_FOR(KEYS + THREADS));
	const uint64_t all = (uint64_t)THREADS * ROUNDS;

	(void)state;
	run_workers(s, THREADS, count_and_churn);
	assert_int_equal(lost_updates(s), 0);
	assert_int_equal(sum_of(s, NUMBERS).total, all);
	assert_int_equal(sum_of(s, NUMBERS).keys, KEYS);
	assert_int_equal(sum_of(s, COUNTS).total, all);
	assert_int_equal(sum_of(s, COUNTS).keys, KEYS);
	assert_int_equal(sum_of(s, SINGLE).total, all);
	assert_int_equal(sum_of(s, ONE_COUNT).total, all);
	assert_int_equal(sum_of(s, AVERAGES).total, all);
	assert_int_equal(inside_map_get(&s->hit, &s->shapes[AVERAGES], NULL), 10);
	native_store_close(s);
}

/* One chain for everything: the worst that keys can do. */
static void one_chain_counts_exactly(void **state)
{
	struct native_store *s = open_maps(ROOM_FOR(KEYS + THREADS));

	(void)state;
	for (int i = 0; i < MAPS; i++)
		s->shapes[i].bucket_count = 1;
	run_workers(s, THREADS, count_and_churn);
	assert_int_equal(lost_updates(s), 0);
	assert_int_equal(sum_of(s, NUMBERS).total, (uint64_t)THREADS * ROUNDS);
	assert_int_equal(sum_of(s, COUNTS).total, (uint64_t)THREADS * ROUNDS);
	native_store_close(s);
}

/* ---- taking maps */

static const int taken_maps[] = {NUMBERS, COUNTS, SINGLE, ONE_COUNT, LIKE_HIST, AVERAGES};

static void *count_only(void *arg)
{
	struct worker *w = arg;
	const struct map_shape *shapes = w->s->shapes;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t key = next_random(&w->random) % KEYS;

		inside_map_add(&w->hit, &shapes[NUMBERS], &key, 1, 0);
		inside_aggregate(&w->hit, &shapes[COUNTS], &key, 0, 0);
		inside_map_add(&w->hit, &shapes[SINGLE], NULL, 1, 0);
		inside_aggregate(&w->hit, &shapes[ONE_COUNT], NULL, 0, 0);
		inside_aggregate(&w->hit, &shapes[LIKE_HIST], &key, 0, 0);
		inside_aggregate(&w->hit, &shapes[AVERAGES], NULL, 10, 0);
	}
	__atomic_fetch_add(&w->s->unfinished, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Every word of the value: of a histogram with one value, and of a count, the number of events. */
static int add_words(void *arg, struct str key, struct str value)
{
	uint64_t word;

	(void)key;
	for (size_t i = 0; i + 8 <= value.len; i += 8) {
		memcpy(&word, value.ptr + i, 8);
		*(uint64_t *)arg += word;
	}
	return 0;
}

static int count_entry(void *arg, struct str key, struct str value)
{
	(void)key, (void)value;
	++*(uint64_t *)arg;
	return 0;
}

static void take_all(struct native_store *s, enum format_take what, uint64_t totals[MAPS])
{
	const struct map_store m = native_store_maps(s);

	for (size_t i = 0; i < COUNT(taken_maps); i++)
		assert_int_equal(map_take(&m, (uint32_t)taken_maps[i], what, add_words,
					  &totals[taken_maps[i]]),
				 0);
}

static void take_while_threads_count(enum format_take what)
{
	struct native_store *s = open_maps(ROOM_FOR(KEYS));
	const uint64_t all = (uint64_t)THREADS * ROUNDS;
	struct worker workers[THREADS];
	uint64_t totals[MAPS] = {0};

	hook_set(let_others_run, 20);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] =
			(struct worker){.s = s, .hit = s->hit, .number = i, .random = i * 77 + 1};
		assert_int_equal(pthread_create(&workers[i].thread, NULL, count_only, &workers[i]),
				 0);
	}
	while (__atomic_load_n(&s->unfinished, __ATOMIC_RELAXED) < THREADS)
		take_all(s, what, totals);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	hook_set(NULL, 0);
	take_all(s, what, totals);
	assert_int_equal(lost_updates(s), 0);
	for (size_t i = 0; i < COUNT(taken_maps); i++)
		assert_int_equal(totals[taken_maps[i]], taken_maps[i] == AVERAGES ? 11 * all : all);
	native_store_close(s);
}

static void what_comes_between_print_and_clear_is_not_lost(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(taken_maps); i++)
		maps[taken_maps[i]].is_taken = true;
	take_while_threads_count(TAKE_ENTRIES);
	take_while_threads_count(TAKE_VALUES);
	for (size_t i = 0; i < COUNT(taken_maps); i++)
		maps[taken_maps[i]].is_read = true;
	take_while_threads_count(TAKE_ENTRIES);
	for (size_t i = 0; i < COUNT(taken_maps); i++)
		maps[taken_maps[i]].is_read = maps[taken_maps[i]].is_taken = false;
}

static void taking_with_zero_keeps_the_keys(void **state)
{
	struct native_store *s = open_maps(ROOM_FOR(KEYS));
	uint64_t totals[MAPS] = {0}, key = 3;

	(void)state;
	inside_map_add(&s->hit, &s->shapes[NUMBERS], &key, 5, 0);
	inside_aggregate(&s->hit, &s->shapes[COUNTS], &key, 0, 0);
	inside_aggregate(&s->hit, &s->shapes[ONE_COUNT], NULL, 0, 0);
	take_all(s, TAKE_VALUES, totals);
	assert_int_equal(totals[NUMBERS], 5);
	assert_int_equal(totals[COUNTS], 1);
	assert_int_equal(sum_of(s, NUMBERS).keys, 1);
	assert_int_equal(sum_of(s, COUNTS).keys, 1);
	assert_int_equal(sum_of(s, ONE_COUNT).keys, 1);
	assert_int_equal(sum_of(s, NUMBERS).total + sum_of(s, COUNTS).total, 0);
	take_all(s, TAKE_ENTRIES, totals);
	assert_int_equal(sum_of(s, NUMBERS).keys + sum_of(s, COUNTS).keys, 0);
	assert_int_equal(sum_of(s, ONE_COUNT).keys + sum_of(s, SINGLE).keys, 0);
	native_store_close(s);
}

/* A thread has made the key, and was interrupted before it counted. */
static void a_key_without_a_value_is_not_given(void **state)
{
	struct native_store *s = open_maps(ROOM_FOR(KEYS));
	const struct map_store m = native_store_maps(s);
	const struct map_shape *counts = &s->shapes[COUNTS];
	uint64_t key = 3, given = 0, total = 0;

	(void)state;
	assert_true(inside_map_place(&s->hit, counts, &key, 0).index);
	assert_int_equal(map_take(&m, COUNTS, TAKE_ENTRIES, count_entry, &given), 0);
	assert_int_equal(given, 0);
	inside_aggregate(&s->hit, counts, &key, 0, 0);
	assert_int_equal(map_take(&m, COUNTS, TAKE_VALUES, count_entry, &given), 0);
	assert_int_equal(given, 1);
	/* That one was kept, and is 0. */
	assert_int_equal(map_take(&m, COUNTS, TAKE_ENTRIES, count_entry, &given), 0);
	assert_int_equal(given, 2);
	assert_int_equal(map_take(&m, COUNTS, TAKE_ENTRIES, add_words, &total), 0);
	assert_int_equal(total, 0);
	native_store_close(s);
}

/* Values of many words are all old or all new. */
static void *put_and_copy(void *arg)
{
	struct worker *w = arg;
	const struct map_shape *m = &w->s->shapes[WIDE];
	uint64_t value[WIDE_WORDS + 1];

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t random = next_random(&w->random), key = random % 3, words;

		value[0] = WIDE_WORDS;
		for (unsigned k = 1; k <= WIDE_WORDS; k++)
			value[k] = random;
		if (random / 8 % 8 == 0)
			inside_map_del(&w->hit, m, &key);
		else
			inside_map_put(&w->hit, m, &key, value, 0);
		inside_map_copy(&w->hit, m, &key, value);
		words = (uint32_t)value[0];
		w->failures += words != 0 && words != WIDE_WORDS;
		for (unsigned k = 2; k <= WIDE_WORDS; k++)
			w->failures += value[k] != value[1] || (value[1] % 3 != key && words);
	}
	return NULL;
}

static void wide_values_are_never_torn(void **state)
{
	struct native_store *s = open_maps(4);

	(void)state;
	run_workers(s, THREADS, put_and_copy);
	assert_int_equal(lost_updates(s), 0);
	native_store_close(s);
}

/* The reports read and clear while threads count: keys that are not cleared are not touched. */
static _Atomic bool is_over;

static void *clear_odd_keys(void *arg)
{
	struct worker *w = arg;
	const struct map_shape *shapes = w->s->shapes;

	while (!is_over) {
		uint64_t random = next_random(&w->random), key = random % KEYS | 1;

		if (random >> 32 & 1) {
			inside_map_del(&w->hit, &shapes[COUNTS], &key);
			inside_map_del(&w->hit, &shapes[NUMBERS], &key);
		} else {
			inside_map_zero(&w->hit, &shapes[COUNTS], &key);
			inside_map_zero(&w->hit, &shapes[NUMBERS], &key);
		}
	}
	return NULL;
}

/* Keys that stay, with values that are replaced, and others that come and go. */
static void *churn_around(void *arg)
{
	struct worker *w = arg;
	const struct map_shape *m = &w->s->shapes[WIDE];
	uint64_t value[WIDE_WORDS + 1] = {0};

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t random = next_random(&w->random), key = random % KEYS;
		uint64_t other = 1000 + random / KEYS % 64;

		inside_map_put(&w->hit, m, &key, value, 0);
		inside_map_put(&w->hit, m, &other, value, 0);
		if (random >> 40 & 1)
			inside_map_del(&w->hit, m, &other);
	}
	return NULL;
}

static void *loop_or_churn(void *arg)
{
	struct worker *w = arg;

	if (w->number % 2)
		return churn_around(arg);
	for (unsigned i = 0; i < ROUNDS / 20; i++) {
		unsigned seen[KEYS] = {0}, rounds = 0;
		uint64_t after = 0, key;

		while ((after = inside_map_next(&w->hit, &w->s->shapes[WIDE], after, &key)) &&
		       rounds++ < 1000)
			if (key < KEYS)
				seen[key]++;
		w->failures += rounds > KEYS + 64;
		for (unsigned k = 0; k < KEYS; k++)
			w->failures += seen[k] != 1;
	}
	return NULL;
}

static void a_loop_meets_each_key_that_stays_once(void **state)
{
	struct native_store *s = open_maps(KEYS + 64);
	uint64_t value[WIDE_WORDS + 1] = {0};

	(void)state;
	for (uint64_t key = 0; key < KEYS; key++)
		inside_map_put(&s->hit, &s->shapes[WIDE], &key, value, 0);
	run_workers(s, THREADS, loop_or_churn);
	native_store_close(s);
}

static void clearing_takes_only_what_is_cleared(void **state)
{
	struct native_store *s = open_maps(ROOM_FOR(KEYS + THREADS));
	struct worker clearers[2] = {{.s = s, .hit = s->hit, .random = 1},
				     {.s = s, .hit = s->hit, .random = 2}};
	struct sum numbers, counts;
	uint64_t expected[KEYS] = {0};

	(void)state;
	for (unsigned i = 0; i < THREADS; i++) {
		uint64_t random = i * 77 + 1;

		for (unsigned k = 0; k < ROUNDS; k++)
			expected[next_random(&random) % KEYS]++;
	}
	is_over = false;
	for (int i = 0; i < MAPS; i++)
		s->shapes[i].bucket_count = 2;
	for (int i = 0; i < 2; i++)
		pthread_create(&clearers[i].thread, NULL, clear_odd_keys, &clearers[i]);
	run_workers(s, THREADS, count_and_churn);
	is_over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(clearers[i].thread, NULL);
	numbers = sum_of(s, NUMBERS);
	counts = sum_of(s, COUNTS);
	assert_int_equal(lost_updates(s), 0);
	for (unsigned i = 0; i < KEYS; i++) {
		assert_true(numbers.by_key[i] <= expected[i]);
		assert_true(counts.by_key[i] <= expected[i]);
		if (i % 2 == 0) {
			assert_int_equal(numbers.by_key[i], expected[i]);
			assert_int_equal(counts.by_key[i], expected[i]);
		}
	}
	native_store_close(s);
}

/* A key that comes and goes, whose entry becomes that of another key: what is late for the one must
 * not meet the other. */
static void *change_remove_or_check(void *arg)
{
	struct worker *w = arg;
	const struct map_shape *numbers = &w->s->shapes[NUMBERS], *counts = &w->s->shapes[COUNTS];
	uint64_t key = 1, own = 10 + w->number;

	for (unsigned i = 0; i < ROUNDS; i++) {
		if (w->number % 3 == 0) {
			inside_map_add(&w->hit, numbers, &key, 1, 0);
			inside_aggregate(&w->hit, counts, &key, 0, 0);
		} else if (w->number % 3 == 1) {
			inside_map_del(&w->hit, numbers, &key);
			inside_map_del(&w->hit, counts, &key);
		} else {
			inside_map_set(&w->hit, numbers, &own, 1000000, 0);
			inside_aggregate(&w->hit, counts, &own, 0, 0);
			for (unsigned k = 0; k < 4; k++) {
				w->failures += inside_map_get(&w->hit, numbers, &own) != 1000000;
				w->failures += inside_map_get(&w->hit, counts, &own) != 1;
			}
			inside_map_del(&w->hit, numbers, &own);
			inside_map_del(&w->hit, counts, &own);
		}
	}
	return NULL;
}

static void the_late_meet_no_other_key(void **state)
{
	struct native_store *s = open_maps(8);

	(void)state;
	s->shapes[NUMBERS].free_lists = s->shapes[COUNTS].free_lists = 1;
	run_workers(s, THREADS, change_remove_or_check);
	assert_int_equal(lost_updates(s), 0);
	native_store_close(s);
}

/* ---- keys that come and go: their entries stay, asleep */

static void *fill_up(void *arg)
{
	struct worker *w = arg;

	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t key = w->number * 1000 + i;

		inside_map_set(&w->hit, &w->s->shapes[NUMBERS], &key, 1, 0);
		inside_aggregate(&w->hit, &w->s->shapes[COUNTS], &key, 1, 0);
	}
	return NULL;
}

static uint64_t entries_asleep(const struct native_store *s, const struct map_shape *m)
{
	uint64_t count = 0;

	for (uint64_t i = 1; i < m->entry_count; i++) {
		const uint64_t *link = (const void *)(s->base + map_entry_at(m, i));

		count += link_is_asleep(*link);
	}
	return count;
}

static void set_and_delete_twice(struct native_store *s, uint64_t first, uint64_t count)
{
	const struct map_shape *m = &s->shapes[NUMBERS];

	for (uint64_t key = first; key < first + count; key++)
		for (uint64_t i = 1; i < 5; i++) {
			inside_map_set(&s->hit, m, &key, i, 0);
			assert_int_equal(inside_map_get(&s->hit, m, &key), i);
			assert_int_equal(inside_map_del(&s->hit, m, &key), 1);
			assert_int_equal(inside_map_get(&s->hit, m, &key), 0);
			assert_int_equal(inside_map_del(&s->hit, m, &key), 0);
		}
}

static void what_is_asleep_makes_room(void **state)
{
	struct native_store *s = open_maps(64);
	const struct map_shape *m = &s->shapes[NUMBERS];
	uint64_t key;

	(void)state;
	set_and_delete_twice(s, 1000, 30);
	assert_int_equal(entries_asleep(s, m), 30);
	assert_int_equal(sum_of(s, NUMBERS).keys, 0);
	for (key = 0; key < 64; key++)
		inside_map_set(&s->hit, m, &key, 1, 0);
	assert_int_equal(lost_updates(s), 0);
	assert_int_equal(entries_asleep(s, m), 0);
	assert_int_equal(sum_of(s, NUMBERS).keys, 64);
	inside_map_set(&s->hit, m, &key, 1, 0);
	assert_int_equal(lost_updates(s), 1);
	/* Nothing falls asleep in a map that is nearly full. */
	key = 0;
	inside_map_del(&s->hit, m, &key);
	set_and_delete_twice(s, 1000, 1);
	assert_int_equal(entries_asleep(s, m), 0);
	native_store_close(s);
}

/* In a map of many keys only those fall asleep that were seen to come back. */
static void of_many_keys_some_fall_asleep(void **state)
{
	struct native_store *s = open_maps(4 * FEW);
	const struct map_shape *m = &s->shapes[NUMBERS];
	uint64_t key;

	(void)state;
	for (key = 0; key < FEW; key++)
		inside_map_set(&s->hit, m, &key, 1, 0);
	for (key = FEW; key < 2 * FEW; key++) {
		inside_map_set(&s->hit, m, &key, 1, 0);
		assert_int_equal(inside_map_del(&s->hit, m, &key), 1);
	}
	assert_int_equal(entries_asleep(s, m), 0);
	set_and_delete_twice(s, key, 10);
	assert_int_equal(entries_asleep(s, m), 10);
	assert_int_equal(sum_of(s, NUMBERS).keys, FEW);
	native_store_close(s);
}

/* To write zeros puts another entry in the place of one that would stay. */
static void a_key_is_there_once_after_its_value_was_cleared(void **state)
{
	struct native_store *s = open_maps(64);
	const struct map_shape *m = &s->shapes[NUMBERS];
	uint64_t key = 5;

	(void)state;
	set_and_delete_twice(s, key, 1);
	inside_map_set(&s->hit, m, &key, 7, 0);
	inside_map_zero(&s->hit, m, &key);
	assert_int_equal(inside_map_get(&s->hit, m, &key), 0);
	inside_map_set(&s->hit, m, &key, 8, 0);
	assert_int_equal(inside_map_get(&s->hit, m, &key), 8);
	assert_int_equal(sum_of(s, NUMBERS).keys, 1);
	native_store_close(s);
}

/* Threads with keys of their own, and keys that all of them set and delete; and, in the same
 * chains, keys that are not deleted, until the map is full. */
static void *come_and_go(void *arg)
{
	struct worker *w = arg;
	const struct map_shape *m = &w->s->shapes[NUMBERS];
	uint64_t own = 1000 + w->number, rest = 2000 + 1000 * w->number;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t random = next_random(&w->random), shared = random % 4;

		inside_map_set(&w->hit, m, &own, random | 1, 0);
		w->random ^= 1;
		w->failures += inside_map_get(&w->hit, m, &own) != (random | 1);
		w->failures += inside_map_del(&w->hit, m, &own) != 1;
		w->failures += inside_map_has(&w->hit, m, &own);
		inside_map_set(&w->hit, m, &shared, 1, 0);
		if (random >> 32 & 1)
			inside_map_del(&w->hit, m, &shared);
		if (i % 256 == 255 && w->number % 2) {
			inside_map_set(&w->hit, m, &rest, 1, 0);
			rest++;
		}
	}
	return NULL;
}

static void threads_come_and_go_exactly(void **state)
{
	uint64_t all = THREADS / 2 * (ROUNDS / 256), key;
	struct native_store *s = open_maps((uint32_t)all + 4 + THREADS);
	uint32_t most = s->shapes[NUMBERS].bucket_count;

	(void)state;
	for (uint32_t buckets = 1; buckets <= most; buckets *= 8) {
		s->shapes[NUMBERS].bucket_count = buckets;
		run_workers(s, THREADS, come_and_go);
		assert_int_equal(lost_updates(s), 0);
		for (key = 0; key < 4; key++)
			inside_map_del(&s->hit, &s->shapes[NUMBERS], &key);
		assert_int_equal(sum_of(s, NUMBERS).keys, all);
		for (key = 2000; key < 2000 + 1000 * THREADS; key++)
			inside_map_del(&s->hit, &s->shapes[NUMBERS], &key);
		assert_int_equal(sum_of(s, NUMBERS).keys, 0);
		native_store_close(s);
		s = open_maps((uint32_t)all + 4 + THREADS);
	}
	native_store_close(s);
}

/* Threads that hold as many keys of their own as there is room for, and give them back: what is
 * asleep, of any thread, keeps none of them out. */
#define HELD 8u

static void *hold_and_give_back(void *arg)
{
	struct worker *w = arg;
	const struct map_shape *m = &w->s->shapes[NUMBERS];
	uint64_t own[HELD];

	for (unsigned i = 0; i < ROUNDS / 4; i++) {
		uint64_t random = next_random(&w->random);
		unsigned count = 1 + random % HELD;

		for (unsigned k = 0; k < count; k++) {
			own[k] = w->number * 1000 + k * 8 + (random >> (8 + 3 * k)) % 8;
			inside_map_set(&w->hit, m, &own[k], random | 1, 0);
		}
		for (unsigned k = 0; k < count; k++) {
			w->failures += inside_map_get(&w->hit, m, &own[k]) != (random | 1);
			w->failures += inside_map_del(&w->hit, m, &own[k]) != 1;
		}
	}
	return NULL;
}

static void there_is_room_for_as_many_keys_as_are_held(void **state)
{
	(void)state;
	for (uint32_t buckets = 1; buckets <= 64; buckets *= 4) {
		struct native_store *s = open_maps(ROOM_FOR(THREADS * HELD));

		s->shapes[NUMBERS].bucket_count = buckets;
		run_workers(s, THREADS, hold_and_give_back);
		assert_int_equal(lost_updates(s), 0);
		assert_int_equal(sum_of(s, NUMBERS).keys, 0);
		native_store_close(s);
	}
}

/* Another thread, in the middle of an operation of this one: its keys fall asleep, and then it
 * fills the map. */
static struct native_store *filled;
static unsigned until_filled;

static void sleep_and_fill(void)
{
	const struct map_shape *m = &filled->shapes[NUMBERS];

	if (until_filled--)
		return;
	hook_set(NULL, 1);
	set_and_delete_twice(filled, 1000, 40);
	for (uint64_t key = 2000; key < 2024; key++)
		inside_map_set(&filled->hit, m, &key, 1, 0);
}

static void a_map_is_not_full_of_what_fell_asleep_meanwhile(void **state)
{
	(void)state;
	/* The chain of the key must be as it was, so several are tried. */
	for (unsigned i = 0; i < 16 * 20; i++) {
		uint64_t key = i / 20;

		filled = open_maps(64);
		until_filled = i % 20;
		hook_set(sleep_and_fill, 1);
		inside_map_set(&filled->hit, &filled->shapes[NUMBERS], &key, 1, 0);
		hook_set(NULL, 1);
		assert_int_equal(lost_updates(filled), 0);
		assert_int_equal(inside_map_get(&filled->hit, &filled->shapes[NUMBERS], &key), 1);
		native_store_close(filled);
	}
}

/* Threads come and go while others fill the map: what has no room is counted, and what is asleep
 * gives way. */
static void *come_and_go_or_fill_up(void *arg)
{
	struct worker *w = arg;
	const struct map_shape *m = &w->s->shapes[NUMBERS];
	uint64_t own = 1000000 + w->number;

	if (w->number % 2)
		return fill_up(arg);
	for (unsigned i = 0; i < ROUNDS; i++) {
		inside_map_set(&w->hit, m, &own, i, 0);
		w->random += !inside_map_del(&w->hit, m, &own);
	}
	return NULL;
}

static void what_falls_asleep_in_a_full_map_keeps_nobody_out(void **state)
{
	struct native_store *s;
	uint64_t numbers, counts;

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		s = open_maps(200);
		set_and_delete_twice(s, 1000000, 100);
		run_workers(s, THREADS, come_and_go_or_fill_up);
		numbers = sum_of(s, NUMBERS).keys;
		counts = sum_of(s, COUNTS).keys;
		assert_in_range(counts, 200, 200 + THREADS);
		/* Keys that came and went may have kept others out: one of each thread. */
		assert_in_range(numbers, 200 - THREADS, 200 + THREADS);
		assert_true(lost_updates(s) >= THREADS * 1000 - numbers - counts);
		assert_in_range(entries_asleep(s, &s->shapes[NUMBERS]), 0, THREADS);
		native_store_close(s);
	}
}

/* ---- a handler that comes in the middle of an operation and begins another */

static struct worker *interrupted;
static bool is_in_handler;

static void count_in_handler(void)
{
	struct worker *w = interrupted;
	uint64_t key = 2 * KEYS - 1, wide[WIDE_WORDS + 1] = {WIDE_WORDS}, shared = 1;

	if (is_in_handler)
		return;
	is_in_handler = true;
	inside_map_add(&w->hit, &w->s->shapes[NUMBERS], &shared, 1, 0);
	inside_map_add(&w->hit, &w->s->shapes[NUMBERS], &key, 1, 0);
	inside_map_put(&w->hit, &w->s->shapes[WIDE], &shared, wide, 0);
	inside_map_del(&w->hit, &w->s->shapes[COUNTS], &shared);
	inside_aggregate(&w->hit, &w->s->shapes[COUNTS], &key, 0, 0);
	inside_aggregate(&w->hit, &w->s->shapes[ONE_COUNT], NULL, 0, 0);
	w->random++;
	is_in_handler = false;
}

static void handlers_may_come_in_the_middle(void **state)
{
	struct native_store *s = open_maps(8);
	struct worker w = {.s = s, .hit = s->hit};
	uint64_t wide[WIDE_WORDS + 1] = {WIDE_WORDS}, shared = 1;

	(void)state;
	for (int i = 0; i < MAPS; i++)
		s->shapes[i].bucket_count = 1;
	interrupted = &w;
	hook_set(count_in_handler, 100);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t own = 3;

		inside_map_add(&w.hit, &s->shapes[NUMBERS], &shared, 1, 0);
		inside_map_set(&w.hit, &s->shapes[NUMBERS], &own, i, 0);
		assert_int_equal(inside_map_get(&w.hit, &s->shapes[NUMBERS], &own), i);
		inside_map_del(&w.hit, &s->shapes[NUMBERS], &own);
		inside_map_put(&w.hit, &s->shapes[WIDE], &shared, wide, 0);
		inside_aggregate(&w.hit, &s->shapes[COUNTS], &shared, 0, 0);
		inside_aggregate(&w.hit, &s->shapes[ONE_COUNT], NULL, 0, 0);
	}
	hook_set(NULL, 0);
	assert_true(w.random > 1000);
	assert_int_equal(lost_updates(s), 0);
	assert_int_equal(sum_of(s, NUMBERS).by_key[1], ROUNDS + w.random);
	assert_int_equal(sum_of(s, NUMBERS).by_key[2 * KEYS - 1], w.random);
	assert_int_equal(sum_of(s, COUNTS).by_key[2 * KEYS - 1], w.random);
	assert_int_equal(sum_of(s, ONE_COUNT).total, ROUNDS + w.random);
	native_store_close(s);
}

/* ---- an entry that becomes that of another key before any one of the steps of an operation */

static struct native_store *reused;
static unsigned steps_before, reuses;

static void use_for_another_key(void)
{
	uint64_t key = 1, other = 2;

	if (!steps_before || --steps_before)
		return;
	reuses++;
	inside_map_del(&reused->hit, &reused->shapes[NUMBERS], &key);
	inside_map_set(&reused->hit, &reused->shapes[NUMBERS], &other, 20, 0);
}

/* The map is full, so that no key falls asleep: each gives its entry back. */
static struct native_store *open_full_chain(void)
{
	struct native_store *s = open_maps(3);

	s->shapes[NUMBERS].bucket_count = 1;
	for (uint64_t key = 5; key <= 5;
	     key -= 2) /* 1 is the last, and so the first of the chain */
		inside_map_set(&s->hit, &s->shapes[NUMBERS], &key, 10 * key, 0);
	return s;
}

enum { GET_KEY, SET_KEY, DEL_KEY, KEY_OPERATIONS };

static uint64_t operate(struct native_store *s, unsigned operation, uint64_t key)
{
	const struct map_shape *m = &s->shapes[NUMBERS];

	if (operation == GET_KEY)
		return inside_map_get(&s->hit, m, &key);
	if (operation == SET_KEY)
		inside_map_set(&s->hit, m, &key, 11, 0);
	else
		inside_map_del(&s->hit, m, &key);
	return 0;
}

static void an_entry_that_is_used_anew_is_not_taken_for_its_old_key(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KEY_OPERATIONS * 32; i++) {
		uint64_t got;

		reused = open_full_chain();
		reuses = 0;
		steps_before = 1 + i / KEY_OPERATIONS;
		hook_set(use_for_another_key, 1);
		got = operate(reused, i % KEY_OPERATIONS, 1);
		hook_set(NULL, 0);
		assert_true(got == 0 || got == 10);
		if (reuses)
			assert_int_equal(operate(reused, GET_KEY, 2), 20);
		assert_true(reuses || steps_before);
		native_store_close(reused);
	}
}

/* ---- processes that are killed in the middle */

struct progress { /* shared; of one process after the other */
	_Atomic uint64_t begun, done;
};

static void hammer_until_killed(struct native_store *s, struct progress *p, unsigned number)
{
	uint64_t wide[WIDE_WORDS + 1] = {WIDE_WORDS}, random = number * 99 + 1;

	hook_kill(number * 12345 + 1, 20000);
	for (;;) {
		uint64_t key = next_random(&random) % KEYS, own = KEYS + key % 4;

		p->begun++;
		inside_map_add(&s->hit, &s->shapes[NUMBERS], &key, 1, 0);
		inside_aggregate(&s->hit, &s->shapes[COUNTS], &key, 0, 0);
		p->done++;
		inside_map_set(&s->hit, &s->shapes[SMALLEST], &own, 1, 0);
		inside_map_put(&s->hit, &s->shapes[WIDE], &own, wide, 0);
		inside_map_del(&s->hit, &s->shapes[WIDE], &own);
		inside_map_set(&s->hit, &s->shapes[NUMBERS], &own, 0, 0);
		inside_map_del(&s->hit, &s->shapes[NUMBERS], &own);
		inside_aggregate(&s->hit, &s->shapes[SMALLEST], &own, 5, 0);
		inside_map_del(&s->hit, &s->shapes[SMALLEST], &own);
	}
}

static void the_killed_stop_no_other(void **state)
{
	struct progress *p =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct native_store *s = open_maps(4096);
	uint64_t key = 1, wide[WIDE_WORDS + 1] = {WIDE_WORDS};
	const struct map_store m = native_store_maps(s);

	(void)state;
	for (int i = 0; i < MAPS; i++)
		s->shapes[i].bucket_count = 4;
	for (unsigned i = 0; i < KILLS; i++) {
		pid_t child = fork(), other = child ? fork() : -1;

		if (!child || !other)
			hammer_until_killed(s, &p[!child], 2 * i + !child);
		waitpid(child, NULL, 0);
		inside_map_put(&s->hit, &s->shapes[WIDE], &key, wide, 0);
		assert_true(inside_map_has(&s->hit, &s->shapes[WIDE], &key));
		waitpid(other, NULL, 0);
	}
	assert_true(p[0].done > 1000 && p[1].done > 1000);
	for (uint32_t map = NUMBERS; map <= COUNTS; map++) {
		uint64_t total = sum_of(s, map).total;

		assert_true(total >= p[0].done + p[1].done);
		assert_true(total <= p[0].begun + p[1].begun);
	}
	/* Each kill costs at most an entry and a unit of the limit. */
	assert_int_equal(lost_updates(s), 0);
	for (uint32_t map = 0; map < MAPS; map++)
		assert_int_equal(map_clear(&m, map), 0);
	for (uint64_t i = 0; i < KEYS; i++)
		inside_map_add(&s->hit, &s->shapes[NUMBERS], &i, i, 0);
	assert_int_equal(sum_of(s, NUMBERS).total, KEYS * (KEYS - 1) / 2);
	native_store_close(s);
	munmap(p, 4096);
}

/* ---- full maps */

static int is_map_full(void *arg, const struct run_fault *fault)
{
	assert_int_equal(fault->kind, FAULT_MAP_FULL);
	*(uint64_t *)arg += fault->count;
	return 0;
}

static void one_thread_fills_a_map_to_its_size(void **state)
{
	struct native_store *s = open_maps(100);

	(void)state;
	run_workers(s, 1, fill_up);
	assert_int_equal(sum_of(s, NUMBERS).keys, 100);
	assert_int_equal(sum_of(s, COUNTS).keys, 100);
	assert_int_equal(lost_updates(s), 2 * (1000 - 100));
	native_store_close(s);
}

static void full_maps_are_counted(void **state)
{
	struct native_store *s = open_maps(100);
	uint64_t faults = 0, key, numbers, counts;

	(void)state;
	run_workers(s, THREADS, fill_up);
	numbers = sum_of(s, NUMBERS).keys;
	counts = sum_of(s, COUNTS).keys;
	/* A thread that is stopped while it inserts may let the map grow by its key. */
	assert_in_range(numbers, 100, 100 + THREADS);
	assert_in_range(counts, 100, 100 + THREADS);
	assert_int_equal(lost_updates(s), 2 * THREADS * 1000 - numbers - counts);
	assert_int_equal(native_store_faults(s, is_map_full, &faults), 0);
	assert_int_equal(faults, lost_updates(s));
	/* A key that goes makes room for another. */
	for (key = 0; numbers >= 100; key++)
		numbers -= inside_map_del(&s->hit, &s->shapes[NUMBERS], &key);
	key = 999999;
	inside_map_set(&s->hit, &s->shapes[NUMBERS], &key, 1, 0);
	assert_true(inside_map_has(&s->hit, &s->shapes[NUMBERS], &key));
	assert_int_equal(lost_updates(s), faults);
	native_store_close(s);
}

/* ---- keys of text: what follows the text in the slot does not matter */

static void texts_are_keys(void **state)
{
	struct native_store *s = open_maps(10);
	const struct map_shape *m = &s->shapes[BY_TEXT];
	uint64_t a[WIDE_WORDS] = {3}, b[WIDE_WORDS] = {3};

	(void)state;
	memcpy(&a[1], "abc", 4);
	memcpy(&b[1], "abc", 4);
	b[3] = 12345;
	inside_map_set(&s->hit, m, a, 7, 0);
	assert_int_equal(inside_map_get(&s->hit, m, b), 7);
	b[0] = 4;
	assert_int_equal(inside_map_get(&s->hit, m, b), 0);
	b[0] = 3 | (uint64_t)TEXT_CUT << 32;
	assert_int_equal(inside_map_get(&s->hit, m, b), 0);
	assert_int_equal(sum_of(s, BY_TEXT).keys, 1);
	native_store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_count_exactly),
		cmocka_unit_test(one_chain_counts_exactly),
		cmocka_unit_test(what_comes_between_print_and_clear_is_not_lost),
		cmocka_unit_test(taking_with_zero_keeps_the_keys),
		cmocka_unit_test(a_key_without_a_value_is_not_given),
		cmocka_unit_test(wide_values_are_never_torn),
		cmocka_unit_test(a_loop_meets_each_key_that_stays_once),
		cmocka_unit_test(clearing_takes_only_what_is_cleared),
		cmocka_unit_test(the_late_meet_no_other_key),
		cmocka_unit_test(what_is_asleep_makes_room),
		cmocka_unit_test(of_many_keys_some_fall_asleep),
		cmocka_unit_test(a_key_is_there_once_after_its_value_was_cleared),
		cmocka_unit_test(threads_come_and_go_exactly),
		cmocka_unit_test(there_is_room_for_as_many_keys_as_are_held),
		cmocka_unit_test(a_map_is_not_full_of_what_fell_asleep_meanwhile),
		cmocka_unit_test(what_falls_asleep_in_a_full_map_keeps_nobody_out),
		cmocka_unit_test(handlers_may_come_in_the_middle),
		cmocka_unit_test(an_entry_that_is_used_anew_is_not_taken_for_its_old_key),
		cmocka_unit_test(the_killed_stop_no_other),
		cmocka_unit_test(one_thread_fills_a_map_to_its_size),
		cmocka_unit_test(full_maps_are_counted),
		cmocka_unit_test(texts_are_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
