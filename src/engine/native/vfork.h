/* Children of vfork(), which share the memory of the thread that made them. */
#ifndef NOPAL_ENGINE_NATIVE_VFORK_H
#define NOPAL_ENGINE_NATIVE_VFORK_H

#include "engine/native/process.h"

/* Let children of vfork() see that the CPU is not theirs that their memory names. Not possible with
 * some C libraries. -ENOMEM. */
int vfork_add(struct native_process *p, const struct native_store *s, struct diag *d);

#endif
