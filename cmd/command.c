/* What all subcommands share. */
#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nopal/diag.h"

int show_messages(struct nopal_diag *d)
{
	fflush(stdout);
	fputs(nopal_diag_text(d), stderr);
	return EXIT_FAILED;
}

/* "SELF: error: TEXT"; the text may name files of anybody. */
static void say(const char *self, const char *format, va_list args)
{
	char *text = NULL, *safe = NULL;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	if (text)
		safe = nopal_escaped(text);
	fprintf(stderr, "%s: error: %s", self, safe ? safe : strerror(ENOMEM));
	free(safe);
	free(text);
}

void say_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("nopal", format, args);
	va_end(args);
	fputc('\n', stderr);
}

void say_error_as(const char *self, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(self, format, args);
	va_end(args);
	fputc('\n', stderr);
}

int usage_error(const char *command, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("nopal", format, args);
	va_end(args);
	fprintf(stderr, "\nhint: nopal %s%s--help\n", command, *command ? " " : "");
	return EXIT_USAGE;
}

int unknown_option(const char *command, int option, const char *said)
{
	if (option == ':')
		return usage_error(command, "'%s' needs a value", said);
	return usage_error(command, "unknown option '%s'", said);
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
