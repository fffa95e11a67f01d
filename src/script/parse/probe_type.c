/* Types of probes: their names, and those that a pattern may mean. */
#include "script/parse/probe_spec.h"

#include <strings.h>

#include "base/array.h"

struct probe_row {
	const char *name, *other, *brief, *also;
	enum probe_type type;
};

/* ORDER: enum probe_type */
/* clang-format off */
static const struct probe_row probe_rows[] = {
	/* name           other spelling     short    also     type                */
	{ "BEGIN",         "begin",           "begin", "begin", PROBE_BEGIN         },
	{ "END",           "end",             "end",   "end",   PROBE_END           },
	{ "interval",      "interval",        "i",     "i",     PROBE_INTERVAL      },
	{ "profile",       "profile",         "p",     "p",     PROBE_PROFILE       },
	{ "usdt",          "usdt",            "U",     "U",     PROBE_USDT          },
	{ "uprobe",        "uprobe",          "u",     "u",     PROBE_UPROBE        },
	{ "uretprobe",     "uretprobe",       "ur",    "ur",    PROBE_URETPROBE     },
	{ "tracepoint",    "tracepoint",      "t",     "t",     PROBE_TRACEPOINT    },
	{ "software",      "software",        "s",     "s",     PROBE_SOFTWARE      },
	{ "hardware",      "hardware",        "h",     "h",     PROBE_HARDWARE      },
	{ "watchpoint",    "asyncwatchpoint", "w",     "aw",    PROBE_WATCHPOINT    },
	{ "rawtracepoint", "rawtracepoint",   "rt",    "rt",    PROBE_RAWTRACEPOINT },
	{ "self",          "self",            "self",  "self",  PROBE_SELF          },
	{ "kprobe",        "kprobe",          "k",     "k",     PROBE_KPROBE        },
	{ "kretprobe",     "kretprobe",       "kr",    "kr",    PROBE_KRETPROBE     },
	{ "fentry",        "kfunc",           "f",     "f",     PROBE_FENTRY        },
	{ "fexit",         "kretfunc",        "fr",    "fr",    PROBE_FEXIT         },
	{ "iter",          "iter",            "it",    "it",    PROBE_ITER          },
	{ "test",          "test",            "test",  "test",  PROBE_TEST          },
	{ "bench",         "bench",           "bench", "bench", PROBE_BENCH         },
};
/* clang-format on */

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
	for (size_t i = 0; i < COUNT(probe_rows); i++) {
		const struct probe_row *row = &probe_rows[i];

		if (is_name_of(name, row->name) || is_name_of(name, row->other) ||
		    is_name_of(name, row->brief) || is_name_of(name, row->also)) {
			*out = row->type;
			return true;
		}
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

	for (size_t i = 0; i < COUNT(probe_rows); i++)
		guess_offer(&guess, name, str_from(probe_rows[i].name));
	return guess.best;
}
