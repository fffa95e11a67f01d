/* Running a script from the command line: shared by nopal -e, trace, count and hist. */
#ifndef NOPAL_CMD_RUN_H
#define NOPAL_CMD_RUN_H

#include <stdio.h>

#include "command.h"
#include "nopal/trace.h"
#include "options.h"
#include "script_text.h"

enum buffering { BUFFER_LINE, BUFFER_FULL, BUFFER_NONE }; /* ORDER: "-B" in script.c */

#define RUN_MAX_PIDS 64

struct run {
	struct nopal_trace_options options;
	pid_t pids[RUN_MAX_PIDS]; /* of -p; the run is one of a process if there is one */
	unsigned pid_count;
	uint64_t duration_ns; /* end the run this time after it was attached; 0: do not */
	unsigned own_probes;  /* of the script's, those that the user did not write: not counted */
	const char *header;   /* a line above the output; NULL: none */
	/* What the command makes of the run; NULL: nothing. `watch` is called when the probes
	 * are attached, some times a second, and once more when the run is over; what it writes to
	 * `out` is output. `take` gets the script's output instead of the user. */
	void (*watch)(void *arg, struct nopal_trace *t, FILE *out, bool over);
	void (*take)(void *arg, const char *text, size_t len);
	void *watch_arg;
	uint64_t watch_period; /* ns: `watch` is also called within a millisecond of its ends; 0:
				  none */
	bool no_progress;      /* do not say what is being attached */
	enum nopal_color color;
	const char *output; /* -o FILE; NULL: stdout */
	enum buffering buffering;
	bool quiet;	   /* do not print "Attaching ..." */
	bool dry_run;	   /* compile and load, but attach nothing */
	bool no_warnings;  /* do not show the compiler's warnings */
	bool exit_status;  /* exit with the status of the command of -c */
	bool show_script;  /* print the script that the command has written, and run nothing */
	bool script_first; /* print it, and run it */
	bool dump;	   /* show what the script is compiled to, and run nothing */
	enum nopal_dump dump_kind;
};

/* Options that all these commands take, for structs that begin with a struct run. */
extern const struct option run_options[];
/* Rows for such structs, of commands that write a script. */
/* clang-format off */
#define RUN_SCRIPT \
	{NULL, "--script",       NULL, take_flag, offsetof(struct run, show_script), "print the script instead of running it"}, \
	{NULL, "--print-script", NULL, take_flag, offsetof(struct run, show_script), NULL}
#define RUN_CSV {NULL, "--csv", NULL, take_csv, offsetof(struct run, options.format), "the same as -f csv"}
/* clang-format on */
take_fn take_csv; /* enum nopal_format: NOPAL_CSV */
/* The command has written this script: messages name the command, and show the user's words. False:
 * only print it. */
bool run_take_text(struct run *run, const struct command *c, const struct script_text *t);
/* CLOCK_MONOTONIC, ns. */
uint64_t run_clock(void);
/* How the output of a run is drawn. */
void run_look(const struct run *run, struct nopal_look *out);
/* Can the options be combined? 0, or the exit code of usage_error(). */
int run_check_options(const struct run *run, const struct command *c);
/* Trace `script` until it is over or a signal ends it. Returns the exit code of the process. */
int run_script(const char *script, const struct run *run);
/* trials.c: run the test or bench probes of a script; EXIT_FAILED when a test fails. */
int run_trials(const char *script, const struct run *run, bool bench);

#endif
