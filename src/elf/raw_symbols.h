/* The symbols of one section as they are in the file, one after the other, and the names that go
 * with them. Both are read piece by piece: a file with a million symbols costs time, but no
 * memory. */
#ifndef NOPAL_ELF_RAW_SYMBOLS_H
#define NOPAL_ELF_RAW_SYMBOLS_H

#include "elf/image.h"

/* Bytes of a name that are looked at; longer names are cut. */
#define SYMBOL_NAME_MAX 65536

struct raw_symbol {
	uint64_t address, size;
	uint32_t name; /* offset in the string table */
	uint16_t section;
	uint8_t info, other;
};

/* Each symbol that has a name and a value: no section's or file's name, nothing that is undefined.
 * Non-zero from `fn` ends it and is returned. 0 also where the file ends too early; -EINTR or
 * -E2BIG when the image's budget is used up. */
typedef int raw_symbol_fn(void *arg, const struct raw_symbol *symbol);
int raw_symbols_each(const struct image *image, const struct section *section, raw_symbol_fn *fn,
		     void *arg);

/* A string table, with the blocks of it that were read last. Needs its image. */
struct texts {
	const struct image *image;
	uint64_t offset, size; /* in the file */
	char *blocks;	       /* TEXT_BLOCKS of TEXT_BLOCK bytes */
	uint64_t *numbers;     /* of the block in each slot, plus 1; 0: none */
	struct buf name;       /* room for one that lies in several blocks */
};

int texts_open(const struct image *image, const struct section *section, struct texts *out);
void texts_close(struct texts *t);
/* The name at `at`, without the version after an '@'. False when it is longer than `most`, not
 * in the table, or the budget is used up. Valid until the next call. */
bool texts_name(struct texts *t, uint32_t at, size_t most, struct str *out);

#endif
