/* nopal top: which probes are hit most, or how long operations take, as it happens. The screen and
 * the text of -i are the same lines. */
#include "top.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "input.h"
#include "latency.h"
#include "options.h"
#include "pair.h"
#include "probe_word.h"
#include "run.h"
#include "scope.h"
#include "screen.h"
#include "script_text.h"

#define SECOND	  UINT64_C(1000000000)
#define TEXT_ROWS 20 /* of each interval of -i */
#define HEAT	  10 /* lines of the heat map at most */

struct top_command {
	struct run run; /* first: run_options */
	struct scope scope;
	struct latency latency; /* the script of --latency */
	const char *key;	/* -k, --by */
	const char *script;	/* -e */
	bool wants_times, json;
	uint64_t interval; /* -i; 0: a screen */
	char **words;
	int count;
	struct top top;
	struct nopal_look look;
	uint64_t last; /* CLOCK_MONOTONIC of the last interval's end */
	bool typing;
};

/* ---- the script */

static int write_counts(struct script_text *t, const struct command *c, struct top_command *m)
{
	bool of_process = m->run.pid_count == 1 || m->run.options.command;
	int code;

	script_text_begin(t);
	script_put(t, "config = { print_maps_on_exit = false }\n");
	for (int i = 0; i < m->count; i++) {
		script_put(t, i ? ",\n" : "");
		probe_word_write(t, m->words[i], of_process);
	}
	if (!m->count)
		script_put(t, "usdt:%s:*:*", of_process ? "" : "*");
	script_put(t, "\n");
	code = scope_write(t, c, &m->scope, NULL);
	script_put(t, "{\n\t@[probe");
	if (m->key) {
		script_put(t, ", ");
		script_put_word(t, m->key);
	}
	script_put(t, "] = count();\n}\n");
	return script_text_end(t) || code ? code : EXIT_FAILED;
}

static int write_times(struct script_text *t, const struct command *c, struct top_command *m)
{
	int code = pair_find(c, m->words, m->count, &m->run, &m->latency.pair);

	if (code)
		return code;
	m->latency.run = m->run;
	m->latency.scope = m->scope;
	m->latency.by = m->key;
	return latency_write_script(t, c, &m->latency);
}

/* The user's own script, from -e or a file; what it prints is not shown. */
static int read_script(struct script_text *t, const struct command *c, struct top_command *m)
{
	char *text;

	if (m->script && m->count)
		return usage_error(
			c, "'%s' cannot be combined with a script, which names its own probes",
			m->words[0]);
	if (m->key || m->wants_times)
		return usage_error(c, "%s cannot be used with a script: its maps are shown",
				   m->key ? "-k" : "--latency");
	text = m->script ? strdup(m->script) : input_script(m->words[0]);
	if (!text)
		return EXIT_FAILED;
	script_text_begin(t);
	script_put(t, "%s", text);
	free(text);
	return script_text_end(t) ? EXIT_OK : EXIT_FAILED;
}

/* A word that ends in .bt is a script. */
static bool has_script(const struct top_command *m)
{
	const char *end = m->count == 1 ? strrchr(m->words[0], '.') : NULL;

	return m->script || (end && !strcmp(end, ".bt"));
}

/* A number is a process. */
static void take_process(struct top_command *m)
{
	long pid;

	if (m->count != 1 || m->run.pid_count || m->run.options.command ||
	    !parse_number(m->words[0], 1, &pid))
		return;
	m->run.pids[m->run.pid_count++] = m->run.options.pid = (pid_t)pid;
	m->count = 0;
}

/* ---- the screen */

/* The lines that -i prints, as many as there is room for. */
static void draw(struct top_command *m)
{
	int width, height, y = 1;
	struct top_room room = {.rows = 1, .fills = true};
	char *text = NULL, *line, *rest;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return;
	screen_size(&width, &height);
	if (m->top.has_histograms && height > 16)
		room.heat = height / 3 > HEAT ? HEAT : (unsigned)height / 3;
	if (height > 5)
		room.rows = (unsigned)height - 4 - room.heat;
	m->look.width = (unsigned)(width > 20 ? width : 20);
	top_print(&m->top, &m->look, room, out);
	if (fclose(out)) {
		free(text);
		return;
	}
	screen_clear();
	screen_line(0,
		    m->typing ? " filter: type a text, then Enter"
			      : " nopal top   q quit  space pause  s sort  / filter",
		    SCREEN_REVERSE);
	for (rest = text; (line = strsep(&rest, "\n")) && y < height; y++)
		screen_line(y, line, y == 2 ? SCREEN_BOLD : SCREEN_PLAIN);
	free(text);
	screen_show();
}

/* A key while a filter is typed. */
static void type_filter(struct top_command *m, int key)
{
	size_t len = strlen(m->top.filter);

	if (key == SCREEN_ENTER || key == SCREEN_ESCAPE)
		m->typing = false;
	else if (key == SCREEN_BACKSPACE && len)
		m->top.filter[len - 1] = '\0';
	else if (key >= ' ' && key < 127 && len + 1 < TOP_FILTER)
		m->top.filter[len] = (char)key, m->top.filter[len + 1] = '\0';
}

static void take_key(struct top_command *m, struct nopal_trace *t, int key)
{
	if (m->typing) {
		type_filter(m, key);
		return;
	}
	switch (key) {
	case 'q': nopal_trace_stop(t); break;
	case ' ':
	case 'p': m->top.paused = !m->top.paused; break;
	case 's':
		/* ORDER: enum top_order */
		m->top.order =
			(m->top.order + 1) % (m->top.has_histograms ? TOP_ORDERS : TOP_BY_P99);
		break;
	case '/':
		m->typing = true;
		m->top.filter[0] = '\0';
		break;
	default: break;
	}
}

static void watch_screen(struct top_command *m, struct nopal_trace *t, bool due, bool over)
{
	bool changed = due;
	int key;

	if (over) {
		screen_close();
		return;
	}
	if (!screen_is_open())
		screen_open();
	while ((key = screen_key()) != SCREEN_NO_KEY) {
		take_key(m, t, key);
		changed = true;
	}
	if (changed)
		draw(m);
}

/* ---- the run */

static void watch_text(struct top_command *m, FILE *out)
{
	char text[TIME_TEXT];

	if (m->json) {
		top_print_json(&m->top, out);
		return;
	}
	fprintf(out, "%s  ", time_text("%H:%M:%S", false, text));
	top_print(&m->top, &m->look,
		  (struct top_room){TEXT_ROWS, m->top.has_histograms ? HEAT : 0, false}, out);
}

static void watch(void *arg, struct nopal_trace *t, FILE *out, bool over)
{
	struct top_command *m = arg;
	uint64_t now = run_clock(), period = m->interval ? m->interval : SECOND;
	bool due = m->last && now - m->last >= period;

	if (!m->last)
		m->last = now;
	if ((due || (over && m->interval)) && now > m->last) {
		top_update(&m->top, t, (double)(now - m->last) / (double)SECOND);
		m->last = due && !over ? m->last + period * ((now - m->last) / period) : now;
		if (m->interval && (due || top_has_news(&m->top)))
			watch_text(m, out);
	}
	if (!m->interval)
		watch_screen(m, t, due && !m->top.paused, over);
}

static void drop_text(void *arg, const char *text, size_t len)
{
	(void)arg;
	(void)text;
	(void)len;
}

static int run_text(struct top_command *m, const struct command *c, const struct script_text *t)
{
	bool is_script = has_script(m);
	char *key = NULL;
	int code;

	if (!run_take_text(&m->run, c, t))
		return EXIT_OK;
	m->run.watch = watch;
	m->run.watch_arg = m;
	m->run.quiet |= !m->interval;
	run_look(&m->run, &m->look);
	m->look.color &= m->interval != 0;
	m->look.is_screen = !m->interval;
	m->run.watch_period = m->interval;
	m->run.take = is_script ? drop_text : NULL;
	m->json = m->run.options.format == NOPAL_JSON;
	m->run.options.format = NOPAL_TEXT;
	m->run.quiet |= m->json;
	m->top.has_times = m->top.has_histograms = m->wants_times;
	m->top.only = is_script ? NULL : m->wants_times ? "@lat" : "@";
	m->top.subject = m->wants_times ? m->latency.pair.start : NULL;
	if (m->wants_times && m->key)
		key = latency_title(m->key);
	m->top.title = is_script	? "MAP"
		       : key		? key
		       : m->wants_times ? "PAIR"
		       : m->key		? "PROBE,KEY"
					: "PROBE";
	code = run_script(t->text, &m->run);
	free(key);
	return code;
}

static int run_top(const struct command *c, char **argv)
{
	struct top_command *m = calloc(1, sizeof(*m));
	struct script_text text = {.text = NULL};
	int code, words = m ? options_parse(c, argv, m, &code) : -1;

	if (!m)
		return EXIT_FAILED;
	if (words >= 0) {
		m->words = argv + 1;
		m->count = words;
		take_process(m);
		code = run_check_options(&m->run, c);
		if (!code && !m->interval && !m->run.show_script && (!isatty(0) || !isatty(1)))
			code = usage_error(
				c, "the screen needs a terminal; -i SECONDS prints text instead");
		if (!code && m->run.options.format == NOPAL_JSON && !m->interval)
			code = usage_error(c, "-f json needs -i TIME");
		if (!code && has_script(m))
			code = read_script(&text, c, m);
		else if (!code)
			code = m->wants_times ? write_times(&text, c, m)
					      : write_counts(&text, c, m);
		if (!code && !m->interval && !m->run.show_script && !screen_load())
			code = EXIT_FAILED;
		if (!code)
			code = run_text(m, c, &text);
	}
	script_text_free(&text);
	pair_free(&m->latency.pair);
	top_free(&m->top);
	free(m);
	return code;
}

/* clang-format off */
#define AT(member) offsetof(struct top_command, member)
static const struct option top_options[] = {
	{"-k", "--by",           "KEY",  take_text,     AT(key),         "show a row for each KEY, such as comm or args.query"},
	{NULL, "--latency",      NULL,   take_flag,     AT(wants_times), "show how long operations take: the probes are START DONE or a PAIR, as for nopal latency"},
	{"-e", NULL,             "SCRIPT", take_text,   AT(script),      "watch the maps of SCRIPT"},
	{"-i", NULL,             "TIME", take_duration, AT(interval),    "print the rows as text every TIME, for logs"},
	SCOPE_OPTIONS(struct top_command, scope),
	{"-d", "--duration",     "TIME", take_duration, AT(run.duration_ns), "stop after TIME: seconds, or as in 0.5, 100ms, 1m"},
	RUN_SCRIPT,
	{"-h", "--help",         NULL,   take_help,     0,               "print this help"},
	{0},
};
/* clang-format on */

const struct command command_top = {
	.name = "top",
	.self = "nopal top",
	.summary = "watch which probes are hit most, or latencies",
	.usage = "[OPTION]... [PROBE]...\n"
		 "[OPTION]... --latency START DONE\n"
		 "[OPTION]... --latency PAIR\n"
		 "[OPTION]... -e SCRIPT | FILE.bt\n"
		 "[OPTION]... PID",
	.about =
		"Show on the terminal which probes are hit most, how long operations take, or the\n"
		"maps of a script, each second. Keys: q quit, space pause, s sort by the next\n"
		"column, / filter. Without a PROBE, all USDT probes: of the process of -p, or of\n"
		"every process.\n",
	.more = "Examples:\n"
		"  nopal top -p 4711\n"
		"  nopal top -k comm 'python:*'\n"
		"  nopal top --latency --by args.query -p 4711 postgresql:query\n"
		"  nopal top -e 'usdt:./server:shop:* { @[args] = count() }'\n"
		"  nopal top -i 10 -f json /usr/bin/php8.2\n",
	.options = top_options,
	.shared = run_options,
	.run = run_top,
};
