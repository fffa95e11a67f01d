/* A clause at an attachment, as machine code: the trampoline that a patched site jumps to. It runs
 * in the traced process, on the stack of whichever thread hit the site, and leaves that thread as
 * it was: general registers, flags, vector registers, and the 128 bytes below the stack pointer
 * that belong to functions which call no others (the red zone). It takes no lock, calls nothing but
 * the functions of inside.h, and reads memory that may not be there only through them. */
#ifndef NOPAL_USER_GEN_GEN_H
#define NOPAL_USER_GEN_GEN_H

#include "base/diag.h"
#include "program/program.h"
#include "user/asm/code.h"
#include "user/inside/layout.h"

#define NATIVE_NONE INT32_MIN

/* Where things are in the traced process. */
struct native_place {
	uint64_t landing;  /* of the first byte of the trampoline */
	uint64_t site;	   /* of the probe: what `ip` and operands relative to it mean */
	uint64_t back;	   /* where to go on: after the nop, or to the target of a jump that was
			      made to lead here */
	uint64_t shared;   /* the session's memory: layout.h */
	uint64_t inside;   /* the functions of inside.h: their first byte */
	uint64_t process;  /* its struct process_page */
	uint64_t kept;	   /* its struct kept_page */
	uint64_t lang;	   /* number of its struct lang_place */
	bool follow;	   /* children, forked since then, are traced, too: their page has pid 0 */
	int32_t rseq;	   /* the thread's struct rseq, from the thread pointer; NATIVE_NONE */
	int32_t tid;	   /* the thread's id, from the thread pointer; NATIVE_NONE */
	bool has_fsgsbase; /* AT_HWCAP2: programs may read the thread pointer */
	struct memory_range image; /* that the site is in: read directly; 0, 0: not known */
	/* The tracer's own copies: */
	const struct layout *layout;
	const struct map_shape *maps; /* by number */
};

/* What runs at a site, in order. */
struct native_step {
	const struct program *program;
	const struct clause *clause;
	const struct attach *attach;
};

/* To the label `out` in a child of fork, whose page of the process is zeroed: it does not have the
 * shared memory, unless children are followed. Ruins ACC. */
void native_leave_child(struct native_code *c, uint64_t process, int out);
/* The trampoline of a site: bytes in out->bytes, to be put at place->landing. `out` was opened by
 * code_open() and is closed by the caller, also after an error. 0; -ENOTSUP with a message at the
 * clause: it needs what this engine does not have; -ENOMEM. */
int native_generate(const struct native_place *place, const struct native_step *steps, size_t count,
		    struct native_code *out, struct diag *d);

/* Bytes of scratch memory that a run of the clause needs: layout->scratch_size must be at least
 * that. 0: none. */
uint32_t native_frame_size(const struct clause *c);

/* engine_ops.unreadable: why this engine cannot read an operand; NULL: it can. */
const char *native_unreadable(const struct arch *arch, const struct operand *o);
/* Why this engine cannot do what the instruction asks for; NULL: it can. */
const char *native_undoable(const struct program *p, const struct insn *in);

#endif
