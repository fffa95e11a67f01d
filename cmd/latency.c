/* nopal latency: how long operations take, from one probe to another. The script keeps in the
 * kernel, for each key, a histogram that percentiles are read from, the sum and the maximum; see
 * write_start() and write_done(). latency_table.c shows them. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "flame.h"
#include "latency.h"
#include "options.h"
#include "probe_word.h"
#include "spec.h"

#define ROWS	20 /* that are printed unless --top says otherwise */
#define SLOWEST 10 /* with --stack, unless --slowest says otherwise */
#define DEPTH	64 /* operations of one thread that can be open, one in another; a power of two */

/* ---- the script */

/* @NAME[KEY]: an open operation. Those of one thread are a stack; if ends are missing, the 65th
 * replaces the first. */
static void put_open(struct script_text *t, const struct latency *l, const char *name)
{
	script_put(t, "@%s[", name);
	if (l->key)
		script_put_word(t, l->key);
	else
		script_put(t, "tid, $n & %d", DEPTH - 1);
	script_put(t, "]");
}

/* Does the text have a comma that separates keys? */
static bool has_several(const char *text)
{
	return *text_until(text, ",");
}

/* Both probes see these threads' events; a condition is about the start. */
static int put_clause(struct script_text *t, const struct command *c, const struct latency *l,
		      const char *probe)
{
	struct scope scope = l->scope;
	int code;

	scope.condition = NULL;
	probe_word_write(t, probe, l->run.pid_count == 1 || l->run.options.command);
	script_put(t, "\n");
	code = scope_write(t, c, &scope, NULL);
	script_put(t, "{\n");
	return code;
}

static int write_start(struct script_text *t, const struct command *c, const struct latency *l)
{
	int code = put_clause(t, c, l, l->pair.start);

	script_put(t, "\t@starts = count();\n");
	if (!l->key)
		script_put(t, "\t$n = @depth[tid]++;\n");
	if (!l->key && !l->pair.is_function)
		script_put(t, "\tif ($n > 0) {\n\t\t@inside = count();\n\t}\n");
	if (l->by) {
		script_put(t, "\t");
		put_open(t, l, "by");
		script_put(t, has_several(l->by) ? " = (" : " = ");
		script_put_word(t, l->by);
		script_put(t, has_several(l->by) ? ");\n" : ";\n");
	}
	if (l->arguments.count) {
		script_put(t, "\t");
		put_open(t, l, "args");
		script_put(t, l->arguments.count > 1 ? " = (%s);\n" : " = %s;\n",
			   l->arguments.values);
	}
	script_put(t, "\t");
	put_open(t, l, "start");
	if (l->scope.condition) { /* 1: the time of one that is not counted */
		script_put(t, " = (");
		script_put_word(t, l->scope.condition);
		script_put(t, ") ? nsecs : 1;\n}\n");
	} else {
		script_put(t, " = nsecs;\n}\n");
	}
	return code;
}

/* The values of the start's arguments, as they were kept. */
static void put_arguments(struct script_text *t, const struct latency *l)
{
	for (unsigned i = 0; i < l->arguments.count; i++)
		script_put(t, l->arguments.count > 1 ? ", $args.%u" : ", $args", i);
}

/* The record of an operation that may be one of the slowest; pick_bar() says from when on. A line
 * of text, with a stack several lines and an empty one; or an object. */
static void put_slow(struct script_text *t, const struct latency *l)
{
	script_put(t, "\t\t\t@all = hist($ns, 6);\n\t\t\tif ($ns >= @bar) {\n");
	if (l->arguments.count) {
		script_put(t, "\t\t\t\t$args = ");
		put_open(t, l, "args");
		script_put(t, ";\n");
	}
	if (l->view.format == NOPAL_JSON) {
		script_put(t,
			   "\t\t\t\tevent(\"type ns pid tid comm%s%s%s\", \"slow\", $ns, pid, tid, "
			   "comm%s",
			   l->stack ? " stack" : "", l->arguments.count ? " " : "",
			   l->arguments.count ? l->arguments.names : "",
			   l->stack ? ", ustack" : "");
		put_arguments(t, l);
	} else {
		script_put(
			t,
			"\t\t\t\tprintf(\"%%lu\\t%%d\\t%%d\\t%%s\\t%s%s\\n\", $ns, pid, tid, comm",
			l->arguments.count ? l->arguments.format : "", l->stack ? "\\t%s" : "");
		put_arguments(t, l);
		script_put(t, l->stack ? ", ustack" : "");
	}
	script_put(t, ");\n\t\t\t}\n");
}

static void put_pair(struct script_text *t, const struct latency *l)
{
	static const char *const maps[][2] = {
		{"lat", "hist($ns, 6)"}, {"sum", "sum($ns)"}, {"max", "max($ns)"}};

	script_put(t, "\t\t\t@pairs = count();\n\t\t\t$ns = nsecs - $start;\n");
	if (l->by) {
		script_put(t, "\t\t\t$by = ");
		put_open(t, l, "by");
		script_put(t, ";\n");
	}
	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		script_put(t, "\t\t\t@%s%s = %s;\n", maps[i][0], l->by ? "[$by]" : "", maps[i][1]);
	if (l->slowest)
		put_slow(t, l);
}

static int write_done(struct script_text *t, const struct command *c, const struct latency *l)
{
	static const char *const opened[] = {"start", "by", "args"};
	const bool used[] = {true, l->by, l->arguments.count};
	int code = put_clause(t, c, l, l->pair.done);

	if (!l->key)
		script_put(t, "\t$n = @depth[tid]-- - 1;\n"
			      "\tif ($n <= 0) { delete(@depth[tid]); }\n"
			      "\tif ($n < 0) {\n\t\t@early = count();\n\t} else {\n");
	else
		script_put(t, "\t{\n");
	script_put(t, "\t\t$start = ");
	put_open(t, l, "start");
	script_put(t, ";\n\t\tif ($start > 1) {\n");
	put_pair(t, l);
	script_put(t, "\t\t} else if ($start) {\n\t\t\t@skipped = count();\n"
		      "\t\t} else {\n\t\t\t@early = count();\n\t\t}\n");
	for (size_t i = 0; i < sizeof(opened) / sizeof(*opened); i++) {
		if (!used[i])
			continue;
		script_put(t, "\t\tdelete(");
		put_open(t, l, opened[i]);
		script_put(t, ");\n");
	}
	script_put(t, "\t}\n}\n");
	return code;
}

/* Only operations that can be among the slowest are sent: the bar is below as many of those that
 * are counted. A percentile is less than 1/64 off. */
static void pick_bar(struct script_text *t, const struct latency *l)
{
	static const char *const percents[] = {"99.9", "99"};
	static const long parts[] = {1000, 100};

	script_put(t, "interval:ms:50\n{\n\t$pairs = @pairs;\n\t");
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		script_put(t,
			   "%sif ($pairs >= %ld) {\n\t\t$bar = pct(@all, %s);\n"
			   "\t\t@bar = $bar - $bar / 64;\n\t}",
			   i ? " else " : "", parts[i] * l->slowest, percents[i]);
	script_put(t, "\n}\n");
}

int latency_write_script(struct script_text *t, const struct command *c, struct latency *l)
{
	int code;

	if (!l->key)
		l->key = pair_key(&l->pair, &l->run);
	l->view.has_depth = !l->key && !l->pair.is_function;
	script_text_begin(t);
	script_put(t, "config = { print_maps_on_exit = false }\n");
	code = write_start(t, c, l);
	if (!code)
		code = write_done(t, c, l);
	if (l->slowest) {
		pick_bar(t, l);
		l->run.own_probes++;
	}
	return script_text_end(t) || code ? code : EXIT_FAILED;
}

/* ---- the run */

static void take_records(void *arg, const char *text, size_t len)
{
	slowest_take(&((struct latency *)arg)->kept, text, len);
}

static void watch(void *arg, struct nopal_trace *t, FILE *out, bool over)
{
	struct latency *l = arg;
	uint64_t now = run_clock();

	l->began = l->began ? l->began : now;
	l->shown = l->shown ? l->shown : now;
	if (!over && (!l->interval || now - l->shown < l->interval))
		return;
	l->shown += l->interval;
	l->view.seconds = (double)(now - l->began) / 1e9;
	l->view.is_over = over;
	latency_print(t, &l->view, out);
}

char *latency_title(const char *by)
{
	size_t name = strspn(by, "abcdefghijklmnopqrstuvwxyz_"), len = strlen(by);
	bool is_call = name && by[name] == '(' && strcspn(by, "),") == len - 1 &&
		       (by[name + 1] < '0' || by[name + 1] > '9'); /* not of ustack(3) */
	char *title;

	by += is_call ? name + 1 : 0;
	by += strncmp(by, "args.", 5) ? 0 : 5;
	title = strndup(by, strlen(by) - is_call);

	for (char *at = title; at && *at; at++)
		if (*at >= 'a' && *at <= 'z')
			*at = (char)(*at - 'a' + 'A');
	return title;
}

static int run_flame(const struct command *c, struct latency *l, const char *script)
{
	char *title = NULL;
	int code = EXIT_FAILED;

	l->view.flame = flame_new();
	if (l->view.flame)
		code = run_script(script, &l->run);
	if (code == EXIT_OK && asprintf(&title, "%s: %s", c->self, l->pair.start) >= 0)
		code = flame_save(l->view.flame, title, "us", l->flame);
	flame_free(l->view.flame);
	free(title);
	return code;
}

static int run_text(const struct command *c, struct latency *l, const struct script_text *t)
{
	char *title;
	int code;

	if (!run_take_text(&l->run, c, t))
		return EXIT_OK;
	title = l->by ? latency_title(l->by) : NULL;
	l->run.watch = watch;
	l->run.watch_period = l->interval;
	l->run.take = take_records;
	l->run.watch_arg = l;
	l->kept.most = (size_t)l->slowest;
	l->kept.json = l->view.format == NOPAL_JSON;
	l->kept.has_stack = l->stack;
	run_look(&l->run, &l->view.look);
	l->view.title = title;
	l->view.order = l->order;
	l->view.top = l->top ? l->top : ROWS;
	l->view.slowest = &l->kept;
	l->view.subject = l->pair.start;
	/* Of the script's lines, which are ours. */
	l->run.options.format = l->view.format == NOPAL_JSON ? NOPAL_JSON : NOPAL_TEXT;
	l->run.options.structured = true;
	l->run.options.lines = !l->no_lines;
	l->run.options.look = &l->view.look;
	l->run.quiet |= l->view.format == NOPAL_JSON;
	code = l->flame ? run_flame(c, l, t->text) : run_script(t->text, &l->run);
	free(title);
	return code;
}

/* Not every result has every form. */
static int check_form(const struct command *c, struct latency *l)
{
	if (l->view.format == NOPAL_FOLDED)
		return usage_error(c, "-f folded is a form of stacks: --flame draws them");
	if ((l->view.format == NOPAL_CSV || l->flame) && (l->slowest || l->stack))
		return usage_error(c, "the slowest come as text or as -f json");
	if (l->flame && l->interval)
		return usage_error(c, "--flame and -i cannot be combined");
	if (l->flame && l->by && strncmp(l->by, "ustack", 6) && strncmp(l->by, "kstack", 6))
		return usage_error(c, "--flame draws stacks: --by is ustack or kstack with it");
	if (l->flame && !l->by)
		l->by = "ustack";
	return 0;
}

/* The time between two operations may be what is wanted. */
static void say_reversed(const struct pair *p)
{
	fprintf(stderr,
		"nopal: warning: by their names, '%s' ends what '%s' starts: this measures the "
		"time "
		"from an end to the next start\nhint: to measure the operations, write '%s %s'\n",
		p->start, p->done, p->done, p->start);
}

static int run_latency(const struct command *c, char **argv)
{
	struct latency l = {.key = NULL};
	struct script_text text = {.text = NULL};
	int code, words = options_parse(c, argv, &l, &code);

	if (words < 0)
		return code;
	code = run_check_options(&l.run, c);
	if (!code && l.slowest > SLOW_MOST)
		code = usage_error(c, "option '--slowest' takes at most %d", SLOW_MOST);
	if (!code)
		code = pair_find(c, argv + 1, words, &l.run, &l.pair);
	if (!code && pair_is_reversed(&l.pair))
		say_reversed(&l.pair);
	l.slowest = l.stack && !l.slowest ? SLOWEST : l.slowest;
	l.view.format = l.run.options.format;
	if (!code)
		code = check_form(c, &l);
	if (!code && l.slowest)
		shown_find(&l.arguments, &l.pair, &l.run);
	if (!code)
		code = latency_write_script(&text, c, &l);
	if (!code)
		code = run_text(c, &l, &text);
	script_text_free(&text);
	pair_free(&l.pair);
	slowest_free(&l.kept);
	shown_free(&l.arguments);
	return code;
}

/* clang-format off */
#define AT(member) offsetof(struct latency, member)
static const struct option latency_options[] = {
	{"-k", NULL,             "KEY",     take_text,     AT(key),         "pair events that have the same KEY, such as args.id, in any thread (default: args.span_id where both have it, else events of one thread, of which each end belongs to the newest start)"},
	{NULL, "--by",           "KEY",     take_text,     AT(by),          "show a row for each KEY at the start, such as args.query or 'pid,comm'"},
	{NULL, "--sort",         "total|count|avg|p50|p99|max", take_choice, AT(order), "largest first (default: total time)"}, /* ORDER: enum latency_order */
	{NULL, "--top",          "N",       take_count,    AT(top),         "print the N largest rows (default: 20)"},
	{NULL, "--slowest",      "N",       take_count,    AT(slowest),     "also print the N slowest, with the arguments of their start"},
	{NULL, "--stack",        NULL,      take_flag,     AT(stack),       "also print the stack at the end of each of the slowest (of 10, unless --slowest says otherwise)"},
	{NULL, "--flame",        "FILE",    take_text,     AT(flame),       "draw a flame graph of the time by the stack at the start: one HTML file (see nopal-flame(1))"},
	RUN_CSV,
	{NULL, "--no-lines",     NULL,      take_flag,     AT(no_lines),    "do not read debug information: no source lines and inlined functions in stacks"},
	SCOPE_OPTIONS(struct latency, scope),
	{"-d", "--duration",     "TIME",    take_duration, AT(run.duration_ns), "stop after TIME: seconds, or as in 0.5, 100ms, 1m (default: on ^C or when COMMAND ends)"},
	{"-i", NULL,             "TIME",    take_duration, AT(interval),    "also print the results so far every TIME"},
	RUN_SCRIPT,
	{"-h", "--help",         NULL,      take_help,     0,               "print this help"},
	{0},
};
/* clang-format on */

const struct command command_latency = {
	.name = "latency",
	.self = "nopal latency",
	.summary = "show how long operations take: percentiles, slowest",
	.usage = "[OPTION]... START DONE\n"
		 "[OPTION]... PAIR",
	.about = "Show how long operations take, from one probe to another: count, average,\n"
		 "percentiles (less than 1 % off), maximum, and a histogram. A PAIR is the common\n"
		 "part of two probes' names, such as postgresql:query for query__start and\n"
		 "query__done, or a function, uprobe:FILE:FUNCTION.\n",
	.more = "Examples:\n"
		"  nopal latency --by args.query --slowest 5 -p 4711 postgresql:query\n"
		"  nopal latency -k args.id ./server:shop:order ./server:shop:answer\n"
		"  nopal latency -d 10 uprobe:/usr/bin/app:parse\n",
	.options = latency_options,
	.shared = run_options,
	.run = run_latency,
};
