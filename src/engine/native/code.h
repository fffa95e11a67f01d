/* An assembler for x86-64 with labels: what the generator writes with. A code grows by calls of
 * x86_*, one for each shape of instruction; jumps may be made before their label is bound, and
 * code_finish_native() resolves them. Errors are sticky: after an allocation has failed the calls
 * do nothing, and code_finish_native() returns the error.
 *
 * The code remembers which general registers were written, so that a trampoline can save exactly
 * these and no others. */
#ifndef NOPAL_ENGINE_NATIVE_CODE_H
#define NOPAL_ENGINE_NATIVE_CODE_H

#include "base/array.h"
#include "base/buf.h"

/* clang-format off */
/* General registers by the number that instructions have for them. */
enum x86_reg {
	RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15,
	X86_NONE = -1,
	X86_RIP = -2, /* as a base: the displacement is a label */
};
/* clang-format on */

#define X86_BIT(reg) (1u << (reg))
/* What a C function may change, and what it must not: System V ABI, AMD64 supplement, 3.2.1. */
#define X86_CALL_CHANGES                                                                          \
	(X86_BIT(RAX) | X86_BIT(RCX) | X86_BIT(RDX) | X86_BIT(RSI) | X86_BIT(RDI) | X86_BIT(R8) | \
	 X86_BIT(R9) | X86_BIT(R10) | X86_BIT(R11))

/* Memory: base + (index << shift) + disp, in the thread's segment with `fs`. */
struct x86_mem {
	int base, index;
	int shift;
	int32_t disp;
	bool fs;
};

/* clang-format off */
#define MEM(base, disp)			       ((struct x86_mem){(base), X86_NONE, 0, (int32_t)(disp), false})
#define MEM_INDEX(base, index, shift, disp)    ((struct x86_mem){(base), (index), (shift), (int32_t)(disp), false})
#define MEM_FS(disp)			       ((struct x86_mem){X86_NONE, X86_NONE, 0, (int32_t)(disp), true})
#define MEM_LABEL(label)		       ((struct x86_mem){X86_RIP, X86_NONE, 0, (label), false})

/* ORDER: the number that is in the instruction. */
enum x86_alu   { ALU_ADD, ALU_OR, ALU_ADC, ALU_SBB, ALU_AND, ALU_SUB, ALU_XOR, ALU_CMP };
enum x86_shift { SHIFT_LEFT = 4, SHIFT_RIGHT = 5, SHIFT_SIGNED = 7 };
enum x86_unary { UNARY_NOT = 2, UNARY_NEG = 3, UNARY_MUL = 4, UNARY_IMUL = 5, UNARY_DIV = 6, UNARY_IDIV = 7 };
/* Conditions; the opposite of one is it ^ 1. */
enum x86_cond  {
	COND_O, COND_NO, COND_B, COND_AE, COND_E, COND_NE, COND_BE, COND_A,
	COND_S, COND_NS, COND_P, COND_NP, COND_L, COND_GE, COND_LE, COND_G,
};
/* clang-format on */

struct code_fixup {
	uint32_t at; /* of the 4 bytes, which are relative to their end */
	int label;
};

struct native_code {
	struct buf bytes; /* position-independent, except what was given as an address */
	uint64_t address; /* of the first byte, in the traced process */
	uint32_t written; /* general registers that were changed: X86_BIT() */
	uint32_t *labels; /* offset of each; UINT32_MAX: not bound yet */
	size_t label_count, label_cap;
	struct code_fixup *fixups;
	size_t fixup_count, fixup_cap;
	bool failed;
};

void code_open(struct native_code *c, uint64_t address);
void code_close(struct native_code *c);
/* Forget the instructions, keep the memory and the address. */
void code_reset(struct native_code *c);
/* Resolve the labels. 0, -ENOMEM, -E2BIG; -EINVAL: one was not bound. */
int code_finish_native(struct native_code *c);

int x86_label(struct native_code *c); /* a new label, to be bound once */
void x86_bind(struct native_code *c, int label);
int x86_here(struct native_code *c); /* a new label, bound here */

void x86_bytes(struct native_code *c, const void *bytes, size_t count);
void x86_mov(struct native_code *c, int to, int from);
void x86_const(struct native_code *c, int to, uint64_t value); /* leaves the flags alone */
/* `to` = `size` bytes of memory, extended to 64 bits. */
void x86_load(struct native_code *c, unsigned size, bool is_signed, int to, struct x86_mem m);
void x86_store(struct native_code *c, unsigned size, struct x86_mem m, int from);
/* The low `size` bytes of a sign-extended number. */
void x86_store_imm(struct native_code *c, unsigned size, struct x86_mem m, int32_t value);
void x86_lea(struct native_code *c, int to, struct x86_mem m);
/* `to` = the low `size` bytes of `from`, extended. */
void x86_extend(struct native_code *c, unsigned size, bool is_signed, int to, int from);

void x86_alu(struct native_code *c, enum x86_alu op, int to, int from);
void x86_alu_imm(struct native_code *c, enum x86_alu op, int to, int32_t value);
void x86_alu_load(struct native_code *c, enum x86_alu op, int to, struct x86_mem m);
/* On memory of 4 or 8 bytes. */
void x86_alu_mem_imm(struct native_code *c, enum x86_alu op, unsigned size, struct x86_mem m,
		     int32_t value);
void x86_add_to(struct native_code *c, struct x86_mem m, int from); /* 8 bytes, not atomically */
void x86_test(struct native_code *c, int a, int b);
void x86_test_imm(struct native_code *c, int reg, int32_t mask); /* the low 32 bits */
void x86_imul(struct native_code *c, int to, int from);
void x86_imul_imm(struct native_code *c, int to, int from, int32_t value);
void x86_shift(struct native_code *c, enum x86_shift op, int to); /* by cl */
void x86_shift_imm(struct native_code *c, enum x86_shift op, int to, uint8_t count);
/* MUL and IMUL: rdx:rax = rax * reg; DIV and IDIV: of rdx:rax by reg. */
void x86_unary(struct native_code *c, enum x86_unary op, int reg);
/* to = the low 64 bits of high:to >> count */
void x86_shift_pair(struct native_code *c, int to, int high, uint8_t count);
void x86_bsr(struct native_code *c, int to, int from);
void x86_set(struct native_code *c, enum x86_cond cond, int to); /* 0 or 1, in all 64 bits */

/* Atomically: memory += from; and `from` = the value before; and memory = from when it is rax,
 * else rax = memory. */
void x86_lock_add(struct native_code *c, unsigned size, struct x86_mem m, int from);
void x86_lock_inc(struct native_code *c, struct x86_mem m);
void x86_lock_xadd(struct native_code *c, unsigned size, struct x86_mem m, int from);
void x86_lock_cmpxchg(struct native_code *c, unsigned size, struct x86_mem m, int from);
void x86_xchg(struct native_code *c, struct x86_mem m, int reg);

void x86_jump(struct native_code *c, int label);
void x86_jump_if(struct native_code *c, enum x86_cond cond, int label);
/* False, and no code: the address is not within 2 GiB. */
bool x86_jump_to(struct native_code *c, uint64_t address);
void x86_jump_through(struct native_code *c, int label); /* to the address that is at the label */
void x86_call_reg(struct native_code *c, int reg);	 /* changes X86_CALL_CHANGES */
void x86_push(struct native_code *c, int reg);
void x86_pop(struct native_code *c, int reg);

/* The low bytes of a vector register, 4 or 8: a read, which changes no vector state. xmm16 to
 * xmm31 are there with AVX-512 only, as is any program that uses them. */
void x86_from_xmm(struct native_code *c, unsigned size, int to, unsigned xmm);
/* The thread pointer; needs FSGSBASE, which AT_HWCAP2 reports. */
void x86_rdfsbase(struct native_code *c, int to);
void x86_rdtsc(struct native_code *c); /* rax = the time stamp counter; ruins rdx */
/* The flags that compilers know, to al and ah (rax); and back. */
void x86_flags_get(struct native_code *c);
void x86_flags_set(struct native_code *c);

#endif
