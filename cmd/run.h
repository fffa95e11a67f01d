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
	const char *dump; /* --dump=... */
};

/* Trace `script` until it is over or a signal asks to stop; returns the exit code of the process.
 */
int run_script(const char *script, const struct run *run);

#endif
