/* A traced program that writes into the memory that it shares with its tracer: spoils SEED. It
 * waits for a line, fires its probe 1000 times, fills that memory with random bytes, and prints
 * "alive". */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/sdt.h>

/* Where a mapping of the tracer's memory begins and ends; false: `maps` has no more. */
static int next_shared(FILE *maps, uint64_t **begin, uint64_t **end)
{
	char line[512];

	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "memfd:nopal") && strstr(line, "rw-s"))
			return sscanf(line, "%p-%p", (void **)begin, (void **)end) == 2;
	return 0;
}

int main(int argc, char **argv)
{
	FILE *maps;
	uint64_t *at, *end, word;
	char line[8];

	if (argc != 2 || !fgets(line, sizeof(line), stdin))
		return 2;
	for (int i = 0; i < 1000; i++)
		STAP_PROBE2(spoils, fire, i, argv[1]);
	word = (uint64_t)atoi(argv[1]) + 1;
	maps = fopen("/proc/self/maps", "re");
	while (maps && next_shared(maps, &at, &end))
		for (; at < end; at++)
			*at = word = word * 6364136223846793005 + 1442695040888963407;
	puts("alive");
	return 0;
}
