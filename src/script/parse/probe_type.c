/* Types of probes: their names, and those that a pattern may mean. */
#include "script/parse/probe_spec.h"

#include <strings.h>

#include "base/array.h"

static const struct {
	const char *name, *other, *brief, *also;
} probe_rows[PROBE_TYPES] = {
#define PROBE(type, name, other, brief, also, read, find, kind) {name, other, brief, also},
#include "script/parse/probe_types.h"
#undef PROBE
};

const char *probe_type_name(enum probe_type type)
{
	return probe_rows[type].name;
}

/* Letters that stand for a type differ in their case: `u`, `U`. */
static bool is_name_of(struct str name, const char *word)
{
	return str_eq_text(name, word) ||
	       (name.len > 2 && name.len == strlen(word) && !strncasecmp(name.ptr, word, name.len));
}

bool probe_type_find(struct str name, enum probe_type *out)
{
	for (unsigned i = 0; i < PROBE_TYPES; i++)
		if (is_name_of(name, probe_rows[i].name) || is_name_of(name, probe_rows[i].other) ||
		    is_name_of(name, probe_rows[i].brief) || is_name_of(name, probe_rows[i].also)) {
			*out = i;
			return true;
		}
	return false;
}

/* clang-format off */
static const struct {
	enum probe_type type;
	bool is_of_files;
} matched[] = {
	{ PROBE_USDT,     true  }, { PROBE_UPROBE,        true  }, { PROBE_FENTRY,     false },
	{ PROBE_HARDWARE, false }, { PROBE_ITER,          false }, { PROBE_KPROBE,     false },
	{ PROBE_SOFTWARE, false }, { PROBE_RAWTRACEPOINT, false }, { PROBE_TRACEPOINT, false },
};
/* clang-format on */

bool probe_type_match(struct str pattern, bool of_files, size_t *i, enum probe_type *out)
{
	for (; *i < COUNT(matched); ++*i) {
		if (matched[*i].is_of_files != of_files ||
		    !str_match(pattern, str_from(probe_type_name(matched[*i].type))))
			continue;
		*out = matched[*i].type;
		return true;
	}
	return false;
}

struct str probe_type_guess(struct str name)
{
	struct guess guess = {.nearest = 3};

	for (size_t i = 0; i < PROBE_TYPES; i++)
		guess_offer(&guess, name, str_from(probe_rows[i].name));
	return guess.best;
}
