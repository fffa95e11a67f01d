/* Writing relocatable ELF files of data, for any machine that is known here: one writable section
 * and the global symbols in it, with all that linkers of that machine look for. The same input
 * makes the same bytes. */
#ifndef NOPAL_ELF_WRITE_H
#define NOPAL_ELF_WRITE_H

#include "base/diag.h"

#define MACHINE_LOONGARCH 258 /* EM_LOONGARCH, which an older <elf.h> lacks */

/* What a linker compares before it puts two object files into one program. */
struct elf_machine {
	const char *triple; /* the CPU of a GNU triple; a trailing * matches anything */
	const char *abi;    /* the end of a triple that asks for this row; NULL: any */
	uint16_t machine;   /* EM_X86_64 */
	uint8_t word;	    /* bytes of an address in the file's class: 4 or 8 */
	bool big_endian;
	uint32_t flags;		   /* e_flags */
	uint32_t property;	   /* type of the feature bits in .note.gnu.property; 0: none */
	uint32_t features;	   /* the bits: every kind of branch protection */
	const char *narrow, *wide; /* triples for -m32 and -m64; NULL: there are none */
};

/* The row for "aarch64-linux-gnu", "armv7l-unknown-linux-gnueabihf", "x86_64"; NULL: unknown. */
const struct elf_machine *elf_machine_for(struct str triple);
/* The triple of the machine this was compiled for. */
const char *elf_host_triple(void);

struct elf_symbol {
	struct str name;
	uint64_t value; /* offset in the section */
	uint64_t size;
};

struct elf_object {
	const struct elf_machine *machine;
	struct {
		const char *name;
		uint64_t size; /* bytes, all zero */
		uint64_t align;
	} section;
	struct buf notes; /* of section .note.nopal, as elf_add_note() makes them; may be empty */
	bool visible;	  /* the symbols, outside of the module they are linked into */
	struct elf_symbol *symbols; /* global */
	size_t symbol_count;
};

/* Append one note in the machine's byte order. */
void elf_add_note(struct buf *notes, const struct elf_machine *m, struct str owner, uint32_t type,
		  struct str content);

/* Append the file's bytes to `out`. 0; -ENOMEM or -EIO after a message. */
int elf_write_object(const struct elf_object *o, struct buf *out, struct diag *d);

#endif
