/* Stubs: the code of run-time probes. A stub is a function that does nothing, `nop; ret`. Firing
 * calls it, with the values where the calling convention puts the arguments of a function; the note
 * names these operands.
 *
 * Because a stub is called, nothing below the stack pointer is in use at its first instruction. So
 * a 5-byte nop is safe there, which the kernel may replace by a call, without a trap. */
#ifndef NOPAL_RUNTIME_STUB_H
#define NOPAL_RUNTIME_STUB_H

#include "base/buf.h"

#define STUB_SIZE 16 /* bytes of a stub; aligned to it, so that no nop crosses a page or line */

struct stub_cpu {
	const char *name;
	uint16_t machine;  /* EM_X86_64 */
	uint32_t flags;	   /* e_flags */
	uint32_t page;	   /* the largest page that kernels use on it */
	uint8_t code_size; /* bytes of `code` that can be reached */
	unsigned char code[STUB_SIZE];
	/* Write where value `i` is at the first instruction, in the assembler's syntax. */
	void (*operand)(unsigned i, struct buf *out);
};

extern const struct stub_cpu stub_cpus[];
extern const unsigned stub_cpu_count;

/* The row of the CPU that this was compiled for; NULL: there are no run-time probes on it. With a
 * 1-byte nop, stubs on x86-64 begin like those of libstapsdt; kernels then always trace them by a
 * breakpoint. */
const struct stub_cpu *stub_host(bool one_byte_nop);

#endif
