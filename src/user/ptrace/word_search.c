/* Searching the memory of a process for words that lead into some code: no thread can return there
 * if no word in any private writable memory does, wherever the program has its stacks. Such a word
 * is the address after a call, or the instruction pointer in the frame of a signal. What is below
 * the stack pointer of a thread, in its own stack, is over: in its red zone functions keep data,
 * and never where they return to.
 *
 * Only pages are read that the process has written: reading others would give it page tables, and a
 * program may have terabytes of address space. */
#include "user/ptrace/word_search.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "symbols/maps.h"
#include "user/ptrace/threads.h"
#include "user/ptrace/tracee_state.h"

#define MEMORY_MOST  (1024u << 20) /* bytes that are read */
#define CPU_MOST_NS  100000000u
#define CHUNK	     (128u << 10)
#define ENTRIES	     4096 /* of the page map that are read at once */
#define RUNS	     256
#define PAGE_WRITTEN (UINT64_C(3) << 62) /* present or swapped: /proc/PID/pagemap */
#define PAGE_OF_FILE (UINT64_C(1) << 61)

/* ---- the mappings */

/* A mapping that the process may have written, and may have protected since. */
static bool is_own(const struct mapped_file *m)
{
	bool is_readable = m->access[0] == 'r' && m->access[2] != 'x';

	return m->access[3] == 'p' && (m->access[1] == 'w' || is_readable);
}

static int take_mapping(void *arg, const struct mapped_file *m)
{
	struct mappings *all = arg;
	const struct mapped_range *last = all->count ? &all->all[all->count - 1] : NULL;

	if (array_grow(all->all, all->count, all->cap))
		return -ENOMEM;
	all->all[all->count] = (struct mapped_range){
		.start = m->start,
		.end = m->end,
		.device = m->device,
		.inode = m->inode,
		.is_own = is_own(m),
		.is_shared = m->access[3] == 's' && str_starts(m->path, STR("/memfd:nopal")),
		.is_code = m->access[2] == 'x' && !m->inode,
		.is_none = m->access[0] == '-' && m->access[1] == '-' && m->access[2] == '-',
		.is_stack = str_eq_text(m->path, "[stack]"),
	};
	last = all->count ? &all->all[all->count - 1] : NULL;
	all->all[all->count].is_guarded = last && last->is_none && last->end == m->start;
	all->count++;
	return 0;
}

int mappings_read(struct mappings *all, pid_t pid)
{
	struct buf text = BUF_INIT;
	int err = maps_read(pid, &text);

	all->count = 0;
	if (!err)
		err = maps_parse_all(buf_as_str(&text), pid, take_mapping, all);
	buf_free(&text);
	return err;
}

struct mapped_range *mappings_at(const struct mappings *all, uint64_t at)
{
	size_t low = 0, high = all->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all->all[middle].end <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < all->count && all->all[low].start <= at ? &all->all[low] : NULL;
}

/* ---- what is over */

static void count_user(const struct mappings *all, uint64_t at)
{
	struct mapped_range *m = mappings_at(all, at);

	if (m)
		m->users++;
}

/* The stack of this thread alone: the main thread's, or one with a guard below it and the thread's
 * own data above. */
static bool is_stack_of(const struct mapped_range *m, const struct place *at)
{
	return m && m->is_own && m->users == 1 &&
	       (m->is_stack || (m->is_guarded && at->tp >= at->sp && at->tp < m->end));
}

/* Where the living part of each thread's stack begins. */
static void find_stacks(const struct mappings *all, const struct threads *t)
{
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < t->count; i++) {
			struct place at = thread_place(&t->all[i]);
			struct mapped_range *m = mappings_at(all, at.sp);

			if (t->all[i].is_ended)
				continue;
			if (pass && is_stack_of(m, &at))
				m->start = at.sp & ~UINT64_C(7);
			if (pass)
				continue;
			count_user(all, at.sp);
			if (mappings_at(all, at.tp) != m)
				count_user(all, at.tp);
		}
}

/* ---- which pages there are */

struct written_run {
	uint64_t start, end, categories;
};

/* A call of its page map, since Linux 6.7, as its uapi/linux/fs.h has it. */
struct scan {
	uint64_t size, flags;
	uint64_t start, end, walk_end;
	uint64_t runs, run_count;
	uint64_t most_pages;
	uint64_t inverted, mask, any_of, wanted;
};

#define PAGEMAP_SCAN_CALL _IOWR('f', 16, struct scan)
#define SCAN_FILE	  (UINT64_C(1) << 2)
#define SCAN_PRESENT	  (UINT64_C(1) << 3)
#define SCAN_SWAPPED	  (UINT64_C(1) << 4)

static int scan_pages(int pagemap, uint64_t *at, uint64_t end, struct written_run out[RUNS])
{
	struct scan scan = {.size = sizeof(scan),
			    .start = *at,
			    .end = end,
			    .runs = (uint64_t)(uintptr_t)out,
			    .run_count = RUNS,
			    .inverted = SCAN_FILE,
			    .mask = SCAN_FILE,
			    .any_of = SCAN_PRESENT | SCAN_SWAPPED,
			    .wanted = SCAN_PRESENT};
	int count = ioctl(pagemap, PAGEMAP_SCAN_CALL, &scan);

	if (count < 0)
		return -errno;
	*at = count < RUNS ? end : scan.walk_end;
	return count;
}

static int read_pages(int pagemap, uint64_t *at, uint64_t end, struct written_run out[RUNS])
{
	uint64_t entries[ENTRIES], page = (uint64_t)sysconf(_SC_PAGESIZE), first = *at / page;
	uint64_t pages = (end - *at + page - 1) / page;
	ssize_t len = pread(pagemap, entries, (pages < ENTRIES ? pages : ENTRIES) * 8,
			    (off_t)(first * 8));
	int count = 0;
	ssize_t i;

	if (len <= 0)
		return len ? -errno : -ESRCH;
	for (i = 0; i < len / 8; i++) {
		uint64_t start = (first + (uint64_t)i) * page;

		if (!(entries[i] & PAGE_WRITTEN) || entries[i] & PAGE_OF_FILE)
			continue;
		if (count && out[count - 1].end == start)
			out[count - 1].end += page;
		else if (count < RUNS)
			out[count++] = (struct written_run){start, start + page, 0};
		else
			break;
	}
	*at = (first + (uint64_t)i) * page;
	return count;
}

/* ---- the words */

struct word_search {
	struct inject *x;
	const struct code_areas *areas;
	uint64_t low, span; /* of all areas */
	word_fn *fn;
	void *arg;
	uint64_t *words; /* CHUNK bytes */
	uint64_t bytes;	 /* that were read */
	struct timespec began;
	int pagemap;
	bool can_scan;
};

const struct code_area *area_at(const struct code_areas *areas, uint64_t at)
{
	size_t low = 0, high = areas->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (areas->all[middle].end <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < areas->count && areas->all[low].start <= at ? &areas->all[low] : NULL;
}

static uint64_t cpu_time_since(const struct timespec *began)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)(now.tv_sec - began->tv_sec) * 1000000000u + (uint64_t)now.tv_nsec -
	       (uint64_t)began->tv_nsec;
}

static bool is_over_budget(const struct word_search *s)
{
	return s->bytes > MEMORY_MOST || cpu_time_since(&s->began) > CPU_MOST_NS;
}

#if defined(__x86_64__)
#define USER_CS	    0x33
#define FLAGS_ALL   (UINT64_C(1) << 22) /* above all flags */
#define FLAG_ALWAYS 2
#define CALL_MOST   7 /* bytes */

/* Is the instruction before this address a call, e8 rel32 or ff /2? */
static bool is_after_call(struct inject *x, uint64_t at)
{
	uint8_t code[CALL_MOST];

	if (inject_read(x, at - sizeof(code), code, sizeof(code)) || code[2] == 0xe8)
		return true;
	for (unsigned i = 0; i + 1 < sizeof(code); i++)
		if (code[i] == 0xff && (code[i + 1] >> 3 & 7) == 2)
			return true;
	return false;
}

/* In the frame of a signal the flags and the code segment come after the instruction pointer:
 * struct sigcontext of the kernel's asm/sigcontext.h. */
static bool is_in_frame(const struct word_search *s, size_t i, size_t count)
{
	return i + 2 >= count || ((s->words[i + 1] & FLAG_ALWAYS) && s->words[i + 1] < FLAGS_ALL &&
				  (s->words[i + 2] & 0xffff) == USER_CS);
}

/* Many numbers look like an address, of a program whose addresses are small. */
static bool may_return(const struct word_search *s, size_t i, size_t count)
{
	return is_in_frame(s, i, count) || is_after_call(s->x, s->words[i]);
}
#else
static bool may_return(const struct word_search *s, size_t i, size_t count)
{
	(void)s, (void)i, (void)count;
	return true;
}
#endif

/* True: `fn` has seen enough. */
static bool look_at_words(const struct word_search *s, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct code_area *area;

		if (s->words[i] - s->low >= s->span)
			continue;
		area = area_at(s->areas, s->words[i]);
		if (area && may_return(s, i, count) && s->fn(s->arg, area, s->words[i]))
			return true;
	}
	return false;
}

static int search_run(struct word_search *s, uint64_t start, uint64_t end)
{
	while (start < end) {
		size_t len = end - start < CHUNK ? (size_t)(end - start) : CHUNK;
		int err = inject_read(s->x, start, s->words, len);

		if (err)
			return err;
		if (look_at_words(s, len / 8))
			return 1;
		s->bytes += len;
		if (is_over_budget(s))
			return -E2BIG;
		start += len;
	}
	return 0;
}

static int next_runs(struct word_search *s, uint64_t *at, uint64_t end,
		     struct written_run out[RUNS])
{
	int count = s->can_scan ? scan_pages(s->pagemap, at, end, out) : -ENOTTY;

	if (count >= 0)
		return count;
	s->can_scan = false;
	return read_pages(s->pagemap, at, end, out);
}

static int search_mapping(struct word_search *s, const struct mapped_range *m)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), at = m->start & ~(page - 1);
	int err = 0;

	while (at < m->end && !err) {
		struct written_run runs[RUNS];
		int count = next_runs(s, &at, m->end, runs);

		if (count < 0)
			return count;
		for (int i = 0; i < count && !err; i++)
			err = search_run(s, runs[i].start < m->start ? m->start : runs[i].start,
					 runs[i].end);
		if (!err && is_over_budget(s))
			err = -E2BIG;
	}
	return err;
}

static int open_pagemap(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int search_all(struct word_search *s, const struct mappings *all)
{
	int err = 0;

	for (size_t i = 0; i < all->count && !err; i++)
		if (all->all[i].is_own && !all->all[i].is_ours)
			err = search_mapping(s, &all->all[i]);
	return err;
}

int memory_search(struct inject *x, const struct threads *t, struct mappings *all,
		  const struct code_areas *areas, word_fn *fn, void *arg)
{
	struct word_search s = {.x = x, .areas = areas, .fn = fn, .arg = arg, .can_scan = true};
	int err;

	if (!areas->count)
		return 0;
	s.low = areas->all[0].start;
	s.span = areas->all[areas->count - 1].end - s.low;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &s.began);
	find_stacks(all, t);
	s.words = malloc(CHUNK);
	s.pagemap = open_pagemap(x->pid);
	err = !s.words ? -ENOMEM : s.pagemap < 0 ? s.pagemap : search_all(&s, all);
	if (s.pagemap >= 0)
		close(s.pagemap);
	free(s.words);
	return err < 0 ? err : 0;
}
