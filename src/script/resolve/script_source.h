/* Where a script looks up names: calls, so that tests need no machine. */
#ifndef NOPAL_SCRIPT_SOURCE_H
#define NOPAL_SCRIPT_SOURCE_H

#include "find/address.h"
#include "find/find.h"
#include "find/know.h"
#include "find/tracefs.h"
#include "find/types.h"

struct headers;

/* Where names are looked up. `run` is passed back to the calls that depend on which processes are
 * traced and by which engines, `self` to the others. */
struct script_source {
	void *run;
	int (*sites)(void *run, const struct find_query *q, found_fn *fn, void *arg,
		     struct diag *d);
	int (*functions)(void *run, const struct find_query *q, function_fn *fn, void *arg,
			 struct diag *d);
	/* Why no engine of the run can read this operand, or `by_some`, why one of them cannot;
	 * NULL: it can be read. A NULL function: what operand_problem() says. */
	const char *(*unreadable)(void *run, const struct arch *arch, const struct operand *o,
				  bool by_some);
	void *self;
	/* Complete what is known of a site's arguments; a NULL function: nothing is. */
	int (*know)(void *self, const struct found_image *image, struct site *site, struct diag *d);
	struct str (*function_at)(void *self, const struct found_image *image, uint64_t offset);
	/* finder_library(); NULL: none is known. */
	struct str (*library)(void *self, struct str path, struct arena *a, size_t *count);
	/* finder_function_library(); NULL: none is known. */
	struct str (*function_library)(void *self, struct str path, struct str name,
				       struct arena *a);
	int (*events)(void *self, struct str category, struct str name, trace_event_fn *fn,
		      void *arg, struct diag *d);
	/* headers_open(). NULL: headers are not read. */
	int (*headers)(struct str lines, struct str dirs, struct headers **out,
		       struct buf *problem);
	/* finder_raw_events(). NULL: any event may exist. */
	int (*raw_events)(void *self, struct str pattern, finder_raw_fn *fn, void *arg,
			  struct diag *d);
	/* finder_kernel_functions(), finder_kernel_id(). NULL: any function may exist. */
	int (*kernel_functions)(void *self, struct str pattern, kernel_function_fn *fn, void *arg,
				struct diag *d);
	int (*kernel_id)(void *self, enum ctype_kind kind, struct str name, uint32_t *id,
			 struct diag *d);
	int (*event)(void *self, struct arena *a, struct str category, struct str name,
		     struct trace_event *out, struct diag *d);
	/* Types and constants by name, as find/types.h has them; NULL functions: none is known. */
	int (*type)(void *self, struct file *file, enum ctype_kind kind, struct str name,
		    const struct ctype **out, struct diag *d);
	int (*function_types)(void *self, const struct found_function *found,
			      struct function_types *out, struct diag *d);
	int (*types)(void *self, enum ctype_kind kind, struct str pattern, finder_type_fn *fn,
		     void *arg, struct diag *d);
	/* Of find/address.h. */
	int (*kernel_symbol)(void *self, struct str name, uint64_t *out, struct diag *d);
	int (*symbol)(struct file *file, struct str path, uint64_t offset, struct str name,
		      struct found_symbol *out, struct diag *d);
	int (*constant)(void *self, struct file *file, struct str name, const struct ctype **out,
			int64_t *value, struct diag *d);
};

/* The real machine, through the find module. */
struct script_source script_source_machine(struct finder *f);
/* Why no engine of the run can read this operand, or `by_some`, why one of them cannot; NULL: it
 * can be read. */
const char *source_unreadable(const struct script_source *source, const struct arch *arch,
			      const struct operand *o, bool by_some);

#endif
