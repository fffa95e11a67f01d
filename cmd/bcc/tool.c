/* The runs of bcc's tools that count: what is printed when, and the probes of words. */
#include "bcc/tool.h"

#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "bcc/word.h"
#include "command.h"
#include "options.h"

/* ---- results */

/* Its buckets are 0 and 1, then [2^(i-1), 2^i). */
void bcc_show_histogram(const struct nopal_histogram *h, const char *title, FILE *out)
{
	static const char stars[] = "****************************************";
	uint64_t counts[65] = {0}, left = h ? nopal_histogram_count(h) : 0, most = 1;
	int last = 0, width, stars_most;

	for (int i = 1; left; last = i++) {
		uint64_t low = i > 1 ? UINT64_C(1) << (i - 1) : 0;

		counts[i] = i < 64 ? nopal_histogram_between(h, low, UINT64_C(1) << i) : left;
		left -= counts[i];
		most = counts[i] > most ? counts[i] : most;
	}
	width = last > 32 ? 20 : 10;
	stars_most = last > 32 ? 20 : 40;
	if (last)
		fprintf(out, "%*s%-*s : count     distribution\n", last > 32 ? 15 : 5, "",
			last > 32 ? 29 : 19, title);
	for (int i = 1; i <= last; i++)
		fprintf(out, "%*" PRIu64 " -> %-*" PRIu64 " : %-8" PRIu64 " |%-*.*s|\n", width,
			i > 1 ? UINT64_C(1) << (i - 1) : 0, width, UINT64_MAX >> (64 - i),
			counts[i], stars_most,
			(int)((double)stars_most * (double)counts[i] / (double)most), stars);
}

static int compare_rows(const void *a, const void *b)
{
	const struct tally_row *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count ? -1 : 1) : strcmp(x->key, y->key);
}

void bcc_sort(struct tally *tally)
{
	if (tally->count)
		qsort(tally->rows, tally->count, sizeof(*tally->rows), compare_rows);
}

static void print_rows(struct bcc_run *r, struct nopal_trace *t, FILE *out)
{
	char text[TIME_TEXT];

	tally_update(&r->tally, t, r->tool->map ? r->tool->map : "@");
	if (r->rest && !tally_has_news(&r->tally))
		return;
	bcc_sort(&r->tally);
	if (!r->folded)
		fprintf(out, r->clock ? "\n%s\n" : "\n", time_text("%H:%M:%S", false, text));
	fputs(r->tool->heading ? r->tool->heading : "", out);
	for (size_t i = 0; i < r->tally.count; i++)
		if (r->tally.rows[i].count)
			r->tool->print_row(r, &r->tally.rows[i], out);
	if (r->tool->print_end)
		r->tool->print_end(r, t, out);
}

/* "Tracing 3 functions for \"c:mem*\"... Hit Ctrl-C to end." */
static void print_begin(const struct bcc_run *r, struct nopal_trace *t, FILE *out)
{
	fprintf(out, "Tracing %u functions for \"",
		nopal_trace_probe_count(t) / (r->tool->has_returns ? 2 : 1));
	for (int i = 0; i < r->word_count; i++)
		fprintf(out, "%s%s", i ? " " : "", r->words[i]);
	fputs("\"... Hit Ctrl-C to end.\n", out);
}

/* ---- the run */

static void watch(void *arg, struct nopal_trace *t, FILE *out, bool over)
{
	struct bcc_run *r = arg;
	uint64_t now = run_clock();
	bool all = r->times && r->shown >= r->times;
	bool is_quiet = r->tool->print || r->folded || r->run.quiet;

	if (!r->begun) {
		r->begun = true;
		r->next = now + r->interval;
		if (!is_quiet)
			print_begin(r, t, out);
		return;
	}
	if (!all && (over || (r->interval && now >= r->next))) {
		r->rest = over && r->shown;
		(r->tool->print ? r->tool->print : print_rows)(r, t, out);
		r->shown++;
		r->next += r->interval;
		if (r->times && r->shown >= r->times)
			nopal_trace_stop(t);
	}
	if (over && !is_quiet)
		fputs("Detaching...\n", out);
}

static int check(struct bcc_run *r, const struct command *c)
{
	int code;

	/* -c has a CPU, or the command that it has in other commands. */
	if (r->cpu && r->cpu[strspn(r->cpu, "0123456789")])
		r->run.options.command = r->cpu;
	else
		r->scope.cpu = r->cpu;
	code = run_check_options(&r->run, c);
	if (!code && r->run.options.format != NOPAL_TEXT)
		return usage_error(c, "output for programs is that of nopal count, stack, hist and "
				      "latency: use -f there");
	/* A number of times instead of a time, so that the last one is a whole interval. */
	if (r->interval && r->run.duration_ns) {
		r->times = (long)((r->run.duration_ns + r->interval - 1) / r->interval);
		r->run.duration_ns = 0;
	}
	if (!code && r->tool->check)
		code = r->tool->check(r, c);
	if (!code && !r->word_count)
		code = usage_error(c, "no function given, such as c:malloc");
	return code;
}

static int run(struct bcc_run *r, const struct command *c)
{
	struct script_text text;
	int code = check(r, c);

	script_text_begin(&text);
	script_put(&text, "%sconfig = { print_maps_on_exit = false }\n",
		   r->headers ? r->headers : "");
	for (int i = 0; i < r->word_count && !code; i++)
		code = r->tool->write(r, c, i, &text);
	r->run.watch = watch;
	r->run.watch_arg = r;
	r->run.watch_period = r->interval;
	r->run.no_progress = true;
	r->run.options.frames = NOPAL_FRAMES_BCC_ADDRESS;
	if (!script_text_end(&text))
		code = EXIT_FAILED;
	else if (!code && run_take_text(&r->run, c, &text))
		code = run_script(text.text, &r->run);
	script_text_free(&text);
	return code;
}

int bcc_run(struct bcc_run *r, const struct command *c, char **argv)
{
	int code;

	r->tool = c->detail;
	r->words = argv + 1;
	r->word_count = options_parse(c, argv, r, &code);
	if (r->word_count >= 0)
		code = run(r, c);
	tally_free(&r->tally);
	tally_free(&r->totals);
	free(r->headers);
	return code;
}

int bcc_run_command(const struct command *c, char **argv)
{
	return bcc_run(&(struct bcc_run){.interval = 0}, c, argv);
}

/* ---- probes */

const char *bcc_probe_name(const char *probe)
{
	bool is_tracepoint = !strncmp(probe, "tracepoint:", 11);
	const char *colon = is_tracepoint ? strchr(probe, ':') : strrchr(probe, ':');

	return colon ? colon + 1 : probe;
}

/* A probe, or for that of a function that of its return: "uretprobe:c:read". */
static void put_probe(struct script_text *t, const char *probe, bool of_return)
{
	script_put(t, of_return ? "%cret%s" : "%c%s", *probe, probe + 1);
}

struct matches {
	struct script_text *t;
	regex_t expression;
	bool of_return, any;
};

static int take_match(void *arg, const char *probe)
{
	struct matches *m = arg;

	if (regexec(&m->expression, bcc_probe_name(probe), 0, NULL, 0))
		return 0;
	script_put(m->t, m->any ? ",\n" : "");
	put_probe(m->t, probe, m->of_return);
	m->any = true;
	return 0;
}

/* As Python's re.match(): the expression begins where the name begins. */
static int write_matches(struct matches *m, const struct command *c, const struct bcc_run *r,
			 const char *pattern, const char *expression)
{
	struct nopal_trace_options options = r->run.options;
	struct nopal_diag *d = nopal_diag_new();
	char *anchored = NULL, message[200];
	int code = 0, err = asprintf(&anchored, "^(%s)", expression) < 0
				    ? REG_ESPACE
				    : regcomp(&m->expression, anchored, REG_EXTENDED | REG_NOSUB);

	options.size = sizeof(options);
	options.command = NULL;
	regerror(err, &m->expression, message, sizeof(message));
	if (err)
		code = usage_error(c, "'%s' is not a regular expression: %s", expression, message);
	else if (nopal_trace_list(pattern, &options, take_match, m, d) < 0)
		code = show_messages(d);
	else if (!m->any)
		code = usage_error(c, "no probe of '%s' matches '%s'", pattern, expression);
	if (!err)
		regfree(&m->expression);
	nopal_diag_free(d);
	free(anchored);
	return code;
}

/* In "c:(read|write)$" the regular expression is after the last colon that is before a bracket; all
 * probes of what is before it are looked at: "c:*". The caller frees *every. */
static const char *split_regex(const char *word, char **every)
{
	bool is_tracepoint = !strncmp(word, "t:", 2);
	const char *colon = is_tracepoint ? word + 1 : memrchr(word, ':', strcspn(word, "(["));

	if (asprintf(every, is_tracepoint ? "t:*:*" : "%.*s:*", colon ? (int)(colon - word) : 1,
		     colon ? word : ":") < 0)
		*every = NULL;
	return colon ? colon + 1 : word;
}

int bcc_write_probes(struct script_text *t, const struct command *c, const struct bcc_run *r,
		     const char *word, bool of_return, char *type)
{
	const struct bcc_reading how = {.is_function = true};
	struct matches m = {.t = t, .of_return = of_return};
	struct bcc_spec s = {.probe = NULL};
	char *every = NULL;
	const char *expression = r->regex ? split_regex(word, &every) : NULL;
	int code = r->regex && !every ? EXIT_FAILED : bcc_read(c, every ? every : word, &how, &s);

	*type = s.type;
	if (!code && s.format)
		code = usage_error(c, "'%s' has a format: nopal trace takes one", word);
	if (!code && s.filter && of_return)
		code = usage_error(c, "'%s' has a condition: nopal trace takes one", word);
	if (!code && every)
		code = write_matches(&m, c, r, s.probe, expression);
	else if (!code)
		put_probe(t, s.probe, of_return);
	script_put(t, "\n");
	if (!code)
		code = scope_write(t, c, &r->scope, s.filter);
	bcc_free(&s);
	free(every);
	return code;
}
