/* What a subcommand is, and what all of them share: exit codes, messages, output. */
#ifndef NOPAL_CMD_COMMAND_H
#define NOPAL_CMD_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct nopal_diag;

/* Exit codes, the same for every command. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1, /* it could not be done; a message says why */
	EXIT_USAGE = 2,	 /* the command line is wrong; dtrace exits with 1 then, as SystemTap's */
};

struct option;

/* All that is known of a subcommand. */
struct command {
	const char *name;    /* "list" */
	const char *self;    /* how it is called: "nopal list" */
	const char *summary; /* a line of nopal --help; NULL: not shown there */
	const char *usage;   /* command lines without `self`, one a line */
	const char *about;   /* what it does; this and `more` end in a newline */
	const char *more; /* what --help says after the options: examples, exit status; or NULL */
	const struct option *options, *shared; /* tables that end in a row of zeros; NULL: none */
	int (*run)(const struct command *c, char **argv); /* argv[1]...: options and words */
	const void *detail;				  /* what else `run` has to know */
};

extern const struct command command_list, command_trace, command_count, command_hist, command_stack,
	command_funccount, command_stackcount, command_funclatency, command_argdist, command_tplist,
	command_latency, command_top, command_doctor, command_lang, command_clean, command_provider,
	command_complete, command_flame, command_script, command_fmt, command_check;
/* All subcommands that have a name; NULL ends them. */
extern const struct command *const nopal_commands[];
const struct command *find_command(const char *name); /* NULL: none has that name */

void put_messages(FILE *out, struct nopal_diag *d); /* print the collected messages */
/* ... to stderr. Returns EXIT_FAILED. */
int show_messages(struct nopal_diag *d);
/* Print "nopal: error: ..." and where to find help. Returns EXIT_USAGE. */
int usage_error(const struct command *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Print "nopal: error: ..." and a newline, "dtrace: error: ..." when called by that name; what
 * could steer a terminal is escaped. */
void say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same: "hint: ..." */
void say_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The last part of a path. */
const char *base_name(const char *path);
/* Parse a whole number of at least `low`; false when `text` is anything else. */
bool parse_number(const char *text, long low, long *out);
#define TIME_TEXT 32
/* The time of day, here or in UTC, by a format of strftime(), such as "%H:%M:%S"; returns `out`. */
const char *time_text(const char *format, bool is_utc, char out[TIME_TEXT]);
/* What the library gives text to: write it to `file`, a FILE. */
void write_text(void *file, const char *text, size_t len);
/* The text as a string of JSON, quotes and all. */
void put_json_text(FILE *out, const char *text);
/* Write all of it to fd, whatever signals come. False with errno. */
bool write_all(int fd, const char *text, size_t len);

#endif
