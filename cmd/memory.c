/* The program's own calls of malloc() and its relatives come here (the linker's --wrap), and those
 * of functions that allocate inside the C library, so that every failure is recorded: it may cause
 * a missing line or a missing site, which must not look like success. */
#include "memory.h"

#include <errno.h>
#include <search.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"

static atomic_bool failed;

/* Returns `got`, and records if it is NULL. */
static void *note(void *got)
{
	if (!got)
		failed = true;
	return got;
}

#define WRAPPED(result, name, ...)         \
	result __real_##name(__VA_ARGS__); \
	result __wrap_##name(__VA_ARGS__); \
	result __wrap_##name(__VA_ARGS__)

WRAPPED(void *, malloc, size_t size)
{
	return note(__real_malloc(size));
}

WRAPPED(void *, calloc, size_t count, size_t size)
{
	return note(__real_calloc(count, size));
}

WRAPPED(void *, realloc, void *old, size_t size)
{
	return note(__real_realloc(old, size));
}

WRAPPED(void *, reallocarray, void *old, size_t count, size_t size)
{
	return note(__real_reallocarray(old, count, size));
}

WRAPPED(char *, strdup, const char *text)
{
	return note(__real_strdup(text));
}

WRAPPED(char *, strndup, const char *text, size_t most)
{
	return note(__real_strndup(text, most));
}

WRAPPED(void *, tsearch, const void *key, void **root, __compar_fn_t compare)
{
	return note(__real_tsearch(key, root, compare));
}

/* The memory streams that are open now: an allocation that fails in fclose() leaves no text, and no
 * error either. */
static struct {
	FILE *stream;
	char **text;
} streams[8];

static void remember_stream(FILE *old, FILE *stream, char **text)
{
	for (size_t i = 0; i < sizeof(streams) / sizeof(*streams); i++)
		if (streams[i].stream == old) {
			streams[i].stream = stream;
			streams[i].text = text;
			return;
		}
}

static char **text_of_stream(FILE *stream)
{
	for (size_t i = 0; i < sizeof(streams) / sizeof(*streams); i++)
		if (streams[i].stream == stream)
			return streams[i].text;
	return NULL;
}

WRAPPED(FILE *, open_memstream, char **text, size_t *len)
{
	FILE *stream = note(__real_open_memstream(text, len));

	if (stream)
		remember_stream(NULL, stream, text);
	return stream;
}

WRAPPED(int, fclose, FILE *stream)
{
	char **text = text_of_stream(stream);
	int err;

	if (text)
		remember_stream(stream, NULL, NULL);
	err = __real_fclose(stream);
	if (text)
		failed |= err || !*text;
	return err;
}

WRAPPED(int, vasprintf, char **out, const char *format, va_list args)
{
	int len = __real_vasprintf(out, format, args);

	failed |= len < 0;
	return len;
}

/* asprintf(), whose arguments cannot be passed on as they are, and the functions that headers
 * replace both by with _FORTIFY_SOURCE. */
WRAPPED(int, __vasprintf_chk, char **out, int flag, const char *format, va_list args)
{
	(void)flag;
	return __wrap_vasprintf(out, format, args);
}

int __wrap_asprintf(char **out, const char *format, ...);
int __wrap___asprintf_chk(char **out, int flag, const char *format, ...);

int __wrap_asprintf(char **out, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = __wrap_vasprintf(out, format, args);
	va_end(args);
	return len;
}

int __wrap___asprintf_chk(char **out, int flag, const char *format, ...)
{
	va_list args;
	int len;

	(void)flag;
	va_start(args, format);
	len = __wrap_vasprintf(out, format, args);
	va_end(args);
	return len;
}

bool memory_failed(void)
{
	return failed;
}

int memory_judge(int code)
{
	if (!failed)
		return code;
	say_error("out of memory: the output may be incomplete (see ulimit -v, and the memory "
		  "limit of the control group)");
	return code ? code : EXIT_FAILED;
}
