/* nopal --test and --bench: the test or bench probes of a script, each in a run of its own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

/* The probes of a script, and what is run of it. */
struct trials {
	const char *script;
	const struct run *run;
	char **names; /* "test:NAME" */
	size_t count;
	FILE *text; /* what a run prints: standard output, or for JSON a text */
};

/* How a run went. */
struct outcome {
	int code; /* 0: passed */
	uint64_t runs, ns;
};

static int add_name(void *arg, const char *probe, unsigned sites)
{
	struct trials *t = arg;
	char **names = realloc(t->names, (t->count + 1) * sizeof(*names)), *name = strdup(probe);

	(void)sites;
	if (names)
		t->names = names;
	if (!names || !name) {
		free(name);
		return -ENOMEM;
	}
	t->names[t->count++] = name;
	return 0;
}

static void give_text(void *arg, const char *text, size_t len)
{
	write_text(((struct trials *)arg)->text, text, len);
}

static void give_notice(void *arg, const char *text, size_t len)
{
	(void)arg;
	write_text(stderr, text, len);
}

/* One run, to its end. */
static int run_one(struct trials *t, const char *name, struct outcome *out, struct nopal_diag *d)
{
	struct nopal_trace_options options = t->run->options;
	struct nopal_trace *trace;
	int err;

	options.size = sizeof(options);
	options.trial = name;
	options.output = give_text;
	options.notice = give_notice;
	options.output_arg = t;
	options.format = NOPAL_TEXT;
	err = nopal_trace_open(t->script, &options, &trace, d);
	if (err)
		return err;
	err = nopal_trace_attach(trace, d);
	while (!err && nopal_trace_poll(trace, -1, d) > 0)
		;
	if (!err)
		err = nopal_trace_finish(trace, d);
	nopal_trace_trial(trace, &out->runs, &out->ns);
	out->code = nopal_trace_exit_code(trace);
	nopal_trace_close(trace);
	return err;
}

static double microseconds(const struct outcome *o)
{
	return o->runs ? (double)o->ns / (double)o->runs / 1e3 : 0;
}

static void show_text(const char *name, const struct outcome *o)
{
	if (o->code)
		printf("%s failed\n", name);
	else if (!strncmp(name, "test:", 5))
		printf("%s passed in %.1f us\n", name, microseconds(o));
	else
		printf("%s %.1f us, the average of %llu runs\n", name, microseconds(o),
		       (unsigned long long)o->runs);
}

static void show_json(const char *name, const struct outcome *o, const char *text)
{
	bool is_test = !strncmp(name, "test:", 5);

	printf("{\"type\": \"%s\", \"data\": {", is_test ? "test_result" : "benchmark_result");
	put_json_text(stdout, strchr(name, ':') + 1);
	if (is_test) {
		printf(": {\"duration\": %llu, \"passed\": %s, \"output\": ",
		       (unsigned long long)o->ns, o->code ? "false" : "true");
		put_json_text(stdout, text ? text : "");
		puts("}}}");
	} else {
		printf(": {\"average\": %llu, \"iters\": %llu}}}\n",
		       (unsigned long long)(o->runs ? o->ns / o->runs : 0),
		       (unsigned long long)o->runs);
	}
}

/* True: it passed. */
static bool run_named(struct trials *t, const char *name)
{
	bool is_json = t->run->options.format == NOPAL_JSON;
	struct nopal_diag *d = nopal_diag_new();
	struct outcome o = {.code = EXIT_FAILED};
	char *text = NULL;
	size_t len = 0;

	t->text = is_json ? open_memstream(&text, &len) : stdout;
	if (d && t->text && run_one(t, name, &o, d))
		o.code = EXIT_FAILED;
	if (d)
		show_messages(d);
	nopal_diag_free(d);
	if (is_json && t->text)
		fclose(t->text);
	if (is_json)
		show_json(name, &o, text);
	else
		show_text(name, &o);
	fflush(stdout);
	free(text);
	return !o.code;
}

int run_trials(const char *script, const struct run *run, bool bench)
{
	struct nopal_trace_options options = run->options;
	struct trials t = {.script = script, .run = run};
	struct nopal_diag *d = nopal_diag_new();
	bool passed;
	int err = -ENOMEM;

	options.size = sizeof(options);
	options.trial = bench ? "bench:" : "test:";
	if (d)
		err = nopal_trace_check(script, &options, add_name, &t, d);
	if (d)
		show_messages(d);
	nopal_diag_free(d);
	passed = !err;
	for (size_t i = 0; i < t.count; i++) {
		if (!err)
			passed &= run_named(&t, t.names[i]);
		free(t.names[i]);
	}
	free(t.names);
	return passed && !ferror(stdout) ? EXIT_OK : EXIT_FAILED;
}
