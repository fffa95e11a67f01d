/* Answering queries for sites. */
#include "find/finder.h"

#include <errno.h>
#include <stdlib.h>

#include "provider/catalogue.h"

#define MOST_UNSEEN 4096 /* images kept although nobody has asked for what is in them */

int finder_new(struct finder **out)
{
	struct finder *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	*out = f;
	return 0;
}

void finder_free(struct finder *f)
{
	if (!f)
		return;
	cache_free(&f->cache);
	buf_free(&f->text);
	buf_free(&f->name);
	free(f->matches);
	free(f->described);
	catalogue_free(f->catalogue);
	free(f);
}

void finder_trim(struct finder *f)
{
	cache_trim(&f->cache, MOST_UNSEEN);
}

static bool is_match(const struct find_query *q, const struct site *site)
{
	return (!q->provider.len || str_match(q->provider, site->provider)) &&
	       (!q->name.len || str_match(q->name, site->name));
}

/* Collect the indexes of matching sites in f->matches. Number of them, or -ENOMEM. */
static ssize_t match_sites(struct finder *f, const struct find_query *q,
			   const struct site_list *list)
{
	size_t count = 0;

	if (f->match_cap < list->count) {
		size_t *more = realloc(f->matches, list->count * sizeof(*more));

		if (!more)
			return -ENOMEM;
		f->matches = more;
		f->match_cap = list->count;
	}
	for (size_t i = 0; i < list->count; i++)
		if (is_match(q, &list->sites[i]))
			f->matches[count++] = i;
	return (ssize_t)count;
}

/* Number of matching sites of an image, which has its file when the query is to attach. */
static ssize_t read_matches(struct finder *f, const struct find_query *q, struct finding **finding)
{
	ssize_t count;

	cache_read_sites(*finding);
	count = match_sites(f, q, &(*finding)->cached->sites);
	if (count <= 0 || !q->to_attach || (*finding)->cached->file)
		return count;
	if (cache_renew(&f->cache, finding))
		return -ENOMEM;
	cache_read_sites(*finding);
	return match_sites(f, q, &(*finding)->cached->sites);
}

int finder_sites(struct finder *f, const struct find_query *q, found_fn *fn, void *arg,
		 struct diag *d)
{
	struct image_set set;
	int found = 0, err = finder_images(f, q->pid, q->path, &set, d);

	for (size_t i = 0; i < set.count && !err; i++) {
		ssize_t count = read_matches(f, q, &set.items[i]);
		struct finding *finding = set.items[i];

		/* What is wrong with a file is remembered with it and told again for each query. */
		if (set.named)
			diag_add_all(d, &finding->cached->diag);
		if (count < 0)
			err = -ENOMEM;
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
