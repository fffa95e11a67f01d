/* Mappings that are not announced: an ordinary user may not open the events of reports.h. The files
 * that each followed process has mapped are compared with those of the last look. Children are
 * followed from when their agent waits. */
#include "session/session.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "symbols/maps.h"

#define POLL_NS 20000000u /* between two looks */

/* A process, and what it had mapped at the last look. */
struct polled {
	pid_t pid;
	uint64_t hash; /* of the files; 0: there was no look */
};

void polls_free(struct polls *l)
{
	free(l->items);
	*l = (struct polls){0};
}

static struct polled *find_polled(struct polls *l, pid_t pid)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].pid == pid)
			return &l->items[i];
	if (array_grow(l->items, l->count, l->cap))
		return NULL;
	l->items[l->count] = (struct polled){.pid = pid};
	return &l->items[l->count++];
}

static void drop_polled(struct polls *l, pid_t pid)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].pid == pid)
			l->items[i--] = l->items[--l->count];
}

static int hash_file(void *arg, const struct mapped_file *file)
{
	uint64_t *hash = arg;

	*hash = hash_bytes(*hash, &file->inode, sizeof(file->inode));
	return 0;
}

/* Has it mapped other files since the last look? Without memory, it may have. */
static bool has_changed(struct polls *l, pid_t pid, struct buf *text)
{
	struct polled *p = find_polled(l, pid);
	uint64_t hash = 1, before;

	if (!p)
		return true;
	maps_each_file(pid, text, hash_file, &hash);
	before = p->hash;
	p->hash = hash;
	return before && hash != before;
}

static bool has_ended(pid_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

/* Those that have ended are forgotten; the first is the one that the run is about. */
static void drop_ended(struct nopal_trace *t)
{
	for (size_t i = t->followed.count; i-- > 1;) {
		pid_t pid = t->followed.pids[i];

		if (!has_ended(pid))
			continue;
		pid_set_remove(&t->followed, pid);
		drop_polled(&t->polls, pid);
	}
}

void session_poll_maps(struct nopal_trace *t)
{
	uint64_t now = clock_now();
	struct polls *l = &t->polls;
	struct buf text = BUF_INIT;

	if (now - l->looked_at < POLL_NS && !t->waiters.count)
		return;
	drop_ended(t);
	for (size_t i = 0; i < t->followed.count; i++) {
		pid_t pid = t->followed.pids[i];

		if (!has_changed(l, pid, &text))
			continue;
		t->images = IMAGES_ALL;
		if (!pid_set_has(&t->waiters, pid))
			later_unheard(&t->later, pid, l->looked_at);
	}
	buf_free(&text);
	l->looked_at = now;
}

void session_poll_waiters(struct nopal_trace *t)
{
	for (size_t i = 0; i < t->waiters.count; i++) {
		pid_t pid = t->waiters.pids[i];

		if (pid_set_has(&t->followed, pid) || !t->options.follow)
			continue;
		pid_set_add(&t->followed, pid);
		t->images = IMAGES_ALL;
	}
}
