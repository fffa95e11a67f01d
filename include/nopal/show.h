/* Results for people: histograms with percentiles, tables that fit a terminal. What the commands
 * of nopal print, for programs that use libnopal.
 *
 * Calls that allocate return NULL or -ENOMEM when memory is short. */
#ifndef NOPAL_SHOW_H
#define NOPAL_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How something is drawn. */
struct nopal_look {
	unsigned width;	  /* columns of the terminal */
	bool utf8;	  /* it has the blocks of UTF-8 */
	bool color;	  /* it has colours */
	bool nanoseconds; /* the numbers of a histogram are times */
	bool is_screen;	  /* it has no lines for which columns of a table had no room */
};

enum nopal_color { NOPAL_COLOR_AUTO, NOPAL_COLOR_ALWAYS, NOPAL_COLOR_NEVER };

/* How a frame of a stack is written: "main+18", as bpftrace does; "main+0x12 [prog]", as bcc does;
 * and that with its address, "          7f3b12 main+0x12 [prog]". */
enum nopal_frames { NOPAL_FRAMES_BPFTRACE, NOPAL_FRAMES_BCC, NOPAL_FRAMES_BCC_ADDRESS };

/* The look for a file descriptor: the terminal's width, else that of COLUMNS, else 80; UTF-8 on a
 * terminal, if the locale of the environment says so; colours there unless NO_COLOR is set. */
void nopal_look_find(int fd, enum nopal_color color, struct nopal_look *out);

/* Text of a number, to be freed: "7.20 ms" of nanoseconds, "4,452". NULL: out of memory. */
char *nopal_show_duration(uint64_t ns);
char *nopal_show_count(uint64_t n);

struct nopal_column {
	const char *title;
	bool is_number; /* to the right; never cut */
	unsigned drop;	/* if the table is too wide, columns with larger numbers are left out
			   first; 0: never */
};

/* Text for the user, as nopal_output_fn of trace.h has it. */
typedef void nopal_text_fn(void *arg, const char *text, size_t len);

/* A table with a header line. Print `rows` rows of `count` cells each; cells are escaped. -ENOMEM.
 */
int nopal_show_table(const struct nopal_column *columns, unsigned count, const char *const *cells,
		     size_t rows, const struct nopal_look *look, nopal_text_fn *fn, void *arg);

/* What hist() or lhist() has counted. Those that nopal_trace_map() passes are its own. */
struct nopal_histogram;

/* A copy, to be freed; NULL: out of memory. */
struct nopal_histogram *nopal_histogram_copy(const struct nopal_histogram *h);
void nopal_histogram_free(struct nopal_histogram *h);
/* Add or subtract the counts of a histogram of the same map. -EINVAL: it is another kind. */
int nopal_histogram_add(struct nopal_histogram *to, const struct nopal_histogram *h);
int nopal_histogram_subtract(struct nopal_histogram *to, const struct nopal_histogram *h);
/* How many values. */
uint64_t nopal_histogram_count(const struct nopal_histogram *h);
/* How many of them are in the buckets from that of `low` to the one before that of `high`. */
uint64_t nopal_histogram_between(const struct nopal_histogram *h, uint64_t low, uint64_t high);
/* The value that `percent` percent (above 0, to 100) do not exceed: the middle of its bucket, less
 * than 1 % off for hist(n, 6). 0: there are no values. */
uint64_t nopal_histogram_percentile(const struct nopal_histogram *h, double percent);
/* The sum of the values, each as the middle of its bucket: as far off as a percentile. */
double nopal_histogram_sum(const struct nopal_histogram *h);
/* Rows with bounds, counts, percent and bars; those of hist() are powers of two. -ENOMEM. */
int nopal_histogram_print(const struct nopal_histogram *h, const struct nopal_look *look,
			  nopal_text_fn *fn, void *arg);

#ifdef __cplusplus
}
#endif

#endif
