/* The memory that a program in the kernel works with: its stack of 512 bytes, and scratch memory,
 * which a run of a clause takes and gives back. A spill slot is a place in one of them. */
#ifndef NOPAL_ENGINE_BPF_KERNEL_SPILL_H
#define NOPAL_ENGINE_BPF_KERNEL_SPILL_H

#include "engine/bpf/kernel/insn.h"

/* clang-format off */

/* Bytes of the stack with a fixed use, below the frame pointer. */
#define STACK_COOKIE   (-8) /* of the site */
#define STACK_KEY     (-16) /* key of a store without keys; scratch index */
#define STACK_A       (-24) /* A, B and C: of the operation being emitted */
#define STACK_B       (-32)
#define STACK_C       (-40)
#define STACK_GROUP   (-48) /* index into a group of maps */
#define STACK_CTX     (-56) /* of lean frames, which have no spill slots here: passed to the */
#define STACK_SCRATCH (-64) /* functions of loops */
#define STACK_SPILL   (-48) /* below it: spill slots, by frame_plan */
#define STACK_END    (-480) /* the kernel needs the rest for loops */
#define STACK_CALL_END (-352) /* the same of a clause with stacks: it calls functions */
/* clang-format on */

#define HEAD_SIZE 8 /* bytes of text_head, stack_head, record_head */

/* Memory for a register's value, a slot, or a part of one. */
struct spill {
	bool in_scratch;
	int32_t offset; /* from SCRATCH or FRAME */
};

static inline struct spill on_stack(int32_t offset)
{
	return (struct spill){false, offset};
}

static inline struct spill in_scratch(int32_t offset)
{
	return (struct spill){true, offset};
}

/* The register that its offset is from. */
static inline int spill_base(struct spill at)
{
	return at.in_scratch ? SCRATCH : FRAME;
}

/* An argument of a helper: the address of byte `more` of a spill slot. */
#define MEM(at, more) SUM(spill_base(at), (at).offset + (int32_t)(more))

/* Extend a register from its low `bytes` bytes. */
void code_extend(struct code *c, int reg, int64_t bytes, bool is_signed);
/* reg = min(reg, most), for the verifier */
void code_limit(struct code *c, int reg, int64_t most);
/* Copy `len` constant bytes between offsets of base registers; ruins R0..R5. */
void code_copy(struct code *c, int to, int32_t to_at, int from, int32_t from_at, uint32_t len);
/* Write `len` zeros to byte `more` of a spill slot; `zeros_fd`: a map of one entry with as many.
 * Ruins R0..R5. */
void code_zero(struct code *c, int zeros_fd, struct spill to, int32_t more, uint32_t len);

#endif
