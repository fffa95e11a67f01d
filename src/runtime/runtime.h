/* What the files of run-time probes share: a probe as its provider knows it. */
#ifndef NOPAL_RUNTIME_RUNTIME_H
#define NOPAL_RUNTIME_RUNTIME_H

#include "runtime/map.h"

/* Everything about a probe, in one allocation; it does not change. */
struct probe_info {
	struct image_probe image;
	struct nopal_provider *provider;
	struct probe_room *room;
	struct nopal_probe *handle;
	struct probe_info *next; /* with the same hash */
	uint32_t hash;
	uint8_t arg_count;
	uint8_t arg_types[NOPAL_MAX_VALUES];  /* enum nopal_type */
	uint8_t arg_values[NOPAL_MAX_VALUES]; /* the first value of each argument */
	const struct value_type *types[NOPAL_MAX_VALUES];
	struct str names[NOPAL_MAX_VALUES];
	char text[]; /* what the strs point to, each with a NUL behind it */
};

/* The values of an argument of `type`: 0 (an unknown type), 1 or 2. */
unsigned runtime_value_types(enum nopal_type type, const struct value_type *out[2]);

#endif
