/* eBPF instructions, one after the other: an assembler with labels. A `code` grows by calls of
 * code_*; code_finish drops what cannot be reached (the verifier refuses it), resolves the labels
 * and gives the plain instructions to load. An allocation failure sets `failed`, checked once by
 * code_finish. */
#ifndef NOPAL_ENGINE_BPF_INSN_H
#define NOPAL_ENGINE_BPF_INSN_H

#include <linux/bpf.h>

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
	CTX,	 /* r6: the program's context, all along */
	TMP,	 /* r7: of the operation being emitted; survives calls */
	TMP2,	 /* r8: likewise */
	SCRATCH, /* r9: the scratch memory of the run, when the clause needs any */
	FRAME,	 /* r10: end of the 512-byte stack */
};

#define FUNC_LOOP 181 /* bpf_loop, which older headers do not have */

struct code_line {
	struct bpf_insn insn;
	uint64_t wide; /* ld_imm64: the 64-bit value, or offset << 32 | fd */
	int32_t label; /* jumps: where to; else -1 */
	uint32_t span; /* note number + 1; 0: same as before */
	bool is_wide;
	bool is_reached;
	bool is_far; /* the jump's target is beyond 16 bits */
	uint32_t at; /* final position */
};

struct code {
	struct code_line *lines;
	size_t count, cap;
	int32_t *labels; /* line a label stands before; -1: not yet bound */
	size_t label_count, label_cap;
	struct str *notes; /* comments for dumps, by number; borrowed */
	size_t note_count, note_cap;
	uint32_t pending_note;
	bool failed;
	bool has_long_jump; /* found by code_finish */
};

void code_init(struct code *c);
void code_free(struct code *c);

int code_label(struct code *c); /* a new label, to be bound once */
void code_bind(struct code *c, int label);
/* `text` is shown in dumps before the next instruction; it must outlive the code. */
void code_note(struct code *c, struct str text);

void code_mov(struct code *c, int dst, int src);
void code_const(struct code *c, int dst, int64_t value);
void code_alu(struct code *c, int op, int dst, int src); /* op: BPF_ADD, ...; 64 bits */
void code_alu_imm(struct code *c, int op, int dst, int32_t value);
void code_alu32(struct code *c, int op, int dst, int src);		  /* upper half becomes 0 */
void code_load(struct code *c, int bytes, int dst, int base, int offset); /* zero-extended */
void code_store(struct code *c, int bytes, int base, int offset, int src);
void code_store_imm(struct code *c, int bytes, int base, int offset, int32_t value);
/* 8 bytes at base+offset; op: BPF_ADD, BPF_ADD | BPF_FETCH, BPF_XCHG, BPF_CMPXCHG (with R0). */
void code_atomic(struct code *c, int op, int base, int offset, int src);
void code_map(struct code *c, int dst, int map_fd);
void code_map_value(struct code *c, int dst, int map_fd, uint32_t offset); /* one-entry arrays */
void code_call(struct code *c, int helper);
void code_jump(struct code *c, int label);
void code_jump_if(struct code *c, int op, int a, int b, int label); /* op: BPF_JEQ, ... */
void code_jump_imm(struct code *c, int op, int a, int32_t b, int label);
/* Goes on, until the kernel has seen it too often: then to `label`. It is what lets the verifier
 * accept a loop without walking all its rounds. */
void code_may_goto(struct code *c, int label);
/* dst = a function of this program, which begins at the label and ends in exits. */
void code_function(struct code *c, int dst, int label);
void code_exit(struct code *c);

/* The finished program in *out (owned by the caller, free()). -ENOMEM, -E2BIG. */
/* After code_finish: where the functions begin, in order; *out is to be freed. */
int code_functions(const struct code *c, uint32_t **out, size_t *count);
int code_finish(struct code *c, struct bpf_insn **out, size_t *count);
/* Text of the finished code with its notes: for --dump=bpf. */
void code_print(const struct code *c, struct buf *out);

#endif
