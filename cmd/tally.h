/* The entries of a map, and how they changed since they were read before: what nopal top and bcc's
 * tools show of each interval. Nothing is cleared in the kernel, so no event is counted twice or
 * not at all. */
#ifndef NOPAL_CMD_TALLY_H
#define NOPAL_CMD_TALLY_H

#include <stdint.h>

#include "nopal/trace.h"

struct tally_row {
	char *key;    /* owned; this and `parts` are one block */
	char **parts; /* of the key */
	unsigned part_count;
	unsigned number;		/* of the row, in the order of their first events */
	uint64_t total, count;		/* of all; since the last reading */
	char *text;			/* of a map that does not count: what it has; owned */
	struct nopal_histogram *all;	/* NULL: it is none; owned */
	struct nopal_histogram *recent; /* the same for `count` */
};

struct tally {
	struct tally_row *rows; /* in any order; owned */
	size_t count, cap;
	size_t known; /* during an update: rows that are sorted by key; the others are new */
};

/* Memory that is not there is reported when the command ends (memory.c); a row is missing then.
 * Read the map `name`, "@". */
void tally_update(struct tally *tally, struct nopal_trace *t, const char *name);
/* Has any row changed since the reading before? */
bool tally_has_news(const struct tally *tally);
void tally_free(struct tally *tally);

#endif
