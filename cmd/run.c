/* One traced run on the command line: where text goes, which signals end it, what is said on
 * stderr. */
#include "run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "memory.h"
#include "signals.h"
#include "sink.h"

int run_take_pid(struct run *run, const char *command, const char *text)
{
	long pid;

	if (!parse_number(text, 1, &pid) || pid > INT_MAX)
		return usage_error(command, "-p takes a process id, not '%s'", text);
	run->options.pid = (pid_t)pid;
	return 0;
}

int run_take_format(struct run *run, const char *command, const char *text)
{
	bool json = !strcmp(text, "json");

	if (!json && strcmp(text, "text"))
		return usage_error(command, "-f takes text or json, not '%s'", text);
	run->options.format = json ? NOPAL_JSON : NOPAL_TEXT;
	return 0;
}

int run_take_dump(struct run *run, const char *command, const char *text)
{
	static const char *const names[] = {[NOPAL_DUMP_TREE] = "tree",
					    [NOPAL_DUMP_PROGRAM] = "program",
					    [NOPAL_DUMP_BPF] = "bpf"};

	run->dump = true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(text, names[i])) {
			run->dump_what = (enum nopal_dump)i;
			return 0;
		}
	return usage_error(command, "--dump takes tree, program or bpf, not '%s'", text);
}

int run_check_options(const struct run *run, const char *command)
{
	if (run->options.pid && run->options.command)
		return usage_error(command, "-p and -c exclude each other");
	if (run->options.follow && !run->options.pid && !run->options.command)
		return usage_error(command,
				   "--follow goes with -p: without it every process is traced");
	if (run->exit_status && !run->options.command)
		return usage_error(command,
				   "--exit-status goes with -c: it is that of the command");
	return 0;
}

/* Where the texts of a run go. */
struct outputs {
	struct sink text, notices;
};

static void give_text(void *arg, const char *text, size_t len)
{
	sink_take(&((struct outputs *)arg)->text, text, len);
}

static void give_notice(void *arg, const char *text, size_t len)
{
	sink_take(&((struct outputs *)arg)->notices, text, len);
}

static void outputs_init(struct outputs *o, const struct run *run)
{
	sink_init(&o->text, run->output, run->buffering == BUFFER_FULL);
	sink_init(&o->notices, NULL, false);
	o->notices.fd = STDERR_FILENO;
}

static int outputs_close(struct outputs *o)
{
	sink_close(&o->notices);
	return sink_close(&o->text) ? EXIT_OK : EXIT_FAILED;
}

static void say_attaching(const struct run *run, unsigned count)
{
	if (!run->quiet && run->options.format == NOPAL_TEXT)
		fprintf(stderr, "Attaching %u probe%s...\n", count, count == 1 ? "" : "s");
}

/* What harnesses and people wait for. */
static void say_attached(const struct run *run, unsigned count)
{
	const char *notify = getenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED");

	if (!run->quiet && run->options.format == NOPAL_TEXT)
		fprintf(stderr, "Attached %u probe%s\n", count, count == 1 ? "" : "s");
	if (notify && !strcmp(notify, "1"))
		fprintf(stderr, "__BPFTRACE_NOTIFY_PROBES_ATTACHED\n");
}

static int trace_until_over(struct nopal_trace *t, const struct run *run, struct outputs *outputs,
			    struct nopal_diag *d)
{
	unsigned count = nopal_trace_probe_count(t);
	int more, err;

	say_attaching(run, count);
	err = nopal_trace_attach(t, d);
	if (err)
		return err;
	if (nopal_diag_warnings(d) && !run->no_warnings)
		show_messages(d);
	nopal_diag_clear(d);
	say_attached(run, nopal_trace_probe_count(t));
	do {
		more = nopal_trace_poll(t, 200, d);
		if (signals_want_maps())
			nopal_trace_print_maps(t);
	} while (more > 0);
	/* It detaches before it gives any text. */
	outputs->text.detached = outputs->notices.detached = true;
	err = nopal_trace_finish(t, d);
	return more < 0 ? more : err;
}

static struct nopal_trace_options trace_options(const struct run *run, struct outputs *outputs)
{
	struct nopal_trace_options options = run->options;

	options.size = sizeof(options);
	options.output = give_text;
	options.output_arg = outputs;
	options.notice = give_notice;
	options.terminal = sink_is_terminal(&outputs->text);
	options.detach_later = true;
	options.raw &= !options.terminal;
	options.quiet = run->quiet;
	return options;
}

static int trace(const char *script, const struct run *run, struct outputs *outputs,
		 struct nopal_diag *d)
{
	struct nopal_trace_options options = trace_options(run, outputs);
	struct nopal_trace *t;
	int code, err;

	err = nopal_trace_open(script, &options, &t, d);
	if (err)
		return show_messages(d);
	/* What was made without memory for all of it is not run. */
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

	return nopal_trace_dump(script, &options, run->dump_what, d) ? show_messages(d) : EXIT_OK;
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
