/* nopal funclatency: how long functions take, as bcc's funclatency prints it. Calls within calls
 * of one thread are measured, too, to a depth of 64. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bcc/tool.h"

#define DEPTH 64 /* a power of two */

static const struct unit {
	const char *name;
	uint64_t ns;
} units[] = {{"nsecs", 1}, {"usecs", 1000}, {"msecs", 1000000}};

static const struct unit *unit(const struct bcc_run *r)
{
	return &units[r->milliseconds ? 2 : r->microseconds];
}

static void print_row(const struct bcc_run *r, const struct tally_row *row, FILE *out)
{
	if (r->has_sections)
		fprintf(out, "\nFunction = %s [%s]\n", row->parts[0],
			row->parts[row->part_count > 1]);
	bcc_show_histogram(row->recent, unit(r)->name, out);
}

/* "avg = 23417 usecs, total: 1967052 usecs, count: 84" */
static void print_average(struct bcc_run *r, struct nopal_trace *t, FILE *out)
{
	const char *name = unit(r)->name;
	uint64_t total, count = 0;

	tally_update(&r->totals, t, "@total");
	total = r->totals.count ? r->totals.rows->count / unit(r)->ns : 0;
	for (size_t i = 0; i < r->tally.count; i++)
		count += r->tally.rows[i].count;
	if (count)
		fprintf(out,
			"\navg = %" PRIu64 " %s, total: %" PRIu64 " %s, count: %" PRIu64 "\n\n",
			total / count, name, total, name, count);
}

static int check(struct bcc_run *r, const struct command *c)
{
	(void)c;
	r->has_sections = r->by_function;
	for (int i = 0; i < r->word_count; i++)
		r->has_sections |= strchr(r->words[i], ':') && r->run.pid_count != 1;
	return 0;
}

static int write_word(struct bcc_run *r, const struct command *c, int word, struct script_text *t)
{
	char type;
	int code = bcc_write_probes(t, c, r, r->words[word], false, &type);

	if (!code && type != 'p')
		return usage_error(c, "'%s' is not a function: nopal latency takes other probes",
				   r->words[word]);
	script_put(t, "{\n\t$n = @depth[tid]++;\n\t@start[tid, $n & %d] = nsecs;\n}\n", DEPTH - 1);
	if (!code)
		code = bcc_write_probes(t, c, r, r->words[word], true, &type);
	script_put(t,
		   "{\n"
		   "\t$n = @depth[tid]-- - 1;\n"
		   "\tif ($n <= 0) { delete(@depth[tid]); }\n"
		   "\tif ($n >= 0 && $n < %ld) {\n"
		   "\t\t$start = @start[tid, $n & %d];\n"
		   "\t\tdelete(@start[tid, $n & %d]);\n"
		   "\t\tif ($start) {\n"
		   "\t\t\t$ns = nsecs - $start;\n"
		   "\t\t\t@total = sum($ns);\n"
		   "\t\t\t@times%s = hist($ns / %" PRIu64 ");\n"
		   "\t\t}\n"
		   "\t}\n"
		   "}\n",
		   r->level ? r->level : DEPTH, DEPTH - 1, DEPTH - 1,
		   r->has_sections ? "[func, pid]" : "", unit(r)->ns);
	return code;
}

/* clang-format off */
static const struct option options[] = {
	BCC_DURATION("-d"), BCC_INTERVAL, BCC_CLOCK,
	BCC_FLAG("-u", "--microseconds", microseconds, "show microseconds, not nanoseconds"),
	BCC_FLAG("-m", "--milliseconds", milliseconds, "show milliseconds"),
	BCC_FLAG("-F", "--function",     by_function,  "show a histogram for each function"),
	{"-l", "--level", "N", take_count, BCC_AT(level), "measure only the outermost N of calls within calls (default: 64)"},
	BCC_REGEX, BCC_SCRIPT("-v", "--verbose"), BCC_COMMON,
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
	.run = bcc_run_command,
	.detail =
		&(const struct bcc_tool){
			.map = "@times",
			.has_returns = true,
			.check = check,
			.write = write_word,
			.print_row = print_row,
			.print_end = print_average,
		},
};
