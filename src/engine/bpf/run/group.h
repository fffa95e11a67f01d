/* Groups: how one program reaches any number of kernel maps. The kernel lets a program name 64. A
 * script with more than GROUP_DIRECT gets arrays of maps, one for all that have the same type and
 * sizes, and its code looks a map up by its index in such an array. Scripts with fewer maps pay
 * nothing. */
#ifndef NOPAL_ENGINE_BPF_RUN_GROUP_H
#define NOPAL_ENGINE_BPF_RUN_GROUP_H

#include "engine/bpf/gen/store_map.h"

struct diag;

#define GROUP_DIRECT 48u /* maps that a program may name, besides those that every program has */

struct groups {
	int *fds; /* owned; the arrays of maps */
	uint32_t count;
};

/* Group the kernel maps of these stores when they are more than `direct`. -E2BIG when they have too
 * many different sizes. */
int groups_make(struct groups *g, struct store *stores, uint32_t count, uint32_t direct,
		struct diag *d);
void groups_close(struct groups *g);

#endif
