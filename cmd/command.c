/* What all subcommands share. */
#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "nopal/diag.h"

int show_messages(struct nopal_diag *d)
{
	fflush(stdout);
	fputs(nopal_diag_text(d), stderr);
	return EXIT_FAILED;
}

int usage_error(const char *command, const char *format, ...)
{
	va_list args;

	fputs("nopal: error: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\nhint: nopal %s%s--help\n", command, *command ? " " : "");
	return EXIT_USAGE;
}

bool parse_number(const char *text, long low, long *out)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < low)
		return false;
	*out = value;
	return true;
}

bool write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t done = write(fd, text, len);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		text += done;
		len -= (size_t)done;
	}
	return true;
}
