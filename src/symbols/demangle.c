/* __cxa_demangle of libstdc++, for names that are safe: a mangled name can refer to a part of
 * itself, so that 200 bytes of a hostile file can expand to gigabytes. */
#include "symbols/demangle.h"

#include <dlfcn.h>
#include <stdlib.h>

#define MANGLED_MOST   2048
#define EXPANSION_MOST (16u << 20)
#define PLAIN_MOST     8192

void demangler_close(struct demangler *d)
{
	if (d->library)
		dlclose(d->library);
	*d = (struct demangler){0};
}

static bool load_library(struct demangler *d)
{
	if (d->tried)
		return d->call != NULL;
	d->tried = true;
	d->library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
	if (d->library)
		*(void **)&d->call = dlsym(d->library, "__cxa_demangle");
	return d->call != NULL;
}

/* "S_", "S0_" and "T_", "T0_" repeat an earlier part, which is at most all there was before: each
 * doubles the text at worst. (St, Sa, Ss ... are fixed words.) */
static bool expands_too_far(struct str name)
{
	size_t worst = 0;

	for (size_t i = 0; i < name.len; i++) {
		char next = i + 1 < name.len ? name.ptr[i + 1] : 0;
		bool repeats = (name.ptr[i] == 'S' || name.ptr[i] == 'T') &&
			       (next == '_' || char_is_digit(next) || (next >= 'A' && next <= 'Z'));

		worst = repeats ? 2 * worst + 2 : worst + 20; /* a letter is "unsigned long long" */
		if (worst > EXPANSION_MOST)
			return true;
	}
	return false;
}

void demangle(struct demangler *d, struct str name, struct buf *out)
{
	char mangled[MANGLED_MOST + 1];
	char *plain = NULL;
	int status = 0;

	if (str_starts(name, STR("_Z")) && name.len <= MANGLED_MOST && !expands_too_far(name) &&
	    load_library(d)) {
		memcpy(mangled, name.ptr, name.len);
		mangled[name.len] = '\0';
		plain = d->call(mangled, NULL, NULL, &status);
	}
	if (plain && !status && strlen(plain) <= PLAIN_MOST)
		buf_text(out, plain);
	else
		buf_str(out, name);
	free(plain);
}
