/* nopal clean: undo what a tracer in user mode that was killed left in a process. */
#include "command.h"

#include <errno.h>
#include <stdio.h>

#include "nopal/trace.h"
#include "options.h"

static int clean(pid_t pid)
{
	struct nopal_diag *d = nopal_diag_new();
	int done = d ? nopal_clean(pid, d) : -ENOMEM;

	if (d)
		show_messages(d);
	if (done >= 0)
		printf("process %d: %d site%s restored\n", (int)pid, done, done == 1 ? "" : "s");
	nopal_diag_free(d);
	return done < 0 ? EXIT_FAILED : EXIT_OK;
}

static int run_clean(const struct command *c, char **argv)
{
	pid_t pid;
	int code;

	return options_parse_pid(c, argv, NULL, &pid, &code) ? clean(pid) : code;
}

const struct command command_clean = {
	.name = "clean",
	.self = "nopal clean",
	.summary = "undo what a killed tracer left in a process",
	.usage = "PID",
	.about = "Restore the probe sites of a process that was traced in user mode by a nopal "
		 "that\n"
		 "was killed, and unmap its memory. Until then the sites lead to code that "
		 "records\n"
		 "nothing.\n",
	.more = "Exit status: 0 if sites were restored, 1 if nothing was left or it could not be\n"
		"done, 2 if the command line is wrong.\n",
	.options = pid_options,
	.run = run_clean,
};
