/* Which semaphores are ours to raise, and in which processes; see semaphores.h. */
#include "engine/bpf/run/semaphores.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "elf/kind.h"
#include "find/process.h"
#include "symbols/maps.h"

#define WAIT_NS 1000000000u /* from mapping a file's code to mapping all of it */

/* ---- which there are */

static int compare_semaphores(const void *x, const void *y)
{
	const struct semaphore *a = x, *b = y;

	if (a->file->inode != b->file->inode)
		return a->file->inode < b->file->inode ? -1 : 1;
	if (a->file->device != b->file->device)
		return a->file->device < b->file->device ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

int semaphores_add(struct semaphores *s, const struct unit *u)
{
	const struct file *seen = NULL;
	size_t kept = 0;

	for (uint32_t i = 0; i < u->site_count; i++) {
		const struct attach *at = u->sites[i].attach;

		if (!at->sema_offset)
			continue;
		if (array_grow(s->items, s->count, s->cap))
			return -ENOMEM;
		s->items[s->count++] = (struct semaphore){at->file, at->offset, at->sema_offset,
							  at->sema_distance, at->sema_is_ours};
		s->wants_news |=
			at->sema_is_ours || (at->file != seen && file_kind(at->file).is_library);
		seen = at->file;
	}
	if (s->count)
		qsort(s->items, s->count, sizeof(*s->items), compare_semaphores);
	for (size_t i = 0; i < s->count; i++)
		if (!kept || compare_semaphores(&s->items[kept - 1], &s->items[i]))
			s->items[kept++] = s->items[i];
	s->count = kept;
	return 0;
}

/* ---- in one process */

struct raising {
	struct semaphores *s;
	struct str maps;
	unsigned raised;
	bool is_partly; /* of some file not everything is mapped yet */
};

/* How often the process has mapped what `file` maps. */
struct copies {
	const struct mapped_file *file;
	unsigned count;
};

static int count_copy(void *arg, const struct mapped_file *file)
{
	struct copies *c = arg;

	c->count += file->inode == c->file->inode && file->device == c->file->device &&
		    file->offset <= c->file->offset &&
		    c->file->offset - file->offset < file->end - file->start;
	return 0;
}

static bool has_copies(const struct raising *q, const struct mapped_file *file)
{
	struct copies c = {file, 0};

	maps_parse(q->maps, file->pid, count_copy, &c);
	return c.count > 1;
}

static void take_result(struct raising *q, pid_t pid, int result)
{
	q->raised += result > 0;
	q->is_partly |= result == -EFAULT;
	if (result >= 0 || result == -EFAULT || result == -ESRCH || q->s->failed)
		return;
	q->s->failed = result;
	q->s->failed_in = pid;
}

static bool is_the_file(const struct mapped_file *mapped, const struct file *file)
{
	struct buf name = BUF_INIT;
	struct stat st;
	bool is_it = !mapped_file_locate(mapped, &name, &st) && file_is(file, &st);

	buf_free(&name);
	return is_it;
}

static size_t first_of(const struct semaphores *s, uint64_t inode)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->items[middle].file->inode < inode)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* In each of several copies the word is noted with its site. */
static void note_site(struct keeper_word *word, const struct mapped_file *mapped,
		      const struct semaphore *sema)
{
	if (pread(sema->file->fd, &word->code, sizeof(word->code), (off_t)sema->site) ==
	    sizeof(word->code))
		word->site = mapped->start + (sema->site - mapped->offset);
}

/* One mapping of code: the words of its sites. */
static int raise_of(void *arg, const struct mapped_file *mapped)
{
	struct raising *q = arg;
	struct semaphores *s = q->s;
	const struct file *seen = NULL;
	bool is_it = false, copies = false;

	if (!mapped->inode)
		return 0;
	for (size_t i = first_of(s, mapped->inode);
	     i < s->count && s->items[i].file->inode == mapped->inode; i++) {
		const struct semaphore *sema = &s->items[i];
		struct keeper_word word = {
			.device = mapped->device, .inode = mapped->inode, .pid = mapped->pid};

		if (sema->site < mapped->offset ||
		    sema->site - mapped->offset >= mapped->end - mapped->start)
			continue;
		if (sema->file != seen) {
			seen = sema->file;
			is_it = is_the_file(mapped, seen);
			copies = is_it && has_copies(q, mapped);
		}
		if (!is_it || (!sema->is_ours && !copies))
			continue;
		if (!sema->is_ours)
			note_site(&word, mapped, sema);
		word.address =
			mapped->start + (sema->site - mapped->offset) + (uint64_t)sema->distance;
		take_result(q, mapped->pid, keeper_raise(&s->keeper, &word));
	}
	return 0;
}

/* -ESRCH: the process has ended. */
static int raise_in(struct raising *q, pid_t pid)
{
	struct buf text = BUF_INIT;
	pid_t task = process_visible_task(pid);
	int err = maps_read(task, &text);

	q->maps = buf_as_str(&text);
	q->is_partly = false;
	if (!err)
		maps_parse(q->maps, task, raise_of, q);
	buf_free(&text);
	return err ? err : q->is_partly ? -EFAULT : 0;
}

static int raise_in_each(void *arg, pid_t pid)
{
	raise_in(arg, pid);
	return 0;
}

void semaphores_raise(struct semaphores *s, const pid_t *pids, size_t count)
{
	struct raising q = {.s = s};

	if (!s->count)
		return;
	for (size_t i = 0; i < count; i++)
		raise_in(&q, pids[i]);
	if (!count)
		processes_each(raise_in_each, &q);
}

/* ---- in processes that begin later */

static void note_late(struct semaphores *s, uint64_t since)
{
	uint64_t ns = clock_now() - since;

	s->late++;
	s->late_most = ns > s->late_most ? ns : s->late_most;
}

/* False: some words must wait. */
static bool raise_late(struct semaphores *s, const struct semaphore_wait *w)
{
	struct raising q = {.s = s};
	int err = raise_in(&q, w->pid);

	if (q.raised)
		note_late(s, w->since);
	if (err == -EFAULT && clock_now() - w->since < WAIT_NS)
		return false;
	s->ended += err && err != -EFAULT && w->is_ours;
	return true;
}

void semaphores_mapped(struct semaphores *s, pid_t pid, uint64_t inode, uint64_t time)
{
	struct semaphore_wait wait = {.pid = pid, .since = time};
	size_t first = first_of(s, inode), at = first;

	for (; at < s->count && s->items[at].file->inode == inode; at++)
		wait.is_ours |= s->items[at].is_ours;
	for (size_t i = 0; i < s->wait_count; i++)
		if (s->waits[i].pid == pid)
			return;
	if (at > first && !array_grow(s->waits, s->wait_count, s->wait_cap))
		s->waits[s->wait_count++] = wait;
}

void semaphores_renew(struct semaphores *s, struct diag *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->wait_count; i++)
		if (!raise_late(s, &s->waits[i]))
			s->waits[kept++] = s->waits[i];
	s->wait_count = kept;
	if (!s->failed || s->is_said)
		return;
	s->is_said = true;
	diag_warn(d, "semaphore-not-raised",
		  "cannot raise semaphores in process %d: %s: probes that ask for them do not fire "
		  "there",
		  (int)s->failed_in,
		  s->failed == -EPIPE ? "nopal's child that does so was killed"
				      : strerror(-s->failed));
}

void semaphores_end(struct semaphores *s)
{
	keeper_end(&s->keeper);
	free(s->items);
	free(s->waits);
	s->items = NULL;
	s->waits = NULL;
	s->count = s->cap = s->wait_count = s->wait_cap = 0;
}
