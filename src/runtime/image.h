/* The ELF image of run-time probes: from names and types to the bytes of a file that every reader
 * of notes takes for a shared object. It consists of a few structures that are always the same, so
 * they are written here, and programs with such probes need no ELF library.
 *
 *	file		mapped at		what
 *	0		base			ELF header, program headers, build-id
 *	IMAGE_STUBS	base + IMAGE_STUBS	one stub a probe		r-x
 *	semaphores_at	base + IMAGE_DATA + ..	one 16-bit counter a probe	rw-
 *	...		-			notes, symbols, section headers
 *
 * The code and the semaphores may be in one page of the file, which is then mapped twice. */
#ifndef NOPAL_RUNTIME_IMAGE_H
#define NOPAL_RUNTIME_IMAGE_H

#include "base/buf.h"
#include "nopal/runtime.h"

/* Stubs: the code of run-time probes. A stub is a function that does nothing, `nop; ret`. Firing
 * calls it, with the values where the calling convention puts the arguments of a function; the note
 * names these operands.
 *
 * Because a stub is called, nothing below the stack pointer is in use at its first instruction. So
 * a 5-byte nop is safe there, which the kernel may replace by a call, without a trap. */
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

#define IMAGE_DATA  (2 * 65536) /* from the code's address to that of the same byte as data */
#define IMAGE_STUBS 352		/* offset of the first stub */
#define IMAGE_MAX   ((65536 - IMAGE_STUBS) / STUB_SIZE) /* probes of one image */

/* Classes of .note.nopal (doc/describe-note.md). */
enum value_class {
	VALUE_UNSIGNED = 1,
	VALUE_SIGNED = 2,
	VALUE_BOOL = 3,
	VALUE_FLOAT = 4,
	VALUE_POINTER = 5,
	VALUE_STRING = 6,
};

/* How a note describes a value of a type of <nopal/runtime.h>. */
struct value_type {
	uint8_t size;
	bool is_signed;
	uint8_t type_class; /* enum value_class */
	const char *c_type;
	const char *name_suffix; /* appended to the argument's name */
};

/* How many values an argument of `type` has, 1 or 2, and their types; 0: an unknown type. */
unsigned runtime_value_types(enum nopal_type type, const struct value_type *out[2]);

/* A probe as the image describes it; a counted string has two values. */
struct image_probe {
	struct str name;
	struct str description; /* empty: none */
	unsigned value_count;
	const struct value_type *const *types; /* of each value */
	const struct str *names;	       /* of each value; empty: none */
};

/* Layout of an image, known from the number of its probes. */
struct image_layout {
	size_t code_end; /* bytes to be mapped as code, from offset 0 */
	size_t semaphores_at, semaphores_end;
};

struct image_layout image_layout_of(size_t count);
static inline size_t image_stub_at(size_t i)
{
	return IMAGE_STUBS + i * STUB_SIZE;
}

/* Append the whole file to `out`, which is empty; out->failed: out of memory. At most IMAGE_MAX
 * probes. The same input makes the same bytes. `base` 0: an image for a file. Else all addresses
 * are `base` higher and there are no descriptions, as debuggers read an image from memory. */
void image_write(const struct stub_cpu *cpu, struct str provider,
		 const struct image_probe *const *probes, size_t count, uint64_t base,
		 struct buf *out);

#endif
