/* Stores: the kernel maps that hold the maps of a script.
 *
 *   STORE_CELL      one number: an array of one entry, which code reaches by its address
 *   STORE_CPU_CELL  one aggregate: a per-CPU array of one entry
 *   STORE_HASH      everything with keys, and single values that are not a number
 *
 * A cell is followed by 8 bytes that say whether it holds anything. Writing zeros to a cell would
 * lose the events that come meanwhile. So an aggregate that no script reads is cleared by
 * remembering its words and subtracting them from then on; each event must change them, so a sum
 * counts events in those 8 bytes.
 *
 * Any other map that is printed and cleared in one step has a twin. A word says which of the two
 * programs use; each counts itself while it looks at that word and changes what it says. To take
 * the map is to change the word, to wait until no program is counted, and then to read and empty
 * what no program changes any more. Programs wait for nothing.
 *
 * Keys with text or stacks are in two hashes: one for texts of at most STORE_SHORT bytes and stacks
 * of at most STORE_SHORT_STACK, so that a short one takes neither the time nor the memory of the
 * longest there could be; and one for the rest. A counter holds both to one limit. Of a stack, the
 * kernel's key has a hash, and the stack itself follows the value; map_keys.c makes both. Extremes
 * are stored so that 0 is "nothing yet" and greater always wins; see extreme_mask(). What is read
 * here has the layout of program/type.h. */
#ifndef NOPAL_ENGINE_BPF_GEN_STORE_MAP_H
#define NOPAL_ENGINE_BPF_GEN_STORE_MAP_H

#include "program/program.h"

#define STORE_SHORT	  56u	     /* bytes of text in a short key */
#define STORE_SHORT_STACK (8u * 32u) /* ... of frames */
#define STORE_STACK_HASH  8u

enum store_kind { STORE_CELL, STORE_CPU_CELL, STORE_HASH };

/* One kernel map, and where code finds it when the program does not name it; see group.h. */
struct store_map {
	int fd;	      /* -1: none */
	int group_fd; /* -1: programs name it */
	uint32_t group_at;
	bool is_short;	      /* for keys whose texts and stacks are all short */
	uint32_t key_size;    /* as the kernel has it */
	uint32_t stacks_size; /* of the stacks of a key, which follow the value; 0: it has none */
};

struct store {
	const struct map_def *def;
	enum store_kind kind;
	struct store_map map;	   /* the hash of short keys when there are two */
	bool in_code;		   /* programs in the kernel use it: it must not change */
	struct store_map long_map; /* its fd is -1: no second one */
	uint32_t full_key;	   /* as type.h says */
	uint32_t value_size;	   /* of the value alone */
	uint32_t used_at;   /* with a long_map: the control word with the number of keys in both, */
	uint64_t *used;	    /* and the same word, mapped */
	bool by_base;	    /* cleared by remembering its words, not by writing */
	uint64_t *base;	    /* the words, of all CPUs; NULL: zeros */
	bool base_is_set;   /* zeroed, not cleared: there is a value even without an event */
	struct store *twin; /* NULL: none; it has no twin itself, and the arena's memory */
	uint32_t turn_at;   /* the control word that is 1 while programs use the twin, */
	uint64_t *turn;	    /* and the same word, mapped */
};

/* Bytes an element takes in a kernel's key, and what of it follows the value. */
uint32_t store_key_size(const struct type *t, bool is_short);
uint32_t store_stacks_size(const struct type *t, bool is_short);
/* value ^ mask is ordered by unsigned comparison so that the wanted extreme is the greatest. */
uint64_t extreme_mask(const struct type *t);

#endif
