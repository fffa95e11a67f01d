/* Which mappings wait for a look; see missed.h. */
#include "watch/missed.h"

void missed_mapped(struct watch *w, const struct watch_event *event, struct str path)
{
	struct watch_process *p = watch_find(w, event->pid);

	if (!p || p->traced_at >= event->time)
		return;
	p->mapped_at = event->time;
	p->mapped = path;
}

void missed_looked(struct watch *w, pid_t pid, uint64_t began)
{
	struct watch_process *p = watch_find(w, pid);

	if (!p)
		return;
	p->traced_at = began;
	if (p->mapped_at <= began)
		p->mapped_at = 0;
}

void missed_ended(struct watch *w, struct watch_process *p)
{
	if (p && p->mapped_at && !w->missed++)
		w->missed_file = p->mapped;
	if (p)
		p->mapped_at = 0;
}

uint64_t missed_count(const struct watch *w, struct str *first)
{
	uint64_t count = w->missed;

	*first = w->missed_file;
	for (size_t i = 0; i < w->count; i++)
		if (w->all[i].mapped_at && !count++)
			*first = w->all[i].mapped;
	return count;
}
