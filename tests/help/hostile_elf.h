/* ELF files that cost a reader as much as they can: each of them once stopped a tracer for minutes
 * or took gigabytes. They are made in memory files, so that nothing of them stays. */
#ifndef NOPAL_TESTS_HELP_HOSTILE_ELF_H
#define NOPAL_TESTS_HELP_HOSTILE_ELF_H

#include <elf.h>
#include <stdint.h>
#include <stddef.h>

/* A file in the making: an ELF header, one segment that maps all of it as code, then bytes; the
 * section headers come last. Sections may claim any bytes. */
struct hostile {
	char *bytes;
	size_t len, cap;
	Elf64_Shdr *sections;
	unsigned count, section_cap;
	char names[1 << 12];
	size_t names_len;
};

void *hostile_room(struct hostile *h, size_t size);
void hostile_put(struct hostile *h, const void *bytes, size_t size);
void hostile_section(struct hostile *h, const char *name, uint32_t type, uint64_t offset,
		     uint64_t size, uint32_t link);
void hostile_start(struct hostile *h);
void hostile_note(struct hostile *h, const char *provider, const char *name, const char *args);
void hostile_symbol(struct hostile *h, uint32_t name, uint64_t address);

/* The file as a memory file; the rest is freed. */
int hostile_finish(struct hostile *h);

/* `notes` operands that name a symbol, `symbols` symbols of that name at one address. */
int hostile_equal_names(unsigned notes, unsigned symbols);

/* `symbols` names that are the ends of one text of `length` bytes, and a note that names the whole.
 */
int hostile_long_names(unsigned symbols, unsigned length);

/* `sections` sections of notes over the same `notes` notes. */
int hostile_overlaps(unsigned sections, unsigned notes);

/* Notes that ask for thread-local variables, each of which looks into a large dynamic section. */
int hostile_dynamic(unsigned notes, unsigned entries);

/* A stripped image whose debug file is to be NAME, with a checksum that it will not have. */
int hostile_link(const char *name);

#endif
