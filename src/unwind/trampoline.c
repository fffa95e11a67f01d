/* What signal handlers return to on aarch64: two instructions in the kernel's own image, with no
 * call frame information (arch/arm64/kernel/vdso/sigreturn.S says why). They are known by their
 * bytes, as gdb and libgcc know them. There the stack pointer is at the kernel's frame of the
 * signal, with all registers of the code that was interrupted:
 *
 *	sp + 0		siginfo_t, 128 bytes
 *	sp + 128	ucontext_t, 176 bytes before its uc_mcontext
 *	sp + 304	fault address, x0 ... x30, sp, pc
 *
 * This is written here as the entries of a section that the image could have had. */
#include "unwind/inside.h"

#include <elf.h>

#define IMAGE_MOST (64u << 10) /* of code: the kernel's image has two pages */
#define SIZE	   8
#define BEFORE	   4 /* the instruction before, where a caller is looked for */

/* clang-format off */
static const uint8_t code[SIZE] = {
	0x68, 0x11, 0x80, 0xd2, /* mov x8, #139: the system call that returns */
	0x01, 0x00, 0x00, 0xd4, /* svc #0 */
};

#define SP		0x8f /* an expression: register 31 and an offset */
#define SLEB(n)		((n) & 0x7f) | 0x80, (n) >> 7
#define REGISTER(n)	SLEB(312 + 8 * (n))

/* Where the addresses are written. */
enum { START_AT = 48, LENGTH_AT = 56 };

static const uint8_t entries[UNWIND_TRAMPOLINE_BYTES] = {
	36, 0, 0, 0,  0, 0, 0, 0,		/* CIE, version 1 */
	1, 'z', 'R', 'S', 0,  1, 0x78, 30,	/* a signal's frame; the return address is x30 */
	1, 0x04,				/* addresses are 8 bytes */
	0x0f, 4, SP, REGISTER(31), 0x06,	/* CFA: what is stored of sp */
	0x10, 29, 3, SP, REGISTER(29),		/* x29 */
	0x10, 30, 3, SP, REGISTER(32),		/* x30, where it goes on: what is stored of pc */
	0, 0, 0, 0,
	24, 0, 0, 0,  44, 0, 0, 0,		/* FDE: */
	0, 0, 0, 0, 0, 0, 0, 0,			/* start */
	0, 0, 0, 0, 0, 0, 0, 0,			/* length */
	0, 0, 0, 0,				/* no instructions of its own */
};
/* clang-format on */

/* Its address, link-time; 0: it is not there. */
static uint64_t look_in(const struct image *image, const struct segment *s)
{
	static const size_t step = 4;
	uint8_t page[4096 + SIZE];

	for (uint64_t at = 0; at < s->file_size; at += sizeof(page) - SIZE) {
		ssize_t got = image_read(image, s->offset + at, page, sizeof(page));

		for (size_t i = 0; got > 0 && i + SIZE <= (size_t)got && at + i < s->file_size;
		     i += step)
			if (!memcmp(page + i, code, SIZE))
				return s->address + at + i;
	}
	return 0;
}

bool trampoline_entries(const struct image *image, uint8_t *out)
{
	uint64_t found = 0, bytes = 0, length = SIZE + BEFORE;

	if (image->machine != EM_AARCH64 || image->big_endian)
		return false;
	for (size_t i = 0; i < image->load_count; i++)
		bytes += image->loads[i].executable ? image->loads[i].file_size : 0;
	for (size_t i = 0; i < image->load_count && bytes <= IMAGE_MOST && !found; i++)
		if (image->loads[i].executable)
			found = look_in(image, &image->loads[i]);
	if (found < BEFORE)
		return false;
	found -= BEFORE;
	memcpy(out, entries, sizeof(entries));
	memcpy(out + START_AT, &found, sizeof(found));
	memcpy(out + LENGTH_AT, &length, sizeof(length));
	return true;
}
