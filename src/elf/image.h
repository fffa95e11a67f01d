/* One ELF file: its headers, segments, sections and build-id, on top of libelf. In: a path, an
 * open file or bytes in memory, all untrusted. Out: checked numbers and slices of sections.
 *
 * Sections are read only on demand, and with read(2), not through a mapping: a file that shrinks
 * meanwhile is an error and not a SIGBUS. */
#ifndef NOPAL_ELF_IMAGE_H
#define NOPAL_ELF_IMAGE_H

#include <sys/types.h>

#include "base/file.h"

/* Larger sections are refused: they would only cost memory. Linked files have some tens of
 * sections; libelf allocates some 400 bytes for each that a header claims. */
#define IMAGE_MAX_SECTIONS (1u << 16)
#define IMAGE_MAX_NAMES	   (4u << 20)	/* bytes of the names of sections */
#define IMAGE_MAX_NOTES	   (64u << 20)	/* bytes of one section of notes */
#define IMAGE_MAX_SYMBOLS  (256u << 20) /* bytes of one symbol or string table */

struct Elf;

struct segment {
	uint64_t address; /* link-time */
	uint64_t offset;  /* in the file */
	uint64_t file_size;
	uint64_t memory_size;
	uint64_t align;
	bool executable, writable;
};

struct section {
	struct str name;
	uint32_t type; /* SHT_PROGBITS */
	uint32_t link;
	uint64_t flags;
	uint64_t address;
	uint64_t offset;
	uint64_t size;
	size_t index;
};

struct image {
	struct arena arena;
	struct Elf *elf;
	struct file *file; /* held; NULL for memory */
	int fd;		   /* the file's; -1 for memory */
	struct str memory;
	struct budget *budget; /* what reading it is taken from; NULL: no limit */
	struct str name;       /* for messages: the path, safe for a terminal */
	uint16_t machine;      /* EM_X86_64 */
	uint16_t type;	       /* ET_EXEC, ET_DYN, ... */
	uint8_t word;	       /* bytes of an address: 4 or 8 */
	bool big_endian;
	const struct segment *loads; /* PT_LOAD, in the order of their addresses */
	size_t load_count;
	struct segment tls;	  /* PT_TLS; memory_size 0: none */
	struct segment eh_header; /* PT_GNU_EH_FRAME, .eh_frame_hdr; the same */
	const struct section *sections;
	size_t section_count;
};

/* Errors: errno of open(2), -ENOEXEC for what is not an ELF file, -EBADMSG for a damaged one. */
int image_open(const char *path, struct image **out, struct diag *d);
/* The image of an open file, which it holds. */
int image_open_file(struct file *file, struct image **out, struct diag *d);
/* Takes the descriptor, also when it fails. */
int image_open_fd(int fd, struct str name, struct image **out, struct diag *d);
/* The bytes must outlive the image. */
int image_open_memory(const void *bytes, size_t len, struct str name, struct image **out,
		      struct diag *d);
void image_close(struct image *image); /* NULL is fine */
/* What is read of the image from now on, and what was taken to open it, comes out of `b`. */
void image_set_budget(struct image *image, struct budget *b);

/* The next section of that name after `after` (NULL: the first), or NULL. */
const struct section *image_section(const struct image *image, const char *name,
				    const struct section *after);
const struct section *image_section_of_type(const struct image *image, uint32_t type);
/* The content of a section, valid as long as the image. -ENODATA: it has none in this file; -E2BIG:
 * more than `limit`, or than the image's budget; -EBADMSG: it is outside the file. */
int image_content(const struct image *image, const struct section *section, uint64_t limit,
		  struct str *out);
/* The same of a section that may be compressed. */
int image_decompressed(const struct image *image, const struct section *section, uint64_t limit,
		       struct str *out);
/* Up to `len` bytes of the file at `offset`, for what is read piece by piece. Number of them; less
 * than `len` only where the file ends. -EIO, or when the budget is used up what budget_error()
 * says. */
ssize_t image_read(const struct image *image, uint64_t offset, void *room, size_t len);
/* Bytes of the build-id; empty: none. */
struct str image_build_id(const struct image *image);
/* Is this a separate debug file, that is, one without its code? */
bool image_is_debug_file(const struct image *image);
/* The segment that has `address` in its part of the file, or NULL. */
const struct segment *image_segment_at(const struct image *image, uint64_t address);
/* Link-time address -> offset in the file, and back. False when no segment holds it. */
bool image_offset_of(const struct image *image, uint64_t address, uint64_t *offset);
bool image_address_of(const struct image *image, uint64_t offset, uint64_t *address);

#endif
