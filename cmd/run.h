/* Running a script from the command line: shared by nopal -e, trace, count and hist. */
#ifndef NOPAL_CMD_RUN_H
#define NOPAL_CMD_RUN_H

#include "nopal/trace.h"

enum buffering { BUFFER_LINE, BUFFER_FULL, BUFFER_NONE };

struct run {
	struct nopal_trace_options options;
	const char *output; /* -o FILE; NULL: stdout */
	enum buffering buffering;
	bool quiet;	  /* no "Attaching ..." */
	bool dry_run;	  /* compile and load, attach nothing */
	bool no_warnings; /* warnings of the compiler are not shown */
	bool exit_status; /* the command's exit code is ours */
	bool dump;	  /* show what the script is compiled to, run nothing */
	enum nopal_dump dump_what;
};

/* The values of -p, -f and --dump. 0, or the exit code of usage_error(); `command` is as there. */
int run_take_pid(struct run *run, const char *command, const char *text);
int run_take_format(struct run *run, const char *command, const char *text);
int run_take_dump(struct run *run, const char *command, const char *text);
/* Do the options go together? The same. */
int run_check_options(const struct run *run, const char *command);
/* Trace `script` until it is over or a signal asks to stop; returns the exit code of
 * the process. */
int run_script(const char *script, const struct run *run);

#endif
