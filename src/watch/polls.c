/* Mappings that are not reported: an ordinary user may not open the events of reports.h. The files
 * that each followed process has mapped are compared with those of the last look. Children are
 * followed from when their agent waits. */
#include "base/clock.h"
#include "symbols/maps.h"
#include "watch/watch.h"

#define POLL_NS 20000000u /* between two looks */

static int hash_file(void *arg, const struct mapped_file *file)
{
	uint64_t *hash = arg;

	*hash = hash_bytes(*hash, &file->inode, sizeof(file->inode));
	return 0;
}

/* Has it mapped other files since the last look? */
static bool has_changed(struct watch_process *p, struct buf *text)
{
	uint64_t hash = FILES_NEW, before = p->files;

	maps_each_file(p->pid, text, hash_file, &hash);
	p->files = hash;
	return before != FILES_NEW && hash != before;
}

void watch_poll(struct watch *w)
{
	uint64_t now = clock_now();
	struct buf text = BUF_INIT;

	if (now - w->polled_at < POLL_NS && !w->waiting_count)
		return;
	for (size_t i = 0; i < w->count; i++) {
		struct watch_process *p = &w->all[i];

		if (p->state != STATE_FOLLOWED || !p->files || !has_changed(p, &text))
			continue;
		w->images = IMAGES_ALL;
		if (!watch_waits(w, p->pid))
			later_unheard(&w->later, p->pid, w->polled_at);
	}
	buf_free(&text);
	w->polled_at = now;
}
