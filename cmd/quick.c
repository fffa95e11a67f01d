/* nopal count, nopal hist, nopal trace: the scripts that people write most, written for them. Each
 * builds one script and hands it to run_script(); --script shows it instead, as a start for a
 * script of one's own. */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "run.h"

struct quick {
	struct run run;
	const char *key;    /* -k: "pid, args.name"; NULL: the command's own */
	const char *filter; /* -w: a predicate */
	const char *step;   /* -l: "0, 100, 10" for lhist */
	const char *what;   /* hist: the expression; trace: printf's arguments */
	long seconds;	    /* -d; 0: until interrupted */
	bool show_script;
	char **probes;
	int probe_count;
};

/* What is different in each of these commands. */
struct quick_kind {
	bool needs_expression;
	void (*write_body)(FILE *out, const struct quick *q);
};

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
 * and arguments are appended to ours. */
static void write_trace(FILE *out, const struct quick *q)
{
	const char *what = q->what ? q->what : "\"%s\", args";
	const char *end = literal_end(what);
	size_t len = end ? (size_t)(end - what) - 1 : 0;

	fprintf(out, "\tprintf(\"" LINE_FORMAT "  %.*s\\n\", " LINE_ARGS "%s);\n", (int)len,
		what + 1, end ? end + 1 : "");
}

/* The last word is the expression where one is needed, or where it does not look like a probe. */
static int take_words(const struct command *c, struct quick *q, char **words, int count)
{
	const struct quick_kind *kind = c->detail;

	if (count > 1 && (kind->needs_expression || words[count - 1][0] == '"'))
		q->what = words[--count];
	q->probes = words;
	q->probe_count = count;
	if (q->what && q->what[0] == '"' && !literal_end(q->what))
		return usage_error(c, "unterminated quote in the format %s", q->what);
	if (!count)
		return usage_error(c, "no probe given");
	if (kind->needs_expression && !q->what)
		return usage_error(c, "no expression given: write %s PROBE EXPRESSION", c->self);
	return 0;
}

/* One clause: all probes, the filter, the command's body. */
static void write_clause(FILE *out, const struct command *c, const struct quick *q)
{
	const struct quick_kind *kind = c->detail;

	for (int i = 0; i < q->probe_count; i++)
		fprintf(out, "%s%s", i ? ",\n" : "", q->probes[i]);
	if (q->filter)
		fprintf(out, "\n/%s/", q->filter);
	fputs("\n{\n", out);
	kind->write_body(out, q);
	fputs("}\n", out);
}

/* The whole script, to be freed; NULL: out of memory. */
static char *write_script(const struct command *c, const struct quick *q)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	write_clause(out, c, q);
	if (q->seconds)
		fprintf(out, "interval:s:%ld { exit() }\n", q->seconds);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static int run_quick(const struct command *c, char **argv)
{
	struct quick q = {0};
	int code, words = options_parse(c, argv, &q, &code);
	char *script;

	if (words >= 0)
		code = run_check_options(&q.run, c);
	if (words >= 0 && !code)
		code = take_words(c, &q, argv + 1, words);
	if (words < 0 || code)
		return code;
	script = write_script(c, &q);
	if (!script) {
		say_error("out of memory for the script");
		return EXIT_FAILED;
	}
	q.run.options.name = c->name;
	if (q.show_script)
		fputs(script, stdout);
	else
		code = run_script(script, &q.run);
	free(script);
	return code;
}

/* clang-format off */
#define AT(member) offsetof(struct quick, member)
#define OPTION_FILTER  {"-w", NULL,       "CONDITION", take_text,    AT(filter),      "use only events for which CONDITION is true, such as 'arg0>100'"}
#define OPTION_SECONDS {"-d", NULL,       "SECONDS",   take_seconds, AT(seconds),     "stop after SECONDS (default: on ^C or when COMMAND ends)"}
#define OPTION_SCRIPT  {NULL, "--script", NULL,        take_flag,    AT(show_script), "print the script instead of running it"}
#define OPTION_HELP    {"-h", "--help",   NULL,        take_help,    0,               "print this help"}

static const struct option count_options[] = {
	{"-k", NULL, "KEY", take_text, AT(key), "count by KEY, such as args.name or 'pid,comm' (default: the probe's name)"},
	OPTION_FILTER, OPTION_SECONDS, OPTION_SCRIPT, OPTION_HELP, {0},
};
static const struct option hist_options[] = {
	{"-k", NULL, "KEY",           take_text, AT(key),  "make one histogram for each KEY, such as pid"},
	{"-l", NULL, "LOW,HIGH,STEP", take_text, AT(step), "use equal steps instead of powers of two"},
	OPTION_FILTER, OPTION_SECONDS, OPTION_SCRIPT, OPTION_HELP, {0},
};
static const struct option trace_options[] = {
	OPTION_FILTER, OPTION_SECONDS, OPTION_SCRIPT, OPTION_HELP, {0},
};
/* clang-format on */

const struct command command_count = {
	.name = "count",
	.self = "nopal count",
	.summary = "count events by probe, argument or process",
	.usage = "[OPTION]... PROBE...",
	.about = "Count events, by probe or by a key of your choice.\n",
	.more = "Example:\n  nopal count -d 10 -k args.function_name "
		"usdt:/usr/bin/php8.2:php:function__entry\n",
	.options = count_options,
	.shared = run_options,
	.run = run_quick,
	.detail = &(const struct quick_kind){false, write_count},
};

const struct command command_hist = {
	.name = "hist",
	.self = "nopal hist",
	.summary = "show a histogram of an expression",
	.usage = "[OPTION]... PROBE... EXPRESSION",
	.about = "Show a histogram of an expression, in powers of two or in equal steps.\n",
	.more = "Example:\n  nopal hist -d 5 usdt:./server:shop:serve__done arg1\n",
	.options = hist_options,
	.shared = run_options,
	.run = run_quick,
	.detail = &(const struct quick_kind){true, write_hist},
};

const struct command command_trace = {
	.name = "trace",
	.self = "nopal trace",
	.summary = "print a line for each event",
	.usage = "[OPTION]... PROBE... ['\"FORMAT\", EXPRESSION...']",
	.about =
		"Print a line for each event: time, process, thread, command, probe, then FORMAT.\n"
		"Without a FORMAT, all arguments follow, with their names if they are known (see\n"
		"nopal list -v).\n",
	.more = "Example:\n  nopal trace usdt:./server:shop:order '\"%d %s\", args.id, "
		"args.name'\n",
	.options = trace_options,
	.shared = run_options,
	.run = run_quick,
	.detail = &(const struct quick_kind){false, write_trace},
};
