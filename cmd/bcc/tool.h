/* What bcc's tools that count have in common: their options, the script of their words, and when
 * and how results are printed. A tool is a table of what is its own. */
#ifndef NOPAL_CMD_BCC_TOOL_H
#define NOPAL_CMD_BCC_TOOL_H

#include <stdio.h>

#include "bcc/trace.h"
#include "run.h"
#include "scope.h"
#include "tally.h"

/* A run of such a tool, with the options of all. */
struct bcc_run {
	struct run run; /* first: run_options */
	struct scope scope;
	const struct bcc_tool *tool;
	uint64_t interval; /* -i, ns; 0: only at the end */
	uint64_t next;	   /* when the next results are due, CLOCK_MONOTONIC */
	long times, shown; /* -n; how often results were printed */
	bool clock;	   /* -T */
	const char *cpu;   /* -c, of funccount and stackcount: or a command */
	bool regex;	   /* -r */
	char *headers;	   /* argdist -I: lines of the script; owned */
	bool begun;
	bool rest; /* the results are those of an interval that was cut short, after others */
	char **words;
	int word_count;
	struct tally tally, totals;
	/* stackcount -s, -v, -P, -K, -U, -d, -f */
	bool offsets, addresses, by_process, only_kernel, only_user, delimited, folded;
	/* funclatency -F, -u, -m; a histogram for each function and process; -l, 0: any */
	bool by_function, microseconds, milliseconds, has_sections;
	long level;
};

/* The `detail` of a struct command. */
struct bcc_tool {
	const char *map;     /* that is shown; NULL: "@" */
	const char *heading; /* above its rows; NULL: nothing */
	bool has_returns;    /* a function has a second probe */
	/* Look at options and words. 0, or an exit code after a message; NULL: nothing to do. */
	int (*check)(struct bcc_run *r, const struct command *c);
	/* Write the clauses of a word. 0, or an exit code after a message. */
	int (*write)(struct bcc_run *r, const struct command *c, int word, struct script_text *t);
	void (*print_row)(const struct bcc_run *r, const struct tally_row *row, FILE *out);
	/* After the rows; NULL: nothing. */
	void (*print_end)(struct bcc_run *r, struct nopal_trace *t, FILE *out);
	/* All results, without "Tracing..."; NULL: the map's rows in the order of their counts. */
	void (*print)(struct bcc_run *r, struct nopal_trace *t, FILE *out);
};

/* A command line of such a command: `r` has what options start from. An exit code. */
int bcc_run(struct bcc_run *r, const struct command *c, char **argv);
/* The same, from zeros: struct command's `run`. */
int bcc_run_command(const struct command *c, char **argv);
/* A histogram of powers of two below a title such as "usecs". */
void bcc_show_histogram(const struct nopal_histogram *h, const char *title, FILE *out);
/* Put the rows in the order of their counts, the largest last. */
void bcc_sort(struct tally *tally);
/* "malloc" of "malloc" and "uprobe:c:malloc", "sched:sched_switch" of a tracepoint. */
const char *bcc_probe_name(const char *probe);
/* Write the probes of a word, "c:mem*" or with -r a regular expression "c:^mem.*", or those of the
 * returns of these functions, and what they are filtered by. *type: p r t or u. 0, or an exit code
 * after a message. */
int bcc_write_probes(struct script_text *t, const struct command *c, const struct bcc_run *r,
		     const char *word, bool of_return, char *type);

/* clang-format off */
#define BCC_AT(member) offsetof(struct bcc_run, member)
#define BCC_FLAG(letter, word, member, help) {letter, word, NULL, take_flag, BCC_AT(member), help}
#define BCC_DURATION(letter) {letter, "--duration", "TIME", take_duration, BCC_AT(run.duration_ns), "stop after TIME: seconds, or as in 0.5, 100ms, 1m (default: on ^C)"}
#define BCC_INTERVAL {"-i", "--interval",  "TIME", take_duration, BCC_AT(interval),  "print the results every TIME, and start again from 0"}
#define BCC_TIMES(word) {"-n", word,    "COUNT", take_count,   BCC_AT(times),     "stop after COUNT times"}
#define BCC_CLOCK    BCC_FLAG("-T", "--timestamp", clock, "print the time above the results")
#define BCC_REGEX    BCC_FLAG("-r", "--regexp", regex, "the name is a regular expression, as in c:^mem.*")
#define BCC_CPU      {"-c", "--cpu",       "CPU|COMMAND", take_text, BCC_AT(cpu),  "use only events of this CPU; or start COMMAND and trace it"}
#define BCC_SCRIPT(letter, word) BCC_FLAG(letter, word, run.script_first, "print the script before it runs")
#define BCC_COMMON   SCOPE_OPTIONS(struct bcc_run, scope), RUN_SCRIPT, \
	{"-h", "--help", NULL, take_help, 0, "print this help"}, {0}
/* clang-format on */

#endif
