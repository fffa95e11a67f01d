/* The bytes of inside_*.c as they are copied into a traced process: code and constants that run at
 * any address that is a multiple of 16. Made by scripts/blob, which checks what inside.h promises.
 * Empty on CPUs that the engine is not offered on. */
#ifndef NOPAL_USER_INSIDE_BLOB_H
#define NOPAL_USER_INSIDE_BLOB_H

#include <stdint.h>

struct native_function {
	const char *name; /* "inside_emit" */
	uint32_t offset;  /* in the blob */
};

extern const unsigned char native_blob[];
extern const uint32_t native_blob_size;
extern const struct native_function native_functions[]; /* the last has no name */
/* The offset of one; UINT64_MAX: this build has no code for this CPU. */
uint64_t native_function(const char *name);

#endif
