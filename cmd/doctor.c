/* nopal doctor: what this machine and this user can trace, and what to do about the rest. */
#include "command.h"

#include <stdio.h>

#include "nopal/trace.h"
#include "options.h"

static void print(void *arg, const char *text, size_t len)
{
	(void)arg;
	fwrite(text, 1, len, stdout);
}

static int run_doctor(const struct command *c, char **argv)
{
	int code, words = options_parse(c, argv, NULL, &code);

	if (words < 0)
		return code;
	if (words)
		return usage_error(c, "doctor takes no arguments");
	return nopal_doctor(print, NULL) ? EXIT_FAILED : EXIT_OK;
}

static const struct option options[] = {
	{"-h", "--help", NULL, take_help, 0, "print this help"},
	{0},
};

const struct command command_doctor = {
	.name = "doctor",
	.self = "nopal doctor",
	.summary = "show what this machine and this user can trace",
	.usage = "",
	.about = "Show which features the kernel has, whether this user may trace, and what to do\n"
		 "if not.\n",
	.more = "Exit status: 0 if tracing works, 1 if it does not, 2 if the command line is\n"
		"wrong.\n",
	.options = options,
	.run = run_doctor,
};
