/* Options as tables: a row describes one option completely, so that parsing, error messages
 * and --help cannot differ. Options and other words may be mixed; "--" ends the options. */
#ifndef NOPAL_CMD_OPTIONS_H
#define NOPAL_CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct command;
struct option;

/* Store what an option says at `at`. NULL, or what it needs instead of `value`: "a process ID". */
typedef const char *take_fn(void *at, const struct option *o, const char *value);

struct option {
	const char *letter; /* "-p"; NULL: none */
	const char *word;   /* "--pid", or as dtrace has it "-m32"; NULL: none */
	const char *value;  /* "PID"; NULL: it takes none */
	take_fn *take;
	size_t at;	  /* offset of the target in the command's struct */
	const char *help; /* NULL: accepted, but not shown */
};

/* What a row does: the type is that of the member at `at`. */
take_fn take_flag;     /* bool: true */
take_fn take_text;     /* const char *: the value */
take_fn take_line;     /* char *: one more line of it, to be freed */
take_fn take_pid;      /* pid_t */
take_fn take_duration; /* uint64_t, ns: "10" seconds, "0.5", "100ms", "1m" */
take_fn take_size;     /* size_t, bytes: "64K", "4M", up to 4G */
take_fn take_count;    /* long, at least 1 */
take_fn take_choice;   /* enum: the position of the value in "text|json" */
take_fn take_nothing;  /* accepted for compatibility */
take_fn take_help;     /* print the help; the command line is answered */

/* Parse argv[1]... into `target`. The words that are not options are moved to argv[1]... in their
 * order. Returns their number, or -1 when the command is to end with *code. */
int options_parse(const struct command *c, char **argv, void *target, int *code);
/* The same of a command whose only word is a process ID: false when it is to end with *code. */
bool options_parse_pid(const struct command *c, char **argv, void *target, pid_t *pid, int *code);
extern const struct option pid_options[]; /* that it has */
/* The first row of the tables that matches what was typed; NULL: none does. */
const struct option *options_find(const struct command *c, const char *arg,
				  bool (*matches)(const struct option *o, const char *arg));
/* Do two words differ by at most MISTAKES letters? */
bool words_are_near(const char *a, const char *b, int mistakes);
/* Everything that --help says. */
void options_help(const struct command *c);

#endif
