/* The settings of a script: defaults, the caller's options, the config block, the environment; the
 * later wins. */
#include "script/parse/script_state.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "script/parse/declarations.h"

enum value_kind {
	VALUE_NUMBER,
	VALUE_FLAG,
	VALUE_MISSING, /* error | warn | ignore */
	VALUE_TEXT,
	VALUE_STACK,	/* a word of stack_modes */
	VALUE_LICENSE,	/* our programs have one of their own */
	VALUE_CACHE,	/* of user symbols: read once for each file here */
	VALUE_UNSTABLE, /* warn and enable allow a feature, error refuses it */
	VALUE_GONE,	/* of older versions: without effect */
	VALUE_OUTSIDE,	/* is read before a script is: the environment has it */
};

/* One setting: its name in the config block, its older name, and the values it may have. The names
 * in the environment are BPFTRACE_ and NOPAL_ in front of each name in capitals. */
struct config_row {
	const char *names[2];
	enum value_kind kind;
	uint64_t least, most;
	size_t at; /* in struct script_facts, or for kinds without a value nothing */
};

#define FACT(field) offsetof(struct script_facts, field)

/* clang-format off */
static const struct config_row rows[] = {
	{ {"max_strlen", "strlen"},         VALUE_NUMBER,   1, PROGRAM_MAX_TEXT, FACT(max_strlen)         },
	{ {"max_map_keys", "map_keys_max"}, VALUE_NUMBER,   1, 16777216,         FACT(max_map_keys)       },
	{ {"max_probes"},                   VALUE_NUMBER,   1, 1048576,          FACT(max_probes)         },
	{ {"perf_rb_pages"},                VALUE_NUMBER,   1, 1048576,          FACT(ring_pages)         },
	{ {"max_cat_bytes", "cat_bytes_max"}, VALUE_NUMBER, 1, 1u << 30,         FACT(max_cat_bytes)      },
	{ {"print_maps_on_exit"},           VALUE_FLAG,     0, 1,                FACT(print_maps_on_exit) },
	{ {"str_trunc_trailer"},            VALUE_TEXT,     0, 0,                FACT(trunc_trailer)      },
	{ {"missing_probes"},               VALUE_MISSING,  0, 0,                0                        },
	{ {"stack_mode"},                   VALUE_STACK,    0, 0,                0                        },
	{ {"cpp_demangle"},                 VALUE_FLAG,     0, 1,                FACT(demangle)           },
	{ {"no_cpp_demangle"},              VALUE_FLAG,     1, 1,                FACT(demangle)           },
	{ {"show_debug_info"},              VALUE_FLAG,     0, 1,                FACT(show_debug_info)    },
	/* What changes nothing here; config() shows it. */
	{ {"lazy_symbolication"},           VALUE_FLAG,     0, 1,                FACT(lazy_symbolication) },
	{ {"use_blazesym"},                 VALUE_FLAG,     0, 1,                FACT(use_blazesym)       },
	{ {"log_size"},                     VALUE_NUMBER,   0, UINT32_MAX,       FACT(log_size)           },
	{ {"max_bpf_progs"},                VALUE_NUMBER,   1, UINT32_MAX,       FACT(max_bpf_progs)      },
	{ {"on_stack_limit"},               VALUE_NUMBER,   0, UINT32_MAX,       FACT(on_stack_limit)     },
	{ {"license"},                      VALUE_LICENSE,  0, 0,                FACT(license)            },
	{ {"cache_user_symbols"},           VALUE_CACHE,    0, 0,                0                        },
	{ {"unstable_tseries"},             VALUE_UNSTABLE, 0, 0,                FACT(unstable_tseries)   },
	{ {"unstable_typeinfo"},            VALUE_UNSTABLE, 0, 0,                FACT(unstable_typeinfo)  },
	{ {"unstable_import_statement"},    VALUE_UNSTABLE, 0, 0,                FACT(unstable_import)    },
	{ {"unstable_dw_ustack"},           VALUE_UNSTABLE, 0, 0,                FACT(unstable_dw_ustack) },
	{ {"unstable_macro"},               VALUE_GONE,     0, 0,                0                        },
	{ {"unstable_map_decl"},            VALUE_GONE,     0, 0,                0                        },
	{ {"unstable_import"},              VALUE_GONE,     0, 0,                0                        },
	{ {"unstable_addr"},                VALUE_GONE,     0, 0,                0                        },
	{ {"symbol_source"},                VALUE_GONE,     0, 0,                0                        },
	{ {"max_type_res_iterations"},      VALUE_GONE,     0, 0,                0                        },
	{ {"max_ast_nodes"},                VALUE_GONE,     0, 0,                0                        },
	{ {"btf"},                          VALUE_OUTSIDE,  0, 0,                0                        },
	{ {"vmlinux"},                      VALUE_OUTSIDE,  0, 0,                0                        },
	{ {"kernel_build"},                 VALUE_OUTSIDE,  0, 0,                0                        },
	{ {"kernel_source"},                VALUE_OUTSIDE,  0, 0,                0                        },
};
/* clang-format on */

/* Where a value came from, for messages. */
struct origin {
	const char *variable; /* environment variable, or NULL: the config block */
	struct span span;
	struct str name;
};

static int bad_value(const struct origin *from, struct str value, const char *wanted,
		     struct diag *d)
{
	if (from->variable)
		return diag_error(d, -EINVAL, "bad-setting", "%s is '%.*s', but must be %s",
				  from->variable, STR_FMT(value), wanted);
	return diag_error_at(d, -EINVAL, "bad-setting", from->span,
			     "'%.*s' is '%.*s', but must be %s", STR_FMT(from->name),
			     STR_FMT(value), wanted);
}

static int set_number(struct script *s, const struct config_row *row, const struct origin *from,
		      struct str value, struct diag *d)
{
	char wanted[64];
	uint64_t number;

	if (str_to_u64(value, &number) || number < row->least || number > row->most) {
		snprintf(wanted, sizeof(wanted), "a number from %llu to %llu",
			 (unsigned long long)row->least, (unsigned long long)row->most);
		return bad_value(from, value, wanted, d);
	}
	*(uint32_t *)((char *)&s->facts + row->at) = (uint32_t)number;
	return 0;
}

/* How stacks are shown. */
static const struct {
	const char *name;
	enum type_show show;
} stack_modes[] = {
	{"bpftrace", SHOW_NUMBER}, {"perf", SHOW_PERF},		{"raw", SHOW_RAW},
	{"file", SHOW_FILE},	   {"build_id", SHOW_BUILD_ID},
};

bool config_stack_mode(struct str word, uint8_t *show)
{
	for (size_t i = 0; i < COUNT(stack_modes); i++)
		if (str_eq_text(word, stack_modes[i].name)) {
			*show = (uint8_t)stack_modes[i].show;
			return true;
		}
	return false;
}

/* What the kernel takes for compatible with its own license. */
static const char *const licenses[] = {
	"GPL",		"GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL",
	"Dual MPL/GPL", NULL};

/* The words of a setting that changes little here: which of them stands for which. */
struct value_word {
	const char *word, *means; /* both NULL: no more */
};

static const struct value_word cache_words[] = {
	{"PER_PID", "PER_PID"},
	{"per_pid", "PER_PID"},
	{"1", "PER_PID"},
	{"PER_PROGRAM", "PER_PROGRAM"},
	{"per_program", "PER_PROGRAM"},
	{"NONE", "NONE"},
	{"none", "NONE"},
	{"0", "NONE"},
	{NULL, NULL},
};

static const struct value_word unstable_words[] = {
	{"enable", "enable"}, {"true", "enable"}, {"1", "enable"}, {"warn", "warn"},
	{"error", "error"},   {"false", "error"}, {"0", "error"},  {NULL, NULL},
};

static const char *meaning_of(struct str word, const struct value_word *words)
{
	while (words->word && !str_eq_text(word, words->word))
		words++;
	return words->means;
}

static int set_flag(const struct config_row *row, const struct origin *from, struct str value,
		    bool *fact, struct diag *d)
{
	bool yes = str_eq_text(value, "true") || str_eq_text(value, "1");

	if (!yes && !str_eq_text(value, "false") && !str_eq_text(value, "0"))
		return bad_value(from, value, "true or false", d);
	*fact = yes != row->least; /* an older name of the opposite has 1 there */
	return 0;
}

static int set_unstable(const struct origin *from, struct str value, const char **fact,
			struct diag *d)
{
	const char *means = meaning_of(value, unstable_words);

	if (!means)
		return bad_value(from, value, "enable, warn or error", d);
	*fact = means;
	return 0;
}

static int set_missing(struct script *s, const struct origin *from, struct str value,
		       struct diag *d)
{
	if (str_eq_text(value, "error"))
		s->options.missing_probes = MISSING_ERROR;
	else if (str_eq_text(value, "warn"))
		s->options.missing_probes = MISSING_WARN;
	else if (str_eq_text(value, "ignore"))
		s->options.missing_probes = MISSING_IGNORE;
	else
		return bad_value(from, value, "error, warn or ignore", d);
	return 0;
}

static int set_value(struct script *s, const struct config_row *row, const struct origin *from,
		     struct str value, struct diag *d)
{
	void *fact = (char *)&s->facts + row->at;

	switch (row->kind) {
	case VALUE_NUMBER: return set_number(s, row, from, value, d);
	case VALUE_FLAG: return set_flag(row, from, value, fact, d);
	case VALUE_MISSING: return set_missing(s, from, value, d);
	case VALUE_UNSTABLE: return set_unstable(from, value, fact, d);
	case VALUE_TEXT: *(struct str *)fact = arena_str(&s->arena, value); break;
	case VALUE_STACK:
		if (!config_stack_mode(value, &s->options.stack_mode))
			return bad_value(from, value, "bpftrace, perf, raw or build_id", d);
		break;
	case VALUE_LICENSE:
		if (!word_is_one_of(value, licenses))
			return bad_value(from, value, "a license of the kernel, such as GPL", d);
		*(struct str *)fact = arena_str(&s->arena, value);
		break;
	case VALUE_CACHE:
		if (!meaning_of(value, cache_words))
			return bad_value(from, value, "per_pid, per_program or none", d);
		break;
	case VALUE_GONE:
	case VALUE_OUTSIDE: break;
	}
	return 0;
}

/* The newest name of a setting; NULL: it has that. */
static const char *newest_name(const struct config_row *row, bool is_second)
{
	if (!strcmp(row->names[0], "no_cpp_demangle"))
		return "cpp_demangle";
	return is_second ? row->names[0] : NULL;
}

static void warn_old(const struct config_row *row, const struct origin *from, bool is_second,
		     struct diag *d)
{
	const char *now = newest_name(row, is_second);
	struct str name = from->variable ? str_from(from->variable) : from->name;

	if (now)
		diag_warn_at(d, "old-setting", from->span, "'%.*s' is an older name of '%s'",
			     STR_FMT(name), now);
	else if (row->kind == VALUE_GONE)
		diag_warn_at(d, "old-setting", from->span, "'%.*s' has no effect any more",
			     STR_FMT(name));
}

/* A script may write a setting as the environment has it, in capitals and after BPFTRACE_. */
static const struct config_row *find_row(struct str name, bool *is_second)
{
	char lower[64];

	if (name.len >= sizeof(lower))
		return NULL;
	for (size_t i = 0; i < name.len; i++)
		lower[i] = (char)tolower((unsigned char)name.ptr[i]);
	name = str_of(lower, name.len);
	if (str_starts(name, STR("bpftrace_")))
		name = str_of(name.ptr + 9, name.len - 9);
	for (size_t i = 0; i < COUNT(rows); i++)
		for (size_t n = 0; n < 2 && rows[i].names[n]; n++)
			if (str_eq_text(name, rows[i].names[n])) {
				*is_second = n > 0;
				return &rows[i];
			}
	return NULL;
}

static int no_setting(const struct origin *from, struct diag *d)
{
	struct guess guess = {.nearest = 4};

	for (size_t i = 0; i < COUNT(rows); i++)
		guess_offer(&guess, from->name, str_from(rows[i].names[0]));
	diag_error_at(d, -EINVAL, "unknown-setting", from->span, "unknown setting '%.*s'",
		      STR_FMT(from->name));
	if (guess.best.len)
		diag_hint(d, "did you mean '%.*s'?", STR_FMT(guess.best));
	return -EINVAL;
}

static int apply_setting(struct script *s, const struct setting *setting, struct diag *d)
{
	struct origin from = {NULL, script_span(s, setting->mark), setting->name};
	bool is_second = false;
	const struct config_row *row = find_row(setting->name, &is_second);

	if (!row)
		return no_setting(&from, d);
	if (row->kind == VALUE_OUTSIDE)
		return diag_error_at(d, -EINVAL, "unknown-setting", from.span,
				     "'%s' can only be set in the environment", row->names[0]);
	warn_old(row, &from, is_second, d);
	return set_value(s, row, &from, setting->value, d);
}

static int apply_environment(struct script *s, const struct config_row *row, const char *prefix,
			     bool is_second, struct diag *d)
{
	char variable[64];
	struct origin from = {.variable = variable};
	const char *value;

	snprintf(variable, sizeof(variable), "%s%s", prefix, row->names[is_second]);
	for (char *c = variable; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	value = getenv(variable);
	if (!value)
		return 0;
	warn_old(row, &from, is_second, d);
	return set_value(s, row, &from, str_from(value), d);
}

static uint32_t option_or(uint32_t option, uint32_t otherwise)
{
	return option ? option : otherwise;
}

int config_apply(struct script *s, struct diag *d)
{
	static const char *const prefixes[] = {"BPFTRACE_", "NOPAL_"};
	int err = 0;

	s->facts.max_strlen = s->options.max_strlen;
	s->facts.max_map_keys = s->options.max_map_keys;
	s->facts.max_probes = option_or(s->options.max_probes, 100000);
	s->options.ustack_depth = option_or(s->options.ustack_depth, 127);
	s->facts.print_maps_on_exit = true;
	s->facts.demangle = true;
	s->facts.trunc_trailer = STR("..");
	s->facts.license = STR("GPL");
	s->facts.lazy_symbolication = s->facts.use_blazesym = true;
	s->facts.log_size = 1000000;
	s->facts.max_bpf_progs = 1024;
	s->facts.on_stack_limit = 32;
	s->facts.unstable_tseries = s->facts.unstable_dw_ustack = "warn";
	s->facts.unstable_typeinfo = s->facts.unstable_import = "warn";
	for (const struct setting *c = s->tree.settings; c; c = c->next)
		if (apply_setting(s, c, d))
			err = -EINVAL;
	for (size_t p = 0; p < 2; p++)
		for (size_t i = 0; i < COUNT(rows); i++)
			for (size_t n = 0; n < 2 && rows[i].names[n]; n++)
				if (apply_environment(s, &rows[i], prefixes[p], n > 0, d))
					err = -EINVAL;
	if (!err && s->tree.block_import.len && !strcmp(s->facts.unstable_import, "error"))
		err = diag_error_at(d, -EINVAL, "unstable", script_span(s, s->tree.block_import),
				    "the setting unstable_import_statement = error refuses this");
	s->facts.most_strlen = option_or(s->facts.max_strlen, PROGRAM_MAX_TEXT);
	s->facts.max_strlen = option_or(s->facts.max_strlen, 1024);
	return err;
}
