/* Small ELF files made by tests: one code segment, one data segment, any sections; both word sizes
 * and byte orders. Code is linked at 0x400000 and stands at 0x1000 of the file; data at 0x600000
 * and 0x2000, so that addresses and offsets are never the same number. */
#ifndef NOPAL_TESTS_HELP_ELF_BUILDER_H
#define NOPAL_TESTS_HELP_ELF_BUILDER_H

#include "base/buf.h"

#define CODE_AT	    0x400000
#define CODE_OFFSET 0x1000
#define DATA_AT	    0x600000
#define DATA_OFFSET 0x2000
#define PART_SIZE   0x1000

struct made_section {
	const char *name;
	uint32_t type;
	uint64_t flags, address;
	struct buf content;
	uint32_t link;
};

struct made_elf {
	unsigned word; /* 4 or 8 */
	bool big_endian;
	uint16_t type, machine;
	struct made_section sections[16]; /* the first is the null section */
	unsigned count;
	uint32_t data_flags; /* of the data segment, on top of PF_R | PF_W */
	uint64_t bss;	     /* bytes of it that are not in the file */
};

void put(const struct made_elf *e, struct buf *b, uint64_t value, unsigned size);
void pad_to(struct buf *b, size_t size);
struct made_elf make_elf(unsigned word, bool big_endian, uint16_t machine);

/* The section's buffer, to be filled. */
struct buf *add_section(struct made_elf *e, const char *name, uint32_t type, uint64_t flags,
			uint64_t address);
void add_note(const struct made_elf *e, struct buf *b, uint32_t type, uint64_t location,
	      uint64_t base, uint64_t semaphore, const char *provider, const char *name,
	      const char *args);
void add_symbol(const struct made_elf *e, struct buf *table, struct buf *texts, const char *name,
		uint8_t info, uint64_t address, uint64_t size);

/* The file's bytes (buf_free them); the sections are freed. */
struct buf finish_elf(struct made_elf *e);

#endif
