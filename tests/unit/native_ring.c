/* Rings in shared memory: many threads write, one reads; writers are killed in the middle; a
 * hostile process writes anything anywhere. Every record is delivered once, whole and in order, or
 * counted as lost.
 *
 * The writers' code is compiled in here, with a hook before each access to shared memory, where
 * another thread gets the CPU or the process is killed. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "help/check.h"
#include "help/hook.h"

#include "user/inside/inside_ring.c"
#include "user/memory/store.h"

#define WRITERS	 6
#define RECORDS	 20000
#define TEXT	 64
#define KILLS	 repetitions(50, 150)
#define GARBAGES repetitions(100, 400)
#define LEFT	 3000 /* records that are left for good */

/* ---- records: printf("%d %d %s", writer, number, text) */

static const struct type fields[] = {
	{.kind = TYPE_INT, .size = 8},
	{.kind = TYPE_INT, .size = 8},
	{.kind = TYPE_STR, .size = TEXT},
};
static const struct format formats[] = {
	{.kind = FORMAT_PRINTF, .fields = fields, .field_count = 3},
	{.kind = FORMAT_CLEAR},
};
static const struct map_def maps[] = {
	{.key = {.kind = TYPE_INT, .size = 8},
	 .value = {.kind = TYPE_INT, .size = 8},
	 .max_entries = 20},
	{.key = {.kind = TYPE_STR, .size = 24}, .value = {.kind = TYPE_HIST}, .max_entries = 4},
	{.key = {.kind = TYPE_INT, .size = 8},
	 .value = {.kind = TYPE_STR, .size = 24},
	 .max_entries = 4},
	{.value = {.kind = TYPE_AVG}, .max_entries = 1},
};
static const struct span no_span;
static const struct program program = {.maps = maps,
				       .map_count = 4,
				       .formats = formats,
				       .format_count = 2,
				       .spans = &no_span,
				       .span_count = 1};

/* The frame that a clause would have, and what it sends of it. */
struct frame {
	uint64_t writer, number;
	uint64_t text[1 + TEXT / 8];
};

static const struct {
	uint64_t head; /* struct emit_shape */
	struct emit_field fields[3];
} data_shape = {UINT64_C(3) << 32,
		{{.at = 0, .words = 1},
		 {.at = 8, .words = 1},
		 {.at = 16, .form = FORM_TEXT, .words = 1 + TEXT / 8}}};
static const struct emit_shape control_shape = {.format = 1, .is_control = 1};

static struct native_store *open_rings(size_t bytes)
{
	const struct native_sizes sizes = {.cpus = engine_cpus() + 1, .ring_bytes = bytes};
	struct native_store *s = NULL;

	assert_int_equal(native_store_open(&program, &sizes, &s, NULL), 0);
	return s;
}

static void send(struct hit *h, uint64_t writer, uint64_t number)
{
	struct frame f = {.writer = writer, .number = number};

	f.text[0] = number % (TEXT + 1);
	memset(&f.text[1], 'a' + (int)(number % 26), f.text[0]);
	inside_emit(h, (const struct emit_shape *)(const void *)&data_shape, (const char *)&f);
}

struct seen {
	uint64_t next[WRITERS]; /* number of each writer's next record, if none is lost */
	uint64_t count, controls;
	uint64_t last_tsc;
	const char *bad; /* the first thing that was wrong */
};

static void judge(struct seen *seen, bool is_good, const char *what)
{
	if (!is_good && !seen->bad)
		seen->bad = what;
}

static int take(void *arg, struct str bytes)
{
	struct seen *seen = arg;
	struct value writer, number, text;
	struct record r;

	if (record_open(&program, bytes, &r)) {
		judge(seen, false, "a record cannot be read");
		return 0;
	}
	if (r.format == &formats[1]) {
		seen->controls++;
		return 0;
	}
	seen->count++;
	if (record_field(&r, &fields[0], &writer) || record_field(&r, &fields[1], &number) ||
	    record_field(&r, &fields[2], &text) || writer.bits >= WRITERS) {
		judge(seen, false, "a record without its fields");
		return 0;
	}
	judge(seen, number.bits >= seen->next[writer.bits], "records of a writer out of order");
	judge(seen, text.bytes.len == number.bits % (TEXT + 1), "a text of another length");
	for (size_t i = 0; i < text.bytes.len; i++)
		judge(seen, text.bytes.ptr[i] == (char)('a' + number.bits % 26), "another text");
	seen->next[writer.bits] = number.bits + 1;
	return 0;
}

static uint64_t lost_records(const struct native_store *s)
{
	struct run_stats stats;

	native_store_stats(s, &stats);
	return stats.lost_records;
}

/* ---- threads */

struct writer {
	struct hit hit;
	uint64_t number, rounds, handled;
	pthread_t thread;
};

static _Atomic unsigned writing;

static void *write_records(void *arg)
{
	struct writer *w = arg;

	for (uint64_t i = 0; i < RECORDS * (w->rounds ? w->rounds : 1); i++) {
		w->hit.tsc = 0;
		send(&w->hit, w->number, i);
	}
	writing--;
	return NULL;
}

static void write_from_threads(struct native_store *s)
{
	struct writer writers[WRITERS];
	struct seen seen = {0};

	hook_set(let_others_run, 200);
	writing = WRITERS;
	for (unsigned i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){.hit = s->hit, .number = i};
		assert_int_equal(
			pthread_create(&writers[i].thread, NULL, write_records, &writers[i]), 0);
	}
	while (writing) {
		assert_true(native_ring_drain(s, take, &seen, NULL, NULL) >= 0);
		usleep(50);
	}
	for (unsigned i = 0; i < WRITERS; i++)
		pthread_join(writers[i].thread, NULL);
	hook_set(NULL, 0);
	assert_true(native_ring_drain(s, take, &seen, NULL, NULL) >= 0);
	assert_string_equal(seen.bad ? seen.bad : "", "");
	assert_true(seen.count > WRITERS * RECORDS / 100);
	assert_int_equal(seen.count + lost_records(s), WRITERS * RECORDS);
	assert_int_equal(s->damaged, 0);
}

static void nothing_is_lost_uncounted(void **state)
{
	struct native_store *s = open_rings(1 << 16);

	(void)state;
	write_from_threads(s);
	native_store_close(s);
}

/* Half a ring has room for all: none is given up, however long its writer is kept waiting. */
static void with_room_for_all_none_is_lost(void **state)
{
	struct native_store *s = open_rings(1 << 26);

	(void)state;
	write_from_threads(s);
	assert_int_equal(s->unfinished, 0);
	assert_int_equal(lost_records(s), 0);
	native_store_close(s);
}

/* The reader gives up whatever it finds unfinished, and its writer comes back. */
static void a_record_is_finished_or_lost_but_never_both(void **state)
{
	struct native_store *s = open_rings(1 << 16);

	(void)state;
	native_ring_end(s);
	write_from_threads(s);
	assert_true(s->unfinished > 0);
	native_store_close(s);
}

/* ---- records that are left: a handler jumped out of the middle */

static uint64_t leave_record(const struct native_store *s, uint64_t len)
{
	struct shared_ring r = shared_ring(&s->hit, s->layout.cpus);
	uint64_t at = 0;
	bool is_pad = true;

	while (is_pad)
		assert_true(claim(&s->hit, &r, len, &at, &is_pad));
	return at;
}

static bool send_to_first(struct native_store *s, uint64_t writer, uint64_t number)
{
	const struct emit_shape *shape = (const struct emit_shape *)(const void *)&data_shape;
	struct frame f = {.writer = writer, .number = number};

	f.text[0] = number % (TEXT + 1);
	memset(&f.text[1], 'a' + (int)(number % 26), f.text[0]);
	s->hit.tsc = read_tsc();
	return emit_shared(&s->hit, s->layout.cpus, record_size(shape, (const char *)&f), shape,
			   (const char *)&f);
}

/* Their thread lives on. What comes after them is delivered at once, and they are counted. */
static void what_is_left_holds_nothing_up(void **state)
{
	struct native_store *s = open_rings(1 << 16);
	struct seen seen = {0};

	(void)state;
	for (uint64_t i = 0; i < LEFT; i++) {
		leave_record(s, GRANULE * (1 + i % 3));
		assert_true(send_to_first(s, 0, i));
		assert_true(native_ring_drain(s, take, &seen, NULL, NULL) >= 0);
		assert_int_equal(seen.count, i + 1);
		assert_true(lost_records(s) + RING_LATE > i);
	}
	native_ring_end(s);
	assert_int_equal(native_ring_drain(s, take, &seen, NULL, NULL), 0);
	assert_string_equal(seen.bad ? seen.bad : "", "");
	assert_int_equal(lost_records(s), LEFT);
	assert_int_equal(s->damaged, 0);
	native_store_close(s);
}

/* One alone does not keep the ring's room for ever, either. */
static void one_record_that_is_left_fills_no_ring(void **state)
{
	struct native_store *s = open_rings(1 << 16);
	struct seen seen = {0};

	(void)state;
	leave_record(s, GRANULE);
	for (uint64_t i = 0; i < LEFT; i++) {
		assert_true(send_to_first(s, 0, i));
		assert_true(native_ring_drain(s, take, &seen, NULL, NULL) >= 0);
	}
	assert_int_equal(seen.count, LEFT);
	assert_int_equal(lost_records(s), 1);
	native_store_close(s);
}

/* A writer comes back when its place belongs to another record, a lap later. */
static void a_late_writer_spoils_no_record_unseen(void **state)
{
	struct native_store *s = open_rings(1 << 16);
	struct shared_ring r = shared_ring(&s->hit, s->layout.cpus);
	const struct emit_shape *shape = (const struct emit_shape *)(const void *)&data_shape;
	struct frame f = {.writer = 1, .number = 7, .text = {7}};
	uint64_t at = leave_record(s, 2 * GRANULE), sent = 0;
	struct seen seen = {0};

	(void)state;
	while (word_load(&r.head->head) < at + r.size + 8 * GRANULE) {
		assert_true(send_to_first(s, 0, sent++));
		if (word_load(&r.head->head) < at + r.size)
			assert_true(native_ring_drain(s, take, &seen, NULL, NULL) >= 0);
	}
	assert_int_equal(s->unfinished, 1);
	write_record((struct ring_record *)(void *)(r.data + (at & (r.size - 1))), at,
		     record_size(shape, (const char *)&f), 1, shape, (const char *)&f);
	((struct ring_record *)(void *)r.data)->tsc = UINT64_MAX;
	assert_false(finish(&s->hit, &r, at, 2 * GRANULE));
	assert_true(native_ring_drain(s, take, &seen, NULL, NULL) >= 0);
	assert_string_equal(seen.bad ? seen.bad : "", "");
	assert_int_equal(seen.next[1], 0);
	assert_in_range(s->unfinished, 2, 3);
	assert_int_equal(seen.count + lost_records(s), sent + 1);
	assert_int_equal(s->damaged, 0);
	native_store_close(s);
}

/* ---- threads with restartable sequences, and handlers that interrupt them */

#if defined(__x86_64__) && __GLIBC_PREREQ(2, 35)
#include <sys/rseq.h>
#include <sys/time.h>

static _Thread_local struct writer *this_writer;
static _Atomic uint64_t from_handlers;

static char *this_rseq(void)
{
	return __rseq_size ? (char *)__builtin_thread_pointer() + __rseq_offset : NULL;
}

static void send_from_handler(int number)
{
	struct hit h;

	(void)number;
	if (!this_writer)
		return;
	h = this_writer->hit;
	h.tsc = 0;
	send(&h, this_writer->number + WRITERS / 2, this_writer->handled++);
	from_handlers++;
}

static void *write_with_rseq(void *arg)
{
	struct writer *w = arg;

	w->hit.rseq = this_rseq();
	this_writer = w;
	write_records(w);
	this_writer = NULL;
	return NULL;
}

static void sequences_are_restarted(void **state)
{
	const struct sigaction act = {.sa_handler = send_from_handler, .sa_flags = SA_RESTART};
	const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
	struct native_store *s = open_rings(1 << 17);
	struct writer writers[WRITERS / 2];
	struct seen seen = {0};
	uint64_t on_cpus = 0; /* bytes that went the quick way */

	(void)state;
	if (!this_rseq())
		skip();
	writing = WRITERS / 2;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (unsigned i = 0; i < WRITERS / 2; i++) {
		writers[i] = (struct writer){.hit = s->hit, .number = i, .rounds = 20};
		assert_int_equal(
			pthread_create(&writers[i].thread, NULL, write_with_rseq, &writers[i]), 0);
	}
	while (writing) {
		assert_true(native_ring_drain(s, take, &seen, NULL, NULL) >= 0);
		usleep(50);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	for (unsigned i = 0; i < WRITERS / 2; i++)
		pthread_join(writers[i].thread, NULL);
	while (native_ring_drain(s, take, &seen, NULL, NULL))
		;
	assert_string_equal(seen.bad ? seen.bad : "", "");
	assert_int_equal(seen.count + lost_records(s), WRITERS / 2 * RECORDS * 20 + from_handlers);
	assert_int_equal(s->damaged, 0);
	for (uint32_t i = 0; i < s->layout.cpus; i++)
		on_cpus += s->rings[i].tail;
	assert_true(on_cpus > 0);
	native_store_close(s);
}
/* A thread writes to the ring of its CPU and to a shared one in turn. A CPU stores what it has
 * written some time later, but takes the time of the next record at once. */
#define TURNS 1000000
#define EMPTY (TEXT + 1) /* the numbers whose text is empty are multiples of this */

static void *write_in_turns(void *arg)
{
	const struct emit_shape *shape = (const struct emit_shape *)(const void *)&data_shape;
	struct writer *w = arg;
	struct frame f = {0};

	w->hit.rseq = this_rseq();
	while (f.number < TURNS * EMPTY) {
		uint64_t size = record_size(shape, (const char *)&f);

		w->hit.tsc = read_tsc();
		if (f.number / EMPTY % 2
			    ? emit_shared(&w->hit, w->hit.layout->cpus, size, shape, (char *)&f)
			    : emit_on_cpu(&w->hit, size, shape, (char *)&f))
			f.number += EMPTY;
	}
	writing--;
	return NULL;
}

static void a_thread_that_changes_rings_keeps_its_order(void **state)
{
	struct native_store *s = open_rings(1 << 14);
	struct writer w = {.hit = s->hit};
	struct seen seen = {0};

	(void)state;
	if (!this_rseq())
		skip();
	writing = 1;
	assert_int_equal(pthread_create(&w.thread, NULL, write_in_turns, &w), 0);
	while (writing)
		assert_true(native_ring_drain(s, take, &seen, NULL, NULL) >= 0);
	pthread_join(w.thread, NULL);
	assert_true(native_ring_drain(s, take, &seen, NULL, NULL) >= 0);
	assert_string_equal(seen.bad ? seen.bad : "", "");
	assert_int_equal(seen.count, TURNS);
	native_store_close(s);
}
#else
static void sequences_are_restarted(void **state)
{
	(void)state;
	skip();
}

static void a_thread_that_changes_rings_keeps_its_order(void **state)
{
	(void)state;
	skip();
}
#endif

/* ---- kills */

static bool is_alive(void *arg, uint32_t tid)
{
	(void)arg;
	return kill((pid_t)tid, 0) == 0;
}

static void the_killed_stop_no_ring(void **state)
{
	struct {
		_Atomic uint64_t begun, done;
	} *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct native_store *s = open_rings(1 << 16);
	struct seen seen = {0};
	uint64_t all;

	(void)state;
	for (unsigned i = 0; i < KILLS; i++) {
		pid_t child = fork();

		if (!child) {
			s->hit.tid = (uint64_t)getpid();
			hook_kill(i * 12345 + 1, 3000);
			for (;; p->done++) {
				p->begun++;
				s->hit.tsc = 0;
				send(&s->hit, 0, p->begun);
			}
		}
		waitpid(child, NULL, 0);
		s->hit.tsc = 0;
		send(&s->hit, 1, i);
		assert_true(native_ring_drain(s, take, &seen, is_alive, NULL) >= 0);
	}
	assert_string_equal(seen.bad ? seen.bad : "", "");
	assert_int_equal(seen.next[1], KILLS);
	all = seen.count + lost_records(s);
	assert_true(all >= p->done + KILLS && all <= p->begun + KILLS);
	assert_true(s->unfinished > 0);
	assert_int_equal(s->damaged, 0);
	native_store_close(s);
	munmap(p, 4096);
}

/* A frame of a killed thread is free again, one of a living thread is not. */
static void frames_of_the_killed_are_freed(void **state)
{
	const struct native_sizes sizes = {.cpus = 2, .scratch_size = 64, .scratch_count = 2};
	struct native_store *s = NULL;
	struct seen seen = {0};
	uint64_t marks[8];
	int mark = 0;
	pid_t child;

	(void)state;
	assert_int_equal(native_store_open(&program, &sizes, &s, NULL), 0);
	child = fork();
	if (!child) {
		s->hit.tid = (uint64_t)getpid();
		inside_scratch_claim(&s->hit, &marks[mark++]);
		kill(getpid(), SIGKILL);
	}
	waitpid(child, NULL, 0);
	s->hit.tid = (uint64_t)getpid();
	assert_non_null(inside_scratch_claim(&s->hit, &marks[mark++]));
	assert_null(inside_scratch_claim(&s->hit, &marks[mark++]));
	assert_int_equal(native_ring_drain(s, take, &seen, is_alive, NULL), 0);
	assert_non_null(inside_scratch_claim(&s->hit, &marks[mark++]));
	assert_null(inside_scratch_claim(&s->hit, &marks[mark++]));
	assert_int_equal(native_ring_drain(s, take, &seen, is_alive, NULL), 0);
	assert_null(inside_scratch_claim(&s->hit, &marks[mark++]));
	native_store_close(s);
}

/* ---- rings of CPUs: what a trampoline does in its restartable sequence, one at a time */

static bool write_as_trampoline(struct native_store *s, uint32_t cpu, uint64_t size, uint64_t tsc)
{
	struct ring_head *head = (struct ring_head *)(void *)(s->base + ring_at(&s->layout, cpu));
	char *data = (char *)head + s->layout.ring_data;
	uint64_t ring = s->layout.ring_size, left = ring - (head->head & (ring - 1));
	struct ring_record record = {.size = (uint32_t)size, .tsc = tsc};
	struct record_head inner = {.size = (uint32_t)(size - sizeof(record)), .format = 1};

	if (left < size) {
		if (head->head + left > word_acquire(&head->tail) + ring)
			return false;
		*(uint64_t *)(void *)(data + (head->head & (ring - 1))) = left | (uint64_t)RING_PAD
											 << 32;
		word_release(&head->head, head->head + left);
	}
	if (head->head + size > word_acquire(&head->tail) + ring)
		return false;
	memcpy(data + (head->head & (ring - 1)), &record, sizeof(record));
	memcpy(data + (head->head & (ring - 1)) + sizeof(record), &inner, sizeof(inner));
	word_release(&head->head, head->head + size);
	return true;
}

static int take_any(void *arg, struct str bytes)
{
	struct seen *seen = arg;
	struct record r;

	judge(seen, !record_open(&program, bytes, &r), "a record cannot be read");
	seen->count++;
	return 0;
}

static void rings_of_cpus_wrap(void **state)
{
	struct native_store *s = open_rings(1 << 16);
	uint64_t random = 99, written = 0;
	struct seen seen = {0};

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t size = 24 + next_random(&random) % 64 * 8;

		written += write_as_trampoline(s, i % 2, size, read_tsc());
		if (next_random(&random) % 200 == 0)
			assert_true(native_ring_drain(s, take_any, &seen, NULL, NULL) >= 0);
	}
	assert_true(native_ring_drain(s, take_any, &seen, NULL, NULL) >= 0);
	assert_int_equal(native_ring_drain(s, take_any, &seen, NULL, NULL), 0);
	assert_string_equal(seen.bad ? seen.bad : "", "");
	assert_int_equal(seen.count, written);
	assert_int_equal(s->damaged, 0);
	native_store_close(s);
}

/* Records of four rings come out in the order of their time; those of the future wait. */
static int take_in_order(void *arg, struct str bytes)
{
	struct seen *seen = arg;
	struct value writer, number;
	struct record r;

	assert_int_equal(record_open(&program, bytes, &r), 0);
	assert_int_equal(record_field(&r, &fields[0], &writer), 0);
	assert_int_equal(record_field(&r, &fields[1], &number), 0);
	assert_int_equal(number.bits, seen->count);
	seen->count++;
	return 0;
}

static void records_are_in_order(void **state)
{
	struct native_store *s = open_rings(1 << 20);
	uint64_t tsc = read_tsc() - 100000;
	struct seen seen = {0};

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		s->hit.tsc = tsc + i;
		send(&s->hit, 0, i);
		if (i % 100 == 0)
			usleep(1);
	}
	s->hit.tsc = read_tsc() + UINT64_C(1000000000000);
	send(&s->hit, 0, 1000);
	assert_int_equal(native_ring_drain(s, take_in_order, &seen, NULL, NULL), 1000);
	assert_int_equal(seen.count, 1000);
	native_store_close(s);
}

static void control_records_are_never_lost(void **state)
{
	struct native_store *s = open_rings(1 << 16);
	struct seen seen = {0};

	(void)state;
	for (uint64_t i = 0; i < 5000; i++)
		send(&s->hit, 0, i);
	assert_true(lost_records(s) > 0);
	inside_emit(&s->hit, &control_shape, NULL);
	inside_emit(&s->hit, &control_shape, NULL);
	assert_true(native_ring_drain(s, take, &seen, NULL, NULL) >= 0);
	assert_int_equal(seen.controls, 2);
	assert_int_equal(seen.count + lost_records(s), 5000);
	native_store_close(s);
}

/* ---- a hostile process */

static int ignore_entry(void *arg, struct str key, struct str value)
{
	struct cursor c = cursor_of(value.ptr, value.len, false);
	struct value v;

	(void)key;
	(void)value_decode(arg, &c, &v);
	return 0;
}

static void use_everything(struct native_store *s)
{
	const struct map_store m = native_store_maps(s);
	struct seen seen = {0};
	uint64_t slot[16] = {0};

	native_ring_drain(s, take, &seen, NULL, NULL);
	for (uint32_t i = 0; i < 4; i++) {
		const struct map_shape *shape = &s->shapes[i];
		uint64_t key[4] = {i};

		assert_int_equal(map_each(&m, i, ignore_entry, (void *)(uintptr_t)&maps[i].value),
				 0);
		if (i == 0)
			inside_map_add(&s->hit, shape, key, 1, 0);
		else if (i == 2)
			inside_map_put(&s->hit, shape, key, slot, 0);
		else
			inside_aggregate(&s->hit, shape, key, 1, 0);
		if (i == 2)
			inside_map_copy(&s->hit, shape, key, slot);
		else if (i != 1)
			inside_map_get(&s->hit, shape, key);
		inside_map_del(&s->hit, shape, key);
		map_zero(&m, i);
		map_clear(&m, i);
	}
	s->hit.tsc = 0;
	send(&s->hit, 0, 1);
	inside_emit(&s->hit, &control_shape, NULL);
	native_ring_drain(s, take, &seen, NULL, NULL);
}

/* Words of all kinds, in the places that matter most: everything but the rings' data. */
static void write_garbage(struct native_store *s, uint64_t *random)
{
	unsigned words = 1 + (unsigned)(next_random(random) % 3000);

	for (unsigned i = 0; i < words; i++) {
		uint64_t value = next_random(random), at = next_random(random);
		uint64_t ring = at % ring_count(&s->layout);

		if (next_random(random) % 4)
			at %= s->layout.rings_at;
		else
			at = ring_at(&s->layout, (uint32_t)ring) + at % (3 * LAYOUT_PAGE);
		value >>= next_random(random) % 64;
		memcpy(s->base + at / 8 * 8, &value, 8);
	}
}

static void garbage_does_no_harm(void **state)
{
	uint64_t random = 20261122;

	(void)state;
	for (unsigned i = 0; i < GARBAGES; i += 20) {
		struct native_store *s = open_rings(1 << 16);

		for (unsigned k = 0; k < 20; k++) {
			write_garbage(s, &random);
			use_everything(s);
		}
		native_store_close(s);
	}
}

/* One that goes on writing: the tracer must still come back. */
static void a_process_that_never_stops_cannot_keep_the_tracer(void **state)
{
	struct native_store *s = open_rings(1 << 16);
	time_t end = time(NULL) + 2;
	pid_t child = fork();
	uint64_t random = 5;

	(void)state;
	while (!child)
		write_garbage(s, &random);
	for (unsigned rounds = 0; time(NULL) < end; rounds++) {
		struct timespec before, after;

		clock_gettime(CLOCK_MONOTONIC, &before);
		use_everything(s);
		clock_gettime(CLOCK_MONOTONIC, &after);
		assert_true(after.tv_sec - before.tv_sec < 5);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	native_store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost_uncounted),
		cmocka_unit_test(with_room_for_all_none_is_lost),
		cmocka_unit_test(a_record_is_finished_or_lost_but_never_both),
		cmocka_unit_test(what_is_left_holds_nothing_up),
		cmocka_unit_test(one_record_that_is_left_fills_no_ring),
		cmocka_unit_test(a_late_writer_spoils_no_record_unseen),
		cmocka_unit_test(sequences_are_restarted),
		cmocka_unit_test(a_thread_that_changes_rings_keeps_its_order),
		cmocka_unit_test(the_killed_stop_no_ring),
		cmocka_unit_test(frames_of_the_killed_are_freed),
		cmocka_unit_test(rings_of_cpus_wrap),
		cmocka_unit_test(records_are_in_order),
		cmocka_unit_test(control_records_are_never_lost),
		cmocka_unit_test(garbage_does_no_harm),
		cmocka_unit_test(a_process_that_never_stops_cannot_keep_the_tracer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
