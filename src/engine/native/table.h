/* The maps in shared memory as the tracer sees them; part of store.h. */
#ifndef NOPAL_ENGINE_NATIVE_TABLE_H
#define NOPAL_ENGINE_NATIVE_TABLE_H

#include "engine/native/store.h"

/* The operations of engine/interp on these maps, faults and rings. */
struct interp_store table_interp_store(struct native_store *s);

#endif
