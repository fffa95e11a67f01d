/* An assembler for eBPF with labels. A `code` grows by calls of code_*, one for each shape of
 * instruction; code_finish drops what cannot be reached (the verifier refuses it), resolves the
 * labels and returns the plain instructions to load. Errors are sticky: after an allocation has
 * failed the calls do nothing, and code_finish returns the error. */
#ifndef NOPAL_ENGINE_BPF_KERNEL_INSN_H
#define NOPAL_ENGINE_BPF_KERNEL_INSN_H

#include <linux/bpf.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/diag.h"

/* Registers by the role they have in our programs. 1..5 are the arguments of calls and do not
 * survive them. */
enum {
	R0, /* result of calls */
	R1,
	R2,
	R3,
	R4,
	R5,
	CTX,	 /* r6: the program's context, throughout */
	TMP,	 /* r7: of the operation being emitted; survives calls */
	TMP2,	 /* r8: the same */
	SCRATCH, /* r9: the run's scratch memory, when the clause needs any */
	FRAME,	 /* r10: end of the 512-byte stack */
};

#define FUNC_LOOP     181 /* bpf_loop, which older headers do not have */
#define FUNC_TAI      208 /* CLOCK_TAI, since Linux 6.1 */
#define FUNC_FOR_EACH 164 /* calls a function for each entry of a map */

struct code_line {
	struct bpf_insn insn;
	uint64_t wide; /* ld_imm64: the 64-bit value, or offset << 32 | fd; of calls of functions
			* second << 32 | first */
	int32_t label; /* jumps, and calls of functions: where to; else -1 */
	uint32_t span; /* note number + 1; 0: same as before */
	bool is_wide;
	bool is_reached;
	bool is_far; /* the jump's target is beyond 16 bits */
	uint32_t at; /* final position */
};

struct code {
	struct code_line *lines;
	size_t count, cap;
	int32_t *labels; /* the line after each label; -1: not bound yet */
	size_t label_count, label_cap;
	struct str *notes; /* comments for dumps, by number; borrowed */
	size_t note_count, note_cap;
	uint32_t pending_note;
	struct code_line dropped; /* what an emitter writes to after a failure */
	bool failed;
	bool has_long_jump; /* found by code_finish */
};

void code_init(struct code *c);
void code_free(struct code *c);

int code_label(struct code *c); /* a new label, to be bound at most once; jumps need it bound */
void code_bind(struct code *c, int label);
int code_here(struct code *c); /* a new label, bound here: where a loop begins */
/* `text` is shown in dumps before the next instruction; it must outlive the code. */
void code_note(struct code *c, struct str text);

void code_mov(struct code *c, int dst, int src);
void code_const(struct code *c, int dst, int64_t value);
void code_alu(struct code *c, int op, int dst, int src); /* op: BPF_ADD, ...; 64 bits */
void code_alu_imm(struct code *c, int op, int dst, int32_t value);
void code_alu32(struct code *c, int op, int dst, int src);	      /* upper half becomes 0 */
void code_address(struct code *c, int dst, int base, int32_t offset); /* dst = base + offset */
/* dst = `bytes` bytes at base + offset, zero-extended. */
void code_load(struct code *c, int bytes, int dst, int base, int offset);
void code_store(struct code *c, int bytes, int base, int offset, int src);
void code_store_imm(struct code *c, int bytes, int base, int offset, int32_t value);
/* 8 bytes at base+offset; op: BPF_ADD, BPF_ADD | BPF_FETCH, BPF_XCHG, BPF_CMPXCHG (with R0). */
void code_atomic(struct code *c, int op, int base, int offset, int src);
void code_map(struct code *c, int dst, int map_fd);
void code_map_value(struct code *c, int dst, int map_fd, uint32_t offset); /* one-entry arrays */
void code_call(struct code *c, int helper); /* its arguments are in R1 to R5 */
/* Call a helper with these arguments: code_helper(c, BPF_FUNC_x, REG(TMP), IMM(8)). They are put
 * into R1 to R5 in order, so that an argument may use registers that earlier ones do not. */
#define code_helper(c, helper, ...) \
	code_helper_args(c, helper, (const struct code_arg[]){__VA_ARGS__, {ARG_END, 0, 0}})
struct code_arg {
	enum { ARG_END, ARG_REG, ARG_IMM, ARG_MAP, ARG_MAP_VALUE } kind;
	int reg; /* or a file descriptor */
	int64_t value;
};
/* clang-format off */
#define REG(reg)		  {ARG_REG, reg, 0}
#define SUM(reg, value)		  {ARG_REG, reg, value}
#define IMM(value)		  {ARG_IMM, 0, value}
#define MAP(map_fd)		  {ARG_MAP, map_fd, 0}
#define MAP_VALUE(map_fd, offset) {ARG_MAP_VALUE, map_fd, offset}
/* clang-format on */
void code_helper_args(struct code *c, int helper, const struct code_arg *args);
void code_jump(struct code *c, int label);
void code_jump_if(struct code *c, int op, int a, int b, int label); /* op: BPF_JEQ, ... */
void code_jump_imm(struct code *c, int op, int a, int32_t b, int label);
/* Continues, until the kernel has met it too often: then to `label`. It lets the verifier accept a
 * loop without following all its rounds. */
void code_may_goto(struct code *c, int label);
/* dst = a function of this program, which begins at the label and ends in exits. */
void code_function(struct code *c, int dst, int label);
/* Call such a function with a pointer to `first` bytes in R1, and one to `second` in R2; 0: no
 * other. The verifier follows it once, not at each call: so it must look whether they are 0. */
void code_call_function(struct code *c, int label, uint32_t first, uint32_t second);
void code_exit(struct code *c);

/* The finished program in *out, which the caller frees. -ENOMEM, -E2BIG. */
int code_finish(struct code *c, struct bpf_insn **out, size_t *count);
/* After code_finish: the functions, in order; the caller frees *out. */
struct code_function {
	uint32_t at;	   /* where it begins */
	uint32_t bytes[2]; /* that its arguments point to; 0: it has none, so a helper calls it */
};
int code_functions(const struct code *c, struct code_function **out, size_t *count);
/* Text of the finished code with its notes: for --dump=bpf. */
void code_print(const struct code *c, struct buf *out);

#endif
