/* Which mappings wait for a look; see missed.h. */
#include "user/run/missed.h"

#include <stdlib.h>

#include "base/array.h"

static bool was_looked_at(const struct missed *t, pid_t pid, uint64_t mapped)
{
	for (size_t i = 0; i < MISSED_LOOKS; i++)
		if (t->looks[i].pid == pid && t->looks[i].time >= mapped)
			return true;
	return false;
}

static struct missed_mapping *find_waiting(struct missed *t, pid_t pid)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->waiting[i].pid == pid)
			return &t->waiting[i];
	return NULL;
}

static void miss(struct missed *t, struct str path)
{
	if (!t->missed++)
		t->first = path;
}

void missed_mapped(struct missed *t, const struct watch_event *news, const struct attach *at)
{
	struct missed_mapping *m;

	if (was_looked_at(t, news->pid, news->time))
		return;
	m = find_waiting(t, news->pid);
	if (!m) {
		if (array_grow(t->waiting, t->count, t->cap)) {
			miss(t, at->path);
			return;
		}
		m = &t->waiting[t->count++];
	}
	*m = (struct missed_mapping){news->pid, news->time, at->path};
}

void missed_looked(struct missed *t, pid_t pid, uint64_t began)
{
	struct missed_mapping *m = find_waiting(t, pid);

	if (m && m->time <= began)
		*m = t->waiting[--t->count];
	t->looks[t->next_look++ % MISSED_LOOKS] = (struct missed_look){pid, began};
}

void missed_ended(struct missed *t, pid_t pid)
{
	struct missed_mapping *m = find_waiting(t, pid);

	if (!m)
		return;
	miss(t, m->path);
	*m = t->waiting[--t->count];
}

uint64_t missed_count(const struct missed *t, struct str *first)
{
	*first = t->missed ? t->first : t->count ? t->waiting[0].path : STR("");
	return t->missed + t->count;
}

void missed_free(struct missed *t)
{
	free(t->waiting);
}
