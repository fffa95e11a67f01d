/* nopal funclatency: how long functions take, as bcc's funclatency prints it. Calls within calls
 * of one thread are measured, too, to a depth of 64. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bcc/show.h"
#include "options.h"

#define DEPTH 64 /* a power of two */

struct funclatency {
	struct bcc_run base; /* first: its options */
	struct tally times, totals;
	bool by_function; /* -F */
	bool microseconds, milliseconds;
	bool has_sections; /* a histogram for each function and process */
	long level;	   /* -l; 0: DEPTH */
};

static uint64_t unit(const struct funclatency *f)
{
	return f->milliseconds ? 1000000 : f->microseconds ? 1000 : 1;
}

static const char *unit_name(const struct funclatency *f)
{
	return f->milliseconds ? "msecs" : f->microseconds ? "usecs" : "nsecs";
}

static int compare_order(const void *a, const void *b)
{
	const struct tally_row *x = *(struct tally_row *const *)a;
	const struct tally_row *y = *(struct tally_row *const *)b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* "avg = 23417 usecs, total: 1967052 usecs, count: 84" */
static void print_average(const struct funclatency *f, uint64_t count, FILE *out)
{
	uint64_t total = f->totals.count ? f->totals.rows[0].count / unit(f) : 0;

	if (count)
		fprintf(out,
			"\navg = %" PRIu64 " %s, total: %" PRIu64 " %s, count: %" PRIu64 "\n\n",
			total / count, unit_name(f), total, unit_name(f), count);
}

static void print(struct bcc_run *r, struct nopal_trace *t, FILE *out)
{
	struct funclatency *f = (struct funclatency *)r;
	const struct tally_row **rows;
	uint64_t all = 0;
	size_t count;

	tally_update(&f->times, t, "@times");
	tally_update(&f->totals, t, "@total");
	if (r->rest && !tally_has_news(&f->times))
		return;
	rows = bcc_sorted(&f->times, &count);
	bcc_show_time(r, out);
	if (rows)
		qsort(rows, count, sizeof(*rows), compare_order);
	for (size_t i = 0; rows && i < count; i++) {
		if (f->has_sections)
			fprintf(out, "\nFunction = %s [%s]\n", rows[i]->parts[0],
				rows[i]->parts[rows[i]->part_count > 1]);
		bcc_show_histogram(rows[i]->recent, unit_name(f), out);
		all += rows[i]->count;
	}
	print_average(f, all, out);
	free(rows);
}

static void begin(struct bcc_run *r, struct nopal_trace *t, FILE *out)
{
	/* A function has a start and an end. */
	bcc_show_tracing(r, nopal_trace_probe_count(t) / 2, out);
}

static int write_clause(struct script_text *t, const struct command *c, const struct funclatency *f,
			const char *word, const char *return_of)
{
	char type;
	int code;

	/* The word without its type is that of the return, too. */
	if (return_of) {
		char *end = NULL;

		/* A function of the kernel has no library. */
		if (asprintf(&end, strchr(return_of, ':') ? "r:%s" : "r::%s", return_of) < 0)
			return EXIT_FAILED;
		code = bcc_write_probes(t, c, &f->base, end, &type);
		free(end);
	} else {
		code = bcc_write_probes(t, c, &f->base, word, &type);
		if (!code && type != 'p')
			code = usage_error(c,
					   "'%s' is not a function: nopal latency takes other "
					   "probes",
					   word);
	}
	script_put(t, "\n");
	if (!code)
		code = scope_write(t, c, &f->base.scope, NULL);
	script_put(t, "{\n");
	return code;
}

static int write_word(const struct bcc_run *r, const struct command *c, const char *word,
		      struct script_text *t)
{
	const struct funclatency *f = (const struct funclatency *)r;
	const char *bare = !strncmp(word, "p:", 2) ? word + 2 : word;
	long level = f->level ? f->level : DEPTH;
	int code = write_clause(t, c, f, word, NULL);

	script_put(t, "\t$n = @depth[tid]++;\n\t@start[tid, $n & %d] = nsecs;\n}\n", DEPTH - 1);
	if (!code)
		code = write_clause(t, c, f, word, bare);
	script_put(t,
		   "\t$n = @depth[tid]-- - 1;\n"
		   "\tif ($n <= 0) { delete(@depth[tid]); }\n"
		   "\tif ($n >= 0 && $n < %ld) {\n"
		   "\t\t$start = @start[tid, $n & %d];\n"
		   "\t\tdelete(@start[tid, $n & %d]);\n"
		   "\t\tif ($start) {\n"
		   "\t\t\t$ns = nsecs - $start;\n"
		   "\t\t\t@total = sum($ns);\n",
		   level, DEPTH - 1, DEPTH - 1);
	script_put(t, "\t\t\t@times%s = hist($ns / %" PRIu64 ");\n\t\t}\n\t}\n}\n",
		   f->has_sections ? "[func, pid]" : "", unit(f));
	return code;
}

static int run_funclatency(const struct command *c, char **argv)
{
	struct funclatency f = {.base = {.print = print,
					 .begin = begin,
					 .write = write_word,
					 .end = "Detaching...\n"}};
	int code;

	if (!bcc_parse(&f.base, c, argv, &code))
		return code;
	for (int i = 0; i < f.base.word_count; i++)
		f.has_sections |= strchr(f.base.words[i], ':') && f.base.run.pid_count != 1;
	f.has_sections |= f.by_function;
	code = bcc_run_words(&f.base, c, "c:read");
	tally_free(&f.times);
	tally_free(&f.totals);
	return code;
}

/* clang-format off */
#define AT(member) offsetof(struct funclatency, member)
static const struct option options[] = {
	{"-d", "--duration",     "TIME", take_duration, BCC_AT(run.duration_ns), "stop after TIME: seconds, or as in 0.5, 100ms, 1m (default: on ^C)"},
	BCC_INTERVAL, BCC_CLOCK,
	{"-u", "--microseconds", NULL,  take_flag,  AT(microseconds), "show microseconds, not nanoseconds"},
	{"-m", "--milliseconds", NULL,  take_flag,  AT(milliseconds), "show milliseconds"},
	{"-F", "--function",     NULL,  take_flag,  AT(by_function),  "show a histogram for each function"},
	{"-l", "--level",        "N",   take_count, AT(level),        "measure only the outermost N of calls within calls (default: 64)"},
	BCC_REGEX, BCC_SCOPE,
	{"-v", "--verbose",      NULL,  take_flag,  BCC_AT(run.script_first), "print the script before it runs"},
	RUN_SCRIPT, BCC_HELP, {0},
};
/* clang-format on */

const struct command command_funclatency = {
	.name = "funclatency",
	.self = "nopal funclatency",
	.summary = "show how long functions take, as bcc's funclatency (see latency)",
	.usage = "[OPTION]... LIBRARY:FUNCTION...",
	.about = "Time functions, with the words and the output of bcc's funclatency. nopal "
		 "latency\n"
		 "also has percentiles, and measures from any probe to another.\n",
	.more = "Examples:\n"
		"  nopal funclatency -u -d 10 c:read\n"
		"  nopal funclatency -F -p 4711 './server:handle_*'\n",
	.options = options,
	.shared = run_options,
	.run = run_funclatency,
};
