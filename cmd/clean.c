/* nopal clean: undo what a tracer in user mode that was killed left in a process. */
#include "command.h"

#include <errno.h>
#include <stdio.h>
#include <sys/types.h>

#include "nopal/trace.h"
#include "options.h"

static int clean(pid_t pid)
{
	struct nopal_diag *d = nopal_diag_new();
	int done = d ? nopal_clean(pid, d) : -ENOMEM;

	if (done < 0 && d)
		show_messages(d);
	if (done >= 0)
		printf("process %d: %d site%s restored\n", (int)pid, done, done == 1 ? "" : "s");
	nopal_diag_free(d);
	return done < 0 ? EXIT_FAILED : EXIT_OK;
}

static int run_clean(const struct command *c, char **argv)
{
	int code, words = options_parse(c, argv, NULL, &code);
	const char *needed;
	pid_t pid;

	if (words < 0)
		return code;
	if (words != 1)
		return usage_error(c, "clean takes one process ID");
	needed = take_pid(&pid, NULL, argv[1]);
	if (needed)
		return usage_error(c, "clean takes %s, not '%s'", needed, argv[1]);
	return clean(pid);
}

static const struct option options[] = {
	{"-h", "--help", NULL, take_help, 0, "print this help"},
	{0},
};

const struct command command_clean = {
	.name = "clean",
	.self = "nopal clean",
	.summary = "undo what a killed tracer left in a process",
	.usage = "PID",
	.about = "Restore the probe sites of a process that was traced in user mode by a nopal "
		 "that\n"
		 "was killed. Until then the sites lead to code that records nothing any more.\n",
	.more = "Exit status: 0 if sites were restored, 1 if nothing was left or it could not be\n"
		"done, 2 for wrong usage.\n",
	.options = options,
	.run = run_clean,
};
