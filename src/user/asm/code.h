/* An assembler with labels: what the generator writes with. A code grows by calls of asm_*, one for
 * each verb that the generator knows; jumps may be made before their label is bound, and
 * code_finish_native() resolves them. Errors are sticky: after an allocation has failed the calls
 * do nothing, and code_finish_native() returns the error.
 *
 * code.c has bytes and labels, and a file for each CPU, asm_x86_64.c and asm_aarch64.c, has the
 * verbs; the one that is built is for the CPU that Nopal runs on. A verb is one instruction where
 * the CPU has it, else a few, which then may change two registers that only the assembler uses.
 *
 * The code remembers which general registers were written, so that a trampoline can save exactly
 * these and no others. */
#ifndef NOPAL_USER_ASM_CODE_H
#define NOPAL_USER_ASM_CODE_H

#include "base/array.h"
#include "base/buf.h"

/* General registers by the number that instructions have for them, and what the generator uses
 * them for:
 *
 *	ACC             what an operation computes, and the result of a call
 *	AUX             a second operand, and the second result of a call
 *	TMP             a third
 *	KEEP            something that calls leave alone
 *	W1 .. W6        more, in sequences that call nothing
 *	STACK           the stack pointer, as a base only
 *	FRAME_POINTER   in functions that have one
 */
/* clang-format off */
#if defined(__aarch64__)
enum {
	ACC = 0, AUX = 1, TMP = 9, KEEP = 19, W1 = 10, W2 = 11, W3 = 12, W4 = 13, W5 = 14, W6 = 15,
	FRAME_POINTER = 29, STACK = 31,
	ASM_REGS = 31, /* those that can be saved: numbers below this */
};
#define ASM_ARGS	  {0, 1, 2, 3, 4, 5}
/* What a C function may change, and what it must not: AAPCS64, 6.1.1. */
#define ASM_CALL_CHANGES  (0x7ffffu | 1u << 30)
#define ASM_RED_ZONE	  0
#define ASM_STACK_ALIGN	  16 /* of the stack pointer, always */
#else
enum x86_reg {
	RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15,
	ACC = RAX, AUX = RDX, TMP = RCX, KEEP = RBX,
	W1 = RSI, W2 = RDI, W3 = R8, W4 = R9, W5 = R10, W6 = R11,
	FRAME_POINTER = RBP, STACK = RSP,
	ASM_REGS = 16,
};
#define ASM_ARGS	  {RDI, RSI, RDX, RCX, R8, R9}
/* System V ABI, AMD64 supplement, 3.2.1. */
#define ASM_CALL_CHANGES                                                                           \
	(ASM_BIT(RAX) | ASM_BIT(RCX) | ASM_BIT(RDX) | ASM_BIT(RSI) | ASM_BIT(RDI) | ASM_BIT(R8) |  \
	 ASM_BIT(R9) | ASM_BIT(R10) | ASM_BIT(R11))
/* Below the stack pointer; it belongs to functions that call no others. */
#define ASM_RED_ZONE	  128
#define ASM_STACK_ALIGN	  8
#endif
#define ASM_NONE	  (-1)
#define ASM_BIT(reg)	  (1u << (reg))

/* Memory: base + (index << shift) + disp, from the thread pointer on with `thread`. */
struct asm_mem {
	int base, index;
	int shift;
	int32_t disp;
	bool thread;
};

#define ASM_LABEL (-2) /* as a base: the displacement is a label */
#define MEM(base, disp)			       ((struct asm_mem){(base), ASM_NONE, 0, (int32_t)(disp), false})
#define MEM_INDEX(base, index, shift, disp)    ((struct asm_mem){(base), (index), (shift), (int32_t)(disp), false})
#define MEM_THREAD(disp)		       ((struct asm_mem){ASM_NONE, ASM_NONE, 0, (int32_t)(disp), true})
#define MEM_LABEL(label)		       ((struct asm_mem){ASM_LABEL, ASM_NONE, 0, (label), false})

/* ORDER: the number that is in instructions of x86-64. */
enum asm_alu   { ALU_ADD, ALU_OR, ALU_ADC, ALU_SBB, ALU_AND, ALU_SUB, ALU_XOR, ALU_CMP };
enum asm_shift { SHIFT_LEFT = 4, SHIFT_RIGHT = 5, SHIFT_SIGNED = 7 };
enum asm_unary { UNARY_NOT = 2, UNARY_NEG = 3 };
/* Conditions, after ALU_CMP, ALU_SUB, ALU_AND and asm_test(); the opposite of one is it ^ 1. Below
 * and above (B, A) are of unsigned numbers, less and greater (L, G) of signed ones. */
enum asm_cond  {
	COND_O, COND_NO, COND_B, COND_AE, COND_E, COND_NE, COND_BE, COND_A,
	COND_S, COND_NS, COND_P, COND_NP, COND_L, COND_GE, COND_LE, COND_G,
};
/* clang-format on */

struct code_fixup {
	uint32_t at; /* of what holds the distance to the label */
	int label;
};

struct native_code {
	struct buf bytes; /* position-independent, except what was given as an address */
	uint64_t address; /* of the first byte, in the traced process */
	uint32_t written; /* general registers that were changed: ASM_BIT() */
	uint32_t *labels; /* offset of each; UINT32_MAX: not bound yet */
	size_t label_count, label_cap;
	struct code_fixup *fixups;
	size_t fixup_count, fixup_cap;
	bool failed;
};

/* ---- code.c */

void code_open(struct native_code *c, uint64_t address);
void code_close(struct native_code *c);
/* Forget the instructions, keep the memory and the address. */
void code_reset(struct native_code *c);
/* Resolve the labels. 0, -ENOMEM, -E2BIG; -EINVAL: one was not bound. */
int code_finish_native(struct native_code *c);

int asm_label(struct native_code *c); /* a new label, to be bound once */
void asm_bind(struct native_code *c, int label);
int asm_here(struct native_code *c); /* a new label, bound here */
void asm_bytes(struct native_code *c, const void *bytes, size_t count);
/* The bytes that come next hold the distance to the label: for the files of the CPUs. */
void asm_fixup(struct native_code *c, int label);

/* ---- the CPU's file. No verb changes the flags but those that compute with two operands, and
 * those that say so; only ALU_CMP, ALU_SUB, ALU_AND and asm_test() set them for a condition. */

/* Write the distance from the instruction at `at` to `target`; false: it does not fit. */
bool asm_resolve(struct native_code *c, uint32_t at, uint32_t target);

void asm_mov(struct native_code *c, int to, int from);
void asm_const(struct native_code *c, int to, uint64_t value);
/* `to` = `size` bytes of memory, extended to 64 bits. */
void asm_load(struct native_code *c, unsigned size, bool is_signed, int to, struct asm_mem m);
void asm_store(struct native_code *c, unsigned size, struct asm_mem m, int from);
/* The bytes at `m` will be written soon: their cache line is fetched meanwhile. Any address. */
void asm_expect_store(struct native_code *c, struct asm_mem m);
/* 8 bytes, after all that was stored before. */
void asm_store_last(struct native_code *c, struct asm_mem m, int from);
/* The low `size` bytes of a sign-extended number. */
void asm_store_imm(struct native_code *c, unsigned size, struct asm_mem m, int32_t value);
void asm_lea(struct native_code *c, int to, struct asm_mem m);
/* `to` = the low `size` bytes of `from`, extended. */
void asm_extend(struct native_code *c, unsigned size, bool is_signed, int to, int from);

void asm_alu(struct native_code *c, enum asm_alu op, int to, int from);
void asm_alu_imm(struct native_code *c, enum asm_alu op, int to, int32_t value);
void asm_alu_load(struct native_code *c, enum asm_alu op, int to, struct asm_mem m);
/* On memory of 4 or 8 bytes. */
void asm_alu_mem_imm(struct native_code *c, enum asm_alu op, unsigned size, struct asm_mem m,
		     int32_t value);
/* 8 bytes, not atomically; its last instruction is the one that stores. */
void asm_add_to(struct native_code *c, struct asm_mem m, int from);
void asm_test(struct native_code *c, int a, int b);
void asm_test_imm(struct native_code *c, int reg, int32_t mask); /* the low 32 bits */
void asm_mul(struct native_code *c, int to, int from);
void asm_mul_imm(struct native_code *c, int to, int from, int32_t value);
void asm_shift(struct native_code *c, enum asm_shift op, int to); /* by TMP, modulo 64 */
void asm_shift_imm(struct native_code *c, enum asm_shift op, int to, uint8_t count);
void asm_unary(struct native_code *c, enum asm_unary op, int reg);
/* ACC = ACC / TMP, AUX = the rest. TMP is not 0, and the result is a number of 64 bits. */
void asm_divide(struct native_code *c, bool is_signed);
/* ACC = ACC * AUX >> 32: bits 32 to 95 of the signed product; ruins AUX. */
void asm_scale(struct native_code *c);
void asm_log2(struct native_code *c, int to, int from);		 /* rounded down; not of 0 */
void asm_set(struct native_code *c, enum asm_cond cond, int to); /* 0 or 1 */

/* Atomically: 8 bytes at the address in `base` += 1. */
void asm_atomic_inc(struct native_code *c, int base);

void asm_jump(struct native_code *c, int label);
void asm_jump_if(struct native_code *c, enum asm_cond cond, int label);
/* False, and no code: the address is too far. */
bool asm_jump_to(struct native_code *c, uint64_t address);
/* To the address that is at the label; false, and no code: this CPU cannot without a register. */
bool asm_jump_through(struct native_code *c, int label);
void asm_call(struct native_code *c, uint64_t address); /* changes ASM_CALL_CHANGES */
void asm_return(struct native_code *c);
/* Code that is never reached, `count` bytes of it. */
void asm_traps(struct native_code *c, size_t count);

/* ---- the thread */

/* ACC and the flags that compilers know, to 16 bytes of stack, ACC to the upper 8; and back. */
void asm_save_flags(struct native_code *c);
void asm_restore_flags(struct native_code *c);
/* The registers of a set, by their numbers from the top of asm_pushed() bytes of stack down. */
uint32_t asm_pushed(uint32_t set);
void asm_push(struct native_code *c, uint32_t set);
void asm_pop(struct native_code *c, uint32_t set);

/* The number that the register of an operand (arch/CPU.c) has as a general register; ASM_NONE. */
int asm_general(uint8_t id);
/* Its number as a vector register that can be read; ASM_NONE. */
int asm_vector(uint8_t id);
/* The low bytes of a vector register, 4 or 8: a read, which changes no vector state. */
void asm_from_vector(struct native_code *c, unsigned size, int to, int vector);
/* The thread pointer; x86-64 may have an instruction for it (FSGSBASE in AT_HWCAP2). */
void asm_thread_pointer(struct native_code *c, int to, bool has_fsgsbase);
void asm_clock(struct native_code *c); /* ACC = read_tsc() of words.h; ruins AUX */
/* The number that the kernel wants to find before the place where it restarts a sequence. */
void asm_rseq_signature(struct native_code *c);

#endif
