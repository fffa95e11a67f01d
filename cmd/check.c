/* nopal check: a script is compiled, and what it would attach to is shown. */
#include "command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "input.h"
#include "nopal/trace.h"
#include "options.h"

struct check {
	const char *script; /* -e */
	char *headers, *header_dirs;
	struct nopal_trace_options options;
	bool quiet;
};

static int print_probe(void *arg, const char *probe, unsigned sites)
{
	const struct check *check = arg;
	int printed = 0;

	if (check->quiet)
		return 0;
	if (sites > 1)
		printed = printf("%s  %u sites\n", probe, sites);
	else
		printed = puts(probe);
	return printed < 0 ? -EIO : 0;
}

static int check_text(struct check *check, const char *script)
{
	struct nopal_diag *d = nopal_diag_new();
	int err;

	check->options.size = sizeof(check->options);
	err = d ? nopal_trace_check(script, &check->options, print_probe, check, d) : -ENOMEM;
	if (d)
		show_messages(d);
	nopal_diag_free(d);
	return err ? EXIT_FAILED : EXIT_OK;
}

static int check_words(const struct command *c, struct check *check, int words, char **argv)
{
	char *text;
	int code;

	if (!check->script && !words)
		return usage_error(c, "no script: give -e 'SCRIPT' or a file");
	check->options.name = check->script ? "-e" : argv[1];
	check->options.params = (const char *const *)argv + 1 + !check->script;
	check->options.param_count = (size_t)words - !check->script;
	check->options.headers = check->headers;
	check->options.header_dirs = check->header_dirs;
	if (check->script)
		return check_text(check, check->script);
	text = input_script(argv[1]);
	code = text ? check_text(check, text) : EXIT_FAILED;
	free(text);
	return code;
}

static int run_check(const struct command *c, char **argv)
{
	struct check check = {.options = {.unsafe = true}};
	int code, words = options_parse(c, argv, &check, &code);

	if (words >= 0)
		code = check_words(c, &check, words, argv);
	free(check.headers);
	free(check.header_dirs);
	return code;
}

/* clang-format off */
static const struct option options[] = {
	{"-e", NULL,     "SCRIPT", take_text, offsetof(struct check, script),      "check SCRIPT; it refers to the PARAMETERS as $1, $2, ..."},
	{"-p", "--pid",  "PID",    take_pid,  offsetof(struct check, options.pid), "as for tracing this process"},
	{"-I", NULL,     "FOLDER", take_line, offsetof(struct check, header_dirs), "look for headers in FOLDER, too"},
	{NULL, "--include", "FILE", take_line, offsetof(struct check, headers),    "include a header before those of the script"},
	{"-q", NULL,     NULL,     take_flag, offsetof(struct check, quiet),       "print messages only"},
	{"-h", "--help", NULL,     take_help, 0,                                   "print this help"},
	{0},
};
/* clang-format on */

const struct command command_check = {
	.name = "check",
	.self = "nopal check",
	.summary = "check a script without running it",
	.usage = "[-q] [-p PID] FILE [PARAMETER]...\n"
		 "[-q] [-p PID] -e SCRIPT [PARAMETER]...",
	.about = "Compile a script against the programs that it names: all probes, arguments and\n"
		 "types. Nothing is attached or run, so the right to read the files is enough.\n"
		 "Prints the probes that would be attached. A FILE of '-' is standard input.\n",
	.more = "Exit status: 0 if the script is right, 1 if it is not, 2 if the command line\n"
		"is wrong.\n",
	.options = options,
	.run = run_check,
};
