/* The forms of bcc's output. */
#include "bcc/show.h"

#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "bcc/word.h"
#include "command.h"
#include "options.h"

/* ---- histograms */

/* bcc's bucket i: 0 and 1, then [2^(i-1), 2^i). */
static uint64_t bucket_count(const struct nopal_histogram *h, unsigned i, uint64_t below)
{
	uint64_t low = i > 1 ? UINT64_C(1) << (i - 1) : 0;

	if (i == 64)
		return nopal_histogram_count(h) - below;
	return nopal_histogram_between(h, low, UINT64_C(1) << i);
}

static void put_stars(uint64_t count, uint64_t most, unsigned width, FILE *out)
{
	uint64_t stars = most ? (uint64_t)((double)width * (double)count / (double)most) : 0;

	for (unsigned i = 0; i < width; i++)
		fputc(i < stars ? '*' : ' ', out);
}

void bcc_show_histogram(const struct nopal_histogram *h, const char *title, FILE *out)
{
	uint64_t counts[65] = {0}, below = 0, most = 0;
	unsigned last = 0;
	bool wide;

	for (unsigned i = 1; h && i < 65; i++) {
		counts[i] = bucket_count(h, i, below);
		below += counts[i];
		last = counts[i] ? i : last;
		most = counts[i] > most ? counts[i] : most;
	}
	wide = last > 32;
	if (last)
		fprintf(out,
			wide ? "               %-29s : count     distribution\n"
			     : "     %-19s : count     distribution\n",
			title);
	for (unsigned i = 1; i <= last; i++) {
		fprintf(out,
			wide ? "%20" PRIu64 " -> %-20" PRIu64 " : %-8" PRIu64 " |"
			     : "%10" PRIu64 " -> %-10" PRIu64 " : %-8" PRIu64 " |",
			i > 1 ? UINT64_C(1) << (i - 1) : 0,
			i > 63 ? UINT64_MAX : (UINT64_C(1) << i) - 1, counts[i]);
		put_stars(counts[i], most, wide ? 20 : 40, out);
		fputs("|\n", out);
	}
}

/* ---- rows */

static int compare_rows(const void *a, const void *b)
{
	const struct tally_row *x = *(struct tally_row *const *)a;
	const struct tally_row *y = *(struct tally_row *const *)b;

	return x->count != y->count ? (x->count < y->count ? -1 : 1) : strcmp(x->key, y->key);
}

const struct tally_row **bcc_sorted(const struct tally *tally, size_t *count)
{
	const struct tally_row **list = calloc(tally->count + 1, sizeof(*list));

	*count = 0;
	for (size_t i = 0; list && i < tally->count; i++)
		if (tally->rows[i].count)
			list[(*count)++] = &tally->rows[i];
	if (list)
		qsort(list, *count, sizeof(*list), compare_rows);
	return list;
}

/* ---- the lines around results */

void bcc_show_tracing(const struct bcc_run *r, unsigned functions, FILE *out)
{
	fprintf(out, "Tracing %u functions for \"", functions);
	for (int i = 0; i < r->word_count; i++)
		fprintf(out, "%s%s", i ? " " : "", r->words[i]);
	fputs("\"... Hit Ctrl-C to end.\n", out);
}

void bcc_show_clock(FILE *out)
{
	char text[TIME_TEXT];

	fprintf(out, "[%s]\n", time_text("%H:%M:%S", text));
}

void bcc_show_time(const struct bcc_run *r, FILE *out)
{
	char text[TIME_TEXT];

	fputc('\n', out);
	if (r->clock)
		fprintf(out, "%s\n", time_text("%H:%M:%S", text));
}

/* ---- the run */

static void watch(void *arg, struct nopal_trace *t, FILE *out, bool over)
{
	struct bcc_run *r = arg;
	uint64_t now = run_clock();
	bool all = r->times && r->shown >= r->times;

	if (!r->begun) {
		r->begun = true;
		r->next = now + r->interval;
		if (r->begin && !r->run.quiet)
			r->begin(r, t, out);
		return;
	}
	if (!all && (over || (r->interval && now >= r->next))) {
		r->rest = over && r->shown;
		r->print(r, t, out);
		r->shown++;
		r->next += r->interval;
		if (r->times && r->shown >= r->times)
			nopal_trace_stop(t);
	}
	if (over && !r->run.quiet)
		fputs(r->end, out);
}

int bcc_run(struct bcc_run *r, const struct command *c, const struct script_text *t)
{
	if (!run_take_text(&r->run, c, t))
		return EXIT_OK;
	r->run.watch = watch;
	r->run.watch_arg = r;
	r->run.watch_period = r->interval;
	r->run.no_progress = true;
	return run_script(t->text, &r->run);
}

/* ---- probes */

struct matches {
	struct script_text *t;
	regex_t expression;
	unsigned count;
	bool is_usdt;
};

/* The part of a listed probe that is its name: "malloc" of "uprobe:/lib/libc.so.6:malloc". */
static const char *name_of(const char *probe, bool is_tracepoint)
{
	const char *at = strchr(probe, ':'), *last = strrchr(probe, ':');

	return is_tracepoint && at ? at + 1 : last ? last + 1 : probe;
}

static int take_match(void *arg, const char *probe)
{
	struct matches *m = arg;
	bool is_tracepoint = !strncmp(probe, "tracepoint:", 11);

	if (!regexec(&m->expression, name_of(probe, is_tracepoint), 0, NULL, 0))
		script_put(m->t, "%s%s", m->count++ ? ",\n" : "", probe);
	return 0;
}

/* As Python's re.match(): it begins where the name begins. */
static int write_matches(struct script_text *t, const struct command *c, const struct bcc_run *r,
			 const char *pattern, const char *expression)
{
	struct matches m = {.t = t};
	struct nopal_diag *d = nopal_diag_new();
	struct nopal_trace_options options = r->run.options;
	char *anchored = NULL, message[200];
	int err, code = 0;

	options.size = sizeof(options);
	options.command = NULL;
	err = asprintf(&anchored, "^(%s)", expression) < 0
		      ? REG_ESPACE
		      : regcomp(&m.expression, anchored, REG_EXTENDED | REG_NOSUB);
	if (err) {
		regerror(err, &m.expression, message, sizeof(message));
		code = usage_error(c, "'%s' is not a regular expression: %s", expression, message);
	} else {
		if (nopal_trace_list(pattern, &options, take_match, &m, d) < 0)
			code = show_messages(d);
		else if (!m.count)
			code = usage_error(c, "no probe of '%s' matches '%s'", pattern, expression);
		regfree(&m.expression);
	}
	nopal_diag_free(d);
	free(anchored);
	return code;
}

/* "c:(read|write)$": the regular expression is after the last colon that is before a bracket. */
static int write_regex(struct script_text *t, const struct command *c, const struct bcc_run *r,
		       const char *word, char *type)
{
	const struct bcc_reading how = {.is_function = true};
	size_t head = strcspn(word, "(["), skip = word[0] && word[1] == ':';
	const char *colon = memrchr(word, ':', head);
	struct bcc_spec s = {.probe = NULL};
	char *every = NULL;
	int code;

	if (skip && word[0] == 't')
		colon = word + 1;
	if (asprintf(&every, colon == word + 1 && *word == 't' ? "t:*:*" : "%.*s:*",
		     colon ? (int)(colon - word) : 1, colon ? word : ":") < 0)
		return EXIT_FAILED;
	code = bcc_read(c, every, &how, &s);
	*type = s.type;
	if (!code)
		code = write_matches(t, c, r, s.probe, colon ? colon + 1 : word);
	bcc_free(&s);
	free(every);
	return code;
}

int bcc_write_probes(struct script_text *t, const struct command *c, const struct bcc_run *r,
		     const char *word, char *type)
{
	const struct bcc_reading how = {.is_function = true};
	struct bcc_spec s = {.probe = NULL};
	int code;

	if (r->regex)
		return write_regex(t, c, r, word, type);
	code = bcc_read(c, word, &how, &s);
	*type = s.type;
	if (!code && s.format)
		code = usage_error(c, "'%s' has a format: nopal trace takes one", word);
	if (!code)
		script_put(t, "%s", s.probe);
	bcc_free(&s);
	return code;
}

/* ---- options */

const char *take_cpu_or_command(void *at, const struct option *o, const char *value)
{
	struct bcc_run *r = at;

	(void)o;
	if (strspn(value, "0123456789") == strlen(value) && *value)
		r->scope.cpu = value;
	else
		r->run.options.command = value;
	return NULL;
}

int bcc_check(struct bcc_run *r, const struct command *c)
{
	int code = run_check_options(&r->run, c);

	if (!code && r->run.options.format != NOPAL_TEXT)
		return usage_error(c, "output for programs is that of nopal count, stack, hist and "
				      "latency: use -f there");
	if (!r->interval || !r->run.duration_ns)
		return code;
	/* A number of times instead of a time, so that the last one is a whole interval. */
	r->times = (long)((r->run.duration_ns + r->interval - 1) / r->interval);
	r->run.duration_ns = 0;
	return code;
}

bool bcc_parse(struct bcc_run *r, const struct command *c, char **argv, int *code)
{
	r->word_count = options_parse(c, argv, r, code);
	r->words = argv + 1;
	return r->word_count >= 0;
}

int bcc_run_words(struct bcc_run *r, const struct command *c, const char *example)
{
	struct script_text text;
	int code = bcc_check(r, c);

	if (!code && !r->word_count)
		code = usage_error(c, "no function given, such as %s", example);
	script_text_begin(&text);
	script_put(&text, "config = { print_maps_on_exit = false }\n");
	for (int i = 0; i < r->word_count && !code; i++)
		code = r->write(r, c, r->words[i], &text);
	if (!script_text_end(&text))
		code = EXIT_FAILED;
	else if (!code)
		code = bcc_run(r, c, &text);
	script_text_free(&text);
	return code;
}
