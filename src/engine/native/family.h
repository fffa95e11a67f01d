/* The traced process and those that it has started: which of them run a program that is not known
 * yet, because they are new or have called exec. */
#ifndef NOPAL_ENGINE_NATIVE_FAMILY_H
#define NOPAL_ENGINE_NATIVE_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct native_member {
	pid_t pid;
	uint64_t program; /* where its code begins, which is another address after each exec */
	bool is_there;	  /* at the last look */
};

struct native_family {
	struct native_member *all; /* owned */
	size_t count, cap;
};

typedef void family_fn(void *arg, pid_t pid);

/* Call `fn` with each process that runs a program that it did not run at the last look: the first
 * one, and with `follow` its children. -ENOMEM. */
int family_look(struct native_family *f, pid_t first, bool follow, family_fn *fn, void *arg);
void family_free(struct native_family *f);

#endif
