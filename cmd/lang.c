/* nopal lang: the language runtimes of a process, and its stacks in their languages. */
#include "command.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "nopal/trace.h"
#include "options.h"

struct lang {
	bool perf_map;
};

static int look(const struct lang *l, pid_t pid)
{
	struct nopal_diag *d = nopal_diag_new();
	int err = -ENOMEM;

	if (d && l->perf_map)
		err = nopal_lang_perf_map(pid, write_text, stdout, d);
	else if (d)
		err = nopal_lang_process(pid, write_text, stdout, d);

	if (d && nopal_diag_errors(d))
		show_messages(d);
	nopal_diag_free(d);
	return err ? EXIT_FAILED : EXIT_OK;
}

static int run_lang(const struct command *c, char **argv)
{
	struct lang lang = {0};
	pid_t pid;
	int code;

	return options_parse_pid(c, argv, &lang, &pid, &code) ? look(&lang, pid) : code;
}

static const struct option options[] = {
	{NULL, "--perf-map", NULL, take_flag, offsetof(struct lang, perf_map),
	 "have a JVM write down the names of the functions that it has compiled, for ustack"},
	{"-h", "--help", NULL, take_help, 0, "print this help"},
	{0},
};

const struct command command_lang = {
	.name = "lang",
	.self = "nopal lang",
	.summary = "show the stacks of a process in its language: Python, PHP, Ruby, Perl",
	.usage = "[--perf-map] PID",
	.about = "Show which language runtimes a process has, and what each of its threads runs:\n"
		 "functions, files and lines of the script, innermost first. The threads are\n"
		 "stopped for a moment, as a debugger stops them.\n",
	.more = "Stacks are read of Python 3.9 to 3.13, PHP 7.4 to 8.5 (not built for threads),\n"
		"Ruby 2.7 to 3.4, Perl 5.30 to 5.42 (built with threads). Of other versions, only\n"
		"the number is shown. A JVM writes names with JDK 17 and newer, by the same\n"
		"request as jcmd's, which is sent as its user.\n"
		"\n"
		"Exit status: 0 if stacks were read or names were written, 1 if not, 2 if the\n"
		"command line is wrong.\n",
	.options = options,
	.run = run_lang,
};
