/* Arrays that grow, searching in them, and the hash table of indexes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/array.h"
#include "base/hash.h"

struct numbers {
	uint32_t *items;
	size_t count, cap;
};

static int add_number(struct numbers *n, uint32_t value)
{
	if (array_grow(n->items, n->count, n->cap))
		return -ENOMEM;
	n->items[n->count++] = value;
	return 0;
}

static void arrays_keep_their_elements_as_they_grow(void **state)
{
	struct numbers n = {0};

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(add_number(&n, 3 * i), 0);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(n.items[i], 3 * i);
	assert_int_equal(n.cap, 1024);
	assert_int_equal(array_reserve(n.items, n.cap, 1024), 0);
	assert_int_equal(n.cap, 1024);
	assert_int_equal(array_reserve(n.items, n.cap, 1025), 0);
	assert_int_equal(n.cap, 2048);
	free(n.items);
}

static void an_array_that_cannot_grow_is_left_as_it_was(void **state)
{
	struct numbers n = {0};

	(void)state;
	assert_int_equal(add_number(&n, 7), 0);
	assert_int_equal(array_reserve(n.items, n.cap, SIZE_MAX / 2), -ENOMEM);
	assert_int_equal(array_reserve(n.items, n.cap, SIZE_MAX), -ENOMEM);
	assert_int_equal(n.cap, 8);
	assert_int_equal(n.items[0], 7);
	free(n.items);
}

static bool is_less(const void *item, const void *key)
{
	return *(const uint32_t *)item < *(const uint32_t *)key;
}

static bool is_not_greater(const void *item, const void *key)
{
	return *(const uint32_t *)item <= *(const uint32_t *)key;
}

static void searching_finds_both_ends_of_a_run(void **state)
{
	static const uint32_t items[] = {2, 4, 4, 4, 9};
	static const struct {
		uint32_t key;
		size_t first, end;
	} rows[] = {{0, 0, 0}, {2, 0, 1}, {3, 1, 1}, {4, 1, 4}, {5, 4, 4}, {9, 4, 5}, {10, 5, 5}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const void *key = &rows[i].key;

		assert_int_equal(lower_bound(items, 5, sizeof(*items), is_less, key),
				 rows[i].first);
		assert_int_equal(lower_bound(items, 5, sizeof(*items), is_not_greater, key),
				 rows[i].end);
	}
	assert_int_equal(lower_bound(NULL, 0, 4, is_less, &rows[0].key), 0);
}

static void hashes_are_those_of_fnv_1a(void **state)
{
	(void)state;
	assert_int_equal(hash_bytes(0, NULL, 0), 0xcbf29ce484222325ull);
	assert_int_equal(hash_str(0, STR("a")), 0xaf63dc4c8601ec8cull);
	assert_int_equal(hash_str(0, STR("foobar")), 0x85944171f73967e8ull);
	assert_int_not_equal(hash_str(1, STR("a")), hash_str(0, STR("a")));
}

/* The indexes with a hash, as a number: newest first, one digit each, from 1. */
static unsigned found(const struct hash *h, uint64_t hash)
{
	unsigned out = 0;

	hash_each(i, h, hash)
		out = out * 10 + i + 1;
	return out;
}

static void indexes_are_found_by_hash_newest_first(void **state)
{
	struct hash h = {0};

	(void)state;
	assert_int_equal(found(&h, 5), 0);
	assert_int_equal(hash_add(&h, 5, 2), 0);
	assert_int_equal(hash_add(&h, 5 + 16, 0), 0); /* the same bucket */
	assert_int_equal(hash_add(&h, 5, 3), 0);
	assert_int_equal(hash_add(&h, 5, 1), 0);
	assert_int_equal(found(&h, 5), 243);
	assert_int_equal(found(&h, 21), 1);
	assert_int_equal(found(&h, 6), 0);
	assert_int_equal(hash_add(&h, 5, HASH_END), -E2BIG);
	hash_free(&h);
	assert_int_equal(found(&h, 5), 0);
}

static void indexes_can_be_removed(void **state)
{
	struct hash h = {0};

	(void)state;
	hash_remove(&h, 5, 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(hash_add(&h, 5, i), 0);
	hash_remove(&h, 5, 1);
	assert_int_equal(found(&h, 5), 31);
	hash_remove(&h, 5, 1);
	hash_remove(&h, 5, 2);
	assert_int_equal(found(&h, 5), 1);
	hash_remove(&h, 5, 0);
	assert_int_equal(found(&h, 5), 0);
	hash_free(&h);
}

static void a_growing_table_loses_nothing_and_keeps_the_order(void **state)
{
	struct hash h = {0};

	(void)state;
	for (size_t i = 0; i < 10000; i++)
		assert_int_equal(hash_add(&h, hash_bytes(0, &(size_t){i / 2}, 8), i), 0);
	for (size_t i = 0; i < 5000; i++) {
		uint64_t hash = hash_bytes(0, &i, 8);
		uint32_t first = hash_first(&h, hash), second = hash_next(&h, first);

		assert_int_equal(first, 2 * i + 1);
		assert_int_equal(second, 2 * i);
		assert_int_equal(hash_next(&h, second), HASH_END);
	}
	hash_free(&h);
}

static void room_may_be_made_before(void **state)
{
	struct hash h = {0};

	(void)state;
	assert_int_equal(hash_reserve(&h, 1000), 0);
	assert_int_equal(h.bucket_count, 1024);
	assert_int_equal(hash_first(&h, 1), HASH_END);
	assert_int_equal(hash_add(&h, 1, 999), 0);
	assert_int_equal(hash_first(&h, 1), 999);
	hash_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrays_keep_their_elements_as_they_grow),
		cmocka_unit_test(an_array_that_cannot_grow_is_left_as_it_was),
		cmocka_unit_test(searching_finds_both_ends_of_a_run),
		cmocka_unit_test(hashes_are_those_of_fnv_1a),
		cmocka_unit_test(indexes_are_found_by_hash_newest_first),
		cmocka_unit_test(indexes_can_be_removed),
		cmocka_unit_test(a_growing_table_loses_nothing_and_keeps_the_order),
		cmocka_unit_test(room_may_be_made_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
