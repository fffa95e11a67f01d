/* Places in the C library of a traced process where code of ours is run, too. */
#ifndef NOPAL_USER_RUN_LIBC_CODE_H
#define NOPAL_USER_RUN_LIBC_CODE_H

#include "user/asm/code.h"
#include "user/patch/libc.h"
#include "user/ptrace/tracee.h"
#include "user/run/process.h"

/* What code for a place is made of. The code ends where the place goes on. */
struct libc_place {
	enum inject_libc what;
	const struct inject_world *world;
	const struct inject_site *site;
	uint64_t inside;   /* the functions of inside.h */
	uint64_t called;   /* as in struct inject_place */
	uint64_t waits_at; /* where code for the place makes a system call itself; 0: it does not */
};

/* Jump to an address. */
void libc_go_on(struct native_code *c, uint64_t at);

/* Enable the places that are found, and then look whether the process has a filter already. Places
 * are not found in all C libraries. -errno with a message. */
int libc_add(struct native_process *p, const struct native_store *s, struct diag *d);

#endif
