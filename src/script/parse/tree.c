/* The tables that belong to the tree: operators, probe types, names of integer types. */
#include "script/parse/tree.h"

#include <errno.h>
#include <strings.h>

#include "arch/arch.h"
#include "base/array.h"

/* clang-format off */
static const char *const operator_texts[] = {
	[OPERATOR_NONE] = "",   [OPERATOR_OR]   = "||", [OPERATOR_AND]  = "&&", [OPERATOR_BOR]  = "|",
	[OPERATOR_XOR]  = "^",  [OPERATOR_BAND] = "&",  [OPERATOR_EQ]   = "==", [OPERATOR_NE]   = "!=",
	[OPERATOR_LT]   = "<",  [OPERATOR_LE]   = "<=", [OPERATOR_GT]   = ">",  [OPERATOR_GE]   = ">=",
	[OPERATOR_SHL]  = "<<", [OPERATOR_SHR]  = ">>", [OPERATOR_ADD]  = "+",  [OPERATOR_SUB]  = "-",
	[OPERATOR_MUL]  = "*",  [OPERATOR_DIV]  = "/",  [OPERATOR_MOD]  = "%",  [OPERATOR_NOT]  = "!",
	[OPERATOR_BNOT] = "~",  [OPERATOR_NEG]  = "-",  [OPERATOR_LOAD] = "*", [OPERATOR_ADDRESS] = "&",  [OPERATOR_INC]  = "++",
	[OPERATOR_DEC]  = "--",
};
/* clang-format on */

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

struct name_row {
	const char *name;
	const char *standard; /* ctype_standard() */
};

/* Of bpftrace, of the kernel, and of common headers. */
/* clang-format off */
static const struct name_row name_rows[] = {
	{ "int8",   "int8_t"   }, { "int16",  "int16_t"  }, { "int32",  "int32_t"  }, { "int64",  "int64_t"  },
	{ "uint8",  "uint8_t"  }, { "uint16", "uint16_t" }, { "uint32", "uint32_t" }, { "uint64", "uint64_t" },
	{ "s8",     "int8_t"   }, { "s16",    "int16_t"  }, { "s32",    "int32_t"  }, { "s64",    "int64_t"  },
	{ "u8",     "uint8_t"  }, { "u16",    "uint16_t" }, { "u32",    "uint32_t" }, { "u64",    "uint64_t" },
	{ "__s8",   "int8_t"   }, { "__s16",  "int16_t"  }, { "__s32",  "int32_t"  }, { "__s64",  "int64_t"  },
	{ "__u8",   "uint8_t"  }, { "__u16",  "uint16_t" }, { "__u32",  "uint32_t" }, { "__u64",  "uint64_t" },
	{ "__be16", "uint16_t" }, { "__be32", "uint32_t" }, { "__be64", "uint64_t" }, { "__le16", "uint16_t" },
	{ "__le32", "uint32_t" }, { "__le64", "uint64_t" },
	{ "pid_t",  "int32_t"  }, { "uid_t",  "uint32_t" }, { "gid_t",  "uint32_t" }, { "off_t",  "int64_t"  },
	{ "uint",   "unsigned int" }, { "ulong", "unsigned long" }, { "ushort", "unsigned short" },
};
/* clang-format on */

int tree_open(struct tree *t, struct arena *a)
{
	const struct arch *host = arch_host();

	t->types.arena = a;
	t->types.machine = ctype_machine_of(host ? host->machine : 0, host ? host->word : 8);
	for (size_t i = 0; i < COUNT(name_rows); i++) {
		struct ctype *type = arena_new(a, struct ctype);

		if (!type)
			return -ENOMEM;
		*type = (struct ctype){.kind = CTYPE_NAMED,
				       .name = str_from(name_rows[i].standard)};
		if (c_scope_typedef(&t->types, str_from(name_rows[i].name), type))
			return -ENOMEM;
	}
	return 0;
}

bool expr_refers(const struct expr *e)
{
	return e->kind == EXPR_UNARY && e->op == OPERATOR_ADDRESS &&
	       (e->args[0]->kind == EXPR_VARIABLE || e->args[0]->kind == EXPR_MAP);
}

const char *operator_text(enum operator op)
{
	return operator_texts[op];
}

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

struct type type_int(unsigned size, bool is_signed)
{
	return (struct type){.kind = TYPE_INT, .size = size, .is_signed = is_signed};
}
