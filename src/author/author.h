/* From a provider file's tree to what programs with these probes are built with: a header with one
 * macro a probe (header.c), and an object file with one semaphore a probe (object.c). */
#ifndef NOPAL_AUTHOR_AUTHOR_H
#define NOPAL_AUTHOR_AUTHOR_H

#include "provider/provider.h"

/* What no single line shows: probes that are declared twice, names that collide once they are
 * macros, no provider at all. Call once, after the last text. 0 or -EINVAL. */
int provider_check(struct provider_file *file, struct diag *d);

/* The C and C++ header. `name` is the name of the file it will be. */
void provider_header(struct provider_file *file, struct str name, bool is_checked, struct buf *out);

struct object_request {
	struct str target; /* "aarch64-linux-gnu" */
	bool shared; /* other modules may use the semaphores: plug-ins those of their program */
};

/* The relocatable object file. 0, -EINVAL for a target nobody knows, -EIO when the ELF library
 * refuses. */
int provider_object(struct provider_file *file, const struct object_request *r, struct buf *out,
		    struct diag *d);

#endif
