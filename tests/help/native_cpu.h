/* A thread at a probe: registers, flags and stack as the test wants them; then the jump that a
 * patched site makes, and what the thread finds when it comes back. Only on x86-64. */
#ifndef NOPAL_TESTS_HELP_NATIVE_CPU_H
#define NOPAL_TESTS_HELP_NATIVE_CPU_H

#include <stdint.h>

#define CPU_STACK	8192
#define CPU_STACK_BELOW 4096 /* of it below the stack pointer */

/* ORDER: native_cpu.c knows the offsets. */
struct native_cpu {
	uint64_t regs[16]; /* by the numbers of instructions: rax rcx rdx rbx rsp rbp rsi rdi r8...
			    */
	uint64_t flags;	   /* status flags */
	uint64_t xmm[16][2];
	unsigned char stack[CPU_STACK]; /* regs[4], rsp, points into it */
};

#define CPU_FLAGS 0x8d5 /* OF SF ZF AF PF CF */

/* Registers, flags, vector registers and the stack are filled with a pattern of `seed`. */
void native_cpu_fill(struct native_cpu *cpu, uint64_t seed);
/* Jump to `code`, which comes back by jumping to native_back(); *cpu becomes what was found. */
void native_cpu_run(struct native_cpu *cpu, const void *code);
uint64_t native_back(void);
/* Fails the test unless everything that belongs to the thread is as before: all registers, flags,
 * the stack from 128 bytes below its pointer on. */
void native_cpu_expect_same(const struct native_cpu *before, const struct native_cpu *after);

#endif
