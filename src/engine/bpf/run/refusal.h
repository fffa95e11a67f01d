/* Why the kernel refused a program: its verifier's last words, and what they mean. */
#ifndef NOPAL_ENGINE_BPF_RUN_REFUSAL_H
#define NOPAL_ENGINE_BPF_RUN_REFUSAL_H

#include "base/buf.h"
#include "engine/bpf/gen/world.h"

struct kernel_program;

enum refusal {
	REFUSAL_NONE,
	REFUSAL_OTHER, /* a mistake in our code, or something that the kernel does not have */
	/* ORDER: from REFUSAL_INSNS to REFUSAL_STACK less code helps: refusal_is_of_size(). */
	REFUSAL_INSNS,	  /* too many instructions to follow, or too many in all */
	REFUSAL_JUMPS,	  /* too many branches one after another */
	REFUSAL_REACH,	  /* a jump became too far for its 16 bits */
	REFUSAL_STACK,	  /* nested loops need too much stack */
	REFUSAL_LOCKDOWN, /* no BPF program may read kernel memory */
	REFUSAL_RIGHTS,
	REFUSAL_WRITE, /* ... or write to that of a process */
};

/* Loads a program that was refused with `err` once more, for the verifier's verdict, which is added
 * to `words`. */
enum refusal refusal_find(const struct kernel_program *k, int err, struct buf *words);
/* Would less code help? */
bool refusal_is_of_size(enum refusal why);
/* For -v: what the verifier says of a program that was loaded (its counts), or that the kernel
 * refused (`fd` is -errno; the whole log). It is loaded once more to get the log. */
void log_program(struct buf *out, struct kernel_program k, const struct unit *u, int fd);
/* The error message for it. `clause` is the only one in the program, or NULL. */
int refusal_report(enum refusal why, int err, struct str words, const struct gen_world *w,
		   const struct program *p, const struct clause *clause, struct diag *d);

#endif
