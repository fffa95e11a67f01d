/* Mapping memory into another process. What is ours there:
 *
 *	ledger     what `clean` needs                          (ledger_size_for())
 *	process    one page, zeroed in a child of fork
 *	kept       one page, as it was in a child of fork
 *	shared     the shared memory of the session, and parts of it that may grow
 *
 * in one piece, and pages of code where the jumps of sites lead. The ledger is there before the
 * rest, so that whatever a killed tracer has left is found. All of it is unmapped at the end of the
 * session (leave.c). */
#include "user/patch/map.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "user/patch/ledger.h"
#include "user/patch/limits.h"
#include "user/ptrace/remote.h"
#include "user/ptrace/send_fd.h"
#include "user/ptrace/threads.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000 /* Linux 4.17, older than all that user mode needs */
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define HOME_TRIES 8

#define HOME_LOW   0x100000000u
#define QUIET_LOW  0x7e8000000000u
#define QUIET_HIGH 0x7ec000000000u
#define HOME_HIGH  0x7e0000000000u

struct mapping {
	struct inject *x;
	struct remote *r;
	int shared_fd;
	size_t shared_size;
	bool shared_is_mapped;
	bool locks;	   /* memory that it maps */
	size_t part_count; /* of the parts, those that are mapped */
	struct diag *d;
};

static int refuse_call(struct mapping *m, int64_t err, const char *what)
{
	return diag_error(m->d, (int)err, "user-mode-map",
			  "cannot trace process %d in user mode: it cannot %s: %s", (int)m->x->pid,
			  what, remote_error((int)err));
}

static int64_t map_at(struct remote *r, uint64_t at, size_t size, int prot, int flags, int64_t fd)
{
	return CALL(r, SYS_mmap, at, size, (uint64_t)prot, (uint64_t)flags, (uint64_t)fd, 0);
}

static size_t own_size(const struct inject *x)
{
	return x->ledger_size + OWN_PAGES * PAGE;
}

/* The ledger and the pages of the process. The address was free when it was chosen. */
static int map_own(struct mapping *m, uint64_t at)
{
	int64_t done =
		map_at(m->r, at, own_size(m->x), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1);
	int err;

	if (done == -EEXIST)
		return -EEXIST;
	if (done < 0)
		return refuse_call(m, done, "map memory");
	m->x->ledger = at;
	err = ledger_start(m->x);
	if (err)
		return refuse_call(m, err, "write memory");
	done = CALL(m->r, SYS_madvise, at + m->x->ledger_size, PAGE, MADV_WIPEONFORK);
	return done < 0 ? refuse_call(m, done, "keep memory from its children") : 0;
}

/* A process that locks all memory that it maps (mlockall(2) with MCL_FUTURE), and so has locked
 * map_own()'s, would have pages for all of this at once, and for good. It gets none as long as it
 * may not touch it. */
static int map_part(struct mapping *m, int64_t fd, uint64_t offset, size_t size)
{
	const uint64_t may = PROT_READ | PROT_WRITE;
	uint64_t at = m->x->world.shared + offset;
	int64_t done = CALL(m->r, SYS_mmap, at, size, m->locks ? PROT_NONE : may,
			    (uint64_t)(MAP_SHARED | MAP_FIXED_NOREPLACE), (uint64_t)fd, offset);

	if (done < 0)
		return (int)done;
	done = 0;
	if (m->locks) {
		CALL(m->r, SYS_munlock, at, size);
		done = CALL(m->r, SYS_mprotect, at, size, may);
	}
	/* Or a core dump would contain all of it. */
	CALL(m->r, SYS_madvise, at, size, MADV_DONTDUMP);
	if (done >= 0 && m->x->world.is_private)
		done = CALL(m->r, SYS_madvise, at, size, MADV_DONTFORK);
	if (done < 0)
		CALL(m->r, SYS_munmap, at, size);
	return (int)done;
}

static int map_shared(struct mapping *m)
{
	struct sent_fd sent_fd;
	int64_t fd = send_fd(m->x, m->r, m->shared_fd, m->x->world.process, &sent_fd);
	int err;

	if (fd == -ENOSPC)
		return limits_refuse_files(m->x->pid, m->d);
	if (fd < 0)
		return refuse_call(m, fd, "receive the shared memory");
	m->locks = process_locks_memory(m->x->pid);
	err = map_part(m, fd, 0, m->shared_size);
	m->shared_is_mapped = !err;
	for (; m->part_count < m->x->part_count && !err; m->part_count += !err) {
		const struct inject_part *part = &m->x->parts[m->part_count];

		err = map_part(m, fd, part->at, part->size);
	}
	send_fd_end(m->r, &sent_fd);
	return err && err != -EEXIST ? refuse_call(m, err, "map the shared memory") : err;
}

static uint64_t find_between(const struct space *s, size_t size, uint64_t start, uint64_t end)
{
	uint64_t low = 0, found;

	if (getrandom(&low, sizeof(low), GRND_NONBLOCK) != sizeof(low))
		low = clock_now();
	low = start + low % (end - start);
	found = space_find(s, size, low, end);
	return found ? found : space_find(s, size, start, low);
}

/* Anywhere that is free and not planned; which address it is cannot be known before. Programs that
 * are built with a sanitizer end if there is memory where they want to have their own, when they
 * begin; there are addresses that none of them wants. */
static uint64_t choose_home(const struct space *s, size_t size)
{
	uint64_t top = space_top(s), high = top < HOME_HIGH ? top : HOME_HIGH, found = 0;

	if (top > QUIET_HIGH)
		found = find_between(s, size, QUIET_LOW, QUIET_HIGH);
	return found ? found : find_between(s, size, HOME_LOW, high);
}

/* A page of a ring that is met for the first time would cost its event a fault. Kernels before 5.14
 * cannot do this: then it does. */
static void make_present(struct mapping *m)
{
	for (unsigned i = 0; i < m->x->present_count; i++)
		CALL(m->r, SYS_madvise, m->x->world.shared + m->x->present[i].start,
		     m->x->present[i].end - m->x->present[i].start, MADV_POPULATE_WRITE);
}

static int map_home_at(struct mapping *m, uint64_t at)
{
	struct inject_world *world = &m->x->world;
	int err = map_own(m, at);

	if (err)
		return err;
	world->process = at + m->x->ledger_size;
	world->kept = world->process + PAGE;
	world->shared = world->process + OWN_PAGES * PAGE;
	err = map_shared(m);
	if (!err)
		make_present(m);
	return err;
}

/* Unmap the shared memory, the ledger and the pages after it, as far as they were mapped. */
static void unmap_home(struct mapping *m)
{
	struct inject_world *world = &m->x->world;

	if (world->shared && m->shared_is_mapped)
		CALL(m->r, SYS_munmap, world->shared, m->shared_size);
	for (; m->part_count; m->part_count--) {
		const struct inject_part *part = &m->x->parts[m->part_count - 1];

		CALL(m->r, SYS_munmap, world->shared + part->at, part->size);
	}
	if (m->x->ledger)
		CALL(m->r, SYS_munmap, m->x->ledger, own_size(m->x));
	world->process = world->kept = world->shared = m->x->ledger = 0;
}

static int map_home(struct mapping *m)
{
	/* No other tracer is here now: two begin with the same thread. */
	int err = ledger_refuse_second(m->x, m->d);
	size_t size;

	if (!err && m->x->old_count)
		err = space_recheck_adopted(&m->x->space, m->x->pid);
	if (err)
		return err;
	m->x->ledger_size = ledger_size_for(m->x);
	size = own_size(m->x) + (m->x->span > m->shared_size ? m->x->span : m->shared_size);
	remote_world(m->r, &m->x->world);
	for (unsigned i = 0; i < HOME_TRIES; i++) {
		err = map_home_at(m, choose_home(&m->x->space, size));
		if (!err)
			return 0;
		unmap_home(m);
		if (err != -EEXIST)
			return err;
	}
	return refuse_call(m, err, "map memory");
}

/* The address was free when it was planned; another thread may have mapped it since. */
static int map_code(struct mapping *m, const struct range *r)
{
	size_t size = r->end - r->start;
	/* Before they are there: if we are killed, later sessions must find them. */
	int err = ledger_add_pages(m->x, r);
	int64_t at = err ? err
			 : map_at(m->r, r->start, size, PROT_READ | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1);

	if (at >= 0)
		at = ledger_confirm_last(m->x);
	else if (!err)
		ledger_drop_last(m->x);
	if (!at || at == -EEXIST)
		return (int)at;
	return refuse_call(m, at, "map memory for code");
}

/* Sites whose landings are lost can be planned again; without trampolines the caller must. */
static int give_up(struct inject *x, struct range *lost)
{
	struct space *s = &x->space;
	bool is_bodies = lost->is_bodies;

	if (x->shelf_end > lost->start && x->shelf < lost->end)
		x->shelf = x->shelf_end = 0;
	memmove(lost, lost + 1,
		(size_t)(s->planned + s->planned_count - (lost + 1)) * sizeof(*lost));
	s->planned_count--;
	return is_bodies ? -EEXIST : 0;
}

static int map_all_code(struct mapping *m)
{
	struct space *s = &m->x->space;
	int err = 0;

	while (!err && s->mapped_count < s->planned_count) {
		struct range *r = &s->planned[s->mapped_count];

		err = map_code(m, r);
		if (!err)
			s->mapped_count++;
		else if (err == -EEXIST)
			err = give_up(m->x, r);
	}
	return err;
}

#define GET_DISPATCH 0x4211 /* a request of ptrace(2), since Linux 6.4 */

/* System calls that a thread makes outside of one part of its code become signals for it: so do
 * those of our code. Wine and some sandboxes run programs so. */
static bool dispatches_calls(const struct thread *t)
{
	struct {
		uint64_t mode, selector, start, len;
	} now = {0};

	return t->is_stopped && !ptrace(GET_DISPATCH, t->tid, (void *)sizeof(now), &now) &&
	       now.mode;
}

static int check_dispatch(struct mapping *m, const struct threads *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (dispatches_calls(&t->all[i]))
			return diag_error(m->d, -ENOTSUP, "user-mode-dispatch",
					  "cannot trace process %d in user mode: system calls of "
					  "its thread %d become signals "
					  "(PR_SET_SYSCALL_USER_DISPATCH)",
					  (int)m->x->pid, (int)t->all[i].tid);
	return 0;
}

/* With all threads stopped: a child that another one forks meanwhile would have our descriptors for
 * good, and a file that another one opens would not have the number that it has untraced. */
static int map_home_stopped(struct mapping *m)
{
	uint64_t start = clock_now();
	struct threads threads;
	int err = process_stop_for_calls(m->x, &threads);

	if (err)
		return remote_refuse(m->x, err, m->d);
	err = check_dispatch(m, &threads);
	if (!err)
		err = remote_begin(m->x, threads_some_stopped(&threads), &m->r, m->d);
	if (!err) {
		err = map_home(m);
		remote_end(m->r);
	}
	process_go(m->x, &threads);
	if (!m->x->held)
		m->x->pause.all_ns += clock_now() - start;
	return err;
}

static int map_code_in_thread(struct mapping *m)
{
	uint64_t start = clock_now();
	int err = remote_begin(m->x, NULL, &m->r, m->d);

	if (err)
		return err;
	if (!m->x->world.shared)
		err = map_home(m);
	if (!err)
		err = map_all_code(m);
	remote_end(m->r);
	if (!m->x->held)
		m->x->pause.one_ns += clock_now() - start;
	return err;
}

static int map_in_thread(void *arg)
{
	struct mapping *m = arg;
	bool are_stopped = m->x->held || process_is_held(m->x); /* then it has one thread */
	int err = m->x->world.shared || are_stopped ? 0 : map_home_stopped(m);

	return err ? err : map_code_in_thread(m);
}

void inject_expect(struct inject *x, uint64_t offset, size_t size)
{
	if (x->present_count < PRESENT_MOST)
		x->present[x->present_count++] = (struct page_piece){offset, offset + size};
}

void inject_share(struct inject *x, const struct inject_part *parts, size_t count, uint64_t span)
{
	x->parts = parts;
	x->part_count = count;
	x->span = span;
}

void inject_keep_private(struct inject *x)
{
	x->world.is_private = true;
}

int inject_map(struct inject *x, int shared_fd, size_t shared_size, struct diag *d)
{
	struct mapping m = {.x = x, .shared_fd = shared_fd, .shared_size = shared_size, .d = d};

	if (x->world.shared && x->space.mapped_count == x->space.planned_count)
		return 0;
	return process_apart(x, map_in_thread, &m);
}
