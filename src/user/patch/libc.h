/* Places in the dynamic loader and the C library of a process where code of ours is run, too. */
#ifndef NOPAL_USER_PATCH_LIBC_H
#define NOPAL_USER_PATCH_LIBC_H

#include "base/str.h"
#include "user/patch/site.h"

/* Plan the function that the dynamic loader calls when it has mapped a library, before any code of
 * that runs, and when it has unmapped one. The trampoline returns to the caller. *state: of 4
 * bytes, which are RT_CONSISTENT, 0, when the loader is done. -ENOENT: there is none, or it is not
 * as expected; -ENOMEM. */
int inject_plan_loader(struct inject *x, struct inject_site *out, uint64_t *state);
/* Is the program linked with this library, so that it stays mapped? */
bool inject_is_linked(struct inject *x, struct str path);

/* Places in the C library. */
enum inject_libc {
	LIBC_VFORK,   /* vfork(): where parent and child come from the system call; x86-64 */
	LIBC_PRCTL,   /* just before prctl(2) */
	LIBC_SYSCALL, /* syscall(): just before the call, whose number and arguments are in place */
	LIBC_CLONE,   /* just before clone(2), whose number is not in place; x86-64 */
	LIBC_CLONE3,
	LIBC_OWN, /* a call of the program's own code, which is never a place; x86-64 */
};

struct inject_place {
	enum inject_libc what;
	uint64_t called; /* after the system call that comes next; 0: none does */
	struct inject_site site;
};

#define LIBC_BIT(kind) (1u << (kind))
/* Plan those of them that are as expected, at most `most`; how many, or -ENOMEM. *lacks: a bit for
 * each kind of which one is left out. */
int inject_plan_libc(struct inject *x, struct inject_place *out, unsigned most, unsigned *lacks);

#endif
