/* What the finder's files share: the finder, and going from a query to the images it means. */
#ifndef NOPAL_FIND_FINDER_H
#define NOPAL_FIND_FINDER_H

#include "find/cache.h"

struct finder {
	struct cache cache;
	uint64_t query;	 /* number of the running query: each image comes up once in it */
	struct buf text; /* the maps of a process */
	struct buf name; /* a file name */
	size_t *matches; /* indexes of sites */
	size_t match_cap;
	const struct site **described; /* of know.c: sites of one list that are described */
	size_t described_count;
	const struct site_list *described_of;
	struct diag problems;	     /* not reported yet */
	struct catalogue *catalogue; /* of know.c; NULL: not needed yet */
};

/* The images a query's path and pid mean, whatever is in them, as an array in the order of their
 * paths (free() it). `named`: the path names one file, so that what is wrong with it is reported.
 * 0 or -errno with a message. */
struct image_set {
	struct finding **items;
	size_t count, cap;
	bool named;
};
int finder_images(struct finder *f, pid_t pid, struct str path, struct image_set *out,
		  struct diag *d);

#endif
