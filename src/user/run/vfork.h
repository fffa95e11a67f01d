/* Children of vfork(), which share the memory of the thread that made them. */
#ifndef NOPAL_USER_RUN_VFORK_H
#define NOPAL_USER_RUN_VFORK_H

#include "user/run/libc_code.h"

/* Code for LIBC_VFORK of a process with rseq: it lets children see that the CPU is not theirs that
 * their memory names. x86-64. */
void vfork_code(struct native_code *c, struct libc_place *place);
/* Code for LIBC_CLONE and LIBC_CLONE3, which does that for children that are made as vfork() makes
 * them. */
void clone_code(struct native_code *c, struct libc_place *place);

#endif
