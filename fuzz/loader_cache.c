/* Any bytes as an ld.so.cache: a name is looked up until there are no more. What is found is a
 * piece of the input, an absolute path. The first byte is the length of the name, which follows. */
#include <stdlib.h>
#include <string.h>

#include "find/lookup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len = size ? data[0] % 32 : 0;
	struct str name, cache;

	if (size < 1 + len)
		return 0;
	name = str_of((const char *)data + 1, len);
	cache = str_of((const char *)data + 1 + len, size - 1 - len);
	for (unsigned n = 0; n < 64; n++) {
		struct str path = loader_cache_find(cache, name, n);

		if (!path.len)
			break;
		if (*path.ptr != '/' || path.ptr < cache.ptr ||
		    path.ptr + path.len >= cache.ptr + cache.len || memchr(path.ptr, 0, path.len))
			abort();
	}
	return 0;
}
