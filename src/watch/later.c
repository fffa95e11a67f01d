/* Bookkeeping of later images; see later.h. */
#include "watch/later.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/buf.h"
#include "symbols/maps.h"

#define SEEN_MOST    (1u << 19)
#define WAITING_MOST 4096 /* beyond these it is simpler to look at everything */

/* ---- images that have been looked at. Two share a key once in 2^64 pairs; a set that has grown
 * too large is emptied, which only means that files are looked at again. */

static uint64_t mix_key(uint64_t key)
{
	key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9u;
	key = (key ^ key >> 27) * 0x94d049bb133111ebu;
	return key ^ key >> 31;
}

uint64_t seen_key(const struct watch_event *e)
{
	uint64_t key = mix_key(
		e->inode ^ mix_key(e->generation ^ mix_key((uint64_t)e->major << 32 | e->minor)));

	return key ? key : 1;
}

bool seen_has(const struct seen *s, uint64_t key)
{
	hash_each(i, &s->by_key, key)
		if (s->keys[i] == key)
			return true;
	return false;
}

bool seen_add(struct seen *s, uint64_t key)
{
	if (seen_has(s, key))
		return false;
	if (s->count == SEEN_MOST)
		seen_free(s);
	if (!array_grow(s->keys, s->count, s->cap) && !hash_add(&s->by_key, key, s->count))
		s->keys[s->count++] = key;
	return true;
}

void seen_free(struct seen *s)
{
	free(s->keys);
	hash_free(&s->by_key);
	*s = (struct seen){0};
}

/* ---- images that wait, and those that were armed a moment ago */

static void clear_list(struct mapped_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->items[i].path);
	l->count = 0;
}

void later_free(struct later *l)
{
	clear_list(&l->waiting);
	clear_list(&l->armed);
	free(l->waiting.items);
	free(l->armed.items);
	seen_free(&l->seen);
}

/* Takes ownership of the path. Without memory, all images are looked at again. */
static void add_image(struct later *l, struct mapped_list *list, const struct mapped_image *m)
{
	if (list->count >= WAITING_MOST || array_grow(list->items, list->count, list->cap)) {
		free(m->path);
		l->everything = true;
		return;
	}
	list->items[list->count++] = *m;
}

void later_mapped(struct later *l, const struct watch_event *event)
{
	struct mapped_image m = {.key = seen_key(event),
				 .mapped_at = event->time,
				 .pid = event->pid,
				 .inode = event->inode};

	if (!seen_has(&l->seen, m.key)) {
		m.path = strndup(event->path.ptr, event->path.len);
		if (m.path)
			add_image(l, &l->waiting, &m);
		else
			l->everything = true;
		return;
	}
	/* It may have been armed a moment ago: did this process map it before? */
	for (size_t i = 0; i < l->armed.count && !m.armed_at; i++)
		if (l->armed.items[i].key == m.key && l->armed.items[i].armed_at >= event->time)
			m.armed_at = l->armed.items[i].armed_at;
	if (m.armed_at)
		add_image(l, &l->armed, &m);
}

void later_ended(struct later *l, const struct watch_event *event)
{
	struct mapped_list *lists[] = {&l->waiting, &l->armed};

	for (unsigned n = 0; n < 2; n++)
		for (size_t i = 0; i < lists[n]->count; i++) {
			struct mapped_image *m = &lists[n]->items[i];

			if (m->pid == event->pid && !m->gone_at)
				m->gone_at = event->time;
		}
}

/* ---- looking at them */

/* By its path, if that leads to the very file. One that a query would take for a pattern does not.
 */
void later_choose_ways(struct later *l)
{
	for (size_t i = 0; i < l->waiting.count; i++) {
		struct mapped_image *m = &l->waiting.items[i];
		struct stat st;

		m->by_path = *m->path == '/' && !strpbrk(m->path, "*?[") && !stat(m->path, &st) &&
			     S_ISREG(st.st_mode) && st.st_ino == m->inode;
	}
}

void later_found(struct later *l, pid_t pid, ino_t inode, const void *image)
{
	for (size_t i = 0; i < l->waiting.count; i++) {
		struct mapped_image *m = &l->waiting.items[i];

		if ((m->by_path ? !pid : m->pid == pid) && m->inode == inode)
			m->image = image;
	}
}

void later_armed(struct later *l, const void *image, uint64_t now)
{
	for (size_t i = 0; i < l->waiting.count; i++)
		if (l->waiting.items[i].image == image)
			l->waiting.items[i].armed_at = now;
}

void later_unheard(struct later *l, pid_t pid, uint64_t since)
{
	l->unheard_pid = pid;
	l->unheard_since = since;
}

void later_armed_unheard(struct later *l, uint64_t now)
{
	const struct mapped_image m = {
		.pid = l->unheard_pid, .mapped_at = l->unheard_since, .armed_at = now};

	if (l->unheard_since)
		add_image(l, &l->armed, &m);
}

static int has_inode(void *arg, const struct mapped_file *file)
{
	const uint64_t *inode = arg;

	return file->inode == *inode;
}

/* A process that has an image mapped now still had it mapped when it was looked at. */
void later_settle(struct later *l)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < l->waiting.count; i++) {
		struct mapped_image *m = &l->waiting.items[i];

		if (!seen_has(&l->seen, m->key)) {
			if (m->by_path || m->image ||
			    maps_each_file(m->pid, &text, has_inode, &m->inode) == 1)
				seen_add(&l->seen, m->key);
			else
				l->unknown++;
		}
		if (m->armed_at) {
			add_image(l, &l->armed, m);
			m->path = NULL;
		}
	}
	clear_list(&l->waiting);
	buf_free(&text);
}

static void judge_image(struct later *l, const struct mapped_image *m)
{
	bool ended = m->gone_at && m->gone_at < m->armed_at;
	uint64_t end = ended ? m->gone_at : m->armed_at;
	uint64_t *most = ended ? &l->ended_after : &l->late_most;

	if (end <= m->mapped_at)
		return;
	*(ended ? &l->ended : &l->late) += 1;
	if (end - m->mapped_at > *most)
		*most = end - m->mapped_at;
}

void later_judge(struct later *l, uint64_t before)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->armed.count; i++) {
		struct mapped_image *m = &l->armed.items[i];

		if (m->armed_at >= before) {
			l->armed.items[kept++] = *m;
			continue;
		}
		judge_image(l, m);
		free(m->path);
	}
	l->armed.count = kept;
}

void later_waited(struct later *l, pid_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->armed.count; i++)
		if (l->armed.items[i].pid == pid)
			free(l->armed.items[i].path);
		else
			l->armed.items[kept++] = l->armed.items[i];
	l->armed.count = kept;
}

static unsigned to_ms(uint64_t ns)
{
	return (unsigned)(ns / 1000000 + 1);
}

void later_tell(const struct later *l, struct diag *d)
{
	if (l->ended)
		diag_warn(d, "armed-too-late",
			  "%" PRIu64 " image%s mapped less than %u ms before %s process ended, too "
			  "late to be armed: events may be missing",
			  l->ended, l->ended == 1 ? " was" : "s were", to_ms(l->ended_after),
			  l->ended == 1 ? "its" : "their");
	if (l->late)
		diag_warn(d, "armed-later",
			  "%" PRIu64
			  " image%s mapped during the run and armed at most %u ms later: "
			  "events before that are missing",
			  l->late, l->late == 1 ? " was" : "s were", to_ms(l->late_most));
	if (l->unknown)
		diag_warn(d, "image-gone",
			  "%" PRIu64 " image%s gone before %s could be read: if the probes are in "
			  "%s, events are missing",
			  l->unknown, l->unknown == 1 ? " was" : "s were",
			  l->unknown == 1 ? "it" : "they", l->unknown == 1 ? "it" : "them");
	if (l->lost)
		diag_warn(d, "news-lost",
			  "%" PRIu64 " notice%s of new images, forks and exits got lost: %s",
			  l->lost, l->lost == 1 ? "" : "s",
			  l->is_searching
				  ? "all processes were searched again, later than usual"
				  : "whether programs ended before they were traced is not known");
}
