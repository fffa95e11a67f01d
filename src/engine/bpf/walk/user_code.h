/* The walk of a user stack as it is emitted: what user_*.c share. */
#ifndef NOPAL_ENGINE_BPF_WALK_USER_CODE_H
#define NOPAL_ENGINE_BPF_WALK_USER_CODE_H

#include "engine/bpf/walk/bodies.h"
#include "unwind/tables.h"

#define FUNC_TASK_BTF 158

/* What a walk needs of a CPU. */
struct walk_cpu {
	uint16_t machine;
	const char *fp, *link;
	uint8_t call;  /* bytes: a return address less this is in the call */
	uint8_t entry; /* bytes from the stack pointer at a function's entry to its CFA */
	/* Registers are those of user mode when these bits of this word of struct pt_regs are so.
	 */
	uint16_t mode_at;
	uint8_t mode_bits, mode_user;
};

/* What a round finds and leaves, from the end of the slot's frames. */
/* clang-format off */
enum {
	WALK_PC      = 0,
	WALK_SP      = 8,
	WALK_FP      = 16,
	WALK_LINK    = 24, /* the link register, or UNWIND_NO_LR */
	WALK_EXACT   = 32, /* 1: pc is where it stands, not a return address */
	WALK_RUN     = 40, /* struct unwind_run of the process */
	WALK_PID     = 48,
	WALK_RULE    = 56, /* the first 8 bytes of the rule */
	WALK_OFFSETS = 64, /* ... fp_off and ra_off */
	WALK_NEW     = 72, /* pc of the caller */
	WALK_READ    = 80, /* 16 bytes of user memory */
	WALK_ADDRESS = 96,
	WALK_RETURNS = 104, /* the next return instance of the thread; 0: not looked at; 1: none */
	WALK_MAPPING = 112, /* struct unwind_mapping of the last frame; `end` 0: none */
	WALK_KEY     = 168, /* struct unwind_file_key of a mapping that is in no run */
	WALK_OFFSET  = 184, /* ... and where in the file it begins */
	WALK_WHY     = 192, /* enum unwind_end, where no mapping was found */
	WALK_SIZE    = 200,
};
/* clang-format on */

/* After the last word that is used, so that a search may begin at it: twice the rows of a chunk. */
#define WALK_WORDS_AFTER (2 * UNWIND_CHUNK + 2)

#define MAPPING(field) (WALK_MAPPING + (int)offsetof(struct unwind_mapping, field))

/* One ustack. */
struct user_code {
	struct walks *walks;
	const struct walk_cpu *cpu;
	struct spill slot;
	int32_t at; /* of WALK_PC in scratch memory */
	uint32_t depth;
	bool may_sleep;
	bool is_raw;		      /* frames are addresses */
	int again, done;	      /* labels: the next round; the stack is complete */
	int ends[UNWIND_ENDS_COUNT_]; /* labels by reason; 0: none */
};

/* user_words.c: a register from and to a word of the walk. */
void walk_load(struct user_code *w, int reg, int what);
void walk_store(struct user_code *w, int what, int reg);
/* `what` = the word of the kernel at an offset of what `reg` points to. */
void walk_read_kernel(struct user_code *w, int what, int reg, uint32_t offset);
/* The label of a function of this walk. */
int walk_function(struct user_code *w, enum walk_kind kind);
/* Call it for the slot at R1, a copy of this walk's. */
void walk_call(struct user_code *w, enum walk_kind kind);

/* user_find.c. WALK_MAPPING = the mapping of TMP2. */
void walk_find_mapping(struct user_code *w);
/* In: R2 is the mapping, as the kernel keeps it, and R3 the address of the caller's STACK_A. */
void walk_mapping_body(struct user_code *w);
/* WALK_RULE and WALK_OFFSETS, and R1 = the first, for the address TMP2. */
void walk_find_rule(struct user_code *w);

/* user_step.c. To `again` with the caller of the frame at TMP, by the rule in R1. */
void walk_step(struct user_code *w);
/* To `again` if a uretprobe caught the return to WALK_PC: with the address that it keeps. */
void walk_find_caught(struct user_code *w);

#endif
