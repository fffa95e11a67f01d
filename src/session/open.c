/* Opening and closing a session: the caller's options, the traced process, the steps from a
 * script's text to a loaded program. */
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/export.h"
#include "find/process.h"

/* The options of a caller, checked and as large as ours. It may have been built with a smaller
 * struct: the members that it lacks are zero. */
static int take_options(const struct nopal_trace_options *options, struct nopal_trace_options *out,
			struct diag *d)
{
	size_t size = options ? options->size : 0;

	if (!options)
		return diag_error(d, -EINVAL, "bad-options",
				  "'options' is NULL: give a struct nopal_trace_options");
	if (size < offsetof(struct nopal_trace_options, param_count) || size > 4096)
		return diag_error(d, -EINVAL, "bad-options",
				  "'options.size' must be sizeof(struct nopal_trace_options)");
	if (options->pid && options->command)
		return diag_error(d, -EINVAL, "bad-options",
				  "a process to trace and a command to start cannot be combined");
	*out = (struct nopal_trace_options){0};
	memcpy(out, options, size < sizeof(*out) ? size : sizeof(*out));
	out->size = sizeof(*out);
	out->follow |= out->command != NULL;
	return 0;
}

/* Nothing in user space can happen in them. */
static int refuse_dead(pid_t pid, struct diag *d)
{
	struct process_state p;

	if (process_state_read(pid, &p))
		return 0;
	if (p.is_kernel) {
		diag_error(d, -EINVAL, "no-process",
			   "cannot trace process %d (%s): it is a kernel thread, which runs no "
			   "program",
			   pid, p.comm);
		diag_hint(d, "without -p, a script can select it: /pid == %d/", pid);
		return -EINVAL;
	}
	if ((p.state != 'Z' && p.state != 'X') || p.threads > 1)
		return 0;
	diag_error(d, -ESRCH, "no-process",
		   "cannot trace process %d (%s): it has ended, and its parent, process %d, has "
		   "not collected its status",
		   pid, p.comm, p.parent);
	return -ESRCH;
}

static int open_process(struct nopal_trace *t, struct diag *d)
{
	if (!t->pid)
		return 0;
	t->process_fd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	if (t->process_fd >= 0 || errno == ENOSYS)
		return refuse_dead(t->pid, d);
	diag_error(d, -errno, "no-process", "cannot trace process %d: %s", t->pid,
		   errno == EINVAL ? "it is a thread, not a process" : strerror(errno));
	diag_hint(d,
		  errno == EINVAL ? "use the process id: Tgid in /proc/%d/status"
				  : "is it still running? see: ps %d",
		  t->pid);
	return -errno;
}

static int open_engine(struct nopal_trace *t, struct diag *d)
{
	const struct engine_options options = {
		.pid = t->pid,
		.follow_forks = t->pid && t->options.follow,
		.ring_bytes = t->options.ring_bytes ? t->options.ring_bytes
						    : (size_t)t->facts.ring_pages * 4096,
		.data_later = t->facts.needs_images && t->facts.sends_data,
		.detach_later = t->options.detach_later,
		.events = t->options.events,
		.log = t->options.verbose ? &t->log : NULL,
	};
	int err = engine_set_open(t->engines.kinds, t->engines.count, &options, &t->engine, d);

	if (!err)
		err = engine_can_run_all(t->engine, t->program, d);
	if (!err)
		err = engine_build(t->engine, t->program, d);
	session_give_log(t);
	if (err == -EPERM || err == -EACCES)
		diag_hint(d, "%s'nopal doctor' shows what this user can trace on this machine",
			  geteuid() ? "run it with sudo; " : "");
	return err;
}

static int open_report(struct nopal_trace *t)
{
	const struct report_options options = {
		.style = t->options.format == NOPAL_JSON ? REPORT_JSON : REPORT_TEXT,
		.terminal = t->options.terminal,
		.raw = t->options.raw,
		.stop_fd = t->stop_fd,
		.trunc_trailer = t->facts.trunc_trailer,
		.unsafe = t->options.unsafe,
	};
	int err = symbols_new(&t->symbols);

	return err ? err : report_new(t->program, &options, t->symbols, &t->report);
}

int session_new(const struct nopal_trace_options *options, struct nopal_trace **out, struct diag *d)
{
	struct nopal_trace *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->process_fd = -1;
	t->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = take_options(options, &t->options, d);
	if (!err)
		err = engines_choose(t->options.events && !t->options.engine ? "interp"
									     : t->options.engine,
				     &t->engines, d);
	t->pid = t->options.pid;
	if (err)
		nopal_trace_close(t);
	else
		*out = t;
	return err;
}

int session_open(struct nopal_trace *t, const char *script, struct diag *d)
{
	int err = t->options.command ? 0 : open_process(t, d);

	if (!err)
		err = session_compile(t, script, d);
	if (!err && t->options.command)
		err = open_process(t, d);
	if (!err)
		err = open_engine(t, d);
	if (!err)
		err = open_report(t);
	return err ? err : clock_init(&t->clock, t->program);
}

NOPAL_EXPORT int nopal_trace_open(const char *script, const struct nopal_trace_options *options,
				  struct nopal_trace **out, struct nopal_diag *diag)
{
	struct diag *d = diag_inner(diag);
	struct nopal_trace *t = NULL;
	int err = session_new(options, &t, d);

	if (!err)
		err = session_open(t, script, d);
	if (!err)
		*out = t;
	else
		nopal_trace_close(t);
	return diag_ensure(d, err, "compile and load the script");
}

NOPAL_EXPORT void nopal_trace_close(struct nopal_trace *t)
{
	if (!t)
		return;
	engine_close(t->engine);
	child_end(&t->child);
	report_free(t->report);
	symbols_free(t->symbols);
	script_free(t->script);
	finder_free(t->finder);
	image_watch_close(t->watch);
	pid_set_free(&t->followed);
	later_free(&t->later);
	if (t->process_fd >= 0)
		close(t->process_fd);
	if (t->stop_fd >= 0)
		close(t->stop_fd);
	buf_free(&t->out);
	buf_free(&t->log);
	arena_free(&t->arena);
	free(t);
}
