/* nopal argdist: counts and histograms of arguments, as bcc's argdist prints them. */
#include <stdlib.h>
#include <string.h>

#include "bcc/tool.h"
#include "bcc/word.h"

#define MAX_SPECS 16

/* What -C or -H says. */
struct counted {
	const char *word;
	bool is_histogram;
	char map; /* a letter for the names of its maps */
	struct bcc_argdist spec;
	struct tally tally;
};

struct argdist {
	struct bcc_run base; /* first: its options */
	struct counted list[MAX_SPECS];
	int count;
	long top;	  /* -T; 0: all */
	bool cumulative;  /* -c */
	long string_size; /* -z; 0: any */
};

static const char *take_spec(void *at, const struct option *o, const char *value)
{
	struct argdist *a = at;
	struct counted *s = &a->list[a->count];

	if (a->count == MAX_SPECS)
		return "fewer specs: the limit is 16";
	s->word = value;
	s->is_histogram = !strcmp(o->letter, "-H");
	s->map = (char)('a' + a->count++);
	return NULL;
}

static int check(struct bcc_run *r, const struct command *c)
{
	if (r->word_count)
		return usage_error(c, "'%s' follows neither -C nor -H", r->words[0]);
	r->word_count = ((struct argdist *)r)->count;
	return r->word_count ? 0 : usage_error(c, "nothing to count: give -C or -H");
}

/* ---- the script */

/* @a[values] = count(), or @a = hist(value) */
static void put_body(struct script_text *t, const struct counted *s)
{
	const char *result = s->spec.at.type == 'r' ? "(int32)(retval)" : NULL;
	const char *values = s->spec.values ? s->spec.values : result;
	bool is_unsigned = values && (!strncmp(values, "(u", 2) || !strncmp(values, "(size_t)", 8));

	if (s->is_histogram)
		script_put(t, is_unsigned ? "\t@%c = hist(%s);\n" : "\t@%c = hist((uint64)(%s));\n",
			   s->map, values);
	else
		script_put(t, values ? "\t@%c[%s] = count();\n" : "\t@%c = count();\n", s->map,
			   values);
}

/* The start of a function keeps something: what the filter says is asked at its end, where that is
 * known. */
static int write_kept(struct script_text *t, const struct command *c, const struct bcc_run *r,
		      const struct counted *s)
{
	const struct bcc_spec *at = &s->spec.at;
	int code;

	script_put(t, "%cprobe:%s\n", *at->probe, strchr(at->probe, ':') + 1);
	code = scope_write(t, c, &r->scope, NULL);
	script_put(t, "{\n\t@%c_start[tid] = %s;\n}\n%s\n", s->map, s->spec.kept, at->probe);
	if (!code)
		code = scope_write(t, c, &r->scope, NULL);
	script_put(t, "{\n\tif (!@%c_start[tid].0) { return; }\n", s->map);
	script_put(t, at->filter ? "\tif (%s) {\n\t" : "\t{\n\t", at->filter);
	put_body(t, s);
	script_put(t, "\t}\n\tdelete(@%c_start[tid]);\n}\n", s->map);
	return code;
}

static int write_spec(struct bcc_run *r, const struct command *c, int word, struct script_text *t)
{
	struct argdist *a = (struct argdist *)r;
	const struct bcc_reading how = {.is_function = true, .text_size = a->string_size};
	struct counted *s = &a->list[word];
	int code = bcc_read_argdist(c, s->word, &how, s->map, &s->spec);

	if (!code && s->is_histogram &&
	    (s->spec.count > 1 || (!s->spec.count && s->spec.at.type != 'r')))
		return usage_error(c, "'%s': a histogram is that of one expression", s->word);
	if (code || s->spec.kept)
		return code ? code : write_kept(t, c, r, s);
	script_put(t, "%s\n", s->spec.at.probe);
	code = scope_write(t, c, &r->scope, s->spec.at.filter);
	script_put(t, "{\n");
	put_body(t, s);
	script_put(t, "}\n");
	return code;
}

/* ---- results */

/* "size = 16, s = hello", "retval = 0", "total calls" */
static void print_row(const struct counted *s, const struct tally_row *row, FILE *out)
{
	fprintf(out, "\t%-10llu %s", (unsigned long long)row->count,
		row->part_count ? "" : "total calls");
	for (unsigned i = 0; i < row->part_count; i++)
		fprintf(out, "%s%s = %s", i ? ", " : "",
			i < s->spec.count ? s->spec.names[i] : "retval", row->parts[i]);
	fputc('\n', out);
}

static void print_counts(const struct argdist *a, struct counted *s, FILE *out)
{
	size_t count = s->tally.count, top = a->top ? (size_t)a->top : count;

	bcc_sort(&s->tally);
	fprintf(out, "%s\n\t%-10s %s\n", s->spec.label ? s->spec.label : s->word, "COUNT", "EVENT");
	for (size_t i = top < count ? count - top : 0; i < count; i++)
		if (s->tally.rows[i].count)
			print_row(s, &s->tally.rows[i], out);
}

static void print_histogram(const struct argdist *a, const struct counted *s, FILE *out)
{
	const struct tally_row *row = s->tally.rows;
	const char *title = s->spec.count ? s->spec.names[0] : "retval";

	if (row)
		bcc_show_histogram(a->cumulative ? row->all : row->recent,
				   s->spec.label ? s->spec.label : title, out);
}

static void print(struct bcc_run *r, struct nopal_trace *t, FILE *out)
{
	struct argdist *a = (struct argdist *)r;
	char text[TIME_TEXT], name[] = "@a";
	bool news = !r->rest;

	for (int i = 0; i < a->count; i++) {
		struct tally *tally = &a->list[i].tally;

		name[1] = a->list[i].map;
		tally_update(tally, t, name);
		news |= tally_has_news(tally);
		/* The sum of all intervals is what is sorted. */
		for (size_t n = 0; a->cumulative && n < tally->count; n++)
			tally->rows[n].count = tally->rows[n].total;
	}
	if (!news)
		return;
	fprintf(out, "[%s]\n", time_text("%H:%M:%S", false, text));
	/* Counts are shown before histograms. */
	for (int i = 0; i < a->count; i++)
		if (!a->list[i].is_histogram)
			print_counts(a, &a->list[i], out);
	for (int i = 0; i < a->count; i++)
		if (a->list[i].is_histogram)
			print_histogram(a, &a->list[i], out);
}

static int run_argdist(const struct command *c, char **argv)
{
	struct argdist a = {.base.interval = 1000000000};
	int code = bcc_run(&a.base, c, argv);

	for (int i = 0; i < a.count; i++) {
		bcc_argdist_free(&a.list[i].spec);
		tally_free(&a.list[i].tally);
	}
	return code;
}

/* clang-format off */
#define AT(member) offsetof(struct argdist, member)
static const struct option options[] = {
	{"-C", "--count",       "SPEC",  take_spec,       0,                 "count the values of SPEC: TYPE:LIBRARY:NAME(SIGNATURE)[:TYPES:EXPRESSIONS[:CONDITION]][#LABEL]"},
	{"-H", "--histogram",   "SPEC",  take_spec,       0,                 "show a histogram of the value of SPEC"},
	{"-i", "--interval",    "TIME",  take_duration,   BCC_AT(interval),  "print the results every TIME (default: 1 second)"},
	BCC_TIMES("--number"), BCC_DURATION("-d"),
	{"-T", "--top",         "N",     take_count,      AT(top),           "print only the N largest"},
	{"-c", "--cumulative",  NULL,    take_flag,       AT(cumulative),    "do not start again from 0 after each TIME"},
	{"-z", "--string-size", "BYTES", take_count,      AT(string_size),   "cut texts after BYTES (default: 1024, or NOPAL_MAX_STRLEN)"},
	{"-t", NULL,            "TID",   take_text,       BCC_AT(scope.tid), "use only events of this thread"},
	{"-I", "--include",     "FILE",  bcc_take_header, BCC_AT(headers),   NULL},
	BCC_SCRIPT("-v", "--verbose"), BCC_COMMON,
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
	.detail =
		&(const struct bcc_tool){
			.check = check,
			.write = write_spec,
			.print = print,
		},
};
