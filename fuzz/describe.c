/* The section .note.nopal of a stranger: any bytes. The first says word size and byte order. */
#include <stdlib.h>

#include "probe/describe.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const struct operand unknown[4] = {{0}};
	struct site site = {
		.provider = STR("p"), .name = STR("n"), .location = 0x1000, .arg_count = 1};
	struct arena arena = ARENA_INIT;
	struct buf text = BUF_INIT;
	struct descriptions ds;

	if (!size)
		return 0;
	site.args = arguments_new(&arena, unknown, 4);
	if (bytes[0] & 8)
		site.arg_count = 4;
	if (!descriptions_decode(str_of((const char *)bytes + 1, size - 1), bytes[0] & 1 ? 8 : 4,
				 bytes[0] & 2, bytes[0] & 4 ? 0x2000 : 0, &arena, &ds) &&
	    !describe_site(&ds, &site))
		for (unsigned i = 0; i < site.arg_count; i++)
			argument_show(&site.args[i], &text);
	descriptions_free(&ds);
	buf_free(&text);
	arena_free(&arena);
	return 0;
}
