/* A set of engines: what set.c and set_choose.c share. */
#ifndef NOPAL_ENGINE_SET_H
#define NOPAL_ENGINE_SET_H

#include "engine/engine.h"

#define NO_MEMBER UINT8_MAX

/* Records that wait for older ones of other members: a header with time and length, and the bytes,
 * one after the other. */
struct member_queue {
	struct engine *from;
	struct buf bytes;
	size_t at;     /* of the first that was not handed over */
	uint64_t last; /* time of the last one */
};

/* Records of all members in the order of their times. */
struct order {
	struct member_queue queues[ENGINES_MAX];
	uint64_t horizon; /* all before it have been read */
	bool is_held;	  /* more may come: records wait */
};

/* Where a clause of the first program runs. */
struct seat {
	uint8_t member;
	uint32_t clause; /* its number there */
};

/* What a member runs; the last comes first. */
struct member_program {
	const struct program *program;
	uint8_t member;
	struct member_program *next;
};

struct set {
	struct engine engine; /* first: what others hold */
	struct arena arena;
	struct engine *members[ENGINES_MAX];
	bool is_used[ENGINES_MAX]; /* it has clauses */
	unsigned count;
	uint8_t *owners; /* of each map: the member whose clauses use it, or NO_MEMBER */
	bool *is_shared; /* of each map: each member may have a part of it */
	const struct map_def *maps;
	bool grows;		 /* it may be extended */
	bool is_held;		 /* what the first member reaches is not known yet */
	struct program *waiting; /* clauses whose sites are divided when it is; NULL: none */
	size_t said;		 /* sites that others trace, as far as was said */
	uint32_t map_count;
	struct seat *seats;
	uint32_t seat_count;
	bool is_merged; /* several members send records, or may: all have times */
	struct member_program *parts;
	struct order order;
};

/* chosen[i] becomes the member that runs clause i of `p`. Clauses that share a map go to the same
 * one. 0, -ENOMEM, or why no engine can run a clause. */
int set_choose(struct set *s, const struct program *p, uint8_t *chosen, struct diag *d);
/* Does the clause use the map, directly or by what it asks the session to do: print(@m)? */
bool set_touches(const struct program *p, const struct clause *c, uint32_t map);
/* Which member has the sites of a clause that the first was chosen for is known when the
 * command is at its entry point. */
bool set_waits(const struct set *s, const struct clause *c, uint8_t member);

/* Take what the members have, and hand over what can have nothing before it any more. As
 * engine_drain(). */
int order_drain(struct set *s, int timeout_ms, record_fn *fn, void *arg);
bool order_is_empty(const struct order *o);
void order_free(struct order *o);

#endif
