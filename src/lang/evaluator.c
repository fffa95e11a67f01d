/* The function of Ruby that runs instructions, vm_exec_core, which has no symbol in what
 * distributions ship. Compiled code has the addresses of the parts of that function, so there is
 * a table of them, one for each instruction, which the dynamic linker fills by .rela.dyn:
 *
 *	{ slot, addend }, { slot + 8, addend }, ...	each addend in one function
 *
 * Where functions begin is in .eh_frame_hdr, sorted (Linux Standard Base 5, 10.6.2). How many
 * instructions there are depends on the version, and is in tables.c. Only a table of exactly
 * that number is taken, and only if there is one. */
#include "lang/inside.h"

#include <elf.h>

#include "base/array.h"
#include "elf/image.h"

#define RELOCATIONS_MOST (16u << 20)
#define FUNCTIONS_MOST	 (16u << 20) /* bytes */
#define ENTRY		 8	     /* { s32 function, s32 its entry }, from the header's start */
#define FORMAT		 "\x01\x1b\x03\x3b" /* of the header; then u32 frames, u32 entries */
#define HEAD		 12

struct functions {
	const char *entries;
	size_t count;
	uint64_t base;
};

static bool open_functions(const struct image *image, struct functions *out)
{
	const struct section *s = image_section(image, ".eh_frame_hdr", NULL);
	struct str bytes;
	uint32_t count;

	if (!s || image_content(image, s, FUNCTIONS_MOST, &bytes) || bytes.len < HEAD ||
	    memcmp(bytes.ptr, FORMAT, 4))
		return false;
	memcpy(&count, bytes.ptr + 8, sizeof(count));
	*out = (struct functions){bytes.ptr + HEAD, count, s->address};
	return count <= (bytes.len - HEAD) / ENTRY;
}

static uint64_t start_of(const struct functions *f, size_t i)
{
	int32_t distance;

	memcpy(&distance, f->entries + i * ENTRY, sizeof(distance));
	return f->base + (uint64_t)(int64_t)distance;
}

static bool begins_by(const void *entry, const void *distance)
{
	int32_t start;

	memcpy(&start, entry, sizeof(start));
	return start <= *(const int64_t *)distance;
}

/* The number of the function that an address is in, from 1; 0: before all of them, or in the last
 * one, of which the end is not known. */
static size_t function_of(const struct functions *f, uint64_t address)
{
	int64_t distance = (int64_t)(address - f->base);
	size_t number = lower_bound(f->entries, f->count, ENTRY, begins_by, &distance);

	return number < f->count ? number : 0;
}

/* The function of a table with `want` addresses, if there is one such table. */
static size_t find_table(const struct functions *f, struct str relocations, unsigned want)
{
	size_t found = 0, function = 0, count = 0;
	uint64_t next = 0;

	for (size_t at = 0; at <= relocations.len; at += sizeof(Elf64_Rela)) {
		Elf64_Rela rela = {0};
		size_t here = 0;

		if (relocations.len - at >= sizeof(rela))
			memcpy(&rela, relocations.ptr + at, sizeof(rela));
		if (ELF64_R_TYPE(rela.r_info) == R_X86_64_RELATIVE)
			here = function_of(f, (uint64_t)rela.r_addend);
		if (here && here == function && rela.r_offset == next) {
			count++;
		} else {
			if (function && count == want && found)
				return 0;
			if (function && count == want)
				found = function;
			function = here;
			count = 1;
		}
		next = rela.r_offset + 8;
	}
	return found;
}

bool evaluator_find(const struct image *image, unsigned instructions, struct lang_code_range *out)
{
	const struct section *s = image_section(image, ".rela.dyn", NULL);
	struct functions functions;
	struct str relocations;
	uint64_t start, offset;
	size_t function;

	if (!s || image_content(image, s, RELOCATIONS_MOST, &relocations) ||
	    !open_functions(image, &functions))
		return false;
	function = find_table(&functions, relocations, instructions);
	if (!function)
		return false;
	start = start_of(&functions, function - 1);
	if (!image_offset_of(image, start, &offset))
		return false;
	*out = (struct lang_code_range){offset, offset + start_of(&functions, function) - start};
	return true;
}
