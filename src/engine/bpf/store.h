/* Stores: the kernel maps behind the maps of a script.
 *
 *   STORE_CELL      one number: a one-entry array, addressed directly
 *   STORE_CPU_CELL  one aggregate: a per-CPU array of one entry
 *   STORE_HASH      everything with keys, and single values of more than 8 bytes
 *
 * A cell is followed by 8 bytes that say whether it holds anything. Writing zeros to a cell would
 * lose the events that come meanwhile, so an aggregate that no script reads is cleared by taking
 * off what it was from then on; every event must change it, so a sum counts in those 8 bytes. Keys
 * with text are kept in two hashes: one for texts of at most STORE_SHORT bytes, so that hashing a
 * short text does not cost what the longest one would; and one for the rest. A counter holds both
 * to one limit. Extremes are stored so that 0 is "nothing yet" and greater always wins; see
 * extreme_encode. Readers here give everything back in the layout of program/type.h. */
#ifndef NOPAL_ENGINE_BPF_STORE_H
#define NOPAL_ENGINE_BPF_STORE_H

#include "engine/engine.h"

#define STORE_SHORT 56u /* bytes of text in a short key */

enum store_kind { STORE_CELL, STORE_CPU_CELL, STORE_HASH };

/* One kernel map, and where code finds it when it is not named by the code itself; see group.h. */
struct store_map {
	int fd;	      /* -1: none */
	int group_fd; /* -1: it is named */
	uint32_t group_at;
};

struct store {
	const struct map_def *def;
	enum store_kind kind;
	struct store_map map;	   /* the hash of short keys when there are two */
	bool in_code;		   /* programs in the kernel use it: it must stay what it is */
	struct store_map long_map; /* its fd is -1: no second one */
	uint32_t key_size;	   /* of map */
	uint32_t full_key;	   /* of long_map, and as type.h says */
	uint32_t value_size;	   /* of the value alone */
	uint32_t used_at; /* word of the engine's counters with the number of keys in both ... */
	uint64_t *used;	  /* ... and where it is for us; matters when there is a long_map */
	bool by_base;	  /* cleared by remembering what there was, not by writing */
	uint64_t *base;	  /* that, for all CPUs; NULL: zeros */
	bool base_is_set; /* it was zeroed, not cleared: there is a value even if nothing came */
};

/* Bytes an element takes in a short key. */
uint32_t store_short_size(const struct type *t);
/* A value put so that unsigned comparison orders it and the wanted extreme is the greatest; its own
 * inverse. */
uint64_t extreme_mask(const struct type *t);

/* `used` is word `used_at` of the counters, which programs change, too. */
int store_open(struct store *s, const struct map_def *def, uint32_t used_at, uint64_t *used,
	       struct diag *d);
/* The store is never read by a program, only from here. */
void store_is_not_read(struct store *s);
void store_close(struct store *s);
int store_each(const struct store *s, unsigned cpus, map_entry_fn *fn, void *arg);
int store_clear(struct store *s, unsigned cpus);
int store_zero(struct store *s, unsigned cpus);

#endif
