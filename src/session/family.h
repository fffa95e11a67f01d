/* The processes a run follows: the one named by -p or started by -c, and, where they are followed,
 * the children it has from then on. */
#ifndef NOPAL_SESSION_FAMILY_H
#define NOPAL_SESSION_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct family {
	pid_t *pids; /* owned */
	size_t count, cap;
};

int family_add(struct family *f, pid_t pid); /* once each; -ENOMEM */
bool family_has(const struct family *f, pid_t pid);
void family_remove(struct family *f, pid_t pid);
void family_free(struct family *f);

#endif
