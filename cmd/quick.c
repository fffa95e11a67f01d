/* nopal trace, nopal count, nopal hist, nopal stack: the scripts that people write most, written
 * for them. Each builds one script and hands it to run_script(); --script shows it instead, as a
 * start for a script of one's own. */
#include "quick.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flame.h"
#include "options.h"
#include "probe_word.h"

/* -f: a form of the output, or what a message of bcc's must contain. */
static const char *take_form(void *at, const struct option *o, const char *value)
{
	struct quick *q = at;

	if (take_choice(&q->run.options.format, o, value))
		q->bcc.filter = value;
	return NULL;
}

/* -c: a command, or a cgroup, as in bcc: a folder. */
static const char *take_command(void *at, const struct option *o, const char *value)
{
	struct quick *q = at;

	(void)o;
	if (!strncmp(value, "/sys/fs/cgroup", 14) && !access(value, F_OK))
		q->scope.cgroup = value;
	else
		q->run.options.command = value;
	return NULL;
}

/* Not every result has every form. */
static int check_format(const struct command *c, const struct quick *q)
{
	enum nopal_format format = q->run.options.format;

	if (format == NOPAL_FOLDED && c != &command_stack)
		return usage_error(c, "-f folded is a form of stacks: nopal stack -f folded");
	if (format == NOPAL_CSV && c == &command_hist)
		return usage_error(c, "a histogram is not a row: use -f json");
	if (q->flame && q->interval)
		return usage_error(c, "--flame and -i cannot be combined");
	return 0;
}

/* A number, which no probe is: it followed the command of -c. */
static bool is_of_command(const char *word)
{
	return *word && !word[strspn(word, "0123456789.")];
}

/* The last word is the expression where one is needed; formats are for trace. */
static int take_words(const struct command *c, struct quick *q, char **words, int count)
{
	const struct quick_kind *kind = c->detail;

	if (count && *words[0] && words[0][strlen(words[0]) - 1] == '}' &&
	    !probe_word_is_plain(words[0]))
		return usage_error(c, "'%s' is a script: nopal -e runs it", words[0]);
	if (kind->needs_expression && count > 1)
		q->what = words[--count];
	q->spec_count = spec_read(c, words, count,
				  &(struct bcc_reading){.is_trace = !kind->has_map,
							.text_size = q->bcc.text_size,
							.is_binary = q->bcc.binary,
							.contains = q->bcc.filter},
				  &q->specs);
	if (q->spec_count < 0)
		return EXIT_USAGE;
	for (int i = 1; i < count && q->run.options.command; i++)
		if (is_of_command(words[i]))
			return usage_error(
				c,
				"'%s' is not a probe: -c takes the command as one word, -c '%s %s'",
				words[i], q->run.options.command, words[i]);
	if (!count)
		return usage_error(
			c, q->run.pid_count == 1
				   ? "no probe given: 'usdt:*' is every probe of the process"
				   : "no probe given");
	if (kind->needs_expression && !q->what)
		return usage_error(c, "no expression given: write %s PROBE EXPRESSION", c->self);
	q->is_bcc = !kind->has_map;
	for (int i = 0; i < q->spec_count; i++) {
		q->is_bcc &= q->specs[i].bcc.type != 0;
		if (kind->has_map && q->specs[i].format)
			return usage_error(c, "'%s' is a format: nopal trace takes one",
					   q->specs[i].format);
	}
	if (kind->has_map)
		return 0;
	/* bcc has it so, but fingers know it from head(1). */
	if (q->scope.comm_part && !q->run.quiet && *q->scope.comm_part &&
	    !q->scope.comm_part[strspn(q->scope.comm_part, "0123456789")])
		fprintf(stderr,
			"nopal: warning: -n %s selects threads whose names contain '%s': -M %s "
			"stops after %s lines\n",
			q->scope.comm_part, q->scope.comm_part, q->scope.comm_part,
			q->scope.comm_part);
	return bcc_trace_check(c, &q->bcc, q->is_bcc, q->most);
}

/* The stacks of the run become a page instead of text. */
static int run_flame(const struct command *c, struct quick *q, const char *script)
{
	size_t len = 0;
	char *text = NULL, *title = NULL;
	FILE *all = open_memstream(&text, &len);
	struct flame *f = flame_new();
	int code = EXIT_FAILED;

	q->run.options.format = NOPAL_FOLDED;
	q->run.take = write_text;
	q->run.watch_arg = all;
	if (all && f)
		code = run_script(script, &q->run);
	if (all && !fclose(all) && f && code == EXIT_OK &&
	    asprintf(&title, "%s: %s", c->self, q->specs[0].probes[0]) >= 0) {
		flame_read(f, text, len);
		code = flame_save(f, title, "events", q->flame);
	}
	flame_free(f);
	free(title);
	free(text);
	return code;
}

/* bcc's columns; with -A each line once. */
static int run_bcc(struct quick *q, const char *script)
{
	char header[BCC_HEADER], *events = NULL;
	size_t len = 0;
	FILE *all = q->bcc.aggregate ? open_memstream(&events, &len) : NULL;
	int code = EXIT_FAILED;

	bcc_trace_header(&q->bcc, q->specs, q->spec_count, header);
	q->run.header = q->bcc.aggregate ? NULL : header;
	q->run.no_progress = true;
	q->run.options.lines = false;
	q->run.options.frames = q->bcc.address ? NOPAL_FRAMES_BCC_ADDRESS : NOPAL_FRAMES_BCC;
	if (all) {
		q->run.take = write_text;
		q->run.watch_arg = all;
		fputs(header, stdout);
	}
	if (!q->bcc.aggregate == !all)
		code = run_script(script, &q->run);
	if (all && !fclose(all))
		bcc_print_equal(events);
	free(events);
	return code;
}

static int run_text(const struct command *c, struct quick *q, const struct script_text *t)
{
	const struct quick_kind *kind = c->detail;

	if (!run_take_text(&q->run, c, t))
		return EXIT_OK;
	/* A stack is a print of its own. */
	q->run.options.max_events = (uint64_t)q->most;
	if (!q->is_bcc)
		q->run.options.max_events *= 1u + q->bcc.user_stack + q->bcc.kernel_stack;
	q->run.options.structured = true;
	q->run.options.lines = !q->no_lines;
	run_look(&q->run, &q->look);
	q->run.options.look = &q->look;
	q->run.options.titles = q->key ? q->key : "probe";
	if (!kind->has_map)
		q->run.header = quick_header(q);
	if (q->is_bcc)
		return run_bcc(q, t->text);
	return q->flame ? run_flame(c, q, t->text) : run_script(t->text, &q->run);
}

static int run_words(const struct command *c, struct quick *q, char **words, int count)
{
	struct script_text text = {.text = NULL};
	int code = run_check_options(&q->run, c);

	if (!code && q->times && !q->interval)
		code = usage_error(c, "-n needs -i: it is the number of intervals");
	if (!code)
		code = check_format(c, q);
	if (q->pages) /* of 4 KiB, for each CPU */
		q->run.options.ring_bytes =
			(size_t)q->pages * 4096 * (size_t)sysconf(_SC_NPROCESSORS_ONLN);
	if (!code)
		code = take_words(c, q, words, count);
	if (!code)
		code = quick_write_script(&text, c, q);
	if (!code)
		code = run_text(c, q, &text);
	script_text_free(&text);
	spec_free(q->specs, q->spec_count);
	return code;
}

static int run_quick(const struct command *c, char **argv)
{
	struct quick q = {0};
	int code, words = options_parse(c, argv, &q, &code);

	if (words >= 0)
		code = run_words(c, &q, argv + 1, words);
	free(q.bcc.headers);
	return code;
}

/* clang-format off */
#define AT(member) offsetof(struct quick, member)
#define OPTION_SCOPE    SCOPE_OPTIONS(struct quick, scope)
#define OPTION_DURATION {"-d", "--duration",     "TIME",    take_duration, AT(run.duration_ns), "stop after TIME: seconds, or as in 0.5, 100ms, 1m (default: on ^C or when COMMAND ends)"}
#define OPTION_INTERVAL {"-i", NULL,             "TIME",    take_duration, AT(interval),    "print the results every TIME, and start again from 0"}, \
			{"-n", NULL,             "COUNT",   take_count,    AT(times),       "with -i: stop after COUNT results"}, \
			{"-T", NULL,             NULL,      take_flag,     AT(bcc.clock),   "with -i: print the time above the results"}
#define OPTION_TOP      {NULL, "--top",          "N",       take_count,    AT(top),         "print only the N largest"}
#define OPTION_LINES    {NULL, "--no-lines",     NULL,      take_flag,     AT(no_lines),    "do not read debug information: no source lines and inlined functions in stacks"}
#define OPTION_HELP     {"-h", "--help",         NULL,      take_help,     0,               "print this help"}

static const struct option count_options[] = {
	{"-k", NULL, "KEY", take_text, AT(key), "count by KEY, such as args.name or 'pid,comm' (default: the probe's name)"},
	{NULL, "--by", "KEY", take_text, AT(key), NULL},
	OPTION_TOP, RUN_CSV, OPTION_SCOPE, OPTION_DURATION, OPTION_INTERVAL, RUN_SCRIPT, OPTION_HELP, {0},
};
static const struct option hist_options[] = {
	{"-k", NULL, "KEY",           take_text, AT(key),  "make one histogram for each KEY, such as pid"},
	{NULL, "--by", "KEY", take_text, AT(key), NULL},
	{"-l", NULL, "LOW,HIGH,STEP", take_text, AT(step), "use equal steps instead of powers of two"},
	OPTION_TOP, RUN_CSV, OPTION_SCOPE, OPTION_DURATION, OPTION_INTERVAL, RUN_SCRIPT, OPTION_HELP, {0},
};
static const struct option stack_options[] = {
	{"-k", NULL, "KEY", take_text, AT(key), "count separately for each KEY, such as comm"},
	{NULL, "--by", "KEY", take_text, AT(key), NULL},
	{NULL, "--flame", "FILE", take_text, AT(flame), "draw a flame graph: one HTML file (see nopal-flame(1))"},
	OPTION_LINES, OPTION_TOP, RUN_CSV, OPTION_SCOPE, OPTION_DURATION, OPTION_INTERVAL, RUN_SCRIPT, OPTION_HELP, {0},
};
static const struct option trace_options[] = {
	RUN_CSV, OPTION_SCOPE, OPTION_DURATION,
	{"-M", "--max-events", "N",  take_count, AT(most),    "stop after N lines"},
	{"-t", "--timestamp",  NULL, take_flag,  AT(bcc.elapsed), "show seconds since the start instead of the time of day"},
	{"-T", "--time",       NULL, take_flag,  AT(bcc.clock),    "show the time of day (default)"},
	{"-U", "--user-stack",   NULL, take_flag,  AT(bcc.user_stack),   "show the stack of the thread after each line"},
	{"-K", "--kernel-stack", NULL, take_flag,  AT(bcc.kernel_stack), "show the stack of the kernel after each line"},
	OPTION_LINES,
	{"-n", "--name",       "NAME", take_text, AT(scope.comm_part), "use only events of threads whose name contains NAME"},
	{"-c", "--cmd",        "COMMAND", take_command, 0, "start COMMAND once everything is attached, trace it and its children, and stop when it ends"},
	{NULL, "--cgroup-path", "PATH", take_text, AT(scope.cgroup), NULL},
	{"-f", "--format", "text|json|folded|csv", take_form, 0, "set the output format"},
	{NULL, "--msg-filter", "TEXT", take_text,  AT(bcc.filter), NULL},
	{"-u", "--unix-timestamp", NULL, take_flag,       AT(bcc.unix_time), NULL},
	{"-C", "--print_cpu",    NULL,   take_flag,       AT(bcc.cpu),       NULL},
	{"-a", "--address",      NULL,   take_flag,       AT(bcc.address),   NULL},
	{"-A", "--aggregate",    NULL,   take_flag,       AT(bcc.aggregate), NULL},
	{"-Z", "--string-size", "BYTES", take_count,      AT(bcc.text_size), NULL},
	{"-B", "--bin_cmp",      NULL,   take_flag,       AT(bcc.binary),    NULL},
	{"-I", "--include",     "FILE",  bcc_take_header, AT(bcc.headers),   NULL},
	{"-b", "--buffer-pages", "PAGES", take_count,   AT(pages),        NULL},
	{"-v", "--verbose",      NULL,    take_flag,    AT(run.script_first), NULL},
	{"-S", "--include-self", NULL,    take_nothing, 0,                NULL},
	{"-s", "--sym_file_list", "FILES", take_nothing, 0,               NULL},
	RUN_SCRIPT, OPTION_HELP, {0},
};
/* clang-format on */

#define PROBE_FORMS                                                                          \
	"\nA PROBE is FILE (all of its probes), FILE:PROVIDER:NAME, PROVIDER:NAME (in any\n" \
	"program, or in that of -p or -c), or one of a script, such as uprobe:FILE:FUNCTION.\n"

const struct command command_count = {
	.name = "count",
	.self = "nopal count",
	.summary = "count events by probe, argument or process",
	.usage = "[OPTION]... PROBE...",
	.about = "Count events, by probe or by a key of your choice.\n" PROBE_FORMS,
	.more = "Example:\n  nopal count -d 10 -k args.function_name "
		"/usr/bin/php8.2:php:function__entry\n",
	.options = count_options,
	.shared = run_options,
	.run = run_quick,
	.detail = &(const struct quick_kind){false, true, quick_write_count},
};

const struct command command_hist = {
	.name = "hist",
	.self = "nopal hist",
	.summary = "show a histogram of an expression",
	.usage = "[OPTION]... PROBE... EXPRESSION",
	.about = "Show a histogram of an expression, in powers of two or in equal "
		 "steps.\n" PROBE_FORMS,
	.more = "Example:\n  nopal hist -d 5 ./server:shop:serve__done arg1\n",
	.options = hist_options,
	.shared = run_options,
	.run = run_quick,
	.detail = &(const struct quick_kind){true, true, quick_write_hist},
};

const struct command command_stack = {
	.name = "stack",
	.self = "nopal stack",
	.summary = "count the call stacks that lead to a probe",
	.usage = "[OPTION]... PROBE...",
	.about = "Count events by the call stack of the thread.\n" PROBE_FORMS,
	.more = "Examples:\n"
		"  nopal stack -d 5 --top 10 ./server:shop:serve__done\n"
		"  nopal stack -d 5 --flame serve.html ./server:shop:serve__done\n",
	.options = stack_options,
	.shared = run_options,
	.run = run_quick,
	.detail = &(const struct quick_kind){false, true, quick_write_stack},
};

const struct command command_trace = {
	.name = "trace",
	.self = "nopal trace",
	.summary = "print a line for each event",
	.usage = "[OPTION]... {PROBE... [FORMAT VALUE...]}...",
	.about =
		"Print a line for each event: time, process, thread, command, probe, then FORMAT.\n"
		"Without a FORMAT, all arguments follow, with their names if they are known (see\n"
		"nopal list -v).\n" PROBE_FORMS,
	.more = "Examples:\n"
		"  nopal trace ./server\n"
		"  nopal trace ./server:shop:order '%d %s' args.id args.name\n"
		"  nopal trace -p 4711 shop:order '\"%d %s\", args.id, args.name'\n"
		"  nopal trace 'c:open (arg2 == 42) \"%s\", arg1'     (as bcc's trace)\n",
	.options = trace_options,
	.shared = run_options,
	.run = run_quick,
	.detail = &(const struct quick_kind){false, false, quick_write_trace},
};
