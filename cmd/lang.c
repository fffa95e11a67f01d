/* nopal lang: the language runtimes of a process, and its stacks in their languages. */
#include "command.h"

#include <errno.h>
#include <stdio.h>

#include "nopal/trace.h"
#include "options.h"

static int look(pid_t pid)
{
	struct nopal_diag *d = nopal_diag_new();
	int err = d ? nopal_lang_process(pid, write_text, stdout, d) : -ENOMEM;

	if (d && nopal_diag_errors(d))
		show_messages(d);
	nopal_diag_free(d);
	return err ? EXIT_FAILED : EXIT_OK;
}

static int run_lang(const struct command *c, char **argv)
{
	pid_t pid;
	int code;

	return options_parse_pid(c, argv, &pid, &code) ? look(pid) : code;
}

const struct command command_lang = {
	.name = "lang",
	.self = "nopal lang",
	.summary = "show the stacks of a process in its language: Python, PHP, Ruby, Perl",
	.usage = "PID",
	.about = "Show which language runtimes a process has, and what each of its threads runs:\n"
		 "functions, files and lines of the script, innermost first. The threads are\n"
		 "stopped for a moment, as a debugger stops them.\n",
	.more = "Stacks are read of Python 3.9 to 3.13, PHP 7.4 to 8.4 (not built for threads),\n"
		"Ruby 3.1, Perl 5.36 (built with threads). Of other versions, only the number\n"
		"is shown.\n"
		"\n"
		"Exit status: 0 if stacks were read, 1 if none could be, 2 if the command line\n"
		"is wrong.\n",
	.options = pid_options,
	.run = run_lang,
};
