/* Answering queries for sites. */
#include "find/finder.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "find/know.h"
#include "provider/catalogue.h"
#include "symbols/kernel.h"

#define MOST_UNSEEN 4096 /* images kept although no query has matched anything in them */

int finder_new(struct finder **out)
{
	struct finder *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	cache_init(&f->cache);
	*out = f;
	return 0;
}

void finder_free(struct finder *f)
{
	if (!f)
		return;
	cache_free(&f->cache);
	diag_free(&f->problems);
	buf_free(&f->text);
	buf_free(&f->name);
	free(f->matches);
	free(f->described);
	catalogue_free(f->catalogue);
	finder_types_free(f->types);
	kernel_symbols_free(f->kernel_symbols);
	free(f);
}

void finder_trim(struct finder *f)
{
	cache_trim(&f->cache, MOST_UNSEEN);
}

void finder_stop_on(struct finder *f, int fd)
{
	f->cache.stop_fd = fd;
}

void finder_problems(struct finder *f, struct diag *d)
{
	finder_know_problems(f, d);
	diag_add_all(d, &f->problems);
	diag_free(&f->problems);
}

/* A query on its way through the images. */
struct image_query {
	struct finder *f;
	struct site_filter wanted, read; /* what is looked for, and what files are read for */
	bool named;
	struct diag *d;
};

/* Once for each file, even if it was not named: the result is incomplete. */
static void report_limit(const struct image_query *m, struct finding *f,
			 const struct cached_sites *list)
{
	struct buf path = BUF_INIT;
	const struct budget b = {.end = list->over};
	const char *format =
		list->all_files ? "'%.*s' is skipped: with it the files of other users take more "
				  "than 256 MiB of memory or 20 billion steps of work"
				: "'%.*s' is skipped: its probes take %s, the limit for one file";

	if (!list->over || f->cached->is_limit_reported)
		return;
	f->cached->is_limit_reported = !m->named;
	buf_escaped(&path, f->image.path);
	if (m->named)
		diag_error(m->d, -E2BIG, "over-budget",
			   "'%.*s' cannot be read: its probes take %s, the limit for one file",
			   STR_FMT(buf_as_str(&path)), budget_limit(&b));
	else
		diag_warn(&m->f->problems, "over-budget", format, STR_FMT(buf_as_str(&path)),
			  budget_limit(&b));
	buf_free(&path);
}

/* Number of matching sites of an image, or -ENOMEM; image->sites is the list they are in, and
 * f->matches has their indexes. */
static ssize_t match_image(const struct image_query *m, struct finding *f)
{
	struct cached_sites *list;
	size_t count = 0, *matches;
	int err = cache_read_sites(&m->f->cache, f, &m->read, &list);

	if (err)
		return err;
	report_limit(m, f, list);
	if (array_reserve(m->f->matches, m->f->match_cap, list->sites.count))
		return -ENOMEM;
	matches = m->f->matches;
	for (size_t i = 0; i < list->sites.count; i++)
		if (site_is_wanted(&m->wanted, list->sites.sites[i].provider,
				   list->sites.sites[i].name))
			matches[count++] = i;
	if (count)
		f->image.sites = &list->sites;
	else
		cache_unwanted(&m->f->cache, f->cached, list);
	return (ssize_t)count;
}

int finder_sites(struct finder *f, const struct find_query *q, found_fn *fn, void *arg,
		 struct diag *d)
{
	struct image_query m = {.f = f, .wanted = {q->provider, q->name}, .d = d};
	struct image_set set;
	int found = 0, err = finder_images(f, q->pid, q->path, &set, d);

	m.named = set.named && d; /* else it was not asked for alone */
	m.read = m.named ? (struct site_filter){STR(""), STR("")} : m.wanted;
	for (size_t i = 0; i < set.count && !err; i++) {
		ssize_t count = match_image(&m, set.items[i]);
		struct finding *finding;

		/* To attach, the image needs its file. */
		if (count > 0 && q->to_attach && !set.items[i]->cached->file)
			count = cache_renew(&f->cache, &set.items[i])
					? -ENOMEM
					: match_image(&m, set.items[i]);
		finding = set.items[i];

		/* What is wrong with a file is remembered, and reported again for each query. */
		if (set.named)
			diag_add_all(d, &finding->cached->diag);
		if (count < 0)
			err = (int)count;
		if (count > 0) {
			found++;
			cache_show(&f->cache, finding->cached);
			finding->image.file = finding->cached->file;
			err = fn(arg, &finding->image, f->matches, (size_t)count);
		}
		cache_let_go(finding->cached);
		finding->image.file = finding->cached->file;
	}
	free(set.items);
	return err ? err : found;
}
