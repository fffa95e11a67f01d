/* The rings of perf events: two of them, with any bytes and any positions. Whatever is in them,
 * reading ends with the tails at the heads, and nothing beyond the rings is touched. */
#include <stdlib.h>
#include <string.h>

#include "watch/perf_merge.h"

#define SIZE 4096u

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void hear(void *arg, const struct watch_event *e)
{
	size_t *total = arg;

	for (size_t i = 0; i < e->path.len; i++)
		*total += (unsigned char)e->path.ptr[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct perf_ring rings[2];
	size_t total = 0;

	if (len < 4)
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		char *data = calloc(1, SIZE);
		size_t half = (len - 4) / 2;
		uint64_t start = bytes[i] * 16u;

		if (!data)
			return 0;
		half = half < SIZE ? half : SIZE;
		for (size_t k = 0; k < half; k++)
			data[(start + k) % SIZE] = (char)bytes[4 + i * half + k];
		rings[i] = (struct perf_ring){data, SIZE, start, start + half};
		if (bytes[2 + i] == 255)
			rings[i].head += 2 * (uint64_t)SIZE;
	}
	perf_merge(rings, 2, UINT64_MAX, hear, &total);
	for (unsigned i = 0; i < 2; i++) {
		if (rings[i].tail != rings[i].head)
			abort();
		free((char *)(uintptr_t)rings[i].data);
	}
	return 0;
}
