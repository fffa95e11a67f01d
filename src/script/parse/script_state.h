/* A script from inside: what its stages share. The tree says what was written, the lists what has
 * been interned for programs so far; what a stage adds is declared in the headers of that stage.
 * Everything lives in the script's arena. */
#ifndef NOPAL_SCRIPT_STATE_H
#define NOPAL_SCRIPT_STATE_H

#include <regex.h>

#include "base/diag.h"
#include "program/record.h"
#include "script/parse/script_options.h"
#include "script/parse/tree.h"

struct attachment;
struct builtins;
struct file;
struct header_value;
struct headers;
struct known_symbol;
struct script_source;

/* Numbered things that programs refer to. They only ever grow. */
struct text_list {
	struct str *items;
	size_t count, cap;
};

struct format_list {
	struct format *items;
	size_t count, cap;
};

struct span_list {
	struct span *items;
	size_t count, cap;
};

/* A parameter with a name: --limit=5, --all. */
struct named_param {
	struct str name, value;
	bool has_value;
};

struct script {
	struct arena arena;
	struct str text, path;
	struct script_options options; /* params are copied */
	struct script_facts facts;
	const struct builtins *builtins;
	struct script_source *source; /* of script_resolve(); no function before that */
	struct tree tree;
	struct headers *headers;      /* NULL: not read */
	struct c_scope *header_types; /* what they declare; NULL: not asked for yet */
	struct str header_problem;    /* why they could not be read; empty: nothing is wrong */
	struct header_value *header_values;
	struct map *maps;
	uint32_t map_count;
	struct named_param *named; /* --name=value among the parameters */
	unsigned named_count;
	struct import_part *parts; /* of the text: imported files, then the script */
	unsigned part_count;
	size_t *block_imports; /* where imports are in blocks of the text */
	unsigned block_import_count;
	struct text_list literals, names;
	struct format_list formats;
	struct span_list spans;
	int64_t wall_offset; /* what to add to nsecs to get the time of day */
	unsigned attachment_count;
	regex_t filter; /* of options.probe_filter, if there is one */
	bool has_filter;
	bool has_program; /* there is a program: what is compiled now comes in addition */
	const struct attachment *only; /* compile the attachments of its image; NULL: all */
	struct known_symbol *symbols;  /* address.c: that were looked up */
	struct file **files;	       /* held for the attachments */
	size_t file_count, file_cap;
};

struct span script_span(const struct script *s, struct mark m);
/* Number of a text in a list; added when it is new. -ENOMEM. */
int text_intern(struct script *s, struct text_list *list, struct str text, uint32_t *out);
/* Intern a piece of the script that errors may name, unless *span (its number + 1) is set.
 * -ENOMEM. */
int span_intern(struct script *s, struct mark m, uint32_t *span);

/* script_params.c: take the caller's parameters, which may be gone when the script is extended, and
 * keep those that have names apart (-ENOMEM); complain of names that the script does not declare */
int params_take(struct script *s);
int params_check(struct script *s, struct diag *d);
/* The last one of this name, as with every option. NULL: it is not given. */
const struct named_param *params_find(const struct script *s, struct str name);
/* import.c: add the texts of imported files. -errno with a message */
int imports_take(struct script *s, struct diag *d);
/* config.c: defaults, then the config block, then the environment. */
int config_apply(struct script *s, struct diag *d);
/* The mode of a stack by its name. False: there is none. */
bool config_stack_mode(struct str word, uint8_t *show);

#endif
