/* clang-format off */
/* Text -> program. Three calls, each of which can be looked at from outside:
 *
 *   script_parse    text -> tree                   --dump=tree
 *   script_resolve  probe names -> attachments     through `struct script_source`, so that tests need no machine
 *   script_compile  tree + attachments -> program  --dump=program
 *
 * script_resolve and script_compile may be called again later for images that appeared since (see
 * script_extend). */
/* clang-format on */
#ifndef NOPAL_SCRIPT_SCRIPT_H
#define NOPAL_SCRIPT_SCRIPT_H

#include "base/diag.h"
#include "find/address.h"
#include "find/find.h"
#include "find/know.h"
#include "find/tracefs.h"
#include "find/types.h"
#include "program/program.h"
#include "script/parse/script_options.h"

struct headers;
struct script;

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

/* What was armed in programs, to explain a run that saw nothing. */
struct script_armed {
	unsigned sites, unique_files;
	bool has_condition;	   /* a clause has a predicate */
	struct file *const *files; /* some may occur twice */
	size_t file_count;
	struct str noted, note; /* "ruby:method__entry", "fires only while ..."; empty: none */
};

/* All three: 0, or -errno with messages. `text` must outlive the script. */
int script_parse(struct str text, const struct script_options *options, struct script **out,
		 struct diag *d);
int script_resolve(struct script *s, const struct script_source *source, struct diag *d);
int script_compile(struct script *s, struct program **out, struct diag *d);
/* Resolve again (when there is a source), then compile the attachments of one image that was not
 * there before; *out is NULL when there is none. So call it again, without a source, until there is
 * none: an error is one of one image, which is given up. *image is that image's list of sites, NULL
 * for attachments that are in no image. Maps, formats, literals and names keep their numbers. The
 * types of maps that no code uses yet may differ from those of the program before. */
int script_extend(struct script *s, const struct script_source *source, struct program **out,
		  const void **image, struct diag *d);
void script_facts(const struct script *s, struct script_facts *out);
/* The options that the script declares, one a line. */
void script_help(const struct script *s, struct buf *out);
/* The process of -p, when it is known only after parsing (the command of -c). */
void script_set_pid(struct script *s, pid_t pid);
/* After script_resolve: number of probes, for "Attaching N probes...": one that has several sites
 * counts once in each clause. */
unsigned script_probe_count(const struct script *s);
/* Each probe of each clause, in order, and at how many sites it is; a name that a clause has by two
 * patterns, once for each. What `fn` returns ends it, unless it is 0; -ENOMEM. */
typedef int script_probe_fn(void *arg, struct str name, unsigned sites);
int script_each_probe(const struct script *s, script_probe_fn *fn, void *arg);
void script_armed(const struct script *s, struct script_armed *out);
/* After script_parse: the script laid out anew, with its comments. Formatting that again changes
 * nothing. -ENOMEM. */
int script_format(const struct script *s, struct buf *out);
void script_print_tree(const struct script *s, struct buf *out);
void script_free(struct script *s); /* and the programs it made; NULL is fine */

/* The builtins of the language: as text, for --help-script, and one by one. */
typedef int script_builtin_fn(void *arg, const char *name, const char *help, const char *example);
void script_print_builtins(struct buf *out);
int script_each_builtin(script_builtin_fn *fn, void *arg);

/* `-l PATTERN`: every probe that a probe pattern names, one text a line (what bpftrace -l prints);
 * `struct NAME`, `union NAME` and `enum NAME` are types of the kernel, and may be patterns, too.
 * With `details` what is known of each: arguments and results, members; a text of several lines. */
typedef int script_list_fn(void *arg, struct str probe);
int script_list(struct str pattern, const struct script_options *options, bool details,
		const struct script_source *source, script_list_fn *fn, void *arg, struct diag *d);

#endif
