/* nopal argdist: counts and histograms of arguments, as bcc's argdist prints them. */
#include <stdlib.h>
#include <string.h>

#include "bcc/word.h"
#include "bcc/show.h"
#include "bcc/trace.h"
#include "options.h"

#define MAX_SPECS 16

struct counted {
	const char *word;
	bool is_histogram;
	struct bcc_argdist spec;
	struct tally tally;
};

struct argdist {
	struct bcc_run base; /* first: its options */
	struct counted list[MAX_SPECS];
	int count;
	long top;		    /* -T; 0: all */
	bool cumulative;	    /* -c */
	long string_size;	    /* -z; 0: any */
	struct bcc_headers headers; /* -I */
};

static const char *take_spec(struct argdist *a, const char *word, bool is_histogram)
{
	if (a->count == MAX_SPECS)
		return "fewer specs: the limit is 16";
	a->list[a->count].word = word;
	a->list[a->count++].is_histogram = is_histogram;
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

/* ---- the script */

static int begin_clause(struct script_text *t, const struct command *c, const struct argdist *a,
			const char *probe, const char *filter)
{
	int code;

	script_put(t, "%s\n", probe);
	code = scope_write(t, c, &a->base.scope, filter);
	script_put(t, "{\n");
	return code;
}

/* @a[values] = count(), or @a = hist(value) */
static void put_body(struct script_text *t, const struct counted *s, char map)
{
	const char *result = s->spec.at.type == 'r' ? "(int32)(retval)" : NULL;
	const char *values = s->spec.values ? s->spec.values : result;
	bool is_cast = values && !strncmp(values, "(uint64)", 8);

	if (s->is_histogram)
		script_put(t, is_cast ? "@%c = hist(%s);\n" : "@%c = hist((uint64)(%s));\n", map,
			   values);
	else
		script_put(t, values ? "@%c[%s] = count();\n" : "@%c = count();\n", map, values);
}

/* The end of a function whose start keeps something: what the filter says is asked where that is
 * known. */
static int write_kept(struct script_text *t, const struct command *c, const struct argdist *a,
		      const struct counted *s, char map)
{
	int code = begin_clause(t, c, a, s->spec.entry, NULL);

	script_put(t, "\t%s\n}\n", s->spec.kept);
	if (!code)
		code = begin_clause(t, c, a, s->spec.at.probe, NULL);
	script_put(t, "\tif (@%c_start[tid]) {\n\t\t", map);
	if (s->spec.at.filter)
		script_put(t, "if (%s) {\n\t\t\t", s->spec.at.filter);
	put_body(t, s, map);
	script_put(t, s->spec.at.filter ? "\t\t}\n\t\t%s\n\t}\n}\n" : "\t\t%s\n\t}\n}\n",
		   s->spec.kept_cleared);
	return code;
}

static int write_spec(struct script_text *t, const struct command *c, const struct argdist *a,
		      struct counted *s, char map)
{
	const struct bcc_reading how = {.is_function = true, .text_size = a->string_size};
	int code = bcc_read_argdist(c, s->word, &how, map, &s->spec);

	if (!code && s->is_histogram &&
	    (s->spec.count > 1 || (!s->spec.count && s->spec.at.type != 'r')))
		return usage_error(c, "'%s': a histogram is that of one expression", s->word);
	if (!code && s->spec.entry)
		return write_kept(t, c, a, s, map);
	if (!code)
		code = begin_clause(t, c, a, s->spec.at.probe, s->spec.at.filter);
	script_put(t, "\t");
	if (!code)
		put_body(t, s, map);
	script_put(t, "}\n");
	return code;
}

/* ---- results */

/* "size = 16, s = hello", "retval = 0", "total calls" */
static void print_key(const struct counted *s, const struct tally_row *row, FILE *out)
{
	if (!s->spec.values && s->spec.at.type != 'r')
		fputs("total calls", out);
	for (unsigned i = 0; i < row->part_count; i++)
		fprintf(out, "%s%s = %s", i ? ", " : "",
			i < s->spec.count ? s->spec.names[i] : "retval", row->parts[i]);
}

static void print_counts(const struct argdist *a, struct counted *s, FILE *out)
{
	const struct tally_row **rows;
	size_t count, first;

	/* The sum of all intervals is what is sorted. */
	for (size_t i = 0; a->cumulative && i < s->tally.count; i++)
		s->tally.rows[i].count = s->tally.rows[i].total;
	rows = bcc_sorted(&s->tally, &count);
	first = a->top && (size_t)a->top < count ? count - (size_t)a->top : 0;
	fprintf(out, "%s\n\t%-10s %s\n", s->spec.label ? s->spec.label : s->word, "COUNT", "EVENT");
	for (size_t i = first; rows && i < count; i++) {
		fprintf(out, "\t%-10llu ", (unsigned long long)rows[i]->count);
		print_key(s, rows[i], out);
		fputc('\n', out);
	}
	free(rows);
}

static void print_histogram(const struct argdist *a, const struct counted *s, FILE *out)
{
	const struct tally_row *row = s->tally.count ? s->tally.rows : NULL;
	const char *title = s->spec.count ? s->spec.names[0] : "retval";

	if (row)
		bcc_show_histogram(a->cumulative ? row->all : row->recent,
				   s->spec.label ? s->spec.label : title, out);
}

static void print(struct bcc_run *r, struct nopal_trace *t, FILE *out)
{
	struct argdist *a = (struct argdist *)r;
	char name[] = "@a";
	bool news = !r->rest;

	for (int i = 0; i < a->count; i++) {
		name[1] = (char)('a' + i);
		tally_update(&a->list[i].tally, t, name);
		news |= tally_has_news(&a->list[i].tally);
	}
	if (!news)
		return;
	bcc_show_clock(out);
	for (int i = 0; i < a->count; i++) {
		if (a->list[i].is_histogram)
			print_histogram(a, &a->list[i], out);
		else
			print_counts(a, &a->list[i], out);
	}
}

/* Counts are shown before histograms. */
static void sort_specs(struct argdist *a)
{
	struct counted list[MAX_SPECS];
	int at = 0;

	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < a->count; i++)
			if (a->list[i].is_histogram == pass)
				list[at++] = a->list[i];
	memcpy(a->list, list, (size_t)at * sizeof(*list));
}

static int run_argdist(const struct command *c, char **argv)
{
	struct argdist a = {.base = {.interval = 1000000000, .print = print, .end = ""}};
	struct script_text text = {.text = NULL};
	int code, words = options_parse(c, argv, &a, &code);

	if (words < 0)
		return code;
	code = bcc_check(&a.base, c);
	if (!code && (words || !a.count))
		code = usage_error(c, words ? "'%s' follows neither -C nor -H" : "%s",
				   words ? argv[1] : "nothing to count: give -C or -H");
	sort_specs(&a);
	script_text_begin(&text);
	bcc_write_headers(&text, &a.headers);
	script_put(&text, "config = { print_maps_on_exit = false }\n");
	for (int n = 0; n < a.count && !code; n++)
		code = write_spec(&text, c, &a, &a.list[n], (char)('a' + n));
	if (!script_text_end(&text))
		code = EXIT_FAILED;
	else if (!code)
		code = bcc_run(&a.base, c, &text);
	for (int n = 0; n < a.count; n++) {
		bcc_argdist_free(&a.list[n].spec);
		tally_free(&a.list[n].tally);
	}
	script_text_free(&text);
	return code;
}

/* clang-format off */
#define AT(member) offsetof(struct argdist, member)
static const struct option options[] = {
	{"-C", "--count",       "SPEC",  take_count_spec,     0,                   "count the values of SPEC: TYPE:LIBRARY:NAME(SIGNATURE)[:TYPES:EXPRESSIONS[:CONDITION]][#LABEL]"},
	{"-H", "--histogram",   "SPEC",  take_histogram_spec, 0,                   "show a histogram of the value of SPEC"},
	{"-i", "--interval",    "TIME",  take_duration,  BCC_AT(interval),         "print the results every TIME (default: 1 second)"},
	{"-n", "--number",      "COUNT", take_count,     BCC_AT(times),            "stop after COUNT times"},
	{"-d", "--duration",    "TIME",  take_duration,  BCC_AT(run.duration_ns),  "stop after TIME"},
	{"-T", "--top",         "N",     take_count,     AT(top),                  "print only the N largest"},
	{"-c", "--cumulative",  NULL,    take_flag,      AT(cumulative),           "do not start again from 0 after each TIME"},
	{"-z", "--string-size", "BYTES", take_count,     AT(string_size),          "cut texts after BYTES (default: 1024, or NOPAL_MAX_STRLEN)"},
	{"-t", NULL,            "TID",   take_text,      BCC_AT(scope.tid),        "use only events of this thread"},
	{"-I", "--include",     "FILE",  bcc_take_header, AT(headers),             NULL},
	{"-v", "--verbose",     NULL,    take_flag,      BCC_AT(run.script_first),     "print the script before it runs"},
	BCC_SCOPE, RUN_SCRIPT, BCC_HELP, {0},
};
/* clang-format on */

const struct command command_argdist = {
	.name = "argdist",
	.self = "nopal argdist",
	.summary = "count values of arguments, as bcc's argdist",
	.usage = "[OPTION]... {-C | -H} SPEC...",
	.about =
		"Count the values of arguments, or show their histogram, with the words and the\n"
		"output of bcc's argdist. TYPE is p, r, t or u: a function, its return, a\n"
		"tracepoint, a USDT probe. A return also has $retval, $entry(NAME) and $latency.\n",
	.more = "Examples:\n"
		"  nopal argdist -n 5 -H 'p:c:malloc(size_t size):size_t:size'\n"
		"  nopal argdist -C 'r:c:gets():char*:$retval#lines'\n"
		"  nopal argdist -H 'r:c:read(int fd):u64:$latency/1000:$entry(fd)>2#usecs'\n",
	.options = options,
	.shared = run_options,
	.run = run_argdist,
};
