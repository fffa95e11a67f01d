/* What lines and inlined functions of addresses cost. Usage: cost FILE [ADDRESSES]. Prints
 * milliseconds to open the debug information, and of the first address; microseconds (medians) of
 * an address in another unit, of one in a unit that was walked, and of one that was asked for; peak
 * memory, KiB. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "symbols/sources.h"

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double ask(struct sources *s, struct debuginfo *di, uint64_t address)
{
	const struct symbols_source *found;
	double start = now_us();
	unsigned count;

	sources_at(s, di, address, DEMANGLE_WHOLE, &found, &count);
	return now_us() - start;
}

/* Ask for addresses all over the code; the times come out sorted. */
static void ask_all(struct sources *s, struct debuginfo *di, const struct section *text,
		    double *times, size_t count)
{
	for (size_t i = 0; i < count; i++)
		times[i] = ask(s, di, text->address + text->size / count * i);
	qsort(times, count, sizeof(*times), compare);
}

int main(int argc, char **argv)
{
	size_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000;
	double *times = calloc(count + 1, sizeof(*times)), start;
	struct sources known = {.count = 0};
	const struct section *text;
	struct debuginfo *di;
	struct image *image;
	struct rusage usage;

	if (argc < 2 || !times || image_open(argv[1], &image, NULL))
		return 2;
	text = image_section(image, ".text", NULL);
	start = now_us();
	if (!text || debuginfo_open(image, str_from(argv[1]), STR(""), &di, NULL))
		return 1;
	printf("%.1f ", (now_us() - start) / 1e3);
	printf("%.1f ", ask(&known, di, text->address + text->size / 3) / 1e3);
	ask_all(&known, di, text, times, count);
	printf("%.1f %.0f ", times[count / 2], times[count * 99 / 100]);
	ask_all(&known, di, text, times, count);
	getrusage(RUSAGE_SELF, &usage);
	printf("%.2f %ld\n", times[count / 2], usage.ru_maxrss);
	return 0;
}
