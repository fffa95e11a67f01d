/* Which mappings wait for a look; see missed.h. */
#include "user/run/missed.h"

#include <stdlib.h>

#include "base/array.h"

static bool was_looked_at(const struct native_trail *t, pid_t pid, uint64_t mapped)
{
	for (size_t i = 0; i < TRAIL_LOOKS; i++)
		if (t->looks[i].pid == pid && t->looks[i].time >= mapped)
			return true;
	return false;
}

static struct trail_mapping *find_waiting(struct native_trail *t, pid_t pid)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->waiting[i].pid == pid)
			return &t->waiting[i];
	return NULL;
}

static void miss(struct native_trail *t, struct str path)
{
	if (!t->missed++)
		t->first = path;
}

void trail_mapped(struct native_trail *t, const struct engine_news *news, const struct attach *at)
{
	struct trail_mapping *m;

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
	*m = (struct trail_mapping){news->pid, news->time, at->path};
}

void trail_looked(struct native_trail *t, pid_t pid, uint64_t began)
{
	struct trail_mapping *m = find_waiting(t, pid);

	if (m && m->time <= began)
		*m = t->waiting[--t->count];
	t->looks[t->next_look++ % TRAIL_LOOKS] = (struct trail_look){pid, began};
}

void trail_ended(struct native_trail *t, pid_t pid)
{
	struct trail_mapping *m = find_waiting(t, pid);

	if (!m)
		return;
	miss(t, m->path);
	*m = t->waiting[--t->count];
}

uint64_t trail_missed(const struct native_trail *t, struct str *first)
{
	*first = t->missed ? t->first : t->count ? t->waiting[0].path : STR("");
	return t->missed + t->count;
}

void trail_free(struct native_trail *t)
{
	free(t->waiting);
}
