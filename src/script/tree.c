/* The tables that belong to the tree: operators, probe types, names of integer types. */
#include "script/tree.h"

#include "base/array.h"

/* clang-format off */
static const char *const operator_texts[] = {
	[OPERATOR_NONE] = "",   [OPERATOR_OR]   = "||", [OPERATOR_AND]  = "&&", [OPERATOR_BOR]  = "|",
	[OPERATOR_XOR]  = "^",  [OPERATOR_BAND] = "&",  [OPERATOR_EQ]   = "==", [OPERATOR_NE]   = "!=",
	[OPERATOR_LT]   = "<",  [OPERATOR_LE]   = "<=", [OPERATOR_GT]   = ">",  [OPERATOR_GE]   = ">=",
	[OPERATOR_SHL]  = "<<", [OPERATOR_SHR]  = ">>", [OPERATOR_ADD]  = "+",  [OPERATOR_SUB]  = "-",
	[OPERATOR_MUL]  = "*",  [OPERATOR_DIV]  = "/",  [OPERATOR_MOD]  = "%",  [OPERATOR_NOT]  = "!",
	[OPERATOR_BNOT] = "~",  [OPERATOR_NEG]  = "-",  [OPERATOR_LOAD] = "*",  [OPERATOR_INC]  = "++",
	[OPERATOR_DEC]  = "--",
};
/* clang-format on */

struct probe_row {
	const char *name, *other, *brief;
	enum probe_type type;
};

/* ORDER: enum probe_type */
/* clang-format off */
static const struct probe_row probe_rows[] = {
	/* name        other spelling  short    type             */
	{ "BEGIN",      "begin",       "begin", PROBE_BEGIN      },
	{ "END",        "end",         "end",   PROBE_END        },
	{ "interval",   "interval",    "i",     PROBE_INTERVAL   },
	{ "profile",    "profile",     "p",     PROBE_PROFILE    },
	{ "usdt",       "usdt",        "U",     PROBE_USDT       },
	{ "uprobe",     "uprobe",      "u",     PROBE_UPROBE     },
	{ "uretprobe",  "uretprobe",   "ur",    PROBE_URETPROBE  },
	{ "tracepoint", "tracepoint",  "t",     PROBE_TRACEPOINT },
};
/* clang-format on */

/* clang-format off */
static const char *const foreign_probes[] = {
	"kprobe",        "k",      "kretprobe",  "kr",   "kfunc",
	"kretfunc",      "fentry", "fexit",      "f",    "fr",
	"iter",          "it",     "software",   "s",    "hardware",
	"h",             "w",      "watchpoint", "aw",   "asyncwatchpoint",
	"rawtracepoint", "rt",     "self",       "test", "bench",
};
/* clang-format on */

struct cast_row {
	const char *name;
	struct type type;
};

/* clang-format off */
#define SIGNED(bytes)   { .kind = TYPE_INT, .size = bytes, .is_signed = true }
#define UNSIGNED(bytes) { .kind = TYPE_INT, .size = bytes }
#define BOOL            { .kind = TYPE_INT, .size = 1, .show = SHOW_BOOL }
/* clang-format on */

/* clang-format off */
static const struct cast_row cast_rows[] = {
	{ "int8",      SIGNED(1)   }, { "int16",     SIGNED(2)   }, { "int32",     SIGNED(4)   },
	{ "int64",     SIGNED(8)   }, { "uint8",     UNSIGNED(1) }, { "uint16",    UNSIGNED(2) },
	{ "uint32",    UNSIGNED(4) }, { "uint64",    UNSIGNED(8) }, { "int8_t",    SIGNED(1)   },
	{ "int16_t",   SIGNED(2)   }, { "int32_t",   SIGNED(4)   }, { "int64_t",   SIGNED(8)   },
	{ "uint8_t",   UNSIGNED(1) }, { "uint16_t",  UNSIGNED(2) }, { "uint32_t",  UNSIGNED(4) },
	{ "uint64_t",  UNSIGNED(8) }, { "char",      SIGNED(1)   }, { "short",     SIGNED(2)   },
	{ "int",       SIGNED(4)   }, { "long",      SIGNED(8)   }, { "size_t",    UNSIGNED(8) },
	{ "ssize_t",   SIGNED(8)   }, { "uintptr_t", UNSIGNED(8) }, { "pid_t",     SIGNED(4)   },
	{ "bool",      BOOL        },
};
/* clang-format on */

const char *operator_text(enum operator op)
{
	return operator_texts[op];
}

const char *probe_type_name(enum probe_type type)
{
	return probe_rows[type].name;
}

bool probe_type_find(struct str name, enum probe_type *out)
{
	for (size_t i = 0; i < COUNT(probe_rows); i++) {
		const struct probe_row *row = &probe_rows[i];

		if (str_eq_text(name, row->name) || str_eq_text(name, row->other) ||
		    str_eq_text(name, row->brief)) {
			*out = row->type;
			return true;
		}
	}
	return false;
}

bool probe_type_is_foreign(struct str name)
{
	for (size_t i = 0; i < COUNT(foreign_probes); i++)
		if (str_eq_text(name, foreign_probes[i]))
			return true;
	return false;
}

struct str probe_type_guess(struct str name)
{
	struct guess guess = {.nearest = 3};

	for (size_t i = 0; i < COUNT(probe_rows); i++)
		guess_offer(&guess, name, str_from(probe_rows[i].name));
	return guess.best;
}

bool cast_type_find(struct str name, struct type *out)
{
	for (size_t i = 0; i < COUNT(cast_rows); i++) {
		if (str_eq_text(name, cast_rows[i].name)) {
			*out = cast_rows[i].type;
			return true;
		}
	}
	return false;
}

struct type type_int(unsigned size, bool is_signed)
{
	return (struct type){.kind = TYPE_INT, .size = size, .is_signed = is_signed};
}
