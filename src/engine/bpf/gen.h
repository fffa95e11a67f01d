/* Code generation: one unit to eBPF. Private to this folder. gen.c has the way through a program
 * and the table from operations to emitters; the emitters are in gen_*.c, functions `gen_x(g,
 * insn)` that append the code of one instruction.
 *
 * Registers and slots of the program have spill slots, on the stack or in scratch memory (frame.c).
 * Every operation loads what it needs and stores its result: there is no register allocation. That
 * costs a few loads an event, little beside the trap, and it keeps what the verifier has to know
 * small: at the end of each operation only CTX, SCRATCH and FRAME are in use.
 *
 * Errors are sticky: gen_fail() and failed allocations are returned once, by gen_unit(). */
#ifndef NOPAL_ENGINE_BPF_GEN_H
#define NOPAL_ENGINE_BPF_GEN_H

#include "engine/bpf/control.h"
#include "engine/bpf/pids.h"
#include "engine/bpf/registers.h"
#include "engine/bpf/sizes.h"
#include "engine/bpf/spill.h"
#include "engine/bpf/store.h"
#include "engine/bpf/unit.h"
#include "engine/bpf/walks.h"

/* What the code of every unit refers to. */
struct gen_world {
	const struct store *stores;
	int control_fd;
	int zeros_fd; /* one entry of zeros, as large as the largest copy of them */
	int ring_fd, scratch_fd;
	uint32_t ring_bytes;
	uint32_t control_count; /* control formats that have a counter */
	uint32_t span_count;
	uint32_t scratch_count; /* entries, a power of two */
	uint32_t scratch_size;	/* bytes of one */
	unsigned cpus;
	bool sleepable;
	bool one_hash;	     /* of tests: all stacks that are keys have the same */
	bool has_may_goto;   /* if there are stacks of scripts, or as keys; else not asked */
	bool counts_running; /* in CONTROL_RUNNING, because detaching takes long; see stop.c */
	enum loops loops;
	struct user_walk user;
	struct script_walk script;
	struct pid_filter filter;
};

/* The spill slots of a clause. */
struct frame {
	bool is_lean; /* no values on the stack; see frame.c */
	struct spill *regs, *slots;
	bool *padded;		/* slots that must be zero after their text: keys, values, copies */
	struct spill *counters; /* of loops, by the index of their OP_LOOP */
	int32_t stack;		/* lowest byte used, negative */
	int32_t scratch;	/* bytes of scratch used; 0: none needed */
	int32_t record;		/* where in scratch records are packed; 0: nowhere */
	bool *in_place; /* by the index of an OP_EMIT: packed around its first text instead */
	int32_t key;	/* where in scratch keys are made */
	int32_t entry;	/* ... and values with the stacks of their keys */
};

/* The body of a loop that a helper calls: instructions [from, to) of a clause. */
struct loop_body {
	uint32_t clause, from, to;
	int label;
	const struct store_map *map; /* of OP_EACH: the one that is walked; NULL: bpf_loop */
	bool in_map;		     /* it is, or is within, a loop over a map */
};

struct gen {
	struct code *code;
	const struct gen_world *world;
	const struct unit *unit;
	const struct program *program;
	const struct clause *clause;
	uint32_t clause_number;
	const struct frame *frame;
	int *labels;		  /* by instruction of the clause */
	int end;		  /* label: after the clause */
	bool in_map;		  /* in a loop over a map, where nothing may sleep */
	struct loop_body *bodies; /* functions that are still to be emitted */
	size_t body_count, body_cap;
	struct walks walks; /* likewise, of walks over stacks */
	struct diag *diag;
	int err;
};

/* frame.c */
int frame_plan(struct arena *a, const struct program *p, const struct clause *c, enum loops loops,
	       struct frame *out);

/* May what is emitted now sleep? The kernel calls the body of a loop over a map under a lock. */
static inline bool gen_may_sleep(const struct gen *g)
{
	return g->world->sleepable && !g->in_map;
}

/* gen.c: registers and slots, counters */
void gen_address(struct gen *g, int dst, struct spill at, int32_t more);
void gen_get(struct gen *g, int dst, uint16_t reg); /* dst = a register of the program */
void gen_set(struct gen *g, uint16_t reg, int src);
struct spill gen_slot(const struct gen *g, uint16_t slot);
const struct type *gen_slot_type(const struct gen *g, uint16_t slot);
void gen_count(struct gen *g, uint32_t word); /* add 1 to a control word; ruins R1, R2 */
void gen_fault(struct gen *g, const struct insn *in, int kind);
void gen_zero(struct gen *g, struct spill to, int32_t more, uint32_t len);
/* Jump to labels[case] by the case in the cookie. */
void gen_switch(struct gen *g, const int *labels);
/* Instructions [from, to) of the clause. */
void gen_range(struct gen *g, uint32_t from, uint32_t to);
/* Labels for the instructions of the clause, in g->labels; the caller frees them. */
bool gen_make_labels(struct gen *g);
void gen_fail(struct gen *g, int err, const char *tag, const char *text);

/* One unit to code. The world's scratch_size must be at least what the frames need. */
int gen_unit(const struct gen_world *w, const struct unit *u, const struct frame *frames,
	     struct code *code, struct diag *d);

/* The emitters, by the table in gen.c */
typedef void gen_fn(struct gen *g, const struct insn *in);
/* clang-format off */
gen_fn gen_const, gen_unary, gen_binary, gen_divide, gen_relation, gen_float_to_int;
gen_fn gen_jump, gen_branch, gen_loop, gen_next, gen_return;
gen_fn gen_arg, gen_reg, gen_field, gen_builtin, gen_load, gen_signal, gen_write;
gen_fn gen_put_word, gen_get_word, gen_zero_slot, gen_copy_slot, gen_copy_part;
gen_fn gen_literal, gen_append, gen_push, gen_mark, gen_str, gen_buf, gen_comm, gen_stack, gen_script_stack, gen_field_str, gen_kernel_str, gen_path, gen_strcmp;
gen_fn gen_map, gen_emit;
/* clang-format on */

/* gen_loop.c */
void gen_loop_call(struct gen *g, const struct insn *in, uint32_t at);
void gen_each_call(struct gen *g, const struct insn *in, uint32_t at);
/* The bodies that were called, once all other code is emitted. */
void gen_loop_bodies(struct gen *g, const struct frame *frames);
/* gen_map.c */
/* R1 = the kernel map; may ruin R0 to R5. */
void gen_take_map(struct gen *g, const struct store_map *map);
/* To the label that this returns, while programs use the twin of the store; ruins R1. */
int gen_twin(struct gen *g, const struct store *s);
/* gen_key.c */
/* The entry that an instruction is about: one kernel map of a store, the slot that has the key, and
 * where the kernel's key is, which is made of it. */
struct gen_entry {
	const struct store *store;
	const struct store_map *map;
	struct spill slot, key;
};

/* Are all texts and stacks of the key short? Else to `is_long`. */
void gen_check_short(struct gen *g, const struct gen_entry *at, int is_long);
/* Make the kernel's key: at->key. Ruins R0 to R5, TMP, TMP2. */
void gen_make_key(struct gen *g, struct gen_entry *at);
/* R0, the value of an entry, becomes 0 when the entry has other stacks. Ruins R1 to R5. */
void gen_compare_stacks(struct gen *g, const struct gen_entry *at);
/* Copy the stacks of the key to scratch memory. */
void gen_copy_stacks(struct gen *g, const struct gen_entry *at, int32_t to);
/* At the start of a function that the kernel calls for an entry: TMP is the key, TMP2 the value;
 * both go where `in` wants them. */
void gen_take_entry(struct gen *g, const struct insn *in, const struct store_map *map);
/* gen_compare.c */
/* 8 bytes of a literal as this machine loads them; zeros after its end. */
uint64_t gen_literal_word(struct str text, uint32_t at, uint32_t len);
/* gen_aggregate.c; R0 is the value */
void gen_mark_set(struct gen *g, const struct store *s);
void gen_take_in(struct gen *g, const struct insn *in, const struct store *s);
void gen_gather(struct gen *g, const struct type *t);
void gen_conclude(struct gen *g, const struct type *t);
void gen_percentile(struct gen *g, const struct type *t, int64_t millionths); /* R1 = it */
#endif
