/* A run-time probe as its provider keeps it. */
#ifndef NOPAL_RUNTIME_RUNTIME_H
#define NOPAL_RUNTIME_RUNTIME_H

#include "runtime/slot.h"

/* Everything about a probe, in one allocation. It does not change. */
struct probe_info {
	struct image_probe image;
	struct nopal_provider *provider;
	struct image_slot *slot;
	struct nopal_probe *handle;
	struct probe_info *next; /* in the same bucket */
	uint32_t hash;
	uint8_t arg_count;
	uint8_t arg_types[NOPAL_MAX_VALUES];  /* enum nopal_type */
	uint8_t arg_values[NOPAL_MAX_VALUES]; /* the first value of each argument */
	const struct value_type *types[NOPAL_MAX_VALUES];
	struct str names[NOPAL_MAX_VALUES];
	char text[]; /* what the strs point to, each followed by a NUL */
};

/* How many values an argument of `type` has, 1 or 2, and their types; 0: an unknown type. */
unsigned runtime_value_types(enum nopal_type type, const struct value_type *out[2]);

#endif
