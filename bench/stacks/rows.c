/* Read the unwind rows of files: prints how many files have some, rows, chunks, rules, and
 * milliseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "unwind/unwind.h"

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	struct unwind_rules *rules = calloc(1, sizeof(*rules));
	size_t files = 0, rows = 0, chunks = 0;
	double begun = now_ms();

	if (!rules || unwind_rules_init(rules))
		return 1;
	for (int i = 1; i < argc; i++) {
		struct unwind_table table = {0};
		struct image *image;

		if (image_open(argv[i], &image, NULL))
			continue;
		if (!unwind_table_read(&(struct unwind_source){.image = image}, rules, &table) &&
		    table.count)
			files++;
		rows += table.count;
		chunks += table.chunk_count + 1;
		unwind_table_free(&table);
		image_close(image);
	}
	printf("%zu %zu %zu %u %.0f\n", files, rows, chunks, rules->count, now_ms() - begun);
	unwind_rules_free(rules);
	free(rules);
	return 0;
}
