/* Entries of the kernel's maps, as emitters work with them. Private to this folder. */
#ifndef NOPAL_ENGINE_BPF_GEN_MAP_ENTRY_H
#define NOPAL_ENGINE_BPF_GEN_MAP_ENTRY_H

#include "engine/bpf/gen/emitter.h"

/* map_entries.c */
/* R1 = the kernel map; may ruin R0 to R5. */
void gen_take_map(struct emitter *g, const struct store_map *map);
/* To the label that this returns, while programs use the twin of the store; ruins R1. */
int gen_twin(struct emitter *g, const struct store *s);
/* map_keys.c */
/* The entry that an instruction is about: one kernel map of a store, the slot that has the key, and
 * where the kernel's key is, which is made of it. */
struct gen_entry {
	const struct store *store;
	const struct store_map *map;
	struct spill slot, key;
};

/* Are all texts and stacks of the key short? Else to `is_long`. */
void gen_check_short(struct emitter *g, const struct gen_entry *at, int is_long);
/* Make the kernel's key: at->key. Ruins R0 to R5, TMP, TMP2. */
void gen_make_key(struct emitter *g, struct gen_entry *at);
/* R0, the value of an entry, becomes 0 when the entry has other stacks. Ruins R1 to R5, TMP2. */
void gen_compare_stacks(struct emitter *g, const struct gen_entry *at);
/* The functions that these two have asked for. */
void gen_key_functions(struct emitter *g);
/* Copy the stacks of the key to scratch memory. */
void gen_copy_stacks(struct emitter *g, const struct gen_entry *at, int32_t to);
/* At the start of a function that the kernel calls for an entry: TMP is the key, TMP2 the value;
 * both go where `in` wants them. */
void gen_take_entry(struct emitter *g, const struct insn *in, const struct store_map *map);
/* aggregation.c; R0 is the value */
void gen_mark_set(struct emitter *g, const struct store *s);
void gen_take_in(struct emitter *g, const struct insn *in, const struct store *s);
void gen_gather(struct emitter *g, const struct type *t);
void gen_conclude(struct emitter *g, const struct type *t);
void gen_percentile(struct emitter *g, const struct type *t, int64_t millionths); /* R1 = it */

#endif
