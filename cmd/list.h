/* The order in which nopal list and tplist show sites. */
#ifndef NOPAL_CMD_LIST_H
#define NOPAL_CMD_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct nopal_site;
struct nopal_sites;

/* A site in the order in which it is shown. */
struct list_row {
	const struct nopal_site *site;
	size_t order; /* in which it was found */
};

/* All sites, to be freed; NULL: out of memory, after a message. `sorted`: by file, provider and
 * name, so that those of a probe follow each other. */
struct list_row *list_rows(const struct nopal_sites *probes, bool sorted);
bool list_same_probe(const struct nopal_site *a, const struct nopal_site *b);

#endif
