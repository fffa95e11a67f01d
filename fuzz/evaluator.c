/* Any bytes as an image, or as its relocations and its list of functions: a function that is found
 * has a start before its end. The first byte says which; the next one how long the relocations are.
 */
#include <elf.h>
#include <stdlib.h>

#include "help/elf_builder.h"
#include "lang/inside.h"

#include "elf/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find(const void *bytes, size_t len)
{
	struct budget b = budget_for_file(-1);
	struct lang_code_range range;
	struct image *image;

	if (image_open_memory(bytes, len, STR("fuzz"), &image, NULL))
		return;
	image_set_budget(image, &b);
	for (unsigned instructions = 1; instructions < 8; instructions++)
		if (evaluator_find(image, instructions, &range) && range.start >= range.end)
			abort();
	image_close(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct made_elf e = make_elf(8, false, EM_X86_64);
	struct buf file;
	size_t first;

	if (size < 2 || size > 1 << 20)
		return 0;
	if (data[0] & 1) {
		find(data + 1, size - 1);
		return 0;
	}
	first = 2 + data[1] * 8u < size ? data[1] * 8u : size - 2;
	buf_add(add_section(&e, ".rela.dyn", SHT_RELA, SHF_ALLOC, 0x400100), data + 2, first);
	buf_add(add_section(&e, ".eh_frame_hdr", SHT_PROGBITS, SHF_ALLOC, 0x400800),
		data + 2 + first, size - 2 - first);
	file = finish_elf(&e);
	find(file.ptr, file.len);
	buf_free(&file);
	return 0;
}
