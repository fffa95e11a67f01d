/* Loops in the making. */
#ifndef NOPAL_SCRIPT_LOOP_H
#define NOPAL_SCRIPT_LOOP_H

#include "script/lower/lower.h"

struct map;

/* A loop being made: where it began and what was around it. */
struct loop {
	size_t start;
	struct label leave, again;
	uint64_t outer_rounds;
	struct label *outer_leave, *outer_again;
};

/* The code between the two is run at most `rounds` times; `mark` is the loop's text. l->leave and
 * l->again are its labels meanwhile. */
void loop_open(struct lower *l, struct mark mark, uint64_t rounds, struct loop *loop);
/* The same for each entry of a map, whose key is put into a slot; the caller sets d or t. */
struct insn *loop_open_entries(struct lower *l, struct mark mark, const struct map *m, uint16_t key,
			       struct loop *loop);
void loop_close(struct lower *l, struct loop *loop);

/* The rounds of strstr() at worst, one for each byte compared. */
uint64_t search_most_rounds(const struct expr *e);
/* ... and of normalize(): a byte is looked at twice at most. */
uint64_t normalize_most_rounds(const struct expr *e);

void lower_while(struct lower *l, const struct stmt *s);   /* while (value) body */
void lower_for(struct lower *l, const struct stmt *s);	   /* for $i : value..to body */
void lower_for_map(struct lower *l, const struct stmt *s); /* for $kv : @m body */
void lower_unroll(struct lower *l, const struct stmt *s);  /* unroll (value) body */

#endif
