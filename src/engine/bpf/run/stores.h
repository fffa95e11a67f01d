/* Making, reading and clearing stores, the kernel maps of a script's maps; see store_map.h. */
#ifndef NOPAL_ENGINE_BPF_RUN_STORES_H
#define NOPAL_ENGINE_BPF_RUN_STORES_H

#include "engine/bpf/gen/store_map.h"
#include "engine/engine.h"

/* `is_shared`: an aggregate without keys has one value, not one for each CPU. `used` is word
 * `used_at` of the counters, which programs change, too. */
int store_open(struct store *s, const struct map_def *def, bool is_shared, uint32_t used_at,
	       uint64_t *used, struct diag *d);
/* No program reads the store. */
void store_is_not_read(struct store *s);
void store_close(struct store *s);
int store_each(struct store *s, unsigned cpus, map_entry_fn *fn, void *arg);
/* Write zeros to every value; or remove them all. */
int store_rewrite(struct store *s, unsigned cpus, bool remove);
/* store_each() and store_rewrite() at once; `wait` returns when every program
 * that was changing a map has done so. */
int store_take(struct store *s, unsigned cpus, enum format_take what, map_entry_fn *fn, void *arg,
	       void (*wait)(void *of), void *of);

#endif
