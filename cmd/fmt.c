/* nopal fmt: formats scripts, with their comments. */
#include "command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input.h"
#include "nopal/trace.h"
#include "options.h"
#include "output.h"

struct fmt {
	const char *script;	 /* -e */
	bool in_place, only_ask; /* -i, --check */
};

/* Positional parameters are not known yet: a probe may need a number there, or a name. */
static const char *const params[] = {"1", "1", "1", "1", "1", "1", "1", "1", "1"};

/* The formatted text, or NULL after messages. */
static char *format(const char *script, const char *name)
{
	struct nopal_diag *d = nopal_diag_new();
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct nopal_trace_options options = {.size = sizeof(options),
					      .name = name,
					      .output = write_text,
					      .output_arg = out,
					      .params = params,
					      .param_count = sizeof(params) / sizeof(*params),
					      .pid = getpid(),
					      .unsafe = true};
	int err = d && out ? nopal_trace_format(script, &options, d) : -ENOMEM;

	if (out && fclose(out))
		err = -ENOMEM;
	if (d && err)
		show_messages(d);
	nopal_diag_free(d);
	if (!err)
		return text;
	free(text);
	return NULL;
}

static int replace(const char *path, const char *text)
{
	if (output_rewrite(path, text, strlen(text)))
		return EXIT_OK;
	say_error("cannot write '%s': %s", path, strerror(errno));
	return EXIT_FAILED;
}

static int format_one(const struct fmt *f, const char *path)
{
	char *script = path ? input_script(path) : strdup(f->script);
	char *text = script ? format(script, path ? path : "-e") : NULL;
	bool same = text && !strcmp(script, text);
	int code = text ? EXIT_OK : EXIT_FAILED;

	if (text && f->only_ask && !same) {
		printf("%s\n", path ? path : "-e");
		code = EXIT_FAILED;
	} else if (text && f->in_place && !same) {
		code = replace(path, text);
	} else if (text && !f->in_place && !f->only_ask) {
		fputs(text, stdout);
	}
	free(text);
	free(script);
	return code;
}

static int run_fmt(const struct command *c, char **argv)
{
	struct fmt f = {0};
	int code, words = options_parse(c, argv, &f, &code);

	if (words < 0)
		return code;
	if (!f.script == !words)
		return usage_error(c, "give -e 'SCRIPT' or files");
	if (f.in_place && (f.script || !strcmp(argv[1], "-")))
		return usage_error(c, "-i needs a file to write to");
	code = f.script ? format_one(&f, NULL) : EXIT_OK;
	for (int i = 1; i <= words; i++)
		if (format_one(&f, argv[i]))
			code = EXIT_FAILED;
	return code;
}

/* clang-format off */
static const struct option options[] = {
	{"-e", NULL,         "SCRIPT", take_text, offsetof(struct fmt, script),   "format SCRIPT"},
	{"-i", "--in-place", NULL,     take_flag, offsetof(struct fmt, in_place), "rewrite the files, instead of writing to standard output"},
	{NULL, "--check",    NULL,     take_flag, offsetof(struct fmt, only_ask), "print only the names of files that would change, and exit with 1 if there are any"},
	{"-h", "--help",     NULL,     take_help, 0,                              "print this help"},
	{0},
};
/* clang-format on */

const struct command command_fmt = {
	.name = "fmt",
	.self = "nopal fmt",
	.summary = "format scripts",
	.usage = "[-i | --check] FILE...\n"
		 "-e SCRIPT",
	.about = "Format scripts: one statement a line, indented by tabs, with blanks around\n"
		 "operators. Comments, single empty lines, and blocks that fit on a line are\n"
		 "kept. A FILE of '-' is standard input.\n",
	.more = "Exit status: 0 if all are formatted, 1 if one could not be, or with --check\n"
		"would change, 2 if the command line is wrong.\n",
	.options = options,
	.run = run_fmt,
};
