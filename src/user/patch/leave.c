/* Giving back what sessions have mapped in a process, while all its threads are stopped.
 *
 * The sites have their bytes again, so no thread comes into our code any more, and what remains to
 * be known is who is in it, or will return to it: a thread, by its instruction pointer; a signal
 * handler, a coroutine or a caller, by a word in the process's memory. A session that no thread
 * needs is unmapped by one of the threads that are stopped. */
#include "user/patch/undo.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "user/patch/ledger.h"
#include "user/patch/patch.h"
#include "user/patch/plan.h"
#include "user/ptrace/remote.h"
#include "user/ptrace/threads.h"
#include "user/ptrace/word_search.h"

struct session {
	uint64_t ledger;
	uint64_t own_end;	/* of the ledger and the pages of the process */
	uint64_t device, inode; /* of its shared memory; 0: there is none */
	bool is_needed;
};

struct leaving {
	struct inject *x;
	struct mappings maps;
	struct code_areas areas;
	struct session all[LEDGERS_MOST + 1];
	unsigned count;
	struct remote *r;
};

static void need_all(struct leaving *l)
{
	for (unsigned i = 0; i < l->count; i++)
		l->all[i].is_needed = true;
}

static bool are_all_needed(const struct leaving *l)
{
	for (unsigned i = 0; i < l->count; i++)
		if (!l->all[i].is_needed)
			return false;
	return true;
}

/* ---- what there is */

static int add_area(struct leaving *l, const struct ledger_entry *e, unsigned session,
		    uint64_t entry)
{
	const struct mapped_range *m = mappings_at(&l->maps, e->patch);

	if (!m || !m->is_code || e->semaphore > m->end || e->semaphore <= e->patch ||
	    e->patch % LEAST_PAGE || e->semaphore % LEAST_PAGE || !ledger_is_confirmed(l->x, e))
		return 0;
	if (array_grow(l->areas.all, l->areas.count, l->areas.cap))
		return -ENOMEM;
	l->areas.all[l->areas.count++] = (struct code_area){
		.start = e->patch,
		.end = e->semaphore,
		.session = session,
		.entry = entry,
		.is_landings = !e->is_whole,
	};
	return 0;
}

/* Is the jump of the entry there, or a breakpoint whose owner may have kept a byte of the jump? */
static bool is_on(struct inject *x, const struct ledger_entry *e)
{
	uint8_t now[INJECT_PATCH_MAX];

	return !inject_read(x, e->patch, now, e->len) &&
	       (patch_is_written(now, e->before, e->after, e->len) || is_breakpoint(now));
}

static int read_entries(struct leaving *l, unsigned session, const struct ledger_head *head)
{
	struct session *s = &l->all[session];
	int err = 0;

	for (uint64_t i = 0; i < head->count && !err; i++) {
		struct ledger_entry e;

		if (ledger_read(l->x, s->ledger, head, i, &e))
			s->is_needed = true;
		else if (e.len)
			s->is_needed |= is_on(l->x, &e);
		else
			err = add_area(l, &e, session, i);
	}
	return err;
}

/* The shared memory comes after the pages of the process. */
static void find_own(struct leaving *l, struct session *s, uint64_t end)
{
	const struct mapped_range *shared = mappings_at(&l->maps, end);

	s->own_end = end;
	if (shared && shared->is_shared && shared->start == end) {
		s->device = shared->device;
		s->inode = shared->inode;
	}
	for (size_t i = 0; i < l->maps.count; i++)
		if (l->maps.all[i].start >= s->ledger && l->maps.all[i].end <= end)
			l->maps.all[i].is_ours = true;
}

static int read_session(struct leaving *l, unsigned session)
{
	struct session *s = &l->all[session];
	struct ledger_head head;
	int err = ledger_open(l->x, s->ledger, &head);

	s->own_end = s->ledger;
	if (err) { /* -ESRCH: the process has ended, or runs another program */
		s->is_needed = true;
		return err == -ESRCH ? err : 0;
	}
	find_own(l, s, s->ledger + ledger_size(&head) + OWN_PAGES * PAGE);
	return read_entries(l, session, &head);
}

static int by_start(const void *a, const void *b)
{
	const struct code_area *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int read_all(struct leaving *l)
{
	int err = mappings_read(&l->maps, l->x->pid);

	for (unsigned i = 0; i < l->count && !err; i++)
		err = read_session(l, i);
	if (!err && l->areas.count)
		qsort(l->areas.all, l->areas.count, sizeof(*l->areas.all), by_start);
	return err;
}

/* ---- who is in it */

/* A landing may lead into the code of a later session. No call returns to the first byte of
 * trampolines. */
static bool take_word(void *arg, const struct code_area *area, uint64_t word)
{
	struct leaving *l = arg;

	if (area->is_landings)
		need_all(l);
	else if (word != area->start)
		l->all[area->session].is_needed = true;
	return are_all_needed(l);
}

static void look_at_threads(struct leaving *l, const struct threads *t)
{
	for (size_t i = 0; i < t->count; i++) {
		uint64_t pc = t->all[i].is_ended ? UINT64_MAX : thread_place(&t->all[i]).pc;
		const struct code_area *area = area_at(&l->areas, pc);

		if (!pc)
			need_all(l);
		else if (area)
			take_word(l, area, pc == area->start ? pc + 1 : pc);
	}
}

/* ---- unmapping */

static bool unmap(struct leaving *l, uint64_t start, uint64_t end)
{
	return CALL(l->r, SYS_munmap, start, end - start) == 0;
}

/* The program may map something else there at once, when we are killed. */
static bool unmap_area(struct leaving *l, const struct code_area *area)
{
	return !ledger_forget(l->x, l->all[area->session].ledger, area->entry) &&
	       unmap(l, area->start, area->end);
}

/* ORDER: the ledger last, since it says where the rest is. */
static bool unmap_session(struct leaving *l, unsigned session)
{
	const struct session *s = &l->all[session];
	bool done = true;

	for (size_t i = 0; i < l->areas.count && done; i++)
		if (l->areas.all[i].session == session)
			done = unmap_area(l, &l->areas.all[i]);
	for (size_t i = 0; i < l->maps.count && done; i++) {
		const struct mapped_range *m = &l->maps.all[i];

		if (s->inode && m->is_shared && m->inode == s->inode && m->device == s->device)
			done = unmap(l, m->start, m->end);
	}
	return done && unmap(l, s->ledger, s->own_end);
}

static uint64_t size_of(const struct leaving *l, unsigned session)
{
	const struct session *s = &l->all[session];
	uint64_t size = s->own_end - s->ledger;

	for (size_t i = 0; i < l->areas.count; i++)
		if (l->areas.all[i].session == session)
			size += l->areas.all[i].end - l->areas.all[i].start;
	for (size_t i = 0; i < l->maps.count; i++)
		if (s->inode && l->maps.all[i].is_shared && l->maps.all[i].inode == s->inode)
			size += l->maps.all[i].end - l->maps.all[i].start;
	return size;
}

static void unmap_all(struct leaving *l, const struct threads *t, bool *is_given)
{
	const struct thread *thread = threads_some_stopped(t);

	if (!thread || are_all_needed(l) || remote_begin(l->x, thread, &l->r, NULL))
		return;
	for (unsigned i = 0; i < l->count; i++)
		is_given[i] = !l->all[i].is_needed && unmap_session(l, i);
	remote_end(l->r);
}

int leave_sessions(struct inject *x, const struct threads *t, const uint64_t *ledgers,
		   unsigned count, bool *is_given, uint64_t *kept)
{
	struct leaving l = {.x = x, .count = count};
	int err;

	for (unsigned i = 0; i < count; i++) {
		l.all[i].ledger = ledgers[i];
		is_given[i] = false;
	}
	err = read_all(&l);
	if (!err)
		look_at_threads(&l, t);
	if (!err && !are_all_needed(&l) && memory_search(x, t, &l.maps, &l.areas, take_word, &l))
		need_all(&l);
	if (!err)
		unmap_all(&l, t, is_given);
	*kept = 0;
	for (unsigned i = 0; i < count && !err; i++)
		*kept += is_given[i] ? 0 : size_of(&l, i);
	free(l.maps.all);
	free(l.areas.all);
	return err;
}
