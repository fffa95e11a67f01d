/* Local time as text. */
#include "report/moment.h"

#include "base/clock.h"

#define NSEC_PER_SEC INT64_C(1000000000)

/* No conversion of strftime writes more than this in any locale we know. */
#define MOMENT_MOST 256

int64_t moment_now(void)
{
	return clock_read(CLOCK_REALTIME);
}

/* Length of the conversion at the start of `s`: '%', flags, width, E or O, letter. 0: none. */
static size_t conversion_length(struct str s)
{
	size_t i = 1;

	while (i < s.len && i < 4 && strchr("_-0^#", s.ptr[i]))
		i++;
	while (i < s.len && i < 4 && char_is_digit(s.ptr[i]))
		i++;
	if (i < s.len && (s.ptr[i] == 'E' || s.ptr[i] == 'O'))
		i++;
	return i < s.len && s.ptr[i] ? i + 1 : 0;
}

void moment_format(struct str format, int64_t nsecs, bool is_utc, struct buf *out)
{
	int64_t part = nsecs % NSEC_PER_SEC;
	time_t seconds = (time_t)(nsecs / NSEC_PER_SEC);
	struct tm tm = {0};
	char spec[8];

	if (part < 0) {
		part += NSEC_PER_SEC;
		seconds--;
	}
	if (!(is_utc ? gmtime_r : localtime_r)(&seconds, &tm))
		return;
	while (format.len) {
		size_t len = *format.ptr == '%' ? conversion_length(format) : 0;

		if (!len) {
			buf_char(out, *format.ptr);
			len = 1;
		} else if (len == 2 && format.ptr[1] == 'f') {
			for (int64_t unit = 100000000; unit >= 1000; unit /= 10)
				buf_char(out, (char)('0' + part / unit % 10));
		} else if (is_utc && len == 2 && format.ptr[1] == 'z') {
			buf_char(out, 'Z');
		} else {
			memcpy(spec, format.ptr, len);
			spec[len] = '\0';
			if (!buf_reserve(out, MOMENT_MOST))
				out->len += strftime(out->ptr + out->len, MOMENT_MOST, spec, &tm);
			if (!out->failed)
				out->ptr[out->len] = '\0';
		}
		format = str_of(format.ptr + len, format.len - len);
	}
}
