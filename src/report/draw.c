/* Numbers with units, bars, and how wide text is on a terminal. */
#include "report/draw.h"

#include "base/array.h"
#include "base/utf8.h"

void draw_duration(uint64_t ns, struct buf *out)
{
	/* clang-format off */
	static const struct { uint64_t ns; const char *name; } units[] = {
		{1, "ns"}, {1000, "us"}, {1000000, "ms"}, {1000000000, "s"},
	};
	/* clang-format on */
	size_t unit = 0;
	double value;
	int digits;

	/* 999.5 us is 1.00 ms */
	while (unit + 1 < COUNT(units) && ns >= units[unit + 1].ns - units[unit + 1].ns / 2000)
		unit++;
	value = (double)ns / (double)units[unit].ns;
	digits = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
	buf_printf(out, "%.*f %s", digits, value, units[unit].name);
}

void draw_count(uint64_t n, struct buf *out)
{
	if (n >= 1000) {
		draw_count(n / 1000, out);
		buf_printf(out, ",%03u", (unsigned)(n % 1000));
	} else {
		buf_u64(out, n);
	}
}

/* Characters that take two columns, and those that take none. */
static unsigned char_width(uint32_t c)
{
	static const struct {
		uint32_t first, last;
		unsigned width;
	} ranges[] = {
		{0x300, 0x36f, 0},     {0x200b, 0x200f, 0},   {0xfe00, 0xfe0f, 0},
		{0x1100, 0x115f, 2},   {0x2e80, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},
		{0xf900, 0xfaff, 2},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},
		{0x1f300, 0x1faff, 2}, {0x20000, 0x3fffd, 2},
	};

	for (size_t i = 0; i < COUNT(ranges); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return ranges[i].width;
	return 1;
}

size_t draw_fit(struct str text, size_t most, size_t *width)
{
	size_t at = 0;

	for (*width = 0; at < text.len;) {
		uint32_t c = 0;
		size_t len = utf8_decode(str_of(text.ptr + at, text.len - at), &c);
		unsigned wide = len ? char_width(c) : 1;

		if (*width + wide > most)
			break;
		*width += wide;
		at += len ? len : 1;
	}
	return at;
}

size_t draw_width(struct str text)
{
	size_t width;

	draw_fit(text, SIZE_MAX, &width);
	return width;
}

void draw_bar(double part, unsigned width, const struct nopal_look *look, struct buf *out)
{
	static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	unsigned units = (unsigned)((part < 0 ? 0 : part > 1 ? 1 : part) * width * 8 + 0.5);
	unsigned whole = units / 8, used = whole;

	if (part > 0 && !units)
		units = 1; /* little is not nothing */
	if (!look->utf8) {
		buf_fill(out, '#', whole);
	} else {
		buf_text(out, look->color && units ? "\033[36m" : "");
		for (unsigned i = 0; i < whole; i++)
			buf_text(out, "█");
		if (units % 8) {
			buf_text(out, eighths[units % 8]);
			used++;
		}
		buf_text(out, look->color && units ? "\033[0m" : "");
	}
	buf_fill(out, ' ', width > used ? width - used : 0);
}
