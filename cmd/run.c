/* One traced run on the command line: where text goes, which signals end it, what is said on
 * stderr. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

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

struct output {
	int fd;
	int err; /* why the first text could not be written; 0: all was */
	enum buffering buffering;
	char *held; /* BUFFER_FULL: text not yet written */
	size_t held_len, held_cap;
	struct nopal_trace *trace; /* stopped when the reader is gone */
};

/* What signal handlers may touch. */
static struct nopal_trace *volatile running;
static volatile sig_atomic_t maps_wanted;

static void handle_stop(int sig)
{
	(void)sig;
	if (running)
		nopal_trace_stop(running);
}

static void handle_maps(int sig)
{
	(void)sig;
	maps_wanted = 1;
}

static void set_handlers(void (*stop)(int), void (*maps)(int))
{
	static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = stop};

	for (size_t i = 0; i < sizeof(stop_signals) / sizeof(stop_signals[0]); i++)
		sigaction(stop_signals[i], &action, NULL);
	action.sa_handler = maps;
	sigaction(SIGUSR1, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void write_out(struct output *o, const char *text, size_t len)
{
	if (o->err || write_all(o->fd, text, len))
		return;
	o->err = errno;
	if (o->trace)
		nopal_trace_stop(o->trace);
}

static void flush_held(struct output *o)
{
	write_out(o, o->held, o->held_len);
	o->held_len = 0;
}

static void give_output(void *arg, const char *text, size_t len)
{
	struct output *o = arg;

	if (o->buffering != BUFFER_FULL || !o->held) {
		write_out(o, text, len);
		return;
	}
	if (len > o->held_cap - o->held_len)
		flush_held(o);
	if (len > o->held_cap) {
		write_out(o, text, len);
		return;
	}
	memcpy(o->held + o->held_len, text, len);
	o->held_len += len;
}

static void give_notice(void *arg, const char *text, size_t len)
{
	(void)arg;
	write_all(STDERR_FILENO, text, len);
}

static bool open_output(struct output *o, const struct run *run)
{
	*o = (struct output){.fd = STDOUT_FILENO, .buffering = run->buffering};
	if (run->output) {
		o->fd = open(run->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (o->fd < 0) {
			fprintf(stderr, "nopal: error: cannot write to '%s': %s\n", run->output,
				strerror(errno));
			return false;
		}
	}
	if (o->buffering == BUFFER_FULL) {
		o->held_cap = 1 << 16;
		o->held = malloc(o->held_cap);
	}
	return true;
}

/* EXIT_FAILED with a message when text was lost. A reader who has gone wanted no more: no error. */
static int close_output(struct output *o, const struct run *run)
{
	if (o->held)
		flush_held(o);
	free(o->held);
	if (o->fd != STDOUT_FILENO && close(o->fd) && !o->err)
		o->err = errno;
	if (!o->err || o->err == EPIPE)
		return EXIT_OK;
	fprintf(stderr, "nopal: error: cannot write to '%s': %s\n",
		run->output ? run->output : "standard output", strerror(o->err));
	return EXIT_FAILED;
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

static int trace_until_over(struct nopal_trace *t, const struct run *run, struct nopal_diag *d)
{
	unsigned count = nopal_trace_probe_count(t);
	int more, err;

	say_attaching(run, count);
	err = nopal_trace_attach(t, d);
	if (err)
		return err;
	say_attached(run, count);
	do {
		more = nopal_trace_poll(t, 200, d);
		if (maps_wanted) {
			maps_wanted = 0;
			nopal_trace_print_maps(t);
		}
	} while (more > 0);
	err = nopal_trace_finish(t, d);
	return more < 0 ? more : err;
}

static int trace(const char *script, const struct run *run, struct output *output,
		 struct nopal_diag *d)
{
	struct nopal_trace_options options = run->options;
	struct nopal_trace *t;
	int code, err;

	options.size = sizeof(options);
	options.output = give_output;
	options.output_arg = output;
	options.notice = give_notice;
	options.terminal = isatty(output->fd);
	err = nopal_trace_open(script, &options, &t, d);
	if (err)
		return show_messages(d);
	if (nopal_diag_warnings(d) && !run->no_warnings)
		show_messages(d);
	nopal_diag_clear(d);
	output->trace = running = t;
	if (!run->dry_run)
		err = trace_until_over(t, run, d);
	running = NULL;
	output->trace = NULL;
	code = err ? EXIT_FAILED : nopal_trace_exit_code(t);
	if (!code && run->exit_status && nopal_trace_command_code(t) > 0)
		code = nopal_trace_command_code(t);
	if (nopal_diag_errors(d) || (nopal_diag_warnings(d) && !run->no_warnings))
		show_messages(d);
	nopal_trace_close(t);
	return code;
}

static int dump(const char *script, const struct run *run, struct output *output,
		struct nopal_diag *d)
{
	struct nopal_trace_options options = run->options;

	options.size = sizeof(options);
	options.output = give_output;
	options.output_arg = output;
	return nopal_trace_dump(script, &options, run->dump_what, d) ? show_messages(d) : EXIT_OK;
}

int run_script(const char *script, const struct run *run)
{
	struct nopal_diag *d = nopal_diag_new();
	struct output output;
	int code, written;

	if (!d || !open_output(&output, run)) {
		nopal_diag_free(d);
		return EXIT_FAILED;
	}
	set_handlers(handle_stop, handle_maps);
	code = run->dump ? dump(script, run, &output, d) : trace(script, run, &output, d);
	written = close_output(&output, run);
	nopal_diag_free(d);
	return code ? code : written;
}
