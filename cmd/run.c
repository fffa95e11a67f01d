/* One traced run on the command line: where text goes, which signals end it, what is printed on
 * standard error. */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "memory.h"
#include "signals.h"
#include "sink.h"

/* -p 1 -p 2, -p 1,2 */
static const char *take_pids(void *at, const struct option *o, const char *value)
{
	struct run *run = at;
	const char *needed = NULL;
	char *list = strdup(value), *rest = list, *one;

	while (list && !needed && (one = strsep(&rest, ",")))
		needed = run->pid_count == RUN_MAX_PIDS
				 ? "fewer processes"
				 : take_pid(&run->pids[run->pid_count++], o, one);
	free(list);
	run->options.pid = run->pid_count == 1 ? run->pids[0] : 0;
	run->options.pid_count = run->pid_count == 1 ? 0 : run->pid_count;
	return needed;
}

const char *take_csv(void *at, const struct option *o, const char *value)
{
	(void)o;
	(void)value;
	*(enum nopal_format *)at = NOPAL_CSV;
	return NULL;
}

/* "--user": the name of the engine is the option's own. */
static const char *take_engine(void *at, const struct option *o, const char *value)
{
	(void)value;
	*(const char **)at = o->word + 2;
	return NULL;
}

/* clang-format off */
#define AT(member) offsetof(struct run, member)
const struct option run_options[] = {
	{"-p", "--pid",         "PID",       take_pids,   0,                   "trace only this process; several -p: only these"},
	{NULL, "--follow",      NULL,        take_flag,   AT(options.follow),  "with -p: also trace the children that it creates from now on; every process that runs the same file then gets the breakpoints (see nopal(1))"},
	{"-c", "--cmd",         "COMMAND",   take_text,   AT(options.command), "start COMMAND once everything is attached, trace it and its children, and stop when it ends"},
	{NULL, "--exit-status", NULL,        take_flag,   AT(exit_status),     "with -c: exit with the status of COMMAND"},
	{"-f", "--format",      "text|json|folded|csv", take_choice, AT(options.format), "set the output format; folded: stacks as lines for flame graphs, csv: rows with commas"},
	{"-o", "--output",      "FILE",      take_text,   AT(output),          "write to FILE instead of standard output"},
	{NULL, "--ring-size",   "SIZE",      take_size,   AT(options.ring_bytes), "set the size of the event buffer, such as 64K (default 4M)"},
	{NULL, "--raw",         NULL,        take_flag,   AT(options.raw),     "do not escape traced text, unless the output is a terminal"},
	{NULL, "--user",        NULL,        take_engine, AT(options.engine),  "with -p or -c: trace in user mode, in the process itself, without the kernel; as root, the kernel traces what user mode cannot"},
	{NULL, "--experimental", NULL,       take_flag,   AT(options.experimental), "allow user mode where it is experimental: on aarch64"},
	{NULL, "--kernel",      NULL,        take_engine, AT(options.engine),  "let the kernel trace: the default, unless this user may not and -p or -c is given"},
	{NULL, "--engine",      "NAME",      take_text,   AT(options.engine),  "let the engine NAME run the script: bpf, native or interp, or several in order of preference"},
	{NULL, "--events",      "FILE",      take_text,   AT(options.events),  "play the recorded events in FILE instead of tracing (see nopal(1))"},
	{NULL, "--color",       "auto|always|never", take_choice, AT(color), "colours in tables and histograms (default: on a terminal, unless NO_COLOR is set)"}, /* ORDER: enum nopal_color */
	{NULL, "--lines",       NULL,        take_flag,   AT(options.lines),   "show source lines and inlined functions in stacks, where there is debug information"},
	{"-q", NULL,            NULL,        take_flag,   AT(quiet),           "print nothing but the results"},
	{0},
};
/* clang-format on */

int run_check_options(const struct run *run, const struct command *c)
{
	if (run->pid_count && run->options.command)
		return usage_error(c, "-p and -c cannot be combined");
	if (run->options.follow && run->pid_count > 1)
		return usage_error(c, "--follow needs one -p, not several");
	if (run->options.follow && !run->options.pid && !run->options.command)
		return usage_error(c, "--follow needs -p: without it every process is traced");
	if (run->exit_status && !run->options.command)
		return usage_error(c, "--exit-status needs -c: it is the status of that command");
	return 0;
}

void run_look(const struct run *run, struct nopal_look *out)
{
	nopal_look_find(run->output ? -1 : STDOUT_FILENO, run->color, out);
}

/* Where the texts of a run go. */
struct outputs {
	struct sink text, notices;
	const struct run *run;
};

static void give_text(void *arg, const char *text, size_t len)
{
	struct outputs *o = arg;

	if (o->run->take)
		o->run->take(o->run->watch_arg, text, len);
	else
		sink_take(&o->text, text, len);
}

static void give_notice(void *arg, const char *text, size_t len)
{
	sink_take(&((struct outputs *)arg)->notices, text, len);
}

static void outputs_init(struct outputs *o, const struct run *run)
{
	o->run = run;
	sink_init(&o->text, run->output, run->buffering == BUFFER_FULL);
	sink_init(&o->notices, NULL, false);
	o->notices.fd = STDERR_FILENO;
}

static int outputs_close(struct outputs *o)
{
	sink_close(&o->notices);
	return sink_close(&o->text) ? EXIT_OK : EXIT_FAILED;
}

/* The probes that the user wrote. */
static unsigned count_probes(const struct run *run, const struct nopal_trace *t)
{
	unsigned count = nopal_trace_probe_count(t);

	return count > run->own_probes ? count - run->own_probes : count;
}

static void say_attaching(const struct run *run, unsigned count)
{
	if (!run->quiet && !run->no_progress && run->options.format != NOPAL_JSON)
		fprintf(stderr, "Attaching %u probe%s...\n", count, count == 1 ? "" : "s");
}

/* Test harnesses wait for this, and so do people. */
static void say_attached(const struct run *run, unsigned count)
{
	const char *notify = getenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED");

	if (!run->quiet && !run->no_progress && run->options.format != NOPAL_JSON)
		fprintf(stderr, "Attached %u probe%s\n", count, count == 1 ? "" : "s");
	if (notify && !strcmp(notify, "1"))
		fprintf(stderr, "__BPFTRACE_NOTIFY_PROBES_ATTACHED\n");
}

bool run_take_text(struct run *run, const struct command *c, const struct script_text *t)
{
	if (run->show_script || run->script_first)
		fputs(t->text, stdout);
	run->options.name = c->name;
	run->options.origins = t->origins;
	run->options.origin_count = t->origin_count;
	return !run->show_script;
}

uint64_t run_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Milliseconds to wait for events, at most 200; 0: the time is up. */
static int wait_ms(const struct run *run, uint64_t begun, uint64_t end)
{
	uint64_t now = run_clock(), left = end > now ? end - now : 0;
	uint64_t period = run->watch_period;
	uint64_t rest = period ? period - (now - begun) % period : UINT64_MAX;

	left = rest < left ? rest : left;
	return left >= 200000000 ? 200 : (int)((left + 999999) / 1000000);
}

static int watch(struct nopal_trace *t, const struct run *run, struct outputs *outputs, bool over)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out;

	if (!run->watch)
		return 0;
	out = open_memstream(&text, &len);
	if (out)
		run->watch(run->watch_arg, t, out, over);
	if (!out || fclose(out)) {
		free(text);
		return -ENOMEM;
	}
	if (len)
		sink_take(&outputs->text, text, len);
	free(text);
	return 0;
}

/* What is found while the run goes on is reported at once, but not on a screen. */
static void say_warnings(const struct run *run, struct outputs *outputs, struct nopal_diag *d)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out;

	if (run->watch || nopal_diag_errors(d) || !nopal_diag_warnings(d))
		return;
	out = run->no_warnings ? NULL : open_memstream(&text, &len);
	if (out) {
		put_messages(out, d);
		if (!fclose(out))
			sink_take(&outputs->notices, text, len);
	}
	free(text);
	nopal_diag_clear(d);
}

/* Until the run is over: 0, or -errno. */
static int poll_events(struct nopal_trace *t, const struct run *run, struct outputs *outputs,
		       struct nopal_diag *d)
{
	uint64_t begun = run_clock();
	uint64_t end = run->duration_ns ? begun + run->duration_ns : UINT64_MAX;
	int more = 1, ms;

	while (more > 0 && (ms = wait_ms(run, begun, end))) {
		more = nopal_trace_poll(t, ms, d);
		if (signals_want_maps() && more > 0 && nopal_trace_signal(t, d))
			more = -EIO;
		say_warnings(run, outputs, d);
		if (more > 0 && watch(t, run, outputs, false))
			more = -ENOMEM;
	}
	return more < 0 ? more : 0;
}

static int trace_until_over(struct nopal_trace *t, const struct run *run, struct outputs *outputs,
			    struct nopal_diag *d)
{
	int failed, err;

	say_attaching(run, count_probes(run, t));
	err = nopal_trace_attach(t, d);
	if (err)
		return err;
	if (nopal_diag_warnings(d) && !run->no_warnings)
		show_messages(d);
	nopal_diag_clear(d);
	say_attached(run, count_probes(run, t));
	if (run->header && !run->quiet && run->options.format == NOPAL_TEXT)
		give_text(outputs, run->header, strlen(run->header));
	failed = watch(t, run, outputs, false) ?: poll_events(t, run, outputs, d);
	/* The library detaches before it gives us any text: waiting for a reader now costs nothing.
	 */
	outputs->text.detached = outputs->notices.detached = true;
	err = nopal_trace_finish(t, d);
	if (!err)
		err = watch(t, run, outputs, true);
	return failed ? failed : err;
}

static struct nopal_trace_options trace_options(const struct run *run, struct outputs *outputs)
{
	struct nopal_trace_options options = run->options;

	options.size = sizeof(options);
	options.pids = run->pids;
	options.output = give_text;
	options.output_arg = outputs;
	options.notice = give_notice;
	options.terminal = run->take || sink_is_terminal(&outputs->text);
	options.detach_later = true;
	options.raw &= !options.terminal;
	options.quiet = run->quiet;
	options.no_warnings = run->no_warnings;
	return options;
}

static int trace(const char *script, const struct run *run, struct outputs *outputs,
		 struct nopal_diag *d)
{
	struct nopal_trace_options options = trace_options(run, outputs);
	struct nopal_trace *t;
	int code, err;

	err = nopal_trace_open(script, &options, &t, d);
	if (err == -ECANCELED) /* the options of the script were asked for, and given */
		return EXIT_OK;
	if (err)
		return show_messages(d);
	/* A script that was compiled while memory was short may be incomplete. */
	if (memory_failed()) {
		nopal_trace_close(t);
		return EXIT_FAILED;
	}
	if (nopal_diag_warnings(d) && !run->no_warnings)
		show_messages(d);
	nopal_diag_clear(d);
	outputs->text.trace = t;
	signals_end(t);
	if (!run->dry_run)
		err = sink_open(&outputs->text) ? trace_until_over(t, run, outputs, d) : -EIO;
	signals_end(NULL);
	outputs->text.trace = NULL;
	code = err ? EXIT_FAILED : nopal_trace_exit_code(t);
	if (!code && run->exit_status && nopal_trace_command_code(t) > 0)
		code = nopal_trace_command_code(t);
	if (nopal_diag_errors(d) || (nopal_diag_warnings(d) && !run->no_warnings))
		show_messages(d);
	nopal_trace_close(t);
	return code;
}

static int dump(const char *script, const struct run *run, struct outputs *outputs,
		struct nopal_diag *d)
{
	struct nopal_trace_options options = trace_options(run, outputs);

	int err = nopal_trace_dump(script, &options, run->dump_kind, d);

	return err && err != -ECANCELED ? show_messages(d) : EXIT_OK;
}

int run_script(const char *script, const struct run *run)
{
	struct nopal_diag *d = nopal_diag_new();
	struct outputs outputs;
	int code, written;

	if (!d)
		return EXIT_FAILED;
	outputs_init(&outputs, run);
	signals_catch();
	code = run->dump ? dump(script, run, &outputs, d) : trace(script, run, &outputs, d);
	written = outputs_close(&outputs);
	nopal_diag_free(d);
	return code ? code : written;
}
