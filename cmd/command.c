/* What all subcommands share. */
#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nopal/diag.h"

static const char *self_name(void)
{
	return strcmp(program_invocation_short_name, "dtrace") ? "nopal" : "dtrace";
}

/* A message that is not about a text begins with our name, as those of say_error() do. */
void put_messages(FILE *out, struct nopal_diag *d)
{
	const char *line = nopal_diag_text(d);

	while (*line) {
		size_t len = strcspn(line, "\n");
		bool begins = !strncmp(line, "error: ", 7) || !strncmp(line, "warning: ", 9);

		fprintf(out, "%s%s%.*s\n", begins ? self_name() : "", begins ? ": " : "", (int)len,
			line);
		line += len + (line[len] == '\n');
	}
}

int show_messages(struct nopal_diag *d)
{
	fflush(stdout);
	put_messages(stderr, d);
	return EXIT_FAILED;
}

const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Without line feeds, after which the rest would look like another message. */
static void put_line(const char *text)
{
	for (; *text; text++)
		if (*text == '\n')
			fputs("\\x0a", stderr);
		else
			putc(*text, stderr);
	putc('\n', stderr);
}

/* The text may contain names of files that any user made. */
static void say(bool is_hint, const char *format, va_list args)
{
	char *text = NULL, *safe = NULL;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	if (text)
		safe = nopal_escaped(text);
	fprintf(stderr, "%s%s", is_hint ? "" : self_name(), is_hint ? "hint: " : ": error: ");
	put_line(safe ? safe : strerror(ENOMEM));
	free(safe);
	free(text);
}

void say_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(false, format, args);
	va_end(args);
}

void say_hint(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(true, format, args);
	va_end(args);
}

int usage_error(const struct command *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(false, format, args);
	va_end(args);
	fprintf(stderr, "hint: '%s --help%s' shows the options\n", c->self,
		c == &command_script ? "-script" : "");
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

const char *time_text(const char *format, bool is_utc, char out[TIME_TEXT])
{
	time_t now = time(NULL);
	struct tm parts;

	if (!(is_utc ? gmtime_r : localtime_r)(&now, &parts) ||
	    !strftime(out, TIME_TEXT, format, &parts))
		out[0] = '\0';
	return out;
}

void write_text(void *file, const char *text, size_t len)
{
	fwrite(text, 1, len, file);
}

void put_json_text(FILE *out, const char *text)
{
	static const char controls[] = "\b\t\n\f\r", letters[] = "btnfr";

	fputc('"', out);
	for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
		const char *control = strchr(controls, *at);

		if (control)
			fprintf(out, "\\%c", letters[control - controls]);
		else if (*at == '"' || *at == '\\')
			fprintf(out, "\\%c", *at);
		else if (*at < ' ' || *at == 0x7f)
			fprintf(out, "\\u%04x", *at);
		else
			fputc(*at, out);
	}
	fputc('"', out);
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
