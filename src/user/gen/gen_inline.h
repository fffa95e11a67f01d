/* What is done in the trampoline itself, in a restartable sequence (rseq): adding to a cell of an
 * aggregate, and a record of plain words. The kernel takes a thread that it interrupts in such a
 * sequence out of it, unless its last instruction was executed. So nobody else runs on this CPU
 * between the first instruction and the last, and memory that belongs to the CPU is changed without
 * atomic instructions, by the last instruction alone. Whatever does not go the usual way is left to
 * the functions of inside.h, and so is what was interrupted: a debugger that runs one instruction
 * after the other interrupts each time.
 *
 *		ACC = address of the sequence	; struct rseq_cs, after the code
 *		thread.rseq_cs = ACC
 *	start:	ACC = thread.cpu_id
 *		...				; may jump out, having changed nothing that counts
 *		*ACC += AUX			; the commit: its last instruction
 *	end:
 */
#ifndef NOPAL_USER_GEN_GEN_INLINE_H
#define NOPAL_USER_GEN_GEN_INLINE_H

#include "user/gen/gen_state.h"

/* Labels. */
struct sequence {
	int start, end, abort;
};

/* Begin a sequence; ACC = the CPU. `cold`: where to go when that is none of the `cpus`, or the
 * thread was interrupted. Ruins ACC. */
struct sequence sequence_begin(struct gen *g, uint32_t cpus, int cold);
/* The instruction before was the commit. */
void sequence_end(struct gen *g, const struct sequence *s);
/* All ways on from a sequence lead here: the kernel must not find a sequence in memory that may be
 * used otherwise, some day. */
void sequence_leave(struct gen *g, int back);

/* gen_inline_record.c */
bool native_has_inline_record(const struct gen *g, const struct insn *in);

#endif
