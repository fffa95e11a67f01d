/* The maps in shared memory as the tracer sees them; part of store.h. */
#ifndef NOPAL_USER_MEMORY_MAPS_H
#define NOPAL_USER_MEMORY_MAPS_H

#include "user/memory/store.h"

/* The operations of engine/interp on these maps, faults and rings. */
struct interp_store table_interp_store(struct native_store *s);

/* The value of an aggregate of this use of an entry, as type.h lays it out; `to` is zeros. */
void table_copy_cells(struct native_store *s, const struct map_shape *m, uint64_t index,
		      uint64_t number, uint64_t *to);
/* The value of an entry of a map whose values are neither words nor aggregates; `to` is zeros. */
void table_copy_value(const struct map_shape *m, const struct map_entry *e, uint64_t *to);

#endif
