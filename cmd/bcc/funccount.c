/* nopal funccount: counts of functions and events, as bcc's funccount prints them. */
#include <stdlib.h>
#include <string.h>

#include "bcc/show.h"
#include "options.h"

struct funccount {
	struct bcc_run base; /* first: its options */
	struct tally tally;
};

/* "malloc" of "malloc", "word" of "usdt:/bin/tick:tick:word", "sched:sched_switch" of a tracepoint
 */
static const char *shown_name(const char *key)
{
	const char *last = strrchr(key, ':');

	if (!strncmp(key, "tracepoint:", 11))
		return key + 11;
	return last ? last + 1 : key;
}

static void begin(struct bcc_run *r, struct nopal_trace *t, FILE *out)
{
	bcc_show_tracing(r, nopal_trace_probe_count(t), out);
}

static void print(struct bcc_run *r, struct nopal_trace *t, FILE *out)
{
	struct funccount *f = (struct funccount *)r;
	const struct tally_row **rows;
	size_t count;

	tally_update(&f->tally, t, "@");
	if (r->rest && !tally_has_news(&f->tally))
		return;
	rows = bcc_sorted(&f->tally, &count);
	bcc_show_time(r, out);
	fprintf(out, "%-36s %8s\n", "FUNC", "COUNT");
	for (size_t i = 0; rows && i < count; i++)
		fprintf(out, "%-36s %8llu\n", shown_name(rows[i]->key),
			(unsigned long long)rows[i]->count);
	free(rows);
}

static int write_word(const struct bcc_run *r, const struct command *c, const char *word,
		      struct script_text *t)
{
	char type;
	int code = bcc_write_probes(t, c, r, word, &type);

	script_put(t, "\n");
	if (!code)
		code = scope_write(t, c, &r->scope, NULL);
	script_put(t, "{\n\t@[%s] = count();\n}\n", type && strchr("pr", type) ? "func" : "probe");
	return code;
}

static int run_funccount(const struct command *c, char **argv)
{
	struct funccount f = {.base = {.print = print,
				       .begin = begin,
				       .write = write_word,
				       .end = "Detaching...\n"}};
	int code;

	if (!bcc_parse(&f.base, c, argv, &code))
		return code;
	code = bcc_run_words(&f.base, c, "c:malloc");
	tally_free(&f.tally);
	return code;
}

/* clang-format off */
static const struct option options[] = {
	{"-d", "--duration", "TIME", take_duration, BCC_AT(run.duration_ns), "stop after TIME: seconds, or as in 0.5, 100ms, 1m (default: on ^C)"},
	BCC_INTERVAL, BCC_CLOCK,
	{"-n", NULL,         "COUNT", take_count,   BCC_AT(times),         "stop after COUNT times"},
	BCC_REGEX, BCC_CPU, BCC_SCOPE,
	{"-D", "--debug",    NULL,    take_flag,    BCC_AT(run.script_first),  "print the script before it runs"},
	RUN_SCRIPT, BCC_HELP, {0},
};
/* clang-format on */

const struct command command_funccount = {
	.name = "funccount",
	.self = "nopal funccount",
	.summary = "count calls of functions and events, as bcc's funccount",
	.usage = "[OPTION]... [p:]LIBRARY:FUNCTION | {u|t}:LIBRARY:NAME...",
	.about = "Count calls of functions and events, with the words and the output of bcc's\n"
		 "funccount. Patterns have * and ?.\n",
	.more = "Examples:\n"
		"  nopal funccount -d 5 'c:mem*'\n"
		"  nopal funccount -r 'c:(read|write)$'\n"
		"  nopal funccount -i 1 -T u:/usr/bin/php8.2:function__entry\n",
	.options = options,
	.shared = run_options,
	.run = run_funccount,
};
