/* Stubs: the code of probes that are made at run time. A stub is a function of its own that does
 * nothing, `nop; ret`: whoever fires calls it, with the values where the calling convention puts
 * the arguments of a function, and the note names those places.
 *
 * Since it is called, nothing below the stack pointer is in use at its first instruction, which is
 * what makes a 5-byte nop safe there (the kernel may make it a call, without a trap). */
#ifndef NOPAL_RUNTIME_STUB_H
#define NOPAL_RUNTIME_STUB_H

#include "base/buf.h"

#define STUB_SIZE 16 /* bytes of a stub; aligned to it, so that no nop crosses a page or line */

struct stub_cpu {
	const char *name;
	uint16_t machine;  /* EM_X86_64 */
	uint32_t flags;	   /* e_flags */
	uint32_t page;	   /* the largest page that kernels use on it */
	uint8_t code_size; /* bytes of code that count */
	unsigned char code[STUB_SIZE];
	/* Write where value `i` is at the first instruction, as the assembler says it. */
	void (*operand)(unsigned i, struct buf *out);
};

extern const struct stub_cpu stub_cpus[];
extern const unsigned stub_cpu_count;

/* The CPU this was compiled for; NULL: runtime probes are not made for it. With a 1-byte nop
 * (x86-64 has others) the stub begins as those of libstapsdt, and is never more than a breakpoint.
 */
const struct stub_cpu *stub_host(bool one_byte_nop);

#endif
