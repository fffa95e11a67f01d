/* What the files of this module share: the report from inside, tables, formats, commands. */
#ifndef NOPAL_REPORT_INSIDE_H
#define NOPAL_REPORT_INSIDE_H

#include "program/record.h"
#include "report/render.h"
#include "report/report.h"

/* gfp.c: names of allocation flags, which are read when the first number is shown */
struct gfp {
	struct arena arena;
	struct gfp_flag *flags;
	size_t count, cap;
	bool is_read;
};

/* Names with "|" between them, or "0"; bits without a name as "0x10000000". */
void gfp_print(struct gfp *g, uint64_t number, struct buf *out);
void gfp_free(struct gfp *g);

struct report {
	const struct program *program;
	enum report_style style;
	bool unsafe;
	bool no_warnings;
	size_t cat_bytes;	  /* of one file that cat() prints */
	int stop_fd;		  /* 0: none */
	uint64_t skipped;	  /* calls of system() and cat() that were not made */
	struct renderer renderer; /* as the output needs it */
	struct renderer raw;	  /* for JSON, paths and commands: nothing is escaped */
	struct arena names;	  /* short ones */
	struct gfp gfp;
	struct buf headers; /* see the renderer's */
	struct buf scratch;
	struct buf failure; /* for standard error: errorf(), why cat() or system() gave nothing */
};

/* Maps as text or JSON, sorted as bpftrace sorts them: numbers and aggregates by value, the rest by
 * key; equals by key. Comes in: the entries an engine hands over. */
struct table_request {
	enum report_style style;
	uint32_t map;
	int64_t top;	/* show only the last `top` entries; 0: all */
	int64_t div;	/* divide numbers by it; 0: 1 */
	bool with_zero; /* a map without keys and value is 0 */
	enum format_take take;
};

int report_table(struct report *r, const struct map_store *maps,
		 const struct table_request *request, struct buf *out);

/* Names of probes without their files, as many as `names`; they live in the arena. -ENOMEM. */
int short_names(struct arena *a, const struct str *names, uint32_t count, const struct str **out);

int table_print(const struct renderer *r, const struct table_request *request,
		const struct map_store *maps, struct buf *out);
/* The same of a time series: a graph for each key. */
int series_print(const struct renderer *r, const struct table_request *request,
		 const struct map_store *maps, struct buf *out);
/* Each entry in printed order, as text; a non-zero result of `fn` ends it and is returned. */
int table_each(const struct renderer *r, const struct table_request *request,
	       const struct map_store *maps, report_entry_fn *fn, void *arg);
/* The value of one entry, for print(@m[key]). */
void table_print_value(const struct renderer *r, enum report_style style, const struct map_def *map,
		       const struct value *value, struct buf *out);
/* The value of the entry with this key, or zeros. */
int table_print_entry(const struct renderer *r, const struct table_request *request,
		      const struct map_store *maps, const struct value *key, struct buf *out);

/* cat() and system(): what a file or a command says, as bytes, and the line a command is made of.
 *
 * Such a line contains values of events. They come from the programs that are traced, so the shell
 * must take them as words and never as commands: the line has "${1}", "${2}" in their places, and
 * the values are the shell's arguments. Whatever they say, the shell does not read it as text of
 * its own. */
struct shell_line {
	struct buf text;
	struct buf values; /* each ends in a NUL */
	unsigned count;
	enum { SHELL_PLAIN, SHELL_SINGLE, SHELL_DOUBLE } quote; /* that the text is in at its end */
	bool escaped; /* its last character is a backslash that holds for the next */
};

void shell_free(struct shell_line *l);
/* Text of the script's. */
void shell_text(struct shell_line *l, struct str text);
/* The bytes from `start` of `values` on are the next value. */
void shell_value(struct shell_line *l, size_t start);
/* argv for sh, in one allocation with its pointers into the line; NULL: no memory. */
char **shell_arguments(const struct shell_line *l);

#define CAT_BYTES_USUAL	   10240u     /* of one file */
#define COMMAND_BYTES_MOST (1u << 20) /* of one command; more is not read */

/* The start of a file, at most `most` bytes. -errno: it cannot be opened or read; -EFBIG: there is
 * more of it. */
int command_cat(const char *path, size_t most, struct buf *out);
/* Run /bin/sh with these arguments to its end, and take its output and errors. -EFBIG: it wrote
 * more. When `stop_fd` (0: none) is readable the shell gets SIGTERM, and is waited for no longer
 * than a second: -EINTR. *status is that of waitpid(). */
int command_run(char **argv, int stop_fd, struct buf *out, int *status);

/* Write the record's fields as the pieces of `f` say. -EPROTO: the record ended early; `out` then
 * holds a part that the caller takes back. */
int format_render(const struct format *f, const struct renderer *r, struct record *record,
		  struct buf *out);
/* The same for a shell: numbers become text of the line, all else its values. */
int format_render_shell(const struct format *f, const struct renderer *r, struct record *record,
			struct shell_line *out);

#endif
