/* What bcc's tools print: histograms, the lines around results, the times at which they come. */
#ifndef NOPAL_CMD_BCC_SHOW_H
#define NOPAL_CMD_BCC_SHOW_H

#include <stdio.h>

#include "run.h"
#include "scope.h"
#include "tally.h"

/* A run of such a tool; the first member of each tool's own struct. */
struct bcc_run {
	struct run run; /* first: run_options */
	struct scope scope;
	uint64_t interval; /* -i, ns; 0: only at the end */
	uint64_t next;	   /* when the next results are due, CLOCK_MONOTONIC */
	long times, shown; /* -n; how often results were printed */
	bool clock;	   /* -T */
	bool regex;	   /* -r */
	bool begun;
	char **words; /* what is not an option */
	int word_count;
	bool rest; /* the results are those of an interval that was cut short, after others */
	/* Print the results of the interval that has ended; nothing if it is such a rest and has
	 * no events. */
	void (*print)(struct bcc_run *r, struct nopal_trace *t, FILE *out);
	/* Print what comes before all results; NULL: nothing. */
	void (*begin)(struct bcc_run *r, struct nopal_trace *t, FILE *out);
	const char *end; /* "Detaching...\n" */
	/* Write the clause of a word. 0, or an exit code after a message; NULL: the tool writes its
	 * script itself. */
	int (*write)(const struct bcc_run *r, const struct command *c, const char *word,
		     struct script_text *t);
};

/* Run the script, and call `print` at the end of each interval and of the run. */
int bcc_run(struct bcc_run *r, const struct command *c, const struct script_text *t);
/* The command line of a tool that has a clause for each word. False: it is to end with *code. */
bool bcc_parse(struct bcc_run *r, const struct command *c, char **argv, int *code);
/* Check the options, write the script and run it; `example` is a word. An exit code. */
int bcc_run_words(struct bcc_run *r, const struct command *c, const char *example);
/* "Tracing 3 functions for \"c:mem*\"... Hit Ctrl-C to end." */
void bcc_show_tracing(const struct bcc_run *r, unsigned functions, FILE *out);
/* An empty line, and with -T the time. */
void bcc_show_time(const struct bcc_run *r, FILE *out);
/* "[12:34:56]" */
void bcc_show_clock(FILE *out);
/* A histogram of powers of two below a title such as "usecs". */
void bcc_show_histogram(const struct nopal_histogram *h, const char *title, FILE *out);
/* Rows in the order of their counts, the largest last; *count of them, without those that had no
 * event. The caller frees the list; NULL: out of memory. */
const struct tally_row **bcc_sorted(const struct tally *tally, size_t *count);

/* Write the probes of a word, "c:mem*" or with -r a regular expression "c:^mem.*". *type: p r t
 * or u. 0, or an exit code after a message. */
int bcc_write_probes(struct script_text *t, const struct command *c, const struct bcc_run *r,
		     const char *word, char *type);
/* Check the options, and make the duration a number of intervals. 0, or an exit code. */
int bcc_check(struct bcc_run *r, const struct command *c);
/* -c: a number is a CPU, anything else a command to start. At a struct bcc_run. */
take_fn take_cpu_or_command;

/* Options that several of these tools have, for structs that begin with a struct bcc_run. */
/* clang-format off */
#define BCC_AT(member) offsetof(struct bcc_run, member)
#define BCC_INTERVAL {"-i", "--interval",  "TIME", take_duration, BCC_AT(interval),  "print the results every TIME, and start again from 0"}
#define BCC_CLOCK    {"-T", "--timestamp", NULL,   take_flag,     BCC_AT(clock),     "print the time above the results"}
#define BCC_REGEX    {"-r", "--regexp",    NULL,   take_flag,     BCC_AT(regex),     "the name is a regular expression, as in c:^mem.*"}
#define BCC_CPU      {"-c", "--cpu",       "CPU|COMMAND", take_cpu_or_command, 0,    "use only events of this CPU; or start COMMAND and trace it"}
#define BCC_SCOPE    SCOPE_OPTIONS(struct bcc_run, scope)
#define BCC_HELP     {"-h", "--help",      NULL,   take_help,     0,                 "print this help"}
/* clang-format on */

#endif
