/* nopal [OPTIONS] -e 'SCRIPT' | FILE: the command line that people and scripts know from
 * bpftrace. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input.h"
#include "options.h"
#include "run.h"

struct command_line {
	struct run run;
	const char *script; /* -e */
	char *headers, *header_dirs;
	bool list, info, builtins, version, test, bench, format;
	const struct refusal *refused; /* NULL: every option is one of ours */
};

/* clang-format off */
/* What bpftrace has for those who work on it, and what is here instead. */
static const struct refusal { const char *option, *instead; } refusals[] = {
	{"-d",                    "is a time here: --dump=tree|program|bpf shows what a script is compiled to"},
	{"--emit-elf",             "needs LLVM, which compiles no script here: --dump=bpf shows the programs"},
	{"--emit-llvm",            "needs LLVM, which compiles no script here: --dump=program shows the code"},
	{"--aot",                  "is not needed: a script is compiled in milliseconds"},
	{"--mode",                 "has test, bench and format here: --dump=program shows what a script is compiled to"},
	{"--traceable-functions",  "is not read: the kernel says which of its functions can be traced"},
};
/* clang-format on */

static const char *take_refused(void *at, const struct option *o, const char *value)
{
	const char *option = o->letter ? o->letter : o->word;

	(void)value;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
		if (!strcmp(refusals[i].option, option))
			((struct command_line *)at)->refused = &refusals[i];
	return NULL;
}

/* A time, or in bpftrace the stages of which it prints what it has made, with commas. */
static const char *take_time(void *at, const struct option *o, const char *value)
{
	static const char *const stages[] = {
		"all", "ast", "types", "codegen", "codegen-opt", "dis", "libbpf", "verifier", "d",
	};

	for (size_t i = 0; i < sizeof(stages) / sizeof(*stages); i++)
		if (strcspn(value, ",") == strlen(stages[i]) &&
		    !strncmp(value, stages[i], strlen(stages[i])))
			return take_refused(at, o, value);
	if (value[0] == '-') /* the next option: in 0.17 it takes no value */
		return take_refused(at, o, value);
	return take_duration(&((struct command_line *)at)->run.duration_ns, o, value);
}

/* --mode test is --test. */
static const char *take_mode(void *at, const struct option *o, const char *value)
{
	struct command_line *line = at;

	line->test |= !strcmp(value, "test");
	line->bench |= !strcmp(value, "bench");
	line->format |= !strcmp(value, "format");
	return line->test || line->bench || line->format ? NULL : take_refused(at, o, value);
}

static const char *take_dump(void *at, const struct option *o, const char *value)
{
	struct run *run = at;

	run->dump = true;
	return take_choice(&run->dump_kind, o, value);
}

/* The variable of the environment has what it had, and the value. */
static const char *add_to(const char *variable, char between, const char *value)
{
	const char *others = getenv(variable);
	char *all = NULL;
	int len = asprintf(&all, "%s%c%s", others ? others : "", between, value);

	if (len >= 0 && setenv(variable, all, 1))
		len = -1;
	free(all);
	return len < 0 ? "more memory" : NULL;
}

static const char *take_feature(void *at, const struct option *o, const char *value)
{
	(void)at;
	(void)o;
	return add_to("NOPAL_NO_FEATURES", ',', value);
}

static const char *take_debuginfo(void *at, const struct option *o, const char *value)
{
	(void)at;
	(void)o;
	return add_to("NOPAL_DEBUGINFO", ':', value);
}

/* clang-format off */
#define AT(member) offsetof(struct command_line, member)
static const struct option script_options[] = {
	{"-e", NULL,                   "SCRIPT",           take_text,      AT(script),                 "run SCRIPT; it refers to the PARAMETERS as $1, $2, ..."},
	{"-l", NULL,                   NULL,               take_flag,      AT(list),                   "list the probes that match PATTERN, or all probes of the kernel and of its events"},
	{"-B", NULL,                   "line|full|none",   take_choice,    AT(run.buffering),          "set how output is buffered"}, /* ORDER: enum buffering */
	{"-v", NULL,                   NULL,               take_flag,      AT(run.options.verbose),    "print what the verifier says of each program, the kernel features in use, and all sites that are skipped"},
	{"-I", NULL,                   "FOLDER",           take_line,      AT(header_dirs),            "look for headers in FOLDER, too"},
	{NULL, "--include",            "FILE",             take_line,      AT(headers),                "include a header before those of the script"},
	{"-d", "--duration",           "TIME",             take_time,      0,                          "stop after TIME: seconds, or as in 0.5, 100ms, 1m"},
	{NULL, "--dry-run",            NULL,               take_flag,      AT(run.dry_run),            "compile and load, but attach nothing"},
	{NULL, "--test",               NULL,               take_flag,      AT(test),                   "run the test probes of the script, each alone, and say which fail"},
	{NULL, "--bench",              NULL,               take_flag,      AT(bench),                  "run the bench probes, each for a while, and say how long they take"},
	{NULL, "--probe-filter",       "REGEX",            take_text,      AT(run.options.probe_filter), "attach only the probes whose names match REGEX, and BEGIN and END"},
	{NULL, "--no-feature",         "NAME",             take_feature,   0,                          "do not use these features of the kernel, a list with commas; 'nopal doctor' shows their names"},
	{NULL, "--debuginfo",          "FOLDER",           take_debuginfo, 0,                          "look for debug files in FOLDER, too; several have colons between them"},
	{NULL, "--unsafe",             NULL,               take_flag,      AT(run.options.unsafe),     "allow system(), and uprobes at addresses that were not checked"},
	{"-k", NULL,                   NULL,               take_flag,      AT(run.options.report_missing_keys), "also report reads and deletions of keys that a map does not have, and what failed each second"},
	{NULL, "--no-warnings",        NULL,               take_flag,      AT(run.no_warnings),        "do not show warnings"},
	{NULL, "--dump",               "tree|program|bpf", take_dump,      AT(run),                    "show what the script is compiled to, and run nothing"}, /* ORDER: enum nopal_dump */
	{NULL, "--info",               NULL,               take_flag,      AT(info),                   "show what this machine can trace, as nopal doctor"},
	{"-V", "--version",            NULL,               take_flag,      AT(version),                "print the version"},
	{"-h", "--help",               NULL,               take_help,      0,                          "print this help"},
	{NULL, "--help-script",        NULL,               take_flag,      AT(builtins),               "print this help and the builtins of the language"},
	{NULL, "--fmt",                NULL,               take_flag,      AT(format),                 NULL}, /* bpftrace's for nopal fmt */
	{NULL, "--usdt-file-activation", NULL,             take_nothing,   0,                          NULL}, /* bpftrace's; semaphores are always raised */
	{NULL, "--verify-llvm-ir",     NULL,               take_nothing,   0,                          NULL},
	{NULL, "--mode",               "NAME",             take_mode,      0,                          NULL},
	{NULL, "--emit-elf",           "FILE",             take_refused,   0,                          NULL},
	{NULL, "--emit-llvm",          "FILE",             take_refused,   0,                          NULL},
	{NULL, "--aot",                "FILE",             take_refused,   0,                          NULL},
	{NULL, "--dwarf-pid",          "PID",              take_nothing,   0,                          NULL}, /* bpftrace's; stacks of all processes are walked */
	{NULL, "--traceable-functions", "FILE",            take_refused,   0,                          NULL},
	{"-b", "--btf",                NULL,               take_nothing,   0,                          NULL}, /* bpftrace's; types of the kernel are always known */
	{0},
};
/* clang-format on */

static int print_probe(void *arg, const char *probe)
{
	(void)arg;
	return puts(probe) < 0 ? -EIO : 0;
}

/* What a list has of one probe: the same name, and below it the arguments. A timer or counter has
 * neither there. */
static int print_details(void *arg, const char *text)
{
	const char *probe = arg;
	size_t len = strlen(probe);

	return !strncmp(text, probe, len) && text[len] == '\n' ? print_probe(NULL, text) : -ENOENT;
}

/* A probe of a script; with -v, which is in the options, with its arguments. */
static int print_checked(void *arg, const char *probe, unsigned sites)
{
	const struct nopal_trace_options *options = arg;
	struct nopal_diag *d = options->verbose ? nopal_diag_new() : NULL;
	int count = 0;

	(void)sites;
	if (d)
		count = nopal_trace_list(probe, options, print_details, (void *)probe, d);
	nopal_diag_free(d);
	return count > 0 ? 0 : print_probe(NULL, probe);
}

/* A file with a script, of which the probes are listed; a pattern names no such file. */
static bool is_script(const char *pattern)
{
	size_t len = strlen(pattern);

	return len > 3 && !strcmp(pattern + len - 3, ".bt") && !access(pattern, F_OK);
}

static int list_script(char *text, struct nopal_trace_options *options, struct nopal_diag *d)
{
	int err;

	options->unsafe = true;
	err = text ? nopal_trace_check(text, options, print_checked, options, d) : -ENOENT;
	show_messages(d);
	nopal_diag_free(d);
	free(text);
	return err ? EXIT_FAILED : EXIT_OK;
}

static void say_none(const char *pattern)
{
	static const char *const kinds[] = {"struct ", "union ", "enum "};
	const char *path = strchr(pattern, ':');
	bool is_type = false;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		is_type |= !strncmp(pattern, kinds[i], strlen(kinds[i]));
	fprintf(stderr, "nopal: no %s matches '%s'\n", is_type ? "type" : "probe", pattern);
	if (path && strchr(path, '/') && !access(path + 1, F_OK))
		fprintf(stderr, "hint: all probes of the file: '%s:*'\n", pattern);
}

static int list_probes(const char *pattern, const struct command_line *line)
{
	struct nopal_diag *d = nopal_diag_new();
	struct nopal_trace_options options = line->run.options;
	int count;

	options.size = sizeof(options);
	options.name = "-l";
	if (line->script)
		options.name = "-e";
	else if (is_script(pattern))
		options.name = pattern;
	if (d && (line->script || is_script(pattern)))
		return list_script(line->script ? strdup(line->script) : input_script(pattern),
				   &options, d);
	count = d ? nopal_trace_list(pattern, &options, print_probe, NULL, d) : -ENOMEM;
	if (count == 0 && !nopal_diag_errors(d))
		say_none(pattern);
	if (d)
		show_messages(d);
	nopal_diag_free(d);
	return count >= 0 ? EXIT_OK : EXIT_FAILED;
}

/* Run the text of -e, or that of the file that the first word names; other words are parameters. */
static int run_text(struct command_line *line, int count, char **words)
{
	char *text = line->script ? NULL : input_script(words[0]);
	int code;

	if (!line->script && !text)
		return EXIT_FAILED;
	line->run.options.name = line->script ? "-e" : words[0];
	line->run.options.params = (const char *const *)words + !line->script;
	line->run.options.param_count = (size_t)count - !line->script;
	if (line->test || line->bench)
		code = run_trials(line->script ? line->script : text, &line->run, line->bench);
	else
		code = run_script(line->script ? line->script : text, &line->run);
	free(text);
	return code;
}

static int print_builtins(const struct command *c)
{
	int err;

	options_help(c);
	putchar('\n');
	err = nopal_trace_builtins(write_text, stdout);
	return err || ferror(stdout) ? EXIT_FAILED : EXIT_OK;
}

/* As `nopal fmt` does: the text of -e, or files. */
static int format_text(const struct command_line *line, int words, char **argv)
{
	char *text[] = {NULL, "-e", (char *)line->script, NULL};

	argv[words + 1] = NULL;
	return command_fmt.run(&command_fmt, line->script ? text : argv);
}

/* The options are parsed, and `words` other words are left, from argv[1] on. */
static int run_line(const struct command *c, struct command_line *line, int words, char **argv)
{
	char *none[] = {NULL, NULL};
	int code;

	if (line->builtins)
		return print_builtins(c);
	code = run_check_options(&line->run, c);
	if (code)
		return code;
	if (line->refused)
		return usage_error(c, "bpftrace's '%s' %s", line->refused->option,
				   line->refused->instead);
	if (line->run.no_warnings && line->run.options.report_missing_keys)
		return usage_error(c, "-k and --no-warnings cannot be combined");
	if (line->version)
		return printf("nopal v%s\n", nopal_version()) < 0 ? EXIT_FAILED : EXIT_OK;
	if (line->info)
		return command_doctor.run(&command_doctor, none);
	if (line->format)
		return format_text(line, words, argv);
	if (line->list)
		return list_probes(words ? argv[1] : "*", line);
	if (!line->script && !words)
		return usage_error(c, "no script: give -e 'SCRIPT' or a file");
	return run_text(line, words, argv + 1);
}

static int run_command(const struct command *c, char **argv)
{
	struct command_line line = {0};
	int code, words = options_parse(c, argv, &line, &code);

	line.run.options.headers = line.headers;
	line.run.options.header_dirs = line.header_dirs;
	if (words >= 0)
		code = run_line(c, &line, words, argv);
	free(line.headers);
	free(line.header_dirs);
	return code;
}

const struct command command_script = {
	.name = "",
	.self = "nopal",
	.usage = "[OPTION]... -e SCRIPT [PARAMETER]...\n"
		 "[OPTION]... FILE [PARAMETER]...\n"
		 "[OPTION]... -l [PATTERN]",
	.about = "Run a script when probes are hit; a FILE of '-' is standard input. "
		 "nopal-script(7)\n"
		 "describes the language.\n",
	.more = "Examples:\n"
		"  nopal -e 'usdt:./server:shop:order { printf(\"%d %s\\n\", arg0, str(arg1)) }'\n"
		"  nopal -e 'usdt::postgresql:query__start { @[str(arg0)] = count() }' -p 4711\n"
		"  nopal -e 'usdt:./tick:tick:word { @[arg0] = count() }' -c './tick 10'\n",
	.options = script_options,
	.shared = run_options,
	.run = run_command,
};
