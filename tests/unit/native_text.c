/* Reading memory inside a traced process: what is read is what the interpreter reads, byte by byte,
 * whichever way it is read; and no address makes it fault. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "help/check.h"

#include "user/memory/store.h"
#include "user/inside/words.h"
#include "program/type.h"
#include "unwind/unwind.h"

#define PAGE  4096u
#define SIZE  64u
#define TRIES 20000

static const struct span no_span;
static const struct program program = {.spans = &no_span, .span_count = 1};

/* Two pages with nothing to read around them. */
static char *open_pages(void)
{
	char *at = mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_int_equal(mprotect(at + PAGE, 2 * PAGE, PROT_READ | PROT_WRITE), 0);
	return at + PAGE;
}

static struct kept_page one = {.no_calls = 1}; /* no calls may be made */

static uint64_t faults(const struct native_store *s)
{
	const uint64_t *counts = (const uint64_t *)(const void *)(s->base + s->layout.faults_at);

	return counts[FAULT_READ];
}

/* What the slot must be, as ops.h says it. */
static void expect(const char *pages, const char *address, uint64_t want, uint64_t limit,
		   uint64_t *slot)
{
	uint64_t most = want < limit ? want : limit, len = 0;
	const char *end = pages + 2 * PAGE;
	uint32_t flags = 0;

	memset(slot, 0, 8 + SIZE);
	while (len < most && address + len >= pages && address + len < end && address[len])
		len++;
	if (len < most && (address + len < pages || address + len >= end)) {
		slot[0] = (uint64_t)TEXT_UNREADABLE << 32;
		return;
	}
	if (len == most && want > limit && (address + len >= end || address[len]))
		flags = TEXT_CUT;
	slot[0] = len | (uint64_t)flags << 32;
	memcpy(&slot[1], address, len);
}

static void compare_text(struct native_store *s, struct hit *h, const char *pages,
			 const char *address, uint64_t want, uint64_t limit)
{
	uint64_t slot[1 + SIZE / 8], expected[1 + SIZE / 8], before = faults(s);

	memset(slot, 0xee, sizeof(slot));
	expect(pages, address, want, limit, expected);
	inside_str(h, slot, (uintptr_t)address, want, INSIDE_SIZES(SIZE | INSIDE_PADDED, limit), 0);
	assert_memory_equal(slot, expected, sizeof(slot));
	assert_int_equal(faults(s) - before, slot[0] >> 32 == TEXT_UNREADABLE);
}

static void texts_are_read_alike(void **state)
{
	const struct native_sizes sizes = {.cpus = 1};
	char *pages = open_pages();
	struct process_page direct = {.range_count = 1}, split = {.range_count = 2};
	struct process_page *processes[] = {NULL, &direct, &split};
	struct native_store *s = NULL;

	(void)state;
	direct.ranges[0] = (struct memory_range){(uintptr_t)pages, (uintptr_t)pages + 2 * PAGE};
	/* The end of the first page is in no range. */
	split.ranges[0] = (struct memory_range){(uintptr_t)pages, (uintptr_t)pages + PAGE - 5};
	split.ranges[1] =
		(struct memory_range){(uintptr_t)pages + PAGE, (uintptr_t)pages + 2 * PAGE};
	assert_int_equal(native_store_open(&program, &sizes, &s, NULL), 0);
	srandom(1);
	for (unsigned i = 0; i < 2 * PAGE; i++)
		pages[i] = random() % 40 ? (char)(1 + random() % 255) : '\0';
	memset(pages + 2 * PAGE - 100, 'x', 100);
	for (unsigned i = 0; i < TRIES; i++) {
		struct hit h = s->hit;
		uint64_t limit = (uint64_t)random() % (SIZE + 1);
		uint64_t want = random() % 3 ? UINT64_MAX : (uint64_t)random() % 100;
		const char *address = pages + random() % (2 * PAGE + 10);

		if (random() % 3 == 0)
			address = pages + (random() % 2 ? PAGE : 2 * PAGE) - random() % 80;
		h.kept = NULL;
		h.process = processes[random() % 3];
		compare_text(s, &h, pages, address, want, limit ? limit : SIZE);
	}
	munmap(pages - PAGE, 4 * PAGE);
	native_store_close(s);
}

static void no_address_faults(void **state)
{
	static const uint64_t bad[] = {
		1,	    4095,	    0x7fffffffffff,   0x800000000000, 0xffff800000000000,
		UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 63};
	const struct native_sizes sizes = {.cpus = 1};
	struct native_store *s = NULL;
	uint64_t slot[1 + SIZE / 8], fp_sp[2];
	struct hit h;

	(void)state;
	assert_int_equal(native_store_open(&program, &sizes, &s, NULL), 0);
	h = s->hit;
	for (unsigned i = 0; i < 2 * sizeof(bad) / sizeof(*bad); i++) {
		uint64_t address = bad[i / 2];

		h.kept = i % 2 ? &one : NULL;
		inside_str(&h, slot, address, UINT64_MAX, INSIDE_SIZES(SIZE, SIZE), 0);
		assert_int_equal(slot[0] >> 32, TEXT_UNREADABLE);
		inside_buf(&h, slot, address, 10, INSIDE_SIZES(SIZE, SIZE), 0);
		assert_int_equal(slot[0] >> 32, TEXT_UNREADABLE);
		assert_int_equal(inside_load(&h, address, 8, 0), 0);
		fp_sp[0] = fp_sp[1] = address;
		inside_ustack(&h, slot, SIZE, 77, fp_sp, 5);
		assert_int_equal(slot[0] & UINT32_MAX, 1);
		assert_int_equal(slot[0] >> 32, 5 | UNWIND_CHAINED << STACK_PID_BITS);
		assert_int_equal(slot[1], 77);
	}
	assert_int_equal(faults(s), 3 * 2 * sizeof(bad) / sizeof(*bad));
	inside_str(&h, slot, 0, UINT64_MAX, INSIDE_SIZES(SIZE, SIZE), 0);
	assert_int_equal(slot[0], (uint64_t)TEXT_NULL << 32);
	native_store_close(s);
}

static void numbers_are_extended(void **state)
{
	const struct native_sizes sizes = {.cpus = 1};
	const uint64_t value = 0xfedcba9876543281;
	struct native_store *s = NULL;
	struct hit h;

	(void)state;
	assert_int_equal(native_store_open(&program, &sizes, &s, NULL), 0);
	h = s->hit;
	h.kept = NULL;
	assert_int_equal(inside_load(&h, (uintptr_t)&value, 1, 0), 0x81);
	assert_int_equal(inside_load(&h, (uintptr_t)&value, 1 | INSIDE_SIGNED, 0), -0x7f);
	assert_int_equal(inside_load(&h, (uintptr_t)&value, 4, 0), 0x76543281);
	assert_int_equal(inside_load(&h, (uintptr_t)&value, 8, 0), value);
	native_store_close(s);
}

static uint64_t bits_of(double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

static uint64_t narrow_bits_of(float number)
{
	uint32_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return UINT64_C(0x1234567800000000) | bits;
}

static uint64_t truncated(double number)
{
	return (uint64_t)(number >= -0x1p63 && number < 0x1p63 ? (int64_t)number : INT64_MIN);
}

static void floats_are_truncated(void **state)
{
	static const double numbers[] = {0,
					 -0.0,
					 0.5,
					 -0.99,
					 1,
					 -1,
					 1.5,
					 1e18,
					 -1e18,
					 0x1p62,
					 0x1p63,
					 -0x1p63,
					 1e300,
					 -1e300,
					 5e-324,
					 123456.789,
					 0x1.fffffffffffffp62};

	(void)state;
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		double n = numbers[i];

		assert_int_equal(inside_f2i(bits_of(n), 8), truncated(n));
		assert_int_equal(inside_f2i(narrow_bits_of((float)n), 4),
				 truncated((double)(float)n));
	}
	assert_int_equal(inside_f2i(bits_of(__builtin_nan("")), 8), INT64_MIN);
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t bits =
			(uint64_t)random() << 40 ^ (uint64_t)random() << 20 ^ (uint64_t)random();
		double n;

		memcpy(&n, &bits, sizeof(n));
		assert_int_equal(inside_f2i(bits, 8), truncated(n));
	}
}

static void texts_are_compared(void **state)
{
	uint64_t a[3] = {9}, b[3] = {9};

	(void)state;
	memcpy(&a[1], "abcdefghi", 9);
	memcpy(&b[1], "abcdefghj", 9);
	assert_int_equal(inside_strcmp(a, b, UINT64_MAX), 1);
	assert_int_equal(inside_strcmp(a, b, 8), 0);
	assert_int_equal(inside_strcmp(a, b, 0), 0);
	b[0] = 8;
	assert_int_equal(inside_strcmp(a, b, UINT64_MAX), 1);
	assert_int_equal(inside_strcmp(a, b, 8), 0);
	assert_int_equal(inside_strcmp(a, a, UINT64_MAX), 0);
}

static void literals_and_names_fill_slots(void **state)
{
	const struct layout layout = {.span_count = 1};
	uint64_t faults[FAULT_KINDS] = {0};
	struct hit h = {.layout = &layout, .base = (char *)faults};
	uint64_t slot[4];

	(void)state;
	memset(slot, 0xee, sizeof(slot));
	inside_text(slot, 24 | INSIDE_PADDED, "hello", 5);
	assert_memory_equal(slot, "\5\0\0\0\0\0\0\0hello\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32);
	inside_text(slot, 8, "too long", 8);
	assert_int_equal(slot[0], 8);
	inside_text(slot, 8, "too long!", 9);
	assert_int_equal(slot[0], 8 | (uint64_t)TEXT_CUT << 32);
	h.kept = &one;
	inside_comm(&h, slot, 24, 0);
	assert_int_equal(slot[0], (uint64_t)TEXT_UNREADABLE << 32);
	assert_int_equal(inside_uid(&h, 0), 0);
	assert_int_equal(faults[FAULT_ASK], 2);
	h.kept = NULL;
	inside_comm(&h, slot, 24, 0);
	assert_int_equal(slot[0], strlen("native_text"));
	assert_memory_equal(&slot[1], "native_text", 11);
}

#if defined(__aarch64__)
/* The kernel clears what is beyond 128 bits in a system call, and the predicates. */
static void calls_keep_long_vectors(void **state)
{
	unsigned char vector[256] = {0}, predicate[32] = {0};
	unsigned long length;

	(void)state;
	if (!(getauxval(AT_HWCAP) & HWCAP_SVE))
		skip();
	__asm__ volatile(".arch armv8.2-a+sve\n rdvl %0, #1" : "=r"(length));
	__asm__ volatile("dup z8.b, #0x55\n ptrue p4.h");
	hidden_call(VECTORS_SVE, CALL_GETPID, 0, 0, 0, 0, 0, 0);
	__asm__ volatile("str z8, [%0]\n str p4, [%1]" ::"r"(vector), "r"(predicate) : "memory");
	for (unsigned long i = 0; i < length; i++)
		assert_int_equal(vector[i], 0x55);
	for (unsigned long i = 0; i < length / 8; i++)
		assert_int_equal(predicate[i], 0x55);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_read_alike),
		cmocka_unit_test(no_address_faults),
		cmocka_unit_test(numbers_are_extended),
		cmocka_unit_test(floats_are_truncated),
		cmocka_unit_test(texts_are_compared),
		cmocka_unit_test(literals_and_names_fill_slots),
#if defined(__aarch64__)
		cmocka_unit_test(calls_keep_long_vectors),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
