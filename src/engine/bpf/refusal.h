/* Why the kernel refused a program: its verifier's last words, and what they mean. */
#ifndef NOPAL_ENGINE_BPF_REFUSAL_H
#define NOPAL_ENGINE_BPF_REFUSAL_H

#include "base/buf.h"
#include "engine/bpf/gen.h"
#include "engine/bpf/kernel.h"

enum refusal {
	REFUSAL_NONE,
	REFUSAL_OTHER, /* the code is wrong, which is our mistake; or the kernel lacks something */
	REFUSAL_INSNS, /* too many instructions to follow, or too many in all */
	REFUSAL_JUMPS, /* too many branches one after another */
	REFUSAL_REACH, /* a jump became too far for its 16 bits */
	REFUSAL_STACK, /* loops in loops take too much stack */
	REFUSAL_LOCKDOWN, /* reading kernel memory is forbidden to everybody */
	REFUSAL_RIGHTS,
};

/* Of a program that was refused with `err`; it is loaded once more, for the verifier's verdict,
 * which is added to `words`. */
enum refusal refusal_find(struct kernel_program *k, int err, struct buf *words);
/* Is less code less of a problem? */
bool refusal_is_of_size(enum refusal why);
/* The error message for it. `clause` is the only one in the program, or NULL. */
int refusal_report(enum refusal why, int err, struct str words, const struct gen_world *w,
		   const struct program *p, const struct clause *clause, struct diag *d);

#endif
