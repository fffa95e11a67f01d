/* Messages, and names that every tracer accepts. */
#include "runtime/runtime.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int runtime_fail(struct nopal_error *e, int code, const char *format, ...)
{
	va_list args;

	if (!e)
		return code;
	e->code = code;
	va_start(args, format);
	vsnprintf(e->text, sizeof(e->text), format, args);
	va_end(args);
	return code;
}

bool name_is_plain(struct str name, const char *more)
{
	for (size_t i = 1; i < name.len; i++)
		if (!char_is_word(name.ptr[i]) && !(*more && strchr(more, name.ptr[i])))
			return false;
	return str_is_word(str_of(name.ptr, name.len > 1 ? 1 : name.len));
}

int name_shown(const char *name, size_t max)
{
	size_t len = strnlen(name, max + 1);

	if (len <= max)
		return (int)len;
	for (len = max; len && ((unsigned char)name[len] & 0xc0) == 0x80;)
		len--;
	return (int)len;
}

int name_check(const char *what, const char *name, size_t max, unsigned flags,
	       struct nopal_error *e)
{
	struct str s = str_from(name);

	if (!s.len)
		return runtime_fail(e, NOPAL_BAD_NAME, "a %s needs a name", what);
	if (s.len > max)
		return runtime_fail(e, NOPAL_BAD_NAME,
				    "the name '%.*s...' of a %s has %zu bytes: the limit is %zu",
				    name_shown(name, 32), name, what, s.len, max);
	if (!(flags & NOPAL_RUNTIME_ANY_NAME) && !name_is_plain(s, "-."))
		return runtime_fail(e, NOPAL_BAD_NAME,
				    "'%.*s' cannot be the name of a %s: write a letter or _, then "
				    "letters, digits, _, - or .",
				    name_shown(name, 100), name, what);
	return 0;
}
