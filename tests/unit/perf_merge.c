/* The reader of perf rings: order of time over several rings, losses, and rings that make no sense.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <linux/perf_event.h>

#include "base/buf.h"
#include "watch/perf_merge.h"

#define SIZE 512

struct bench {
	char data[2][SIZE];
	struct perf_ring rings[2];
	struct buf heard; /* "3:map 7 /x; " */
};

static void hear(void *arg, const struct watch_event *e)
{
	static const char *const kinds[] = {"map", "fork", "exec", "exit"};
	struct bench *b = arg;

	buf_printf(&b->heard, "%u:%s %d", (unsigned)e->time, kinds[e->kind], e->pid);
	if (e->kind == PROCESS_FORKED)
		buf_printf(&b->heard, "<%d", e->parent);
	if (e->kind == PROCESS_MAPPED)
		buf_printf(&b->heard, " %.*s", STR_FMT(e->path));
	buf_text(&b->heard, "; ");
}

static void put(struct bench *b, int ring, const void *bytes, size_t len)
{
	struct perf_ring *r = &b->rings[ring];

	for (size_t i = 0; i < len; i++)
		b->data[ring][(r->head + i) % SIZE] = ((const char *)bytes)[i];
	r->head += len;
}

static void put_record(struct bench *b, int ring, uint32_t type, const void *body, size_t len,
		       uint64_t time)
{
	struct perf_event_header head = {.type = type,
					 .size = (uint16_t)(sizeof(head) + len + sizeof(time))};

	put(b, ring, &head, sizeof(head));
	put(b, ring, body, len);
	put(b, ring, &time, sizeof(time));
}

static void put_task(struct bench *b, int ring, uint32_t type, uint32_t pid, uint32_t parent,
		     uint64_t time)
{
	const uint32_t body[6] = {pid, parent, pid, parent};

	put_record(b, ring, type, body, sizeof(body), time);
}

static void put_map(struct bench *b, int ring, uint32_t pid, const char *path, uint64_t time)
{
	struct {
		uint32_t pid, tid;
		uint64_t start, len, offset;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t prot, flags;
		char path[16];
	} body = {.pid = pid, .tid = pid, .start = 0x1000, .len = 0x1000, .inode = 5};

	strncpy(body.path, path, sizeof(body.path) - 1);
	put_record(b, ring, PERF_RECORD_MMAP2, &body, sizeof(body), time);
}

static struct bench *new_bench(uint64_t at)
{
	struct bench *b = calloc(1, sizeof(*b));

	for (int i = 0; i < 2; i++)
		b->rings[i] = (struct perf_ring){b->data[i], SIZE, at, at};
	return b;
}

static void expect(struct bench *b, uint64_t lost, const char *heard)
{
	assert_int_equal(perf_merge(b->rings, 2, UINT64_MAX, hear, b), lost);
	assert_string_equal(b->heard.ptr ? b->heard.ptr : "", heard);
	for (int i = 0; i < 2; i++)
		assert_int_equal(b->rings[i].tail, b->rings[i].head);
	buf_free(&b->heard);
	free(b);
}

static void news_of_two_cpus_were_read_out_of_order(void **state)
{
	struct bench *b = new_bench(0);

	(void)state;
	put_map(b, 0, 7, "/child", 4);
	put_task(b, 0, PERF_RECORD_EXIT, 7, 1, 6);
	put_task(b, 1, PERF_RECORD_FORK, 7, 1, 3);
	put_map(b, 1, 7, "/lib", 5);
	expect(b, 0, "3:fork 7<1; 4:map 7 /child; 5:map 7 /lib; 6:exit 7; ");
}

static void records_run_over_the_end(void **state)
{
	(void)state;
	for (uint64_t at = SIZE - 104; at < SIZE; at += 8) {
		struct bench *b = new_bench(at);

		put_map(b, 0, 7, "/child", 1);
		put_map(b, 0, 8, "/other", 2);
		expect(b, 0, "1:map 7 /child; 2:map 8 /other; ");
	}
}

static void lost_records_are_counted(void **state)
{
	const uint64_t lost[2] = {1, 17};
	struct bench *b = new_bench(0);

	(void)state;
	put_map(b, 0, 7, "/a", 1);
	put_record(b, 0, PERF_RECORD_LOST, lost, sizeof(lost), 2);
	put_map(b, 0, 7, "/b", 3);
	expect(b, 17, "1:map 7 /a; 3:map 7 /b; ");
}

/* The rest of such a ring is passed over and counts as lost; the other ring is read. */
static void a_ring_that_makes_no_sense_is_lost(void **state)
{
	static const struct {
		uint16_t size;
		uint64_t more; /* bytes that are said to follow */
	} rows[] = {{0, 100}, {8, 100}, {15, 100}, {200, 100}, {65535, 100}, {96, 2 * SIZE}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct perf_event_header head = {.type = PERF_RECORD_MMAP2, .size = rows[i].size};
		struct bench *b = new_bench(0);

		put(b, 0, &head, sizeof(head));
		b->rings[0].head += rows[i].more;
		put_task(b, 1, PERF_RECORD_EXIT, 9, 1, 5);
		expect(b, 1, "5:exit 9; ");
	}
}

static void put_name(struct bench *b, int ring, uint32_t pid, uint16_t misc, uint64_t time)
{
	const struct {
		uint32_t pid, tid;
		char name[8];
	} body = {pid, pid, "name"};
	struct perf_ring *r = &b->rings[ring];
	struct perf_event_header head;

	put_record(b, ring, PERF_RECORD_COMM, &body, sizeof(body), time);
	memcpy(&head, r->data + r->head - 32, sizeof(head));
	head.misc = misc;
	memcpy(b->data[ring] + r->head - 32, &head, sizeof(head));
}

static void a_name_that_comes_with_exec_is_news(void **state)
{
	struct bench *b = new_bench(0);

	(void)state;
	put_name(b, 0, 7, 0, 1); /* it has named itself */
	put_name(b, 0, 7, PERF_RECORD_MISC_COMM_EXEC, 2);
	expect(b, 0, "2:exec 7; ");
}

static void later_records_stay(void **state)
{
	struct bench *b = new_bench(0);

	(void)state;
	put_task(b, 0, PERF_RECORD_EXIT, 7, 1, 1);
	put_task(b, 0, PERF_RECORD_EXIT, 8, 1, 3);
	put_task(b, 1, PERF_RECORD_EXIT, 9, 1, 2);
	put_task(b, 1, PERF_RECORD_EXIT, 10, 1, 4);
	assert_int_equal(perf_merge(b->rings, 2, 2, hear, b), 0);
	assert_string_equal(b->heard.ptr, "1:exit 7; 2:exit 9; ");
	buf_free(&b->heard);
	b->heard = (struct buf)BUF_INIT;
	expect(b, 0, "3:exit 8; 4:exit 10; ");
}

static void records_without_a_meaning_are_passed_over(void **state)
{
	struct bench *b = new_bench(0);
	char text[96] = {1};

	(void)state;
	put_record(b, 0, 4711, text, 24, 1);
	put_record(b, 0, PERF_RECORD_FORK, text, 8, 2);	  /* too short */
	put_record(b, 0, PERF_RECORD_MMAP2, text, 64, 3); /* no path */
	memset(text, 'x', sizeof(text));
	put_record(b, 0, PERF_RECORD_MMAP2, text, 80, 4); /* a path without an end */
	put_task(b, 0, PERF_RECORD_EXIT, 9, 1, 5);
	expect(b, 0, "5:exit 9; ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(news_of_two_cpus_were_read_out_of_order),
		cmocka_unit_test(records_run_over_the_end),
		cmocka_unit_test(lost_records_are_counted),
		cmocka_unit_test(a_ring_that_makes_no_sense_is_lost),
		cmocka_unit_test(a_name_that_comes_with_exec_is_news),
		cmocka_unit_test(later_records_stay),
		cmocka_unit_test(records_without_a_meaning_are_passed_over),
	};

	return cmocka_run_group_tests_name("news", tests, NULL, NULL);
}
