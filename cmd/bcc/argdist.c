/* nopal argdist: counts and histograms of arguments, as bcc's argdist prints them. */
#include <stdlib.h>
#include <string.h>

#include "bcc/show.h"
#include "bcc/word.h"

#define MAX_SPECS 16

/* The words of -C, or those of -H. */
struct words {
	char *list[MAX_SPECS];
	int count;
};

struct argdist {
	struct bcc_run base; /* first: its options, and the words of both */
	struct words counts, histograms;
	char *words[2 * MAX_SPECS];
	struct bcc_argdist specs[2 * MAX_SPECS];
	struct tally tallies[2 * MAX_SPECS];
	long top;	  /* -T; 0: all */
	bool cumulative;  /* -c */
	long string_size; /* -z; 0: any */
};

static const char *take_spec(void *at, const struct option *o, const char *value)
{
	struct words *w = at;

	(void)o;
	if (w->count == MAX_SPECS)
		return "fewer specs: the limit is 16";
	w->list[w->count++] = (char *)(uintptr_t)value;
	return NULL;
}

/* Counts are shown before histograms. */
static int check(struct bcc_run *r, const struct command *c)
{
	struct argdist *a = (struct argdist *)r;
	size_t size = (size_t)a->counts.count * sizeof(char *);

	if (r->word_count)
		return usage_error(c, "'%s' follows neither -C nor -H", r->words[0]);
	memcpy(a->words, a->counts.list, size);
	memcpy(a->words + a->counts.count, a->histograms.list, sizeof(a->histograms.list));
	r->words = a->words;
	r->word_count = a->counts.count + a->histograms.count;
	return 0;
}

static bool is_histogram(const struct argdist *a, int word)
{
	return word >= a->counts.count;
}

/* Of the maps of a spec. */
static char letter(const struct argdist *a, int word)
{
	return (char)(is_histogram(a, word) ? 'a' + word - a->counts.count : 'A' + word);
}

/* ---- the script */

/* @a[values] = count(), or @a = hist(value) */
static void put_body(struct script_text *t, const struct bcc_argdist *s, bool histogram, char map)
{
	const char *result = s->at.type == 'r' ? "(int32)(retval)" : NULL;
	const char *values = s->values ? s->values : result;
	bool is_unsigned = values && (!strncmp(values, "(u", 2) || !strncmp(values, "(size_t)", 8));

	if (histogram)
		script_put(t, is_unsigned ? "\t@%c = hist(%s);\n" : "\t@%c = hist((uint64)(%s));\n",
			   map, values);
	else
		script_put(t, values ? "\t@%c[%s] = count();\n" : "\t@%c = count();\n", map,
			   values);
}

/* What a function's start keeps is asked and deleted at its end. */
static int write_spec(struct bcc_run *r, const struct command *c, int word, struct script_text *t)
{
	struct argdist *a = (struct argdist *)r;
	const struct bcc_reading how = {.is_function = true, .text_size = a->string_size};
	struct bcc_argdist *s = &a->specs[word];
	bool histogram = is_histogram(a, word);
	char map = letter(a, word);
	int code = bcc_read_argdist(c, r->words[word], &how, map, s);

	if (!code && histogram && (s->count > 1 || (!s->count && s->at.type != 'r')))
		return usage_error(c, "'%s': a histogram is that of one expression",
				   r->words[word]);
	if (!code && s->kept) {
		script_put(t, "uprobe:%s\n", s->at.probe + strlen("uretprobe:"));
		code = scope_write(t, c, &r->scope, NULL);
		script_put(t, "{\n\t%s\n}\n", s->kept);
	}
	if (code)
		return code;
	script_put(t, "%s\n", s->at.probe);
	code = scope_write(t, c, &r->scope, s->kept ? NULL : s->at.filter);
	script_put(t, "{\n");
	if (s->kept)
		script_put(t, "\tif (!@%c_start[tid]) { return; }\n", map);
	if (s->kept && s->at.filter)
		script_put(t, "\tif (%s) {\n\t", s->at.filter);
	put_body(t, s, histogram, map);
	if (s->kept && s->at.filter)
		script_put(t, "\t}\n");
	script_put(t, s->kept ? "\t%s\n}\n" : "}\n", s->cleared);
	return code;
}

/* ---- results */

static void print_counts(const struct argdist *a, int word, const char *title, FILE *out)
{
	const struct bcc_argdist *s = &a->specs[word];
	const struct tally_row **rows;
	size_t count;

	rows = bcc_sorted(&a->tallies[word], &count);
	fprintf(out, "%s\n\t%-10s %s\n", title, "COUNT", "EVENT");
	for (size_t i = a->top && (size_t)a->top < count ? count - (size_t)a->top : 0;
	     rows && i < count; i++) {
		/* "size = 16, s = hello", "retval = 0", "total calls" */
		fprintf(out, "\t%-10llu %s", (unsigned long long)rows[i]->count,
			!s->values && s->at.type != 'r' ? "total calls" : "");
		for (unsigned n = 0; n < rows[i]->part_count; n++)
			fprintf(out, "%s%s = %s", n ? ", " : "",
				n < s->count ? s->names[n] : "retval", rows[i]->parts[n]);
		fputc('\n', out);
	}
	free(rows);
}

static void print_spec(const struct argdist *a, int word, FILE *out)
{
	const struct bcc_argdist *s = &a->specs[word];
	const struct tally *tally = &a->tallies[word];

	if (!is_histogram(a, word))
		print_counts(a, word, s->label ? s->label : a->base.words[word], out);
	else if (tally->count)
		bcc_show_histogram(a->cumulative ? tally->rows->all : tally->rows->recent,
				   s->label   ? s->label
				   : s->count ? s->names[0]
					      : "retval",
				   out);
}

static void print(struct bcc_run *r, struct nopal_trace *t, FILE *out)
{
	struct argdist *a = (struct argdist *)r;
	char text[TIME_TEXT], name[] = "@a";
	bool news = !r->rest;

	for (int i = 0; i < r->word_count; i++) {
		struct tally *tally = &a->tallies[i];

		name[1] = letter(a, i);
		tally_update(tally, t, name);
		news |= tally_has_news(tally);
		/* The sum of all intervals is what is sorted. */
		for (size_t n = 0; a->cumulative && n < tally->count; n++)
			tally->rows[n].count = tally->rows[n].total;
	}
	if (!news)
		return;
	fprintf(out, "[%s]\n", time_text("%H:%M:%S", text));
	for (int i = 0; i < r->word_count; i++)
		print_spec(a, i, out);
}

static int run_argdist(const struct command *c, char **argv)
{
	struct argdist a = {.base.interval = 1000000000};
	int code = bcc_run(&a.base, c, argv);

	for (int i = 0; i < 2 * MAX_SPECS; i++) {
		bcc_argdist_free(&a.specs[i]);
		tally_free(&a.tallies[i]);
	}
	return code;
}

/* clang-format off */
#define AT(member) offsetof(struct argdist, member)
static const struct option options[] = {
	{"-C", "--count",       "SPEC",  take_spec,       AT(counts),        "count the values of SPEC: TYPE:LIBRARY:NAME(SIGNATURE)[:TYPES:EXPRESSIONS[:CONDITION]][#LABEL]"},
	{"-H", "--histogram",   "SPEC",  take_spec,       AT(histograms),    "show a histogram of the value of SPEC"},
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
			.missing = "nothing to count: give -C or -H",
			.check = check,
			.write = write_spec,
			.print = print,
		},
};
