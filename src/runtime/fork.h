/* Which process this is, seen from memory alone: its *generation*, a number larger than those of
 * its ancestors. It is how a child of the bare clone() or of _Fork(), where no handler of
 * pthread_atfork() has run, finds that what it holds is a copy. A child that shares its parent's
 * memory (vfork(), CLONE_VM) is the same process here. */
#ifndef NOPAL_RUNTIME_FORK_H
#define NOPAL_RUNTIME_FORK_H

#include <stdint.h>

#define GENERATION_BUSY 0x80000000u /* no generation has this bit */

/* Once in a process, before the first provider. */
void generation_init(void);
/* Once, when there are no providers and no events any more. */
void generation_end(void);
/* Never 0. May be called anywhere, also in signal handlers. */
uint32_t generation_now(void);
/* For the handler of pthread_atfork() in a child: works on every kernel. */
void generation_next(void);

#endif
