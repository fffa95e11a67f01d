/* Looking one probe up: what the files that do (resolve*.c, missing.c) share. */
#ifndef NOPAL_SCRIPT_RESOLVE_H
#define NOPAL_SCRIPT_RESOLVE_H

#include "script/inside.h"

/* One probe being looked up. */
struct search {
	struct script *s;
	const struct script_source *source;
	struct tree_clause *clause;
	struct probe_spec *spec;
	struct diag *d;
	size_t found; /* places, known ones included */
	/* For "did you mean". */
	struct guess guess;
	size_t seen; /* probes of other names */
};

struct span search_span(const struct search *q);
/* Add a place; its name and function are interned. */
int search_add(struct search *q, struct place place, struct str name, struct str func);
/* Keep a file open for the places in it. */
int search_hold(struct search *q, struct file *file);
/* uprobe, uretprobe */
int resolve_function(struct search *q);
/* Nothing was found: an error, a warning, or nothing, as the options say. */
int report_missing(struct search *q);

#endif
