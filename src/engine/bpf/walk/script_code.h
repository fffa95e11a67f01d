/* The walk of a script's stack as it is emitted: what script_*.c share. */
#ifndef NOPAL_ENGINE_BPF_WALK_SCRIPT_CODE_H
#define NOPAL_ENGINE_BPF_WALK_SCRIPT_CODE_H

#include "engine/bpf/walk/bodies.h"
#include "lang/lang.h"

#define LANG_ROUNDS_MOST 4096 /* threads that are looked at, and frames that are none */

/* Words that the walk remembers. */
enum cell {
	CELL_COUNT, /* frames */
	CELL_ROUNDS,
	CELL_SELF, /* the thread pointer */
	CELL_HEAD, /* where the list of threads begins */
	CELL_STATE,
	CELL_NEXT,   /* the next frame; of threads: the interpreter; of blocks: the stack below */
	CELL_END,    /* of an array; of threads: the thread; of blocks: the blocks */
	CELL_NUMBER, /* of blocks: of the next, from the last to 0; negative: none is left */
	CELL_BLOCK,
	CELL_STATEMENT,
	CELL_TYPE,  /* of the block */
	CELL_SORT,  /* not 0: it is of a sort's stack */
	CELL_ENDED, /* the last block of its stack that ended a call; 0: none did */
	CELL_KEY,   /* three words, the key of `seen`: */
	CELL_OBJECT = CELL_KEY,
	CELL_PID,
	CELL_POSITION_KEY,
	CELL_POSITION,
	CELL_TIMES, /* of steps */
	CELL_LEN,
	CELL_TASK,
	CELL_EXEC,
	CELL_STAGE, /* where the next round continues, enum stage */
	CELL_NOTE,  /* how it ended, enum lang_note */
	CELLS,
};

/* What a round of a walk begins with, where its rounds are calls. */
enum stage {
	STAGE_START,
	STAGE_THREAD,
	STAGE_FRAME,
	STAGE_BLOCK,
	STAGE_STEP,
	STAGES,
};

/* Where it is, from the end of the slot; the last part is what is sent. */
#define AT_FRAME     0
#define AT_CELLS     (AT_FRAME + LANG_FRAME_MOST + 8)
#define AT_REGISTERS (AT_CELLS + 8 * CELLS)
#define AT_HEAD	     (AT_REGISTERS + 8 * LANG_REGISTERS)
#define AT_CHUNKS    (AT_HEAD + (int32_t)offsetof(struct lang_definition, chunks))
#define AT_BYTES     (AT_HEAD + (int32_t)sizeof(struct lang_definition))

/* A walk that is being emitted. TMP is the target throughout; TMP2 an address to read from. */
struct lang_code {
	struct walks *walks;
	struct code *c;
	int32_t frames, work; /* in scratch memory */
	uint32_t depth;	      /* words of frames */
	uint32_t most;	      /* frames */
	bool may_sleep;
	bool marks;	/* those by which the interpreter was entered */
	bool is_called; /* this is a function that bpf_loop calls for each round */
	/* labels */
	int stages[STAGES];
	int unreadable, no_thread, no_runtime, limit, root, blocks, add, next, finish;
};

/* Offset and size of a field, for lang_field() and lang_follow(). */
#define TARGET(field) \
	(int)offsetof(struct lang_target, field), (int)sizeof(((struct lang_target *)0)->field)

/* script_cells.c. R1 to R5 and TMP2 do not survive them, unless they are the result. */
void lang_get(const struct lang_code *w, int dst, enum cell cell);
void lang_set(const struct lang_code *w, enum cell cell, int src);
void lang_zero(const struct lang_code *w, enum cell cell);
/* dst = a field of the target */
void lang_field(const struct lang_code *w, int dst, int offset, int size);
/* R1 = `size` bytes of user memory at TMP2 */
void lang_read(const struct lang_code *w, int size, int fail);
/* R1 = the word at the address in a cell + a field of the target */
void lang_follow(const struct lang_code *w, enum cell from, int offset, int size);
/* R1 = the word of the kernel at R3 */
void lang_kernel(const struct lang_code *w, int fail);
/* The next round, from a stage on: to its label, or by another call. */
void lang_again(const struct lang_code *w, enum stage stage, int end);
/* The next round, if it is one of the first `most`; else to `end`. */
void lang_round(const struct lang_code *w, int32_t most, int end, enum stage stage);

/* A frame without an object: frame R1 is the note in R4, enum lang_note; R1 = the next. */
void lang_put_note(const struct lang_code *w);

/* script_target.c: TMP, and the head of the slot. `kind`: enum language. */
void lang_find_target(const struct lang_code *w, int64_t kind);

/* script_frames.c: from CELL_STATE on, all frames. */
void lang_frames(const struct lang_code *w);

/* script_define.c: the frame in CELL_OBJECT and CELL_POSITION. */
/* Add the upper 16 bits of the object, from its check word. */
void lang_check(const struct lang_code *w);
/* When a function is met for the first time, send all that its name is made of. */
void lang_define(const struct lang_code *w);

#endif
