/* A traced process; see process.h. */
#include "user/run/process.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "user/inside/blob.h"
#include "user/patch/inject.h"
#include "user/patch/limits.h"
#include "user/patch/map.h"
#include "user/run/filter.h"
#include "user/run/libc_code.h"
#include "user/run/library_wait.h"
#include "user/run/stable_memory.h"

#define AREA_FIRST  ((size_t)64 << 10)
#define AREA_STEPS  4u	 /* each is twice as large as the one before; so often */
#define TRAMPOLINE  4096 /* usual most; a larger one gets a larger area */
#define ALIGN	    16
#define MAP_TRIES   40	/* of a process that maps memory all the time */
#define PAUSE_LEAST 50	/* us between two tries */
#define PAUSE_MASK  511 /* ... and a random part, so that they are not in step with the process */
/* At the mappings, before more of them is read directly for the second time. */
#define FIRST_LOOKS 4

#ifndef HWCAP2_FSGSBASE
#define HWCAP2_FSGSBASE 2
#endif

/* ---- opening */

int native_process_open(pid_t pid, struct native_process **out, struct diag *d)
{
	struct native_process *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	err = inject_open(pid, &p->x, d);
	if (err) {
		native_process_close(p);
		return err;
	}
	*out = p;
	return 0;
}

void native_process_close(struct native_process *p)
{
	if (!p)
		return;
	inject_close(p->x);
	for (size_t i = 0; i < p->count; i++)
		free(p->steps[i].all);
	free(p->steps);
	free(p->sites);
	free(p->areas.all);
	free(p->shared.parts);
	free(p);
}

/* ---- areas for trampolines */

void native_process_pause(void)
{
	usleep(PAUSE_LEAST + (useconds_t)(clock_now() & PAUSE_MASK));
}

static bool is_near(const struct native_area *a, uint64_t pc)
{
	return (a->start > pc ? a->start - pc : pc - a->start) < INJECT_REACH;
}

/* An area near the address with `size` bytes left; one that is new must be mapped. */
static int find_area(struct native_process *p, uint64_t pc, size_t size, struct native_area **out)
{
	struct native_area a = {0};
	size_t usual;
	int err;

	for (size_t i = 0; i < p->areas.count; i++) {
		*out = &p->areas.all[i];
		if (is_near(*out, pc) && (*out)->end - (*out)->next >= size)
			return 0;
	}
	err = array_grow(p->areas.all, p->areas.count, p->areas.cap);
	if (err)
		return err;
	size += native_blob_size + ALIGN;
	usual = AREA_FIRST << (p->areas.count < AREA_STEPS ? p->areas.count : AREA_STEPS);
	size = size < usual ? usual - INJECT_MARGIN : size;
	err = inject_reserve(p->x, pc, size, &a.start);
	if (err)
		return err;
	a.end = a.start + size;
	a.next = a.start + (native_blob_size + ALIGN - 1) / ALIGN * ALIGN;
	*out = &p->areas.all[p->areas.count];
	p->areas.all[p->areas.count++] = a;
	return 0;
}

/* ---- what the trampolines read */

static int read_ranges(const struct native_process *p, struct process_page *out)
{
	*out = (struct process_page){.pid = (uint64_t)inject_pid(p->x)};
	return stable_ranges(p->x, out);
}

static bool is_covered(const struct process_page *by, const struct memory_range *r)
{
	for (uint64_t i = 0; i < by->range_count; i++)
		if (r->start >= by->ranges[i].start && r->end <= by->ranges[i].end)
			return true;
	return false;
}

static int write_page(struct native_process *p, const struct process_page *page, bool is_first)
{
	uint64_t at = inject_world(p->x)->process;
	size_t size = offsetof(struct process_page, calling);
	int err = is_first ? inject_write(p->x, at, page, size)
			   : inject_write_stopped(p->x, at, page, size);

	if (!err)
		p->direct.page = *page;
	return err;
}

/* Each time after twice as many looks. */
static bool may_grow(struct native_process *p, const struct process_page *page)
{
	if (++p->direct.looks < p->direct.next_look ||
	    !memcmp(page, &p->direct.page, sizeof(*page)))
		return false;
	p->direct.looks = 0;
	p->direct.next_look = p->direct.next_look ? 2 * p->direct.next_look : FIRST_LOOKS;
	return true;
}

/* Threads read the page at any moment, so it is not changed while one may: only when it must be. */
int native_process_refresh(struct native_process *p)
{
	struct process_page page;
	bool is_right = true;
	int err = filter_look(p);

	if (err || p->forks.is_child)
		return err;
	err = read_ranges(p, &page);
	for (uint64_t i = 0; i < p->direct.page.range_count; i++)
		is_right &= is_covered(&page, &p->direct.page.ranges[i]);
	if (err || (is_right && !may_grow(p, &page)))
		return err;
	return write_page(p, &page, false);
}

/* ---- trampolines */

/* Near each site that needs one. */
static int reserve_areas(struct native_process *p)
{
	struct native_area *area;
	int err = 0;

	for (size_t i = 0; i < p->count && !err; i++)
		if (p->sites[i].form != INJECT_NONE && p->steps[i].count > p->steps[i].done)
			err = find_area(p, p->sites[i].pc, TRAMPOLINE, &area);
	return err;
}

static int write_inside(struct native_process *p, struct native_area *a)
{
	int err = a->has_inside ? 0
				: inject_write_code(p->x, a->start, native_blob, native_blob_size);

	a->has_inside |= !err;
	return err;
}

/* Areas that could not be mapped. */
static void drop_areas(struct native_process *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->areas.count; i++)
		if (p->areas.all[i].has_inside)
			p->areas.all[kept++] = p->areas.all[i];
	p->areas.count = kept;
}

static int say_taken(const struct native_process *p, struct diag *d)
{
	return diag_error(d, -EEXIST, "user-mode-map",
			  "cannot trace process %d in user mode: it maps memory where code is "
			  "planned, again and again",
			  (int)inject_pid(p->x));
}

/* Near an address, or all that sites need (0). The process goes on meanwhile: it may map other
 * memory there first. */
static int map_areas(struct native_process *p, const struct native_store *s, uint64_t near,
		     size_t size, struct diag *d)
{
	struct native_area *area;
	int err = -EEXIST;

	for (unsigned i = 0; i < MAP_TRIES && err == -EEXIST; i++) {
		if (i)
			native_process_pause();
		err = i ? inject_reread(p->x) : 0;
		if (!err)
			err = near ? find_area(p, near, size, &area) : reserve_areas(p);
		if (!err)
			err = inject_map(p->x, s->fd, s->first_size, d);
		if (err == -EEXIST)
			drop_areas(p);
	}
	return err == -EEXIST ? say_taken(p, d) : err;
}

int native_process_settle(struct native_process *p, const struct native_store *s,
			  struct inject_site *site, struct diag *d)
{
	int err = map_areas(p, s, 0, 0, d);

	for (unsigned i = 0; i < MAP_TRIES && !err && inject_is_lost(p->x, site); i++) {
		native_process_pause();
		err = inject_reread(p->x);
		if (!err)
			err = inject_replan(p->x, site);
		if (!err)
			err = map_areas(p, s, 0, 0, d);
	}
	return err;
}

/* Map the landings of the sites that have no trampoline yet. */
static int map_landings(struct native_process *p, const struct native_store *s, struct diag *d)
{
	int err = map_areas(p, s, 0, 0, d);

	for (size_t i = 0; i < p->count && !err; i++) {
		struct inject_site *site = &p->sites[i];

		if (p->steps[i].count == p->steps[i].done || !inject_is_lost(p->x, site))
			continue;
		err = native_process_settle(p, s, site, d);
	}
	return err;
}

unsigned native_process_lost(const struct native_process *p, struct native_step *first,
			     const char **why)
{
	unsigned lost = 0;

	for (size_t i = 0; i < p->count; i++) {
		if (p->sites[i].form != INJECT_NONE || !p->steps[i].count || p->steps[i].turn.rests)
			continue;
		if (!lost++) {
			*first = p->steps[i].all[0];
			*why = p->sites[i].why;
		}
	}
	return lost;
}

static int room_in(struct native_process *p, const struct native_store *s, uint64_t near,
		   size_t size, struct native_area **area, struct diag *d)
{
	int err = map_areas(p, s, near, size, d);

	if (!err)
		err = find_area(p, near, size, area);
	return err ? err : write_inside(p, *area);
}

int native_process_room(struct native_process *p, const struct native_store *s, uint64_t near,
			size_t size, uint64_t *at, uint64_t *inside, struct diag *d)
{
	struct native_area *area;
	int err = room_in(p, s, near, size, &area, d);

	if (err)
		return err;
	*at = area->next;
	*inside = area->start;
	area->next += (size + ALIGN - 1) / ALIGN * ALIGN;
	return 0;
}

int native_process_write(struct native_process *p, struct native_code *code)
{
	int err = code_finish_native(code);

	if (!err)
		err = inject_write_code(p->x, code->address, code->bytes.ptr, code->bytes.len);
	code_close(code);
	return err;
}

/* What is the same at all sites of the process. */
static struct native_place place_of(const struct native_process *p, const struct native_store *s,
				    bool follow)
{
	const struct inject_world *w = inject_world(p->x);

	return (struct native_place){
		.shared = w->shared,
		.process = w->process,
		.kept = w->kept,
		.lang = p->lang.number,
		.follow = follow,
		.rseq = w->rseq ? w->rseq : NATIVE_NONE,
		.tid = w->tid ? w->tid : NATIVE_NONE,
		.has_fsgsbase = getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE,
		.layout = &s->layout,
		.maps = s->shapes,
	};
}

/* Sites of one image come one after the other. */
static struct memory_range image_of(struct native_process *p, uint64_t pc)
{
	if (pc < p->direct.image.start || pc >= p->direct.image.end)
		p->direct.image = stable_image(p->x, pc);
	return p->direct.image;
}

/* Generate once to know the size, if it does not fit where there was room for the usual. */
static int make_trampoline(struct native_process *p, const struct native_store *s, size_t site,
			   struct native_place place, struct diag *d)
{
	struct native_steps *steps = &p->steps[site];
	size_t room = TRAMPOLINE;
	struct native_area *area;
	int err = 0;

	place.site = p->sites[site].pc;
	place.back = p->sites[site].resume;
	place.image = image_of(p, place.site);
	for (;;) {
		struct native_code code = {0};

		err = room_in(p, s, p->sites[site].pc, room, &area, d);
		if (err)
			return err;
		place.landing = area->next;
		place.inside = area->start;
		code_open(&code, place.landing);
		err = native_generate(&place, steps->all, steps->count, &code, d);
		if (!err && code.bytes.len <= room) {
			err = inject_write_code(p->x, place.landing, code.bytes.ptr,
						code.bytes.len);
			area->next += (code.bytes.len + ALIGN - 1) / ALIGN * ALIGN;
			p->sites[site].body = place.landing;
			steps->done = steps->count;
			room = 0;
		} else {
			room = err ? 0 : code.bytes.len;
		}
		code_close(&code);
		if (err || !room)
			return err;
	}
}

static int write_chunks(struct native_process *p, const struct native_store *s)
{
	struct kept_page kept;

	native_store_chunks(s, p->shared.is_whole, &kept);
	return inject_write(p->x, inject_world(p->x)->kept + offsetof(struct kept_page, chunks),
			    kept.chunks, s->program->map_count * sizeof(kept.chunks[0]));
}

static int first_page(struct native_process *p, const struct native_store *s)
{
	struct process_page page;
	int err = read_ranges(p, &page);

	if (!err)
		err = write_page(p, &page, true);
	if (!err && s->program->map_count)
		err = write_chunks(p, s);
	if (!err)
		err = filter_look_at_files(p);
	return err ? err : filter_look(p);
}

#define CODE_USUAL (2 * AREA_FIRST) /* trampolines, and the pages of their landings */

static uint64_t size_of(const struct native_store *s, bool whole)
{
	uint64_t size = s->first_size + CODE_USUAL;

	for (uint32_t i = 0; i < s->program->map_count; i++) {
		const struct native_pieces *map = &s->pieces[i];

		size += whole && !map->is_later ? map->entries.most + map->cells.most
						: map->entries.size + map->cells.size;
	}
	return size;
}

int native_process_fits(pid_t pid, const struct native_store *s, struct diag *d)
{
	return inject_check_limits(pid, size_of(s, false), d);
}

/* A process with a system call filter must not be made to map more later, so it has all at once,
 * where its limits leave room for that. */
static bool takes_all(pid_t pid, const struct native_store *s)
{
	struct diag said = DIAG_INIT;
	bool takes = inject_has_filter(pid) && !inject_check_limits(pid, size_of(s, true), &said);

	diag_free(&said);
	return takes;
}

static int share_parts(struct native_process *p, const struct native_store *s)
{
	size_t count = 0;

	free(p->shared.parts);
	p->shared.parts = calloc(2 * (size_t)s->program->map_count + 1, sizeof(*p->shared.parts));
	if (!p->shared.parts)
		return -ENOMEM;
	p->shared.is_whole = takes_all(inject_pid(p->x), s);
	for (uint32_t i = 0; i < s->program->map_count; i++) {
		const struct native_pieces *map = &s->pieces[i];
		const struct native_piece *pieces[] = {&map->entries, &map->cells};
		bool whole = p->shared.is_whole && !map->is_later;

		for (unsigned k = 0; k < COUNT(pieces); k++)
			if (pieces[k]->size)
				p->shared.parts[count++] = (struct inject_part){
					pieces[k]->at, whole ? pieces[k]->most : pieces[k]->size};
	}
	inject_share(p->x, p->shared.parts, count, s->layout.size);
	return 0;
}

static void expect_records(struct native_process *p, const struct native_store *s)
{
	for (uint32_t cpu = 0; cpu < s->layout.cpus; cpu++) {
		size_t size;
		uint64_t at = native_store_first_pages(s, cpu, &size);

		if (size)
			inject_expect(p->x, at, size);
	}
}

static int arm(struct native_process *p, const struct native_store *s, bool follow, struct diag *d)
{
	int err = 0;
	struct native_place place;

	if (!p->is_ready) {
		expect_records(p, s);
		err = native_process_fits(inject_pid(p->x), s, d);
		if (!err)
			err = share_parts(p, s);
	}
	if (!err)
		err = map_landings(p, s, d);
	place = place_of(p, s, follow);
	if (!err && !p->is_ready)
		err = first_page(p, s);
	p->is_ready |= !err;
	p->direct.image = (struct memory_range){0, 0};
	for (size_t i = 0; i < p->count && !err; i++)
		if (p->sites[i].form != INJECT_NONE && p->steps[i].count > p->steps[i].done)
			err = make_trampoline(p, s, i, place, d);
	if (!err && p->files.may_come && !p->loader.waits)
		err = library_wait_add(p, s, d);
	/* Threads that have loaded a library make system calls, too, when there are no probes yet.
	 */
	if (!err && !p->calls.is_libc_done && p->count) {
		size_t before = p->count;

		err = libc_add(p, s, d);
		p->calls.is_libc_done = p->count > before; /* else it may not be mapped yet */
	}
	if (!err)
		err = inject_enable(p->x, p->sites, p->count, d);
	if (!err)
		library_wait_judge(p);
	return err;
}

struct arming {
	struct native_process *p;
	const struct native_store *s;
	bool follow;
	struct diag *d;
};

static int arm_stopped(void *arg)
{
	const struct arming *a = arg;

	return arm(a->p, a->s, a->follow, a->d);
}

int native_process_arm(struct native_process *p, const struct native_store *s, bool follow,
		       struct diag *d)
{
	struct arming a = {p, s, follow, d};

	return p->agent.is_waiting ? inject_held(p->x, arm_stopped, &a, d) : arm(p, s, follow, d);
}

unsigned native_process_renew(struct native_process *p)
{
	unsigned off = 0;

	for (size_t i = 0; i < p->count; i++)
		off += inject_renew(p->x, &p->sites[i]);
	return off;
}

bool native_process_lacks_semaphores(struct native_process *p)
{
	bool lacks = p->found.semaphores;

	p->found.semaphores = false;
	for (size_t i = 0; i < p->count; i++)
		lacks |= inject_lacks_semaphore(p->x, &p->sites[i]);
	return lacks;
}

int native_process_disarm(struct native_process *p, struct diag *d)
{
	return inject_disable_all(p->x, p->sites, p->count, d);
}
