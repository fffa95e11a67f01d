/* What the files of the module share. */
#ifndef NOPAL_UNWIND_INSIDE_H
#define NOPAL_UNWIND_INSIDE_H

#include "base/cursor.h"
#include "unwind/unwind.h"

/* A CPU's registers by their DWARF numbers. */
struct unwind_cpu {
	uint16_t machine;
	uint8_t sp, fp, ra;
};

/* ---- leb.c: numbers of variable length, 7 bits a byte; bits beyond 64 are dropped. */

bool cursor_long_uleb(struct cursor *c, uint64_t *out);
/* Most of them are one byte. */
static inline bool cursor_uleb(struct cursor *c, uint64_t *out)
{
	if (c->failed || c->at == c->end || *c->at & 0x80)
		return cursor_long_uleb(c, out);
	*out = *c->at++;
	return true;
}
bool cursor_sleb(struct cursor *c, int64_t *out);

/* ---- entry.c: common information entries (CIE), and the entries of functions (FDE). */

/* A section of them. */
struct frames {
	struct str bytes;
	uint64_t address; /* link-time, of its first byte */
	bool is_debug;	  /* .debug_frame, else .eh_frame */
	bool is_open;	  /* its end is not known: an entry of length 0 ends it */
	bool big_endian;
	uint8_t word;
};

/* Where a register of the caller is. */
struct cfi_place {
	enum unwind_place kind;
	int64_t offset;
};

/* What instructions have said so far. */
struct cfi_state {
	enum unwind_cfa cfa; /* UNWIND_NONE: it is cfa_reg + cfa_off */
	uint64_t cfa_reg;
	int64_t cfa_off, more;
	struct cfi_place fp, ra;
	bool is_lost; /* an instruction was not understood: nothing is known from here on */
};

struct cie {
	size_t at; /* in the section */
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;
	uint8_t encoding; /* of addresses in its FDEs */
	bool is_sized;	  /* its FDEs have augmentation data, with a length */
	bool is_signal;
	bool is_good; /* false: it is not understood */
	struct str code;
	bool has_run;		  /* `initial` is filled: cfi_run() */
	struct cfi_state initial; /* at the end of `code` */
};

struct entry {
	size_t cie; /* where its CIE is; `is_cie`: itself */
	bool is_cie;
	struct cursor body;
};

/* A function. */
struct fde {
	uint64_t start, end; /* link-time */
	struct cie *cie;     /* borrowed, until the next entry is read */
	struct str code;     /* in the section */
};

/* The entry at *at, which moves on to the next. False: there is no other. */
bool entry_next(const struct frames *f, size_t *at, struct entry *out);
void cie_read(const struct frames *f, const struct entry *e, struct cie *out);
/* *cie is the CIE that was read last: it becomes that at `at`. False: it is not understood. */
bool cie_find(const struct frames *f, size_t at, struct cie *cie);
/* False: it is not understood. *cie as above; `at`: of the entry. */
bool fde_read(const struct frames *f, const struct entry *e, struct cie *cie, struct fde *out);
/* An address in one of those encodings; `at` of the section is where it lies. False: an encoding
 * that needs a running program, or the bytes end. */
bool encoded_read(const struct frames *f, struct cursor *c, uint8_t encoding, uint64_t *out);

/* ---- expression.c: DWARF expressions, as far as compilers use them here. */

/* "the value at register + offset, and then `more`", or only register + offset. */
struct simple {
	uint64_t reg;
	int64_t offset, more;
	bool is_loaded;
};

bool expression_simple(struct str code, bool big_endian, struct simple *out);
/* The expression of linkers for the table of procedure linkage: sp + 8 + ((pc & 15) >= n) * 8 */
bool expression_plt(struct str code, const struct unwind_cpu *cpu, uint8_t *n);

/* ---- cfi.c: from the instructions of a function to rows. */

typedef int cfi_row_fn(void *arg, uint64_t address, const struct unwind_rule *rule);

/* Each piece of the function with a rule of its own, in order. Non-zero ends it. */
int cfi_run(const struct unwind_cpu *cpu, const struct frames *f, const struct fde *fde,
	    cfi_row_fn *fn, void *arg);

/* ---- chained.c: code that says nothing of its functions, but is known to keep frame pointers. */

/* Where it is, link-time. False: there is none. */
bool chained_find(const struct image *image, uint64_t *start, uint64_t *end);

/* ---- trampoline.c: what signal handlers return to on aarch64. */

#define UNWIND_TRAMPOLINE_BYTES 68

/* The entries of a section .eh_frame for it. False: it is not in this image. */
bool trampoline_entries(const struct image *image, uint8_t *out);

/* ---- sections.c: where the call frame information of an image is. */

#define FRAMES_MOST (256u << 20) /* bytes of one section */

enum { SECTION_TRAMPOLINE, SECTION_EH, SECTION_DEBUG, SECTION_SEPARATE, SECTIONS };

struct frame_sections {
	struct frames all[SECTIONS]; /* without bytes where there is none */
	char *loaded;		     /* memory of one that was read without its header */
	uint8_t trampoline[UNWIND_TRAMPOLINE_BYTES]; /* memory of that one */
	struct image *debug;			     /* ... and of SECTION_SEPARATE */
};

/* All but SECTION_SEPARATE. *out must be freed, also when it fails. */
int sections_find(const struct image *image, struct frame_sections *out);
/* .debug_frame of the separate debug file, if there is such a file. */
int sections_find_separate(const struct unwind_source *source, struct frame_sections *s);
void sections_free(struct frame_sections *s);

/* ---- rules.c */

/* The number of an equal rule, which may be new. */
uint16_t unwind_rules_number(struct unwind_rules *r, const struct unwind_rule *rule);

#endif
