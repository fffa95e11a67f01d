/* The *generation* of a process: a number in its memory that is larger than those of its ancestors.
 * By it a child that was made by a bare clone() or by _Fork(), where no handler of pthread_atfork()
 * has run, notices that it holds copies. A child that shares its parent's memory (vfork(),
 * CLONE_VM) counts as the same process. */
#ifndef NOPAL_RUNTIME_FORK_H
#define NOPAL_RUNTIME_FORK_H

#include <stdint.h>

#define GENERATION_BUSY 0x80000000u /* no generation has this bit */

/* Call it once, before the first provider. */
void generation_init(void);
/* Call it once, after the last provider and the last event. */
void generation_end(void);
/* Never 0. May be called from signal handlers. */
uint32_t generation_now(void);
/* For the handler of pthread_atfork() in the child: works on every kernel. */
void generation_next(void);

#endif
