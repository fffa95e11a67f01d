/* Opening and closing a session: the caller's options, the traced process, the steps from a
 * script's text to a loaded program. */
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/export.h"
#include "engine/bpf/kernel/features.h"
#include "engine/bpf/kernel/rights.h"
#include "find/process.h"
#include "lang/lang.h"
#include "user/run/native.h"

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
	*out = (struct nopal_trace_options){0};
	memcpy(out, options, size < sizeof(*out) ? size : sizeof(*out));
	out->size = sizeof(*out);
	if (!out->pid + !out->pid_count + !out->command < 2)
		return diag_error(d, -EINVAL, "bad-options",
				  "a process to trace, several, and a command to start cannot be "
				  "combined");
	if (out->pid_count && out->follow)
		return diag_error(d, -EINVAL, "bad-options",
				  "children are followed of one process, not of several");
	out->follow |= out->command != NULL;
	return 0;
}

/* ---- the traced process */

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

static int open_process(struct nopal_trace *t, pid_t pid, struct diag *d)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), err = -errno;

	if (fd >= 0 || errno == ENOSYS) {
		t->process_fds[t->process_count++] = fd;
		return refuse_dead(pid, d);
	}
	if (err == -ENOENT) /* what newer kernels say of a thread */
		err = -EINVAL;
	diag_error(d, err, "no-process", "cannot trace process %d: %s", pid,
		   err == -EINVAL ? "it is a thread, not a process" : strerror(-err));
	diag_hint(d,
		  err == -EINVAL ? "use the process id: Tgid in /proc/%d/status"
				 : "is it still running? see: ps %d",
		  pid);
	return err;
}

static bool has_pid(const pid_t *pids, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* The process of -p or -c, or those of several -p. The caller's array need not stay. */
static int open_processes(struct nopal_trace *t, struct diag *d)
{
	const pid_t *pids = t->pid ? &t->pid : t->options.pids;
	size_t count = t->pid ? 1 : t->options.pid_count;
	pid_t *copy = arena_array(&t->arena, pid_t, count);
	int err = 0;

	t->process_fds = arena_array(&t->arena, int, count);
	if (!copy || !t->process_fds)
		return -ENOMEM;
	for (size_t i = 0; i < count && !err; i++) {
		if (has_pid(copy, t->process_count, pids[i]))
			continue;
		copy[t->process_count] = pids[i];
		err = open_process(t, pids[i], d);
	}
	t->options.pids = copy;
	t->options.pid_count = t->pid ? 0 : t->process_count;
	return err;
}

/* ---- engines */

#define ROW(name, about) {&engine_##name, about},

static const struct {
	const struct engine_ops *ops;
	const char *about;
} engines[] = {ENGINES(ROW)};

static int refuse_engine(struct str name, struct diag *d)
{
	struct buf known = BUF_INIT;

	for (size_t i = 0; i < COUNT(engines); i++)
		buf_printf(&known, "%s%s (%s)", i ? ", " : "", engines[i].ops->name,
			   engines[i].about);
	diag_error(d, -EINVAL, "unknown-engine", "there is no engine '%.*s'", STR_FMT(name));
	diag_hint(d, "the engines are %.*s", STR_FMT(buf_as_str(&known)));
	buf_free(&known);
	return -EINVAL;
}

/* The names that stand for engines. An ordinary user traces their own processes in user mode; and
 * in user mode the kernel runs what cannot be run there, if it lets us. */
static const char *expand_engines(const struct nopal_trace_options *o)
{
	const char *names = o->engine ? o->engine : o->events ? "interp" : "auto";
	bool is_auto = !strcmp(names, "auto"), is_user = !strcmp(names, "user");
	bool is_one = o->pid || o->command;

	if (is_user)
		return rights_suffice() ? "native,bpf" : "native";
	if (is_auto)
		return is_one && !rights_suffice() && !native_problem(o->experimental) ? "native"
										       : "bpf";
	return strcmp(names, "kernel") ? names : "bpf";
}

bool session_may_use_native(const struct nopal_trace *t)
{
	for (unsigned i = 0; i < t->engines.count; i++)
		if (t->engines.kinds[i] == &engine_native)
			return true;
	return false;
}

/* "bpf", "bpf,interp". -EINVAL with the names of all engines. */
static int choose_engines(const char *names, struct engine_choice *out, struct diag *d)
{
	struct str rest = str_from(names);

	out->count = 0;
	do {
		struct str name = str_cut(&rest, ',');
		size_t i = 0;

		while (i < COUNT(engines) && !str_eq_text(name, engines[i].ops->name))
			i++;
		if (i == COUNT(engines))
			return refuse_engine(name, d);
		if (out->count == ENGINES_MAX)
			return diag_error(d, -EINVAL, "unknown-engine",
					  "too many engines: the limit is %d", ENGINES_MAX);
		out->kinds[out->count++] = engines[i].ops;
	} while (rest.len);
	return 0;
}

/* For struct script_source: why none of the engines can read the operand, or not all of them. */
static const char *why_unreadable(void *self, const struct arch *arch, const struct operand *o,
				  bool by_some)
{
	const struct engine_choice *c = &((struct nopal_trace *)self)->engines;
	const char *first = NULL;

	for (unsigned i = 0; i < c->count; i++) {
		const char *why = engine_unreadable(c->kinds[i], arch, o);

		first = first ? first : why;
		if (!why && !by_some)
			return NULL;
	}
	return first;
}

/* ---- from text to a loaded program */

void session_script_options(struct nopal_trace *t, struct script_options *out)
{
	const struct nopal_trace_options *o = &t->options;
	struct str *params = arena_array(&t->arena, struct str, o->param_count + 1);
	struct script_origin *origins =
		arena_array(&t->arena, struct script_origin, o->origin_count + 1);

	for (size_t i = 0; origins && i < o->origin_count; i++) {
		const struct nopal_origin *from = &o->origins[i];
		struct str text = arena_str(&t->arena, str_from(from->text));

		origins[i] =
			(struct script_origin){from->at, from->len, text, from->text_at, STR("")};
	}
	for (size_t i = 0; params && i < o->param_count; i++)
		params[i] = arena_str(&t->arena, str_from(o->params[i]));
	*out = (struct script_options){
		.path = o->name ? arena_str(&t->arena, str_from(o->name)) : STR("script"),
		.params = params,
		.param_count = params ? (unsigned)o->param_count : 0,
		.origins = origins,
		.origin_count = origins ? o->origin_count : 0,
		.headers = str_from(o->headers ? o->headers : ""),
		.header_dirs = arena_str(&t->arena, str_from(o->header_dirs ? o->header_dirs : "")),
		.pid = t->pid,
		.has_command = o->command,
		.unsafe = o->unsafe,
		.probe_filter =
			arena_str(&t->arena, str_from(o->probe_filter ? o->probe_filter : "")),
		.trial = str_from(o->trial ? o->trial : ""),
		.report_missing_keys = o->report_missing_keys,
	};
}

static int list_functions(void *self, const struct find_query *q, function_fn *fn, void *arg,
			  struct diag *d)
{
	struct nopal_trace *t = self;
	struct find_query one = *q;

	one.pid = q->pid ? process_visible_task(q->pid) : 0;
	return finder_functions(t->finder, &one, fn, arg, d);
}

static void say_functions_missed(struct diag *d)
{
	diag_warn(d, "exec-missed",
		  "probes in the kernel miss the exec of the command, since functions are looked "
		  "for in all files that it maps");
	diag_hint(d, "name the file of the functions: uprobe:FILE:NAME");
}

/* Without the agent, programs that the command runs are noticed a moment later. */
static int start_command(struct nopal_trace *t, struct diag *d)
{
	struct agent_socket *a = &t->watch.agent;
	bool has_agent = session_may_use_native(t) && !agent_open(a);
	char *const more[] = {has_agent ? a->name.ptr : NULL, a->preload.ptr, a->asan.ptr, NULL};
	int err = child_start(t->options.command, more, &t->child, d);
	bool is_needed;

	if (err)
		return err;
	t->pid = t->child.pid;
	/* In user mode, too, what will be traced must be mapped. */
	is_needed = t->facts.needs_images || t->facts.needs_entry || session_may_use_native(t);
	t->images_held = is_needed && t->facts.uses_kernel && !t->facts.needs_entry;
	if (!is_needed || t->images_held)
		return 0;
	if (t->facts.uses_kernel)
		say_functions_missed(d);
	err = child_exec(&t->child, t->options.command, d);
	return err ? err : child_run_to_entry(&t->child, d);
}

void session_open_watch(struct nopal_trace *t, struct diag *d)
{
	bool of_all = t->facts.uses_stacks || t->facts.uses_langs || t->facts.needs_images ||
		      (t->engine && t->engine->wants_news);
	struct watch *w = &t->watch;
	struct features features;
	int err = -ENOTSUP;

	if (!of_all && !(t->options.follow && session_may_use_native(t)))
		return;
	features_init(&features);
	if (feature_has(&features, FEATURE_NEWS))
		err = reports_open(t->pid, of_all, &w->reports, NULL);
	w->wants_images = t->facts.needs_images;
	w->counts_lost = w->wants_images || session_may_use_native(t);
	w->polls = err && w->wants_images && session_may_use_native(t);
	if (w->polls)
		watch_poll(w);
	if (err && (t->facts.needs_images || (t->engine && t->engine->wants_news)) && !w->polls)
		diag_warn(d, "watch-failed", "cannot watch for images that are mapped later: %s",
			  strerror(-err));
}

/* The caller gets what the script's options are instead of a run, if that is asked for. */
static int give_help(struct nopal_trace *t)
{
	struct buf text = BUF_INIT;
	int err = 0;

	script_facts(t->script, &t->facts);
	if (!t->facts.wants_help || !t->options.output)
		return 0;
	script_help(t->script, &text);
	err = text.failed ? -ENOMEM : -ECANCELED;
	if (err == -ECANCELED)
		t->options.output(t->options.output_arg, text.ptr, text.len);
	buf_free(&text);
	return err;
}

int session_parse(struct nopal_trace *t, const char *text, struct diag *d)
{
	struct script_options options;
	struct str copy = arena_str(&t->arena, str_from(text));
	int err;

	if (!copy.ptr)
		return -ENOMEM;
	session_script_options(t, &options);
	/* The command has no pid yet; any will do to say that there is a process. */
	if (t->options.command)
		options.pid = 1;
	err = script_parse(copy, &options, &t->script, d);
	return err ? err : give_help(t);
}

int session_compile(struct nopal_trace *t, const char *text, struct diag *d)
{
	struct diag said = DIAG_INIT;
	int err = session_parse(t, text, d);

	if (err)
		return err;
	err = t->options.command ? start_command(t, d) : 0;
	if (!err && t->options.command)
		script_set_pid(t->script, t->pid);
	if (!err && t->pid)
		err = watch_choose(&t->watch, t->pid, t->options.follow);
	if (!err && !t->options.command)
		session_open_watch(t, d);
	if (!err)
		err = finder_new(&t->finder);
	if (err)
		return err;
	finder_stop_on(t->finder, t->stop_fd);
	t->source = script_source_machine(t->finder);
	t->source.run = t;
	t->source.sites = session_sites;
	t->source.functions = list_functions;
	t->source.unreadable = why_unreadable;
	/* What is missing in later images is reported when they are mapped. */
	err = script_resolve(t->script, &t->source,
			     t->images_held && t->facts.needs_images ? &said : d);
	if (err)
		diag_add_all(d, &said);
	diag_free(&said);
	finder_problems(t->finder, d);
	return err ? err : script_compile(t->script, &t->program, d);
}

size_t session_ring_bytes(const struct nopal_trace *t)
{
	return t->options.ring_bytes ? t->options.ring_bytes : (size_t)t->facts.ring_pages * 4096;
}

static struct engine_options engine_options_of(struct nopal_trace *t)
{
	return (struct engine_options){
		.pid = t->pid,
		.pids = t->options.pids,
		.pid_count = (unsigned)t->options.pid_count,
		.watch = &t->watch,
		.is_held = t->images_held,
		.follow_forks = t->pid && t->options.follow,
		.ring_bytes = session_ring_bytes(t),
		.experimental = t->options.experimental,
		.may_grow = t->facts.needs_images,
		.data_later = t->facts.needs_images && t->facts.sends_data,
		.detach_later = t->options.detach_later,
		.is_alone = t->engines.count == 1,
		.events = t->options.events,
		.unwind = t->unwind,
		.await_unwind = session_await_stacks,
		.await_arg = t,
		.langs = t->langs,
		.log = t->options.verbose ? &t->log : NULL,
	};
}

static int open_engines(struct nopal_trace *t, struct diag *d)
{
	const struct engine_options options = engine_options_of(t);

	return engine_set_open(t->engines.kinds, t->engines.count, &options, &t->engine, d);
}

static bool has_choice(const struct nopal_trace *t)
{
	return t->engines.count > 1 && t->engines.kinds[0] == &engine_native;
}

static void choose_kernel(struct nopal_trace *t, const struct diag *said, struct diag *d)
{
	struct engine_choice *c = &t->engines;

	native_say_refused(d, said);
	c->kinds[0] = c->kinds[--c->count];
}

/* The kernel traces a process that cannot be traced in user mode, if there is a choice. */
static int open_chosen(struct nopal_trace *t, struct diag *d)
{
	struct diag said = DIAG_INIT;
	int err = open_engines(t, &said);

	if (err && err != -ESRCH && t->pid && has_choice(t)) {
		choose_kernel(t, &said, d);
		err = open_engines(t, d);
	} else {
		diag_add_all(d, &said);
	}
	diag_free(&said);
	return err;
}

static int build_all(struct nopal_trace *t, struct diag *d)
{
	int err = engine_can_run_all(t->engine, t->program, d);

	return err ? err : engine_build(t->engine, t->program, d);
}

/* Engines take the tables of stacks with them when they are closed. */
static int leave_user_mode(struct nopal_trace *t, const struct diag *said, struct diag *d)
{
	int err;

	choose_kernel(t, said, d);
	engine_close(t->engine);
	t->engine = NULL;
	session_close_stacks(t);
	err = session_open_stacks(t);
	if (!err)
		err = open_engines(t, d);
	return err ? err : build_all(t, d);
}

/* What user mode needs in a process is known now: where a limit is too near, the kernel traces it.
 */
static int build_engines(struct nopal_trace *t, struct diag *d)
{
	struct diag said = DIAG_INIT;
	int err = build_all(t, &said);

	if (err == -ENOSPC && has_choice(t))
		err = leave_user_mode(t, &said, d);
	else
		diag_add_all(d, &said);
	diag_free(&said);
	return err;
}

/* What BEGIN has put into a map would not be in those of another engine. */
static bool begins_with_maps(const struct nopal_trace *t)
{
	for (uint32_t i = 0; i < t->program->clause_count; i++) {
		const struct clause *c = &t->program->clauses[i];

		for (uint32_t map = 0; map < t->program->map_count; map++)
			if (clause_is_at(c, ATTACH_BEGIN) && clause_uses_map(c, map))
				return true;
	}
	return false;
}

/* The process may be near a limit by now, have a debugger, or no thread that can be stopped. */
static bool is_refused_by_user_mode(int err, const struct diag *said)
{
	return err && err != -ESRCH && said->last && said->last->level == DIAG_ERROR &&
	       str_starts(str_from(said->last->tag), STR("user-mode-"));
}

int session_attach_engines(struct nopal_trace *t, struct diag *d)
{
	struct diag said = DIAG_INIT;
	int err = engine_attach(t->engine, &said);

	if (is_refused_by_user_mode(err, &said) && has_choice(t) && !begins_with_maps(t)) {
		err = leave_user_mode(t, &said, d);
		session_await_stacks(t);
		if (!err)
			session_see_langs(t);
		if (!err)
			err = engine_attach(t->engine, d);
	} else {
		diag_add_all(d, &said);
	}
	diag_free(&said);
	return err;
}

static int open_engine(struct nopal_trace *t, struct diag *d)
{
	int err = open_chosen(t, d);

	if (!err)
		err = build_engines(t, d);
	session_give_log(t);
	if (err == -EPERM || err == -EACCES)
		diag_hint(d, "%s%s'nopal doctor' shows what this user can trace on this machine",
			  geteuid() ? "run it with sudo; " : "",
			  geteuid() && !t->pid && !native_problem(t->options.experimental)
				  ? "without, -p or -c traces a process of one's own; "
				  : "");
	return err;
}

int session_new(const struct nopal_trace_options *options, struct nopal_trace **out, struct diag *d)
{
	struct nopal_trace *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = t->stop_fd < 0 ? -errno : 0; /* the run could not be stopped */
	if (!err)
		err = take_options(options, &t->options, d);
	if (!err)
		err = choose_engines(expand_engines(&t->options), &t->engines, d);
	t->pid = t->options.pid;
	if (err)
		nopal_trace_close(t);
	else
		*out = t;
	return err;
}

int session_open(struct nopal_trace *t, const char *script, struct diag *d)
{
	struct report_options options = {
		.style = t->options.format == NOPAL_JSON ? REPORT_JSON : REPORT_TEXT,
		.terminal = t->options.terminal,
		.look = t->options.look,
		.titles = t->options.titles,
		.frames = t->options.frames,
		.raw = t->options.raw,
		.stop_fd = t->stop_fd,
		.unsafe = t->options.unsafe,
		.no_warnings = t->options.no_warnings,
		.structured = t->options.format == NOPAL_JSON && t->options.structured,
		.folded = t->options.format == NOPAL_FOLDED,
		.csv = t->options.format == NOPAL_CSV,
	};
	int err = t->options.command ? 0 : open_processes(t, d);

	if (!err)
		err = session_compile(t, script, d);
	if (!err && t->options.command)
		err = open_processes(t, d);
	if (!err && t->facts.uses_langs)
		err = lang_names_new(&t->langs);
	if (!err)
		err = symbols_new(&t->symbols);
	if (!err)
		err = session_open_stacks(t);
	if (!err)
		err = open_engine(t, d);
	session_await_stacks(t);
	if (!err)
		symbols_demangle(t->symbols, t->facts.demangle, !options.folded);
	if (!err && (t->options.lines || t->facts.show_debug_info))
		symbols_want_lines(t->symbols);
	options.trunc_trailer = t->facts.trunc_trailer;
	options.cat_bytes = t->facts.max_cat_bytes;
	options.langs = t->langs;
	if (!err)
		err = report_new(t->program, &options, t->symbols, &t->report);
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
	session_close_stacks(t);
	report_free(t->report);
	symbols_free(t->symbols);
	lang_names_free(t->langs);
	script_free(t->script);
	finder_free(t->finder);
	watch_free(&t->watch);
	while (t->process_count)
		if (t->process_fds[--t->process_count] >= 0)
			close(t->process_fds[t->process_count]);
	if (t->stop_fd >= 0)
		close(t->stop_fd);
	buf_free(&t->out);
	buf_free(&t->log);
	free(t->faults);
	arena_free(&t->arena);
	free(t);
}
