/* What a script declares outside of its clauses: settings, macros, sizes of maps, options. */
#ifndef NOPAL_SCRIPT_DECLARATIONS_H
#define NOPAL_SCRIPT_DECLARATIONS_H

#include "script/parse/expr.h"

/* name = value, in `config = { ... }`. */
struct setting {
	struct mark mark;
	struct str name;
	struct str value; /* "64", "warn" */
	struct setting *next;
};

#define DEFINE_PARAMS 16

/* #define NAME text, #define NAME(a, b) text */
struct define {
	struct str name;
	struct mark text;
	bool has_params; /* NAME(x), NAME() */
	struct str params[DEFINE_PARAMS];
	unsigned param_count;
	bool is_active; /* its value is being computed: it is not one in its own text */
	struct define *next;
};

/* let @m = hash(entries) */
struct map_size {
	struct mark mark;
	struct str name; /* without @ */
	uint32_t entries;
	bool forgets;	 /* lruhash */
	bool is_per_cpu; /* percpuhash: for what is counted on each CPU */
	struct map_size *next;
};

/* getopt("name", default, "about") */
struct declared_option {
	struct str name, about;
	const struct expr *otherwise; /* NULL: a bool */
	struct declared_option *next;
};

/* Where a file is in the text of a script. */
struct import_part {
	struct str path;
	size_t at, len;
};

#endif
