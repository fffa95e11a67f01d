/* The search for one probe: what the files that look up probes share. */
#ifndef NOPAL_SCRIPT_PROBE_SEARCH_H
#define NOPAL_SCRIPT_PROBE_SEARCH_H

#include "script/parse/script_state.h"
#include "script/resolve/attachment.h"
#include "script/resolve/script_source.h"
#include "script/resolve/uses.h"

/* One probe being looked up. */
struct probe_search {
	struct script *s;
	const struct script_source *source;
	struct tree_clause *clause;
	struct probe_spec *spec;
	struct diag *d;
	bool found; /* an attachment, be it a known one or one that the filter leaves out */
	/* For "did you mean". */
	struct guess guess;
	size_t seen;	 /* probes of other names */
	bool seen_group; /* ... one of them of this provider */
	/* Left out by a pattern of everything; the first. */
	unsigned hot_count;
	struct str hot_provider, hot_name;
};

struct span search_span(const struct probe_search *q);
/* Add an attachment, unless the filter leaves it out; its name and function are interned. */
int search_add(struct probe_search *q, struct attachment attachment, struct str name,
	       struct str func);
/* The attachments of a file keep it open, so that the same file is attached to that they were read
 * from. */
int search_hold(struct probe_search *q, struct file *file);
/* Does the clause use arguments by name, or their types? */
bool resolve_uses_fields(const struct uses *u);
/* resolve_function.c: the name in a query is a pattern, or an address, 0x1234. */
int resolve_function(struct probe_search *q);
/* resolve_kernel.c */
#define ITER_CONTEXT "bpf_iter__" /* the struct that has what an iterator hands over */
const struct ctype_member *context_member(const struct ctype_member *m); /* ... and one of it */
int resolve_raw(struct probe_search *q);
bool kernel_has_module(struct arena *a, struct str module);
bool kernel_has_function(const struct script_source *source, struct str name);
int resolve_kernel_function(struct probe_search *q);
int resolve_iter(struct probe_search *q);
/* Nothing was found: an error, a warning, or nothing, as the options say. */
int report_missing(struct probe_search *q);

#endif
