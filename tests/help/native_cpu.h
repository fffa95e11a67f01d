/* A thread at a probe: registers, flags and stack as the test wants them; then the jump that a
 * patched site makes, and what the thread finds when it comes back. On x86-64 and aarch64. */
#ifndef NOPAL_TESTS_HELP_NATIVE_CPU_H
#define NOPAL_TESTS_HELP_NATIVE_CPU_H

#include <stdint.h>

#define CPU_STACK	8192
#define CPU_STACK_BELOW 4096 /* of it below the stack pointer */

#if defined(__aarch64__)
#define CPU_REGS       32
#define CPU_SP	       31
#define CPU_VECTORS    32
#define CPU_FLAGS      0xf0000000u /* N Z C V */
#define CPU_SITE_BYTES 4
#else
#define CPU_REGS       16 /* rax rcx rdx rbx rsp rbp rsi rdi r8... */
#define CPU_SP	       4
#define CPU_VECTORS    16
#define CPU_FLAGS      0x408d5 /* AC, which makes unaligned accesses fault, OF SF ZF AF PF CF */
#define CPU_SITE_BYTES 5       /* of a jump */
#endif

/* ORDER: native_cpu.c knows the offsets. */
struct native_cpu {
	uint64_t regs[CPU_REGS]; /* by the numbers of instructions */
	uint64_t flags;		 /* status flags */
	uint64_t unused;
	uint64_t vectors[CPU_VECTORS][2];
	unsigned char stack[CPU_STACK]
		__attribute__((aligned(16))); /* regs[CPU_SP] points into it */
};

/* Registers, flags, vector registers and the stack are filled with a pattern of `seed`. */
void native_cpu_fill(struct native_cpu *cpu, uint64_t seed);
/* Jump to `code`, which comes back by jumping to native_back(); *cpu becomes what was found. */
void native_cpu_run(struct native_cpu *cpu, const void *code);
/* Make the first bytes of a site a jump. Its page is writable and executable meanwhile. */
void native_cpu_patch(char *site, const char *to);
uint64_t native_back(void);
/* Fails the test unless everything that belongs to the thread is as before: all registers, flags,
 * the stack from its red zone on. */
void native_cpu_expect_same(const struct native_cpu *before, const struct native_cpu *after);

#endif
