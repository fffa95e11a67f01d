/* Code generation: one unit to eBPF. Private to this folder. clauses.c has the way through a
 * program and the table from operations to emitters; the emitters are in the other files, functions
 * `gen_x(g, insn)` that append the code of one instruction.
 *
 * Registers and slots of the program have spill slots, on the stack or in scratch memory (frame.c).
 * Every operation loads what it needs and stores its result: there is no register allocation. That
 * costs a few loads an event, little beside the trap, and it keeps what the verifier has to know
 * small: at the end of each operation only CTX, SCRATCH and FRAME are in use.
 *
 * Errors are sticky: gen_fail() and failed allocations are returned once, by gen_unit(). */
#ifndef NOPAL_ENGINE_BPF_GEN_EMITTER_H
#define NOPAL_ENGINE_BPF_GEN_EMITTER_H

#include "engine/bpf/gen/sizes.h"
#include "engine/bpf/gen/world.h"
#include "engine/bpf/kernel/control.h"
#include "program/record.h"

/* The body of a loop that a helper calls: instructions [from, to) of a clause. */
struct loop_body {
	uint32_t clause, from, to;
	int label;
	const struct store_map *map; /* of OP_EACH: the one that is walked; NULL: bpf_loop */
	bool in_map;		     /* it is, or is within, a loop over a map */
};

/* What a program does with the stacks of keys, as a function that it calls. */
struct key_function {
	bool compares; /* two stacks; else it makes the hash of one */
	uint32_t size; /* bytes of a stack, with its head */
	int label;
};

struct emitter {
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
	struct key_function *key_functions; /* still to be emitted, too */
	size_t key_count, key_cap;
	struct walks walks; /* over stacks; their functions are still to be emitted */
	struct diag *diag;
	int err;
};

/* May what is emitted now sleep? The kernel calls the body of a loop over a map under a lock. */
static inline bool gen_may_sleep(const struct emitter *g)
{
	return g->world->sleepable && !g->in_map;
}

/* emitter.c: registers and slots, counters */
void gen_address(struct emitter *g, int dst, struct spill at, int32_t more);
void gen_get(struct emitter *g, int dst, uint16_t reg); /* dst = a register of the program */
void gen_set(struct emitter *g, uint16_t reg, int src);
struct spill gen_slot(const struct emitter *g, uint16_t slot);
const struct type *gen_slot_type(const struct emitter *g, uint16_t slot);
void gen_count(struct emitter *g, uint32_t word); /* add 1 to a control word; ruins R1, R2 */
void gen_fault(struct emitter *g, const struct insn *in, int kind);
void gen_zero(struct emitter *g, struct spill to, int32_t more, uint32_t len);
/* Jump to labels[case] by the case in the cookie. */
void gen_switch(struct emitter *g, const int *labels);
void gen_fail(struct emitter *g, int err, const char *tag, const char *text);

/* The emitters, by the table in clauses.c */
typedef void gen_fn(struct emitter *g, const struct insn *in);
/* clang-format off */
gen_fn gen_const, gen_unary, gen_binary, gen_divide, gen_relation, gen_float_to_int;
gen_fn gen_jump, gen_branch, gen_loop, gen_next, gen_return;
gen_fn gen_arg, gen_reg, gen_field, gen_builtin, gen_load, gen_signal, gen_write;
gen_fn gen_put_word, gen_get_word, gen_zero_slot, gen_copy_slot, gen_copy_part;
gen_fn gen_literal, gen_append, gen_push, gen_mark, gen_str, gen_buf, gen_comm, gen_stack, gen_script_stack, gen_field_str, gen_kernel_str, gen_path, gen_strcmp, gen_length, gen_byte;
gen_fn gen_map, gen_emit;
/* clang-format on */

/* 8 bytes of a literal as this machine loads them; zeros after its end. */
uint64_t gen_literal_word(struct str text, uint32_t at, uint32_t len);

#endif
