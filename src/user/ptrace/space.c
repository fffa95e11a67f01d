/* The address space of another process: what it has mapped, what it may map soon, and what is
 * planned to be mapped for it. */
#include "user/ptrace/space.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/array.h"
#include "base/proc.h"
#include "symbols/maps.h"

#define LOWEST	     0x10000u	  /* vm.mmap_min_addr, and pointers near NULL */
#define HEAP_GROWTH  (1ull << 28) /* above the break: kept free where there is a choice */
#define HEAP_USUAL   (1ull << 24) /* ... and where a site has no other place than above this */
#define HEAP_LEAST   (1ull << 20) /* ... and always: without more, malloc maps memory */
#define STACK_GROWTH (1ull << 27) /* ... and below the main thread's stack, at least */
#define STACK_MOST   (1ull << 36) /* a larger limit is none: memory is mapped elsewhere then */
#define STAT_BREAK   47		  /* where the heap begins: a field of /proc/PID/stat */

/* ---- what is mapped */

static int add_range(struct space *s, const struct range *r)
{
	if (array_grow(s->ranges, s->count, s->cap))
		return -ENOMEM;
	s->ranges[s->count++] = *r;
	return 0;
}

static int add_file(struct space *s, const struct range *r)
{
	if (array_grow(s->files, s->file_count, s->file_cap))
		return -ENOMEM;
	s->files[s->file_count++] = *r;
	return 0;
}

/* Where the heap grows to from `end`. */
static int add_heap(struct space *s, uint64_t end)
{
	/* clang-format off */
	const struct range parts[] = {
		{.start = end,		    .end = end + HEAP_LEAST},
		{.start = end + HEAP_LEAST, .end = end + HEAP_USUAL,  .spare = 2},
		{.start = end + HEAP_USUAL, .end = end + HEAP_GROWTH, .spare = 1},
	};
	/* clang-format on */
	int err = 0;

	for (size_t i = 0; i < COUNT(parts) && !err; i++)
		err = add_range(s, &parts[i]);
	return err;
}

/* How far below its top the main thread's stack may grow. */
static uint64_t stack_room(pid_t pid)
{
	struct rlimit limit = {.rlim_cur = 0};

	if (prlimit(pid, RLIMIT_STACK, NULL, &limit) || limit.rlim_cur > STACK_MOST)
		return STACK_GROWTH;
	return limit.rlim_cur > STACK_GROWTH ? limit.rlim_cur : STACK_GROWTH;
}

/* The mapping of the main thread's stack, with what it may become. */
static void add_stack_room(struct range *r, pid_t pid)
{
	uint64_t room = stack_room(pid), low = r->end > room ? r->end - room : 0;

	r->start -= r->start < STACK_GROWTH ? r->start : STACK_GROWTH;
	if (low < r->start)
		r->start = low;
}

static int take_mapping(void *arg, const struct mapped_file *m)
{
	struct space *s = arg;
	struct range r = {.start = m->start,
			  .end = m->end,
			  .offset = m->offset,
			  .inode = m->inode,
			  .is_code = m->access[2] == 'x',
			  .is_writable = m->access[1] == 'w',
			  .is_vdso = str_eq_text(m->path, "[vdso]")};
	int err = m->inode ? add_file(s, &r) : 0;

	if (!err && str_eq_text(m->path, "[heap]"))
		err = add_heap(s, m->end);
	else if (str_eq_text(m->path, "[stack]"))
		add_stack_room(&r, m->pid);
	return err ? err : add_range(s, &r);
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

int space_read(struct space *s, pid_t pid)
{
	struct buf text = BUF_INIT;
	uint64_t heap = process_stat_number(pid, STAT_BREAK);
	int err = maps_read(pid, &text);

	s->count = s->file_count = 0;
	if (!err)
		err = maps_parse_all(buf_as_str(&text), pid, take_mapping, s);
	if (!err && heap)
		err = add_heap(s, heap);
	if (!err && s->count)
		qsort(s->ranges, s->count, sizeof(*s->ranges), by_start);
	buf_free(&text);
	return err;
}

void space_free(struct space *s)
{
	free(s->ranges);
	free(s->files);
	free(s->planned);
	free(s->pieces);
	*s = (struct space){0};
}

/* ---- what is free, and what is planned */

static uint64_t page_of(uint64_t address)
{
	return address & ~(uint64_t)(PAGE - 1);
}

static bool overlaps(const struct range *r, size_t count, uint64_t start, uint64_t end,
		     unsigned spare)
{
	for (size_t i = 0; i < count; i++)
		if (r[i].start < end && start < r[i].end && !(r[i].spare && r[i].spare <= spare))
			return true;
	return false;
}

bool space_is_planned(const struct space *s, uint64_t start, uint64_t end)
{
	return overlaps(s->planned, s->planned_count, start, end, 0);
}

uint64_t space_top(const struct space *s)
{
	uint64_t top = UINT64_C(1) << 33 /* above what map.c begins with */;

	for (size_t i = 0; i < s->count; i++)
		if (s->ranges[i].end <= SPACE_TOP && s->ranges[i].end > top)
			top = s->ranges[i].end;
	return top;
}

bool space_is_code(const struct space *s, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct range *r = &s->ranges[i];

		if (r->is_code && !r->inode && start >= r->start && end <= r->end && start < end)
			return !((start | end) & (PAGE - 1));
	}
	return false;
}

bool space_is_mapped(const struct space *s, uint64_t start, size_t size)
{
	uint64_t end = start + size;

	for (uint64_t page = page_of(start); page < end; page += PAGE)
		if (!overlaps(s->planned, s->mapped_count, page, page + PAGE, 0))
			return false;
	return true;
}

bool space_has_room(const struct space *s, uint64_t start, size_t size)
{
	uint64_t end = start + size;

	if (start < LOWEST || end > SPACE_TOP || end < start)
		return false;
	for (size_t i = 0; i < s->piece_count; i++)
		if (s->pieces[i].start < end && start < s->pieces[i].end)
			return false;
	for (uint64_t page = page_of(start); page < end; page += PAGE)
		if (!space_is_planned(s, page, page + PAGE) &&
		    overlaps(s->ranges, s->count, page, page + PAGE, s->spare))
			return false;
	return true;
}

/* Pages that are planned one after the other become one mapping, if none of it is mapped yet. */
static int plan_page(struct space *s, uint64_t page, bool is_bodies)
{
	struct range *last =
		s->planned_count > s->mapped_count ? &s->planned[s->planned_count - 1] : NULL;

	if (space_is_planned(s, page, page + PAGE))
		return 0;
	if (last && last->end == page && last->is_bodies == is_bodies) {
		last->end += PAGE;
		return 0;
	}
	if (array_grow(s->planned, s->planned_count, s->planned_cap))
		return -ENOMEM;
	s->planned[s->planned_count++] =
		(struct range){.start = page, .end = page + PAGE, .is_bodies = is_bodies};
	return 0;
}

/* In pages of trampolines there is room for nothing else. */
int space_adopt(struct space *s, const struct range *pages)
{
	int err = array_grow(s->planned, s->planned_count, s->planned_cap);

	if (!err && pages->is_bodies)
		err = array_grow(s->pieces, s->piece_count, s->piece_cap);
	if (err)
		return err;
	s->planned[s->planned_count++] = (struct range){
		.start = pages->start, .end = pages->end, .is_bodies = pages->is_bodies};
	s->mapped_count = s->planned_count;
	if (pages->is_bodies)
		s->pieces[s->piece_count++] = (struct page_piece){pages->start, pages->end};
	return 0;
}

int space_recheck_adopted(struct space *s, pid_t pid)
{
	int err = space_read(s, pid);

	for (size_t i = 0; i < s->mapped_count && !err;) {
		struct range *r = &s->planned[i], other = *r;

		if (space_is_code(s, r->start, r->end)) {
			i++;
			continue;
		}
		*r = s->planned[--s->mapped_count];
		s->planned[s->mapped_count] = other;
	}
	return err;
}

int space_take(struct space *s, uint64_t start, size_t size, bool is_bodies)
{
	int err = array_grow(s->pieces, s->piece_count, s->piece_cap);

	for (uint64_t page = page_of(start); page < start + size && !err; page += PAGE)
		err = plan_page(s, page, is_bodies);
	if (!err)
		s->pieces[s->piece_count++] = (struct page_piece){start, start + size};
	return err;
}

/* The pages stay planned: others may share them. */
void space_give_back(struct space *s, uint64_t start, size_t size)
{
	for (size_t i = 0; i < s->piece_count; i++)
		if (s->pieces[i].start == start && s->pieces[i].end == start + size) {
			s->pieces[i] = s->pieces[--s->piece_count];
			return;
		}
}

/* Is all of it free of mappings and plans? If not, what is in the way. */
static bool is_empty(const struct space *s, uint64_t start, uint64_t end, uint64_t *below,
		     uint64_t *above)
{
	for (int pass = 0; pass < 2; pass++) {
		const struct range *all = pass ? s->planned : s->ranges;
		size_t count = pass ? s->planned_count : s->count;

		for (size_t i = 0; i < count; i++)
			if (all[i].start < end && start < all[i].end) {
				*below = all[i].start;
				*above = all[i].end;
				return false;
			}
	}
	return true;
}

uint64_t space_find(const struct space *s, size_t size, uint64_t low, uint64_t high)
{
	uint64_t middle = page_of(low + (high - low) / 2), below, above, at;

	low = low < LOWEST ? LOWEST : low;
	high = high > SPACE_TOP ? SPACE_TOP : high;
	for (at = middle; at >= low && at + size <= high; at = page_of(below - size)) {
		if (is_empty(s, at, at + size, &below, &above))
			return at;
		if (below < size)
			break;
	}
	for (at = middle; at >= low && at + size <= high; at = page_of(above + PAGE - 1))
		if (is_empty(s, at, at + size, &below, &above))
			return at;
	return 0;
}
