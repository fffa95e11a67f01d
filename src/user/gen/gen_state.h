/* What the files of the generator share. gen.c has the way through a clause, gen_frame.c what is
 * around it; the emitters are in other gen_*.c, functions that append the code of one instruction.
 *
 * The stack of a trampoline, from the thread's own stack pointer S down. Everything is addressed
 * from the stack pointer, whose distance to S the generator always knows (`depth`):
 *
 *	S - 128    red zone, not touched
 *	head       ACC, the flags, registers that the head of the clause changes;
 *	           registers of the program, counters of loops, when the site was hit
 *	body       registers that the rest of the clause changes; struct hit; the frame
 *
 * The head is the beginning of a clause up to its first call: mostly its predicate. So an event
 * that the predicate rejects saves only what deciding it takes. What a register held when the site
 * was hit is where it was saved, or still in the register.
 *
 * ACC, TMP and AUX hold what one operation computes, and nothing longer. KEEP is the frame when
 * that is in scratch memory. */
#ifndef NOPAL_USER_GEN_GEN_STATE_H
#define NOPAL_USER_GEN_GEN_STATE_H

#include "program/op.h"
#include "program/record.h"
#include "user/gen/gen.h"
#include "user/inside/blob.h"
#include "user/inside/inside.h"

#define RED_ZONE    ASM_RED_ZONE
#define COPY_INLINE 64	/* bytes up to which copies are loads and stores */
#define FRAME_BYTES 256 /* of a frame on the stack; larger ones are in scratch memory */

/* A constant that a register of the program holds. It is written to the register's place only when
 * code that is reached in more than one way may read it. */
struct known {
	uint64_t value;
	bool valid;
	bool written;
};

/* Which registers are read at or after each instruction. */
struct liveness {
	uint64_t *words; /* a set of `each` words for each instruction; NULL: all of them are */
	size_t each;
};

/* Constants after the code. */
struct pool_item {
	int label;
	size_t at;	       /* in pool->bytes */
	int start, end, abort; /* of a restartable sequence: labels; start < 0: other bytes */
};

struct pool {
	struct buf bytes;
	struct pool_item *items;
	size_t count, cap;
};

/* Where the values of a clause are; made once for it. */
struct native_frame {
	uint32_t *slot_at; /* bytes from the frame's start, of each slot */
	uint32_t emit_at;  /* of the words that records take from registers */
	uint32_t bytes;
	uint32_t loops; /* nested in each other, at most */
	bool in_scratch;
	bool *padded; /* slots whose bytes after the text matter: of copies and tuples */
};

struct gen;
struct cold;
typedef void cold_fn(struct gen *g, const struct cold *cold);

/* Code that is rarely run, after the end of the clause: it begins at `label`, and goes back to
 * `back`. */
struct cold {
	int label, back;
	int back2; /* for what has two ways on */
	cold_fn *write;
	const struct insn *insn;
	/* The generator's state where the code branched off: */
	int32_t depth, tsc_at;
	bool in_body;
	struct known *known;
};

struct gen {
	struct native_code *code;
	const struct native_place *place;
	const struct program *program;
	const struct clause *clause;
	const struct attach *attach;
	struct diag *diag;
	int err;

	struct native_frame frame;
	struct liveness live;
	bool *is_target; /* by instruction: a jump leads there */
	int *labels;	 /* by instruction */
	struct known *known;
	struct pool *pool;
	uint32_t body;	/* the instruction that the body begins with */
	uint32_t guard; /* the first that may have an effect: before it the run may have ended */

	bool is_first, is_last; /* of the clauses at the site */
	uint32_t at;		/* the instruction that is being emitted */
	bool in_body;
	uint32_t head_saves, body_saves; /* sets of general registers */
	uint32_t head_writes, body_writes;
	int32_t depth;		    /* S - sp */
	int32_t saved_at[ASM_REGS]; /* S - address; 0: not saved */
	int32_t regs_at, rounds_at, tsc_at, hit_at, frame_at;
	int32_t claim_at; /* the mark of the run, see struct scratch_head */
	bool has_hit;	  /* the body has made a struct hit */
	bool has_time;	  /* the TSC of the hit is kept at tsc_at; 0: not yet read. It goes up by 1
			     with each record */
	uint32_t loop_depth;
	int again[PROGRAM_MAX_LOOP_DEPTH]; /* labels of the loops over maps that are open */
	unsigned each_depth;
	int head_exit, body_exit, lost;
	int over;   /* where the first of several clauses leads when the run is over */
	int layout; /* label of struct layout, after the code */
	struct cold *colds;
	size_t cold_count, cold_cap;
};

typedef void native_fn(struct gen *g, const struct insn *in);

/* ---- gen_operand.c: registers of the program, slots, constants */

/* A general register that holds it: `temp`, into which it was loaded. */
int native_read(struct gen *g, uint16_t reg, int temp);
void native_write(struct gen *g, uint16_t reg, int from); /* REG_NO is fine */
void native_write_const(struct gen *g, uint16_t reg, uint64_t value);
bool native_is_const(const struct gen *g, uint16_t reg, uint64_t *value);
/* ... and fits the 32 bits that instructions have for it. */
bool native_is_imm(const struct gen *g, uint16_t reg, int32_t *value);
/* Is the register read at instruction `at` or later, before it is written? */
bool live_has(const struct liveness *l, uint32_t at, uint16_t reg);
/* Write constants that are only known so far and that code from instruction `to` on reads. */
void native_settle(struct gen *g, uint32_t to);
/* At an instruction that is reached in more than one way. */
void native_forget_constants(struct gen *g);
/* A constant to memory. Changes no flags, but ACC when it is wide. */
void native_store_const(struct gen *g, struct asm_mem m, uint64_t value);

struct asm_mem native_at(const struct gen *g, int32_t below); /* S - below */
struct asm_mem native_frame(const struct gen *g, uint32_t at);
struct asm_mem native_slot(const struct gen *g, uint16_t slot, int64_t more);
const struct type *native_slot_type(const struct gen *g, uint16_t slot);
/* A constant after the code, at a multiple of 8 bytes: its label. */
int native_pool(struct gen *g, const void *bytes, size_t len);
/* The struct rseq_cs of a restartable sequence after the code: its label. */
int native_pool_rseq(struct gen *g, int start, int end, int abort);
void native_fail(struct gen *g, const char *tag, const char *text);

/* ---- gen_call.c */

/* Count something that went wrong; ruins TMP. */
void native_fault(struct gen *g, const struct insn *in, int kind);

/* The functions of inside.h that trampolines call. */
/* clang-format off */
#define INSIDE_FUNCTIONS(row) \
	row(MAP_GET, map_get) row(MAP_COPY, map_copy) row(MAP_SET, map_set) row(MAP_PUT, map_put) \
	row(MAP_ADD, map_add) row(MAP_DEL, map_del) row(MAP_HAS, map_has) row(MAP_NEXT, map_next) row(MAP_PLACE, map_place) row(AGGREGATE, aggregate) row(PERCENTILE, percentile) \
	row(LOAD, load) row(WRITE, write) row(STR, str) row(BUF, buf) row(TEXT, text) row(COMM, comm) \
	row(STRCMP, strcmp) row(APPEND, append) row(USTACK, ustack) row(LSTACK, lstack) row(ZERO, zero) row(COPY, copy) row(EMIT, emit) \
	row(SCRATCH_CLAIM, scratch_claim) \
	row(NSECS, nsecs) row(PID, pid) row(TID, tid) row(UID, uid) row(GID, gid) \
	row(F2I, f2i) row(RAND, rand) row(CPU, cpu)
/* clang-format on */
enum inside_fn {
#define INSIDE_FN(name, function) INSIDE_##name,
	INSIDE_FUNCTIONS(INSIDE_FN)
#undef INSIDE_FN
};

/* An argument of a call: see the macros. */
struct native_arg {
	enum { ARG_END, ARG_REG, ARG_HOST, ARG_IMM, ARG_MEMORY, ARG_LABEL } kind;
	int number;
	uint64_t value;
	struct asm_mem mem;
};
/* clang-format off */
#define REG(r)	   {ARG_REG, (r), 0, {0}}		/* a register of the program */
#define HOST(r)	   {ARG_HOST, (r), 0, {0}}		/* a register of the CPU: ACC, TMP */
#define IMM(n)	   {ARG_IMM, 0, (uint64_t)(n), {0}}
#define MEMORY(m)  {ARG_MEMORY, 0, 0, m}		/* the address of it */
#define LABEL(l)   {ARG_LABEL, (l), 0, {0}}		/* the address of a constant */
#define HIT	   {ARG_MEMORY, 0, 0, native_at(g, g->hit_at)}
#define NOTHING	   {ARG_IMM, 0, 0, {0}}
#define END	   {ARG_END, 0, 0, {0}}
/* clang-format on */
/* The functions of inside.h. The result is in ACC; only in the body. */
void native_call_args(struct gen *g, enum inside_fn fn, const struct native_arg *args);
#define native_call(g, fn, ...) \
	native_call_args(g, fn, (const struct native_arg[]){__VA_ARGS__, END})

/* Calls from anywhere: what they change is saved around them. They are for code that is rarely run.
 * `more` bytes of stack are left until the end. */
struct aside {
	int32_t depth, hit_at;
	int32_t more_at; /* S - address of these bytes */
	uint32_t saved, written;
};

struct aside native_aside_begin(struct gen *g, uint32_t more);
void native_aside_end(struct gen *g, const struct aside *a);
/* struct hit of the aside's calls; ruins ACC. */
void native_aside_hit(struct gen *g);

/* A label for code after the end of the clause, which goes on here. */
int native_cold(struct gen *g, const struct insn *in, cold_fn *write, int back);
void native_write_colds(struct gen *g);

/* ---- gen_frame.c */

/* Where the slots of g->clause are; 0 or -errno. */
int native_plan_frame(struct gen *g);
void native_head_begin(struct gen *g);
void native_head_end(struct gen *g, int label); /* which it binds */
void native_body_begin(struct gen *g);
void native_body_end(struct gen *g);
/* To `out` once the run is over, and in a child that is not followed. */
void native_guard(struct gen *g, int out);
/* KEEP = a frame in scratch memory, for a clause whose frame is too large for the stack. */
void native_claim_scratch(struct gen *g);
/* What the functions of inside.h need of the event, at g->hit_at; ruins ACC. */
void native_make_hit(struct gen *g);
struct asm_mem native_hit_tsc(const struct gen *g);
/* The stack pointer goes down by a constant; no flags change. */
void native_lower_stack(struct gen *g, int32_t bytes);
/* ... which is a multiple of what the CPU wants. */
int32_t native_aligned(uint32_t bytes);

/* ---- gen_flow.c */

int native_liveness(const struct clause *c, struct liveness *out);
/* Where the body begins, and the first effect. */
void native_find_parts(struct gen *g);

/* ---- the emitters, by the table in gen.c */

/* clang-format off */
native_fn native_const, native_unary, native_binary, native_shift, native_divide, native_relation, native_float_to_int;
native_fn native_jump, native_branch, native_loop, native_each, native_next, native_return;
native_fn native_arg, native_reg, native_builtin, native_load;
native_fn native_put_word, native_get_word, native_zero_slot, native_copy_slot, native_copy_part;
native_fn native_literal, native_str, native_buf, native_comm, native_stack, native_script_stack, native_strcmp, native_append, native_push, native_mark, native_write_user, native_length, native_byte, native_count_fault;
native_fn native_map_get, native_map_copy, native_map_set, native_map_put, native_map_add, native_map_del, native_map_has, native_percentile;
native_fn native_aggregate, native_record;
/* clang-format on */

/* A comparison and the branch on its result, which nothing else reads. */
void native_compare_branch(struct gen *g, const struct insn *relation, const struct insn *branch);
/* Memory that can be read whenever the site is hit. */
bool native_is_stable(const struct gen *g, const struct operand *o, struct asm_mem *m);
/* Does reading a builtin take a call? */
bool native_builtin_calls(const struct gen *g, int64_t builtin);
/* Is it done without a call, mostly: in a restartable sequence? */
bool native_is_inline(const struct gen *g, const struct insn *in);
/* Is one value of an aggregate taken in by a restartable sequence, after a key was found? */
bool native_has_cell(const struct gen *g, const struct insn *in);
void native_cell_aggregate(struct gen *g, const struct insn *in);
void native_inline_record(struct gen *g, const struct insn *in);
/* Constants after the code, and keys, for calls. */
struct native_arg native_key(const struct gen *g, const struct insn *in);
int native_map_shape(struct gen *g, const struct insn *in);
int native_record_shape(struct gen *g, const struct insn *in, uint32_t words_at);
/* The words that a record takes from registers, to memory. */
void native_put_fields(struct gen *g, const struct insn *in, struct asm_mem m);
/* The thread pointer; what a general register held; ACC = the process's id. */
void native_thread_pointer(struct gen *g, int to);
void native_saved(struct gen *g, int reg, int to);
void native_pid(struct gen *g, const struct insn *in);

#endif
