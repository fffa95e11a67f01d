/* nopal/show.h: histograms that a caller keeps, tables, and what a terminal can show. */
#include "nopal/show.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/export.h"
#include "report/draw.h"
#include "report/report.h"

#define WIDTH_LEAST 40
#define WIDTH_USUAL 80
#define WIDTH_MOST  1000

/* ---- the look of a terminal */

static unsigned width_of(int fd)
{
	struct winsize size = {.ws_col = 0};
	const char *columns = getenv("COLUMNS");
	uint64_t width = 0;

	if (!ioctl(fd, TIOCGWINSZ, &size) && size.ws_col)
		width = size.ws_col;
	else if (!columns || str_to_u64(str_from(columns), &width))
		width = WIDTH_USUAL;
	return width < WIDTH_LEAST  ? WIDTH_LEAST
	       : width > WIDTH_MOST ? WIDTH_MOST
				    : (unsigned)width;
}

/* The environment's locale, without making it the process's. */
static bool is_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	const char *code = locale ? nl_langinfo_l(CODESET, locale) : "";
	bool utf8 = !strcmp(code, "UTF-8");

	if (locale)
		freelocale(locale);
	return utf8;
}

NOPAL_EXPORT void nopal_look_find(int fd, enum nopal_color color, struct nopal_look *out)
{
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
	bool can = isatty(fd) && !(none && *none) && term && strcmp(term, "dumb");

	*out = (struct nopal_look){
		.width = width_of(fd),
		.utf8 = isatty(fd) && is_utf8(),
		.color = color == NOPAL_COLOR_ALWAYS || (color == NOPAL_COLOR_AUTO && can),
	};
}

/* ---- numbers and tables */

NOPAL_EXPORT char *nopal_show_duration(uint64_t ns)
{
	struct buf out = BUF_INIT;

	draw_duration(ns, &out);
	return out.ptr;
}

NOPAL_EXPORT char *nopal_show_count(uint64_t n)
{
	struct buf out = BUF_INIT;

	draw_count(n, &out);
	return out.ptr;
}

static int hand_over_text(struct buf *text, nopal_text_fn *fn, void *arg)
{
	int err = text->failed ? -ENOMEM : 0;

	if (!err && text->len)
		fn(arg, text->ptr, text->len);
	buf_free(text);
	return err;
}

NOPAL_EXPORT int nopal_show_table(const struct nopal_column *columns, unsigned count,
				  const char *const *cells, size_t rows,
				  const struct nopal_look *look, nopal_text_fn *fn, void *arg)
{
	struct columns table = {.columns = columns, .count = count};
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < rows * count; i++)
		columns_add(&table, str_from(cells[i]));
	columns_print(&table, look, &text);
	columns_free(&table);
	return hand_over_text(&text, fn, arg);
}

/* ---- histograms */

static size_t words_of(const struct nopal_histogram *h)
{
	return type_memory(&h->type) / 8;
}

NOPAL_EXPORT struct nopal_histogram *nopal_histogram_copy(const struct nopal_histogram *h)
{
	size_t size = type_memory(&h->type);
	struct nopal_histogram *copy = malloc(sizeof(*copy) + size);

	if (!copy)
		return NULL;
	copy->type = h->type;
	copy->counts = (uint64_t *)(copy + 1);
	memcpy(copy->counts, h->counts, size);
	return copy;
}

NOPAL_EXPORT void nopal_histogram_free(struct nopal_histogram *h)
{
	free(h);
}

static int combine_histograms(struct nopal_histogram *to, const struct nopal_histogram *h,
			      bool subtract)
{
	if (!type_equal(&to->type, &h->type))
		return -EINVAL;
	for (size_t i = 0; i < words_of(to); i++)
		to->counts[i] += subtract ? -h->counts[i] : h->counts[i];
	return 0;
}

NOPAL_EXPORT int nopal_histogram_add(struct nopal_histogram *to, const struct nopal_histogram *h)
{
	return combine_histograms(to, h, false);
}

NOPAL_EXPORT int nopal_histogram_subtract(struct nopal_histogram *to,
					  const struct nopal_histogram *h)
{
	return combine_histograms(to, h, true);
}

NOPAL_EXPORT uint64_t nopal_histogram_count(const struct nopal_histogram *h)
{
	return histogram_count(&h->type, h->counts);
}

static unsigned bucket_of(const struct type *t, uint64_t value)
{
	return t->kind == TYPE_HIST ? hist_bucket(value, false, t->bits)
				    : lhist_bucket(t, (int64_t)value);
}

NOPAL_EXPORT uint64_t nopal_histogram_between(const struct nopal_histogram *h, uint64_t low,
					      uint64_t high)
{
	unsigned end = bucket_of(&h->type, high);
	uint64_t total = 0;

	for (unsigned i = bucket_of(&h->type, low); i < end; i++)
		total += h->counts[i];
	return total;
}

NOPAL_EXPORT uint64_t nopal_histogram_percentile(const struct nopal_histogram *h, double percent)
{
	double millionths = percent * (MILLION / 100) + 0.5;

	if (!(millionths > 1))
		millionths = 1;
	if (millionths > MILLION)
		millionths = MILLION;
	return aggregate_percentile(&h->type, h->counts, (uint64_t)millionths);
}

NOPAL_EXPORT double nopal_histogram_sum(const struct nopal_histogram *h)
{
	return histogram_sum(&h->type, h->counts);
}

NOPAL_EXPORT int nopal_histogram_print(const struct nopal_histogram *h,
				       const struct nopal_look *look, nopal_text_fn *fn, void *arg)
{
	struct type powers = h->type;
	struct buf text = BUF_INIT;

	powers.hidden_bits = powers.bits;
	draw_histogram(&powers, str_of((const char *)h->counts, type_memory(&powers)), look, &text);
	return hand_over_text(&text, fn, arg);
}
