/* nopal argdist: counts and histograms of arguments, with the words of bcc's argdist. */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bcc.h"
#include "options.h"
#include "run.h"
#include "scope.h"

#define MAX_SPECS 16

struct argdist {
	struct run run;
	struct scope scope;
	struct {
		const char *word;
		bool is_histogram;
	} specs[MAX_SPECS];
	int count;
	uint64_t interval; /* -i, ns */
	long times;	   /* -n; 0: no limit */
	long top;	   /* -T; 0: all */
	bool cumulative;   /* -c */
	bool show_script;
};

static const char *take_spec(struct argdist *a, const char *word, bool is_histogram)
{
	if (a->count == MAX_SPECS)
		return "fewer specs: the limit is 16";
	a->specs[a->count].word = word;
	a->specs[a->count++].is_histogram = is_histogram;
	return NULL;
}

static const char *take_count_spec(void *at, const struct option *o, const char *value)
{
	(void)o;
	return take_spec(at, value, false);
}

static const char *take_histogram_spec(void *at, const struct option *o, const char *value)
{
	(void)o;
	return take_spec(at, value, true);
}

/* @n[probe, values] = count(), or @n = hist(value) */
static void write_body(struct script_text *t, const struct argdist *a, int n,
		       const struct bcc_spec *s)
{
	const char *values = s->format && *s->format ? s->format : NULL;

	script_put(t, "{\n\t@%c", 'a' + n);
	if (a->specs[n].is_histogram)
		script_put(t, " = hist(%s);\n}\n", values ? values : "retval");
	else
		script_put(t, "[%s] = count();\n}\n", values ? values : "probe");
}

static int write_spec(struct script_text *t, const struct command *c, const struct argdist *a,
		      int n)
{
	struct bcc_spec s = {.probe = NULL};
	int code = bcc_read_argdist(c, a->specs[n].word, &s);

	if (!code) {
		script_put(t, "%s\n", s.probe);
		if (s.filter)
			script_put(t, "/%s/\n", s.filter);
		write_body(t, a, n, &s);
	}
	bcc_free(&s);
	return code;
}

/* "[time]", then for each spec its label and what was counted. */
static void write_times(struct script_text *t, const struct argdist *a)
{
	script_put(t, "interval:us:%llu\n{\n\ttime(\"[%%H:%%M:%%S]\\n\");\n",
		   (unsigned long long)a->interval / 1000);
	for (int n = 0; n < a->count; n++) {
		const char *label = strchr(a->specs[n].word, '#');

		script_put(t, "\tprintf(\"%%s\\n\", ");
		script_put_literal(t, label ? label + 1 : a->specs[n].word);
		script_put(t, ");\n\tprint(@%c", 'a' + n);
		script_put(t, a->top ? ", %ld);\n" : ");\n", a->top);
		if (!a->cumulative)
			script_put(t, "\tclear(@%c);\n", 'a' + n);
	}
	script_put(t, "}\nEND\n{\n");
	for (int n = 0; n < a->count; n++)
		script_put(t, "\tclear(@%c);\n", 'a' + n);
	script_put(t, "}\n");
}

static int run_argdist(const struct command *c, char **argv)
{
	struct argdist a = {.interval = 1000000000};
	struct script_text text = {.text = NULL};
	int code, words = options_parse(c, argv, &a, &code);

	if (words < 0)
		return code;
	code = run_check_options(&a.run, c);
	if (!code && (words || !a.count))
		code = usage_error(c, words ? "'%s' follows neither -C nor -H" : "%s",
				   words ? argv[1] : "nothing to count: give -C or -H");
	if (code)
		return code;
	script_text_begin(&text);
	for (int n = 0; n < a.count && !code; n++)
		code = write_spec(&text, c, &a, n);
	write_times(&text, &a);
	if (a.times)
		a.run.duration_ns = a.interval * (uint64_t)a.times + a.interval / 2;
	a.run.own_probes = 2;
	a.run.options.name = c->name;
	if (!script_text_end(&text))
		code = EXIT_FAILED;
	else if (!code && a.show_script)
		fputs(text.text, stdout);
	else if (!code)
		code = run_script(text.text, &a.run);
	script_text_free(&text);
	return code;
}

/* clang-format off */
#define AT(member) offsetof(struct argdist, member)
static const struct option options[] = {
	{"-C", NULL, "SPEC",  take_count_spec,     0,                   "count the values of SPEC: TYPE:LIBRARY:NAME(SIGNATURE)[:TYPES:EXPRESSIONS[:CONDITION]][#LABEL]"},
	{"-H", NULL, "SPEC",  take_histogram_spec, 0,                   "show a histogram of the value of SPEC"},
	{"-i", NULL, "TIME",  take_duration,       AT(interval),        "print each TIME (default: 1 second)"},
	{"-n", NULL, "COUNT", take_count,          AT(times),           "stop after COUNT times"},
	{"-d", NULL, "TIME",  take_duration,       AT(run.duration_ns), "stop after TIME"},
	{"-T", NULL, "N",     take_count,          AT(top),             "print only the N largest"},
	{"-c", NULL, NULL,    take_flag,           AT(cumulative),      "do not start again from 0 after each TIME"},
	{NULL, "--script",       NULL, take_flag,  AT(show_script),     "print the script instead of running it"},
	{NULL, "--print-script", NULL, take_flag,  AT(show_script),     NULL},
	{"-h", "--help", NULL, take_help,          0,                   "print this help"},
	{0},
};
/* clang-format on */

const struct command command_argdist = {
	.name = "argdist",
	.self = "nopal argdist",
	.summary = "count values of arguments, as bcc's argdist",
	.usage = "[OPTION]... {-C | -H} SPEC...",
	.about = "Count the values of arguments, or show their histogram, with the words of bcc's\n"
		 "argdist.\n",
	.more = "Example:\n"
		"  nopal argdist -n 5 -H 'p:c:malloc(size_t size):size_t:size' "
		"-C 'r:c:gets():char*:$retval#lines'\n",
	.options = options,
	.shared = run_options,
	.run = run_argdist,
};
