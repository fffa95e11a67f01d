/* nopal count, nopal hist, nopal trace: the scripts that people write most, written for them. Each
 * builds one script and hands it to run_script; --script shows it instead, as a start for a script
 * of one's own. */
#include "command.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

/* What the command line asked for. */
struct quick {
	struct run run;
	const char *key;    /* -k: "pid, args.name"; NULL: the command's own */
	const char *filter; /* -w: a predicate */
	const char *step;   /* -l: "0, 100, 10" for lhist */
	const char *what;   /* hist: the expression; trace: printf's arguments */
	long seconds;	    /* -d; 0: until interrupted */
	bool show_script, help;
	char **probes;
	int probe_count;
};

struct quick_command {
	const char *name;
	const char *help;
	bool takes_expression;
	void (*write_body)(FILE *out, const struct quick *q);
};

#define COMMON_HELP                                                                           \
	"  -p PID         only this process; --follow: and the children it has from now on\n" \
	"  -c COMMAND     start COMMAND when everything is attached, until it ends\n"         \
	"  --exit-status  with -c: end with the exit status of COMMAND\n"                     \
	"  -w CONDITION   only events for which it holds: -w 'arg0 > 100'\n"                  \
	"  -d SECONDS     end after so long (else: until ^C or the end of the command)\n"     \
	"  -f text|json   output format       -o FILE   write to FILE\n"                      \
	"  --raw          escape nothing, unless the output is a terminal\n"                  \
	"  -q             say nothing but the result\n"                                       \
	"  --script       print the script instead of running it\n"

static const char count_help[] =
	"usage: nopal count [OPTIONS] PROBE...\n"
	"\n"
	"Count events, by probe or by the key of your choice.\n"
	"\n"
	"  -k KEY         what to count by: -k args.name, -k 'pid, comm' (the probe's "
	"name)\n" COMMON_HELP "\n"
	"Example: nopal count -d 10 -k args.function_name "
	"usdt:/usr/bin/php8.2:php:function__entry\n";

static const char hist_help[] =
	"usage: nopal hist [OPTIONS] PROBE... EXPRESSION\n"
	"\n"
	"A histogram of an expression: powers of two, or equal steps with -l.\n"
	"\n"
	"  -k KEY         one histogram for each KEY: -k pid\n"
	"  -l LOW,HIGH,STEP  equal steps\n" COMMON_HELP "\n"
	"Example: nopal hist -d 5 usdt:./server:shop:serve__done arg1\n";

static const char trace_help[] =
	"usage: nopal trace [OPTIONS] PROBE... ['\"FORMAT\", EXPRESSION...']\n"
	"\n"
	"A line for each event: time, process, thread, command, probe, then what FORMAT says; "
	"without\n"
	"a FORMAT all arguments, with their names where they are known (nopal list -v).\n"
	"\n" COMMON_HELP "\n"
	"Example: nopal trace usdt:./server:shop:order '\"%d %s\", args.id, args.name'\n";

/* The columns that every line of `nopal trace` starts with: a piece of a format, in a script's
 * string, and the values. */
#define LINE_FORMAT "%%-15s %%-7d %%-7d %%-15s %%s"
#define LINE_ARGS   "strftime(\"%%H:%%M:%%S.%%f\", nsecs), pid, tid, comm, probe"

static void write_key(FILE *out, const struct quick *q)
{
	if (q->key)
		fprintf(out, "[%s]", q->key);
}

static void write_count(FILE *out, const struct quick *q)
{
	fprintf(out, "\t@[%s] = count();\n", q->key ? q->key : "probe");
}

static void write_hist(FILE *out, const struct quick *q)
{
	fputs("\t@", out);
	write_key(out, q);
	if (q->step)
		fprintf(out, " = lhist(%s, %s);\n", q->what, q->step);
	else
		fprintf(out, " = hist(%s);\n", q->what);
}

/* The closing quote of the literal that starts at text[0]; NULL when there is none. */
static const char *literal_end(const char *text)
{
	for (const char *at = text + 1; *at; at++) {
		if (*at == '\\' && at[1])
			at++;
		else if (*at == '"')
			return at;
	}
	return NULL;
}

/* One printf for the whole line, so that lines of different threads do not mix: the user's format
 * and arguments are put behind ours. */
static void write_trace(FILE *out, const struct quick *q)
{
	const char *what = q->what ? q->what : "\"%s\", args";
	const char *end = literal_end(what);
	size_t len = end ? (size_t)(end - what) - 1 : 0;

	fprintf(out, "\tprintf(\"" LINE_FORMAT "  %.*s\\n\", " LINE_ARGS "%s);\n", (int)len,
		what + 1, end ? end + 1 : "");
}

static const struct quick_command commands[] = {
	{"count", count_help, false, write_count},
	{"hist", hist_help, true, write_hist},
	{"trace", trace_help, false, write_trace},
};

enum { OPT_FOLLOW = 256, OPT_EXIT_STATUS };

static const struct option long_options[] = {
	{"help", no_argument, NULL, 'h'},
	{"follow", no_argument, NULL, OPT_FOLLOW},
	{"exit-status", no_argument, NULL, OPT_EXIT_STATUS},
	{"raw", no_argument, NULL, 'r'},
	{"script", no_argument, NULL, 's'},
	{NULL, 0, NULL, 0},
};

static int take_option(const char *name, int option, const char *arg, const char *said,
		       struct quick *q)
{
	switch (option) {
	case 'p': return run_take_pid(&q->run, name, arg);
	case 'd':
		return parse_number(arg, 1, &q->seconds)
			       ? 0
			       : usage_error(name, "-d takes seconds, not '%s'", arg);
	case 'c': q->run.options.command = arg; return 0;
	case 'k': q->key = arg; return 0;
	case 'w': q->filter = arg; return 0;
	case 'l': q->step = arg; return 0;
	case 'o': q->run.output = arg; return 0;
	case 'q': q->run.quiet = true; return 0;
	case 'r': q->run.options.raw = true; return 0;
	case 's': q->show_script = true; return 0;
	case OPT_EXIT_STATUS: q->run.exit_status = true; return 0;
	case OPT_FOLLOW: q->run.options.follow = true; return 0;
	case 'h': q->help = true; return 0;
	case 'f': return run_take_format(&q->run, name, arg);
	default: return unknown_option(name, option, said);
	}
}

/* The last word is the expression where one is wanted, or where it does not look like a probe. */
static int take_words(const struct quick_command *command, int argc, char **argv, struct quick *q)
{
	int count = argc - optind;

	q->probes = argv + optind;
	if (count > 1 && (command->takes_expression || q->probes[count - 1][0] == '"'))
		q->what = q->probes[--count];
	q->probe_count = count;
	if (q->what && q->what[0] == '"' && !literal_end(q->what))
		return usage_error(command->name, "the format %s has no quote at its end", q->what);
	if (!count)
		return usage_error(command->name, "no probe given");
	if (command->takes_expression && !q->what)
		return usage_error(command->name,
				   "give the probe and the expression: nopal hist PROBE arg0");
	return 0;
}

static int parse_command_line(const struct quick_command *command, int argc, char **argv,
			      struct quick *q)
{
	int option, code = 0;

	opterr = 0;
	optind = 1;
	while (!code &&
	       (option = getopt_long(argc, argv, ":p:c:d:k:w:l:o:f:qh", long_options, NULL)) != -1)
		code = take_option(command->name, option, optarg, argv[optind - 1], q);
	if (!code)
		code = run_check_options(&q->run, command->name);
	return code || q->help ? code : take_words(command, argc, argv, q);
}

/* All probes in one clause with the command's body. */
static void write_clause(FILE *out, const struct quick_command *command, const struct quick *q)
{
	for (int i = 0; i < q->probe_count; i++)
		fprintf(out, "%s%s", i ? ",\n" : "", q->probes[i]);
	if (q->filter)
		fprintf(out, "\n/%s/", q->filter);
	fputs("\n{\n", out);
	command->write_body(out, q);
	fputs("}\n", out);
}

/* The whole script, to be freed; NULL when it could not be made, with a message on stderr. */
static char *write_script(const struct quick_command *command, const struct quick *q)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	write_clause(out, command, q);
	if (q->seconds)
		fprintf(out, "interval:s:%ld { exit() }\n", q->seconds);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static int run_quick(const struct quick_command *command, int argc, char **argv)
{
	struct quick q = {0};
	int code = parse_command_line(command, argc, argv, &q);
	char *script;

	if (code)
		return code;
	if (q.help)
		return fputs(command->help, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
	script = write_script(command, &q);
	if (!script) {
		say_error("no memory for the script");
		return EXIT_FAILED;
	}
	q.run.options.name = command->name;
	if (q.show_script)
		fputs(script, stdout);
	else
		code = run_script(script, &q.run);
	free(script);
	return code;
}

int cmd_count(int argc, char **argv)
{
	return run_quick(&commands[0], argc, argv);
}

int cmd_hist(int argc, char **argv)
{
	return run_quick(&commands[1], argc, argv);
}

int cmd_trace(int argc, char **argv)
{
	return run_quick(&commands[2], argc, argv);
}
