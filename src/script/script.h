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
#include "program/program.h"
#include "script/parse/script_options.h"
#include "script/resolve/script_source.h"

struct headers;
struct script;

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
/* After script_parse: the script in nopal's layout, with its comments. Formatting that again
 * changes nothing. -ENOMEM. */
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
