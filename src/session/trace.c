/* A tracing run, as include/nopal/trace.h describes it: attach, poll, finish. Opening and closing
 * are open.c's. */
#include "session/session.h"

#include <errno.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/export.h"
#include "base/proc.h"

#define IDLE_MAX_MS   50  /* longest wait between two looks into the event buffer */
#define QUIET_MAX_MS  250 /* ... when the script sends no data records */
#define MAX_FDS	      300
#define BENCH_RUNS    10000 /* of a bench probe, at most */
#define BENCH_NS      300000000u
#define NEWS_PAUSE_NS 5000000u
#define FIXED_FDS     3 /* of these, those that are not of the reports */

/* ---- interval timers: a handful of them, so a linear look is enough */

static bool has_timer(const struct timer_list *c, uint32_t clause, uint64_t period)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->timers[i].clause == clause && c->timers[i].period == period)
			return true;
	return false;
}

int clock_init(struct timer_list *c, const struct program *p)
{
	for (uint32_t i = 0; i < p->clause_count; i++)
		for (uint32_t k = 0; k < p->clauses[i].attach_count; k++) {
			const struct attach *attach = &p->clauses[i].attaches[k];

			if (attach->kind != ATTACH_INTERVAL || has_timer(c, i, attach->period))
				continue;
			if (arena_grow(p->arena, (void **)&c->timers, c->count, &c->cap,
				       sizeof(c->timers[0])))
				return -ENOMEM;
			c->timers[c->count++] =
				(struct timer){.clause = i, .period = attach->period};
		}
	return 0;
}

/* All first due one period from now. */
static void clock_start(struct timer_list *c)
{
	uint64_t now = clock_now();

	for (size_t i = 0; i < c->count; i++)
		c->timers[i].due = now + c->timers[i].period;
}

/* Nanoseconds until the next timer is due; UINT64_MAX: there is none. */
static uint64_t clock_next(const struct timer_list *c)
{
	uint64_t now = clock_now(), next = UINT64_MAX;

	for (size_t i = 0; i < c->count; i++) {
		uint64_t left = c->timers[i].due > now ? c->timers[i].due - now : 0;

		next = left < next ? left : next;
	}
	return next;
}

/* The timer that is most overdue at `now`, which is then set to a later time; NULL when none is
 * due. So asking again for the same `now` ends, however short the periods. Times that were missed
 * because the machine was busy are dropped. */
static const struct timer *clock_take(struct timer_list *c, uint64_t now)
{
	struct timer *timer = NULL;

	for (size_t i = 0; i < c->count; i++)
		if (c->timers[i].due <= now && (!timer || c->timers[i].due < timer->due))
			timer = &c->timers[i];
	if (!timer)
		return NULL;
	timer->due += timer->period;
	if (timer->due <= now)
		timer->due = now + timer->period;
	return timer;
}

/* ---- attach, poll, finish */

NOPAL_EXPORT unsigned nopal_trace_probe_count(const struct nopal_trace *t)
{
	return script_probe_count(t->script);
}

static bool is_over(const struct nopal_trace *t)
{
	return t->state >= SESSION_OVER; /* ORDER */
}

/* Run every clause that is attached to `kind`, in script order; one that is so several times runs
 * as often. */
static int run_clauses(struct nopal_trace *t, enum attach_kind kind, struct diag *d)
{
	for (uint32_t i = 0; i < t->program->clause_count; i++) {
		int err;

		if (!clause_is_at(&t->program->clauses[i], kind))
			continue;
		err = engine_run(t->engine, kind, 0, i, d);
		if (!err)
			err = session_drain(t, d);
		if (err || (t->state == SESSION_EXITING && kind == ATTACH_BEGIN))
			return err;
	}
	return 0;
}

/* BEGIN; or a test, once; or a bench probe, for a while. */
static int run_begin(struct nopal_trace *t, struct diag *d)
{
	bool is_bench = t->options.trial && !strncmp(t->options.trial, "bench:", 6);
	uint64_t start = clock_now();
	int err;

	do {
		err = run_clauses(t, ATTACH_BEGIN, d);
		t->trial_runs++;
		t->trial_ns = clock_now() - start;
	} while (is_bench && !err && !is_over(t) && t->trial_runs < BENCH_RUNS &&
		 t->trial_ns < BENCH_NS);
	return err;
}

static void say_count(struct nopal_trace *t)
{
	if (t->options.format == NOPAL_JSON && !t->options.quiet && !t->options.structured)
		report_attached(t->report, nopal_trace_probe_count(t), &t->out);
}

/* Nothing will be armed, so nothing is missed in images that come. */
static void stop_watching(struct nopal_trace *t)
{
	reports_close(t->watch.reports);
	t->watch.reports = NULL;
	t->watch.images = IMAGES_AT_START;
}

/* Can nothing happen any more? Of the probes some may be missing, which the script allows. */
static bool waits_for_nothing(const struct nopal_trace *t)
{
	bool begins = false;

	if (t->facts.only_begin_end || t->facts.needs_images)
		return t->facts.only_begin_end;
	for (uint32_t i = 0; i < t->program->clause_count; i++) {
		const struct clause *c = &t->program->clauses[i];

		for (uint32_t k = 0; k < c->attach_count; k++) {
			if (c->attaches[k].kind != ATTACH_BEGIN &&
			    c->attaches[k].kind != ATTACH_END)
				return false;
			begins |= c->attaches[k].kind == ATTACH_BEGIN;
		}
	}
	return begins;
}

/* By a signal, or by a debugger. */
static bool is_stopped(pid_t pid)
{
	struct buf text = BUF_INIT;
	struct str state = STR("");
	bool stopped;

	if (!process_status(pid, &text))
		state = process_status_line(buf_as_str(&text), "State");
	stopped = state.len && (state.ptr[0] == 'T' || state.ptr[0] == 't');
	buf_free(&text);
	return stopped;
}

/* Else one would wait for events that cannot come. */
static void say_stopped(const struct nopal_trace *t, struct diag *d)
{
	const pid_t *pids = t->pid ? &t->pid : t->options.pids;

	for (size_t i = 0; i < t->process_count && !t->options.command; i++) {
		if (!is_stopped(pids[i]))
			continue;
		diag_warn(d, "process-stopped",
			  "process %d is stopped, and fires no probe until it goes on",
			  (int)pids[i]);
		diag_hint(d, "'kill -CONT %d', or end the debugger", (int)pids[i]);
	}
}

static int attach_probes(struct nopal_trace *t, struct diag *d)
{
	bool held = t->images_held;
	bool counts_late = held && t->facts.needs_images;
	int err;

	/* Not after: one that was stopped by a signal runs for a moment when it is let go. */
	say_stopped(t, d);
	if (!counts_late)
		say_count(t);
	err = run_begin(t, d);
	if (err || is_over(t)) {
		stop_watching(t);
		return err;
	}
	if (!t->options.command) /* else there is no program yet */
		session_see_langs(t);
	err = session_attach_engines(t, d);
	session_give_log(t);
	if (err)
		return err;
	engine_note_kind(t->engine, TRACER_WORKS, NULL);
	t->state = SESSION_ATTACHED;
	t->was_attached = true;
	/* Not before: attaching can take seconds where others detach, and the rings of the watch
	 * would be full when the command begins. Nobody else can read the mappings of one that ends
	 * at once. */
	if ((t->options.command && !held) || (t->engine->wants_news && !t->watch.reports))
		session_open_watch(t, d);
	err = child_exec(&t->child, t->options.command, d);
	if (!err && t->options.command)
		session_remember_program(t);
	if (!err)
		err = session_attach_command(t, d);
	/* The command's libraries are mapped where its program begins. */
	if (!err && (t->unwind || t->engine->wants_news) && t->options.command &&
	    !t->facts.needs_images && !held)
		err = child_run_to_entry(&t->child, d);
	if (err)
		return err;
	if (t->engine->wants_news)
		session_renew(t, t->pid);
	for (size_t i = 0; t->pid && i < t->watch.count; i++) {
		session_see_followed(t, i);
		engine_note_kind(t->engine, TRACER_WORKS, NULL);
	}
	if (counts_late)
		say_count(t);
	session_flush(t);
	if (waits_for_nothing(t) && !t->options.command) /* the end of a command is waited for */
		t->state = SESSION_OVER;
	if (t->facts.uses_stacks && t->pid)
		symbols_see(t->symbols, t->pid);
	else if (t->facts.uses_stacks && !session_saw_names(t))
		symbols_see_all(t->symbols);
	engine_note_kind(t->engine, TRACER_WORKS, NULL);
	if (t->options.command)
		session_see_langs(t);
	clock_start(&t->clock);
	return child_release(&t->child, d);
}

NOPAL_EXPORT int nopal_trace_attach(struct nopal_trace *t, struct nopal_diag *diag)
{
	struct diag *d = diag_inner(diag);
	int err = attach_probes(t, d);

	session_flush(t);
	return diag_ensure(d, err, "attach the script");
}

/* The first of the processes that are waited for has ended; was it the only one? */
static bool is_last_gone(struct nopal_trace *t)
{
	close(t->process_fds[0]);
	t->process_fds[0] = t->process_fds[--t->process_count];
	return !t->process_count;
}

/* Sleep until something may have happened: as long as the caller allows, until the next interval,
 * or as long as the buffer has been quiet. */
static void wait_events(struct nopal_trace *t, int timeout_ms)
{
	struct pollfd fds[MAX_FDS] = {
		{.fd = t->stop_fd, .events = POLLIN},
		{.fd = t->process_count ? *t->process_fds : -1, .events = POLLIN},
		{.fd = engine_wait_fd(t->engine), .events = POLLIN},
	};
	unsigned count = FIXED_FDS;
	uint64_t next = clock_next(&t->clock);
	int idle = fds[2].fd < 0 ? QUIET_MAX_MS : IDLE_MAX_MS, ms;

	t->idle_ms = t->idle_ms ? t->idle_ms * 2 : 1;
	if (t->idle_ms > idle)
		t->idle_ms = idle;
	ms = t->idle_ms;
	if (next != UINT64_MAX && next / 1000000 < (uint64_t)ms)
		ms = (int)((next + 999999) / 1000000);
	if (timeout_ms >= 0 && timeout_ms < ms)
		ms = timeout_ms;
	if (t->watch.reports)
		count += reports_fds(t->watch.reports, fds + count, MAX_FDS - count);
	/* The first image after a pause is looked at at once. A program maps several as it starts,
	 * and many programs may start: further news of a millisecond are looked at together, if
	 * there is time to wait at all. */
	if (poll(fds, count, ms) > 0 && ms && !fds[0].revents && !fds[1].revents &&
	    !fds[2].revents) {
		if (clock_now() - t->heard_at < NEWS_PAUSE_NS)
			poll(fds, FIXED_FDS, 1);
		t->heard_at = clock_now();
	}
	t->stopped |= fds[0].revents;
	if (fds[0].revents || (fds[1].revents && is_last_gone(t)))
		t->state = SESSION_OVER;
}

/* For messages: what -p chose. */
static const char *chosen_process(struct nopal_trace *t)
{
	return t->pid ? arena_printf(&t->arena, "process %d", (int)t->pid).ptr
		      : "one of the processes";
}

/* The process was taken over by exec in a thread, so that the kernel did not know it any more. */
static int rearm_process(struct nopal_trace *t, struct diag *d)
{
	struct diag said = DIAG_INIT;
	int done = engine_rearm(t->engine, &said);

	session_give_log(t);
	if (done != -ESRCH) /* it has ended by now, and with it the run */
		diag_add_all(d, &said);
	diag_free(&said);
	if (done > 0 && t->rearms++ == 0)
		diag_warn(d, "rearmed",
			  "%s continued in another thread, by exec or because its main "
			  "thread ended: events were missed until the probes were attached again",
			  chosen_process(t));
	return done < 0 && done != -ESRCH ? done : 0;
}

NOPAL_EXPORT int nopal_trace_poll(struct nopal_trace *t, int timeout_ms, struct nopal_diag *diag)
{
	struct diag *d = diag_inner(diag);
	uint64_t deadline = clock_now() + (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms) * 1000000;
	uint64_t now;
	const struct timer *due;
	int err = 0;

	do {
		if (!is_over(t))
			wait_events(t, timeout_ms);
		/* ORDER: what processes that wait have mapped, then its sites, then they go on */
		session_hear(t);
		session_read_watch(t);
		if (t->watch.images)
			err = session_extend(t, d);
		if (!err && !is_over(t))
			err = rearm_process(t, d);
		for (now = clock_now(); !err && !is_over(t) && (due = clock_take(&t->clock, now));)
			err = engine_run(t->engine, ATTACH_INTERVAL, due->period, due->clause, d);
		if (!err && !session_is_muted(t))
			err = session_drain(t, d);
		if (t->engine->is_ended && !is_over(t))
			t->state = SESSION_OVER;
		symbols_problems(t->symbols, d);
		session_warn(t, false);
		if (err)
			return diag_ensure(d, err, "continue the run");
	} while (!is_over(t) && !t->batch && (timeout_ms < 0 || clock_now() < deadline));
	return !is_over(t);
}

NOPAL_EXPORT void nopal_trace_stop(struct nopal_trace *t)
{
	const uint64_t one = 1;
	int saved = errno;

	if (write(t->stop_fd, &one, sizeof(one)) < 0)
		errno = saved;
	errno = saved;
}

static void tell_spoiled(uint64_t count, struct diag *d)
{
	diag_warn(d, "user-mode-written",
		  "%llu part%s of the memory shared with nopal %s corrupted by the traced process: "
		  "the counts of this run are unreliable",
		  (unsigned long long)count, count == 1 ? "" : "s", count == 1 ? "was" : "were");
	diag_hint(d, "--kernel keeps what it counts out of the process's reach");
}

/* Programs that begin may have been missed where nothing reports them. */
static void tell_no_news(struct diag *d)
{
	diag_warn(d, "user-mode-news",
		  "the kernel does not report to this user what processes map: programs that did "
		  "not load nopal-agent.so, and ended within 20 ms, may have been missed");
	diag_hint(d, "'sysctl kernel.perf_event_paranoid=2' permits it");
}

/* `is_reported`: the kernel has reported who mapped a file with probes. */
static void tell_missed_in_user_mode(const struct run_stats *stats, bool is_reported,
				     struct diag *d)
{
	if (stats->missed)
		diag_warn(d, "user-mode-missed",
			  "%llu process%s mapped a file with probes ('%.*s'%s), and ended before "
			  "%s traced: what %s fired is missed",
			  (unsigned long long)stats->missed, stats->missed == 1 ? "" : "es",
			  STR_FMT(stats->missed_file), stats->missed == 1 ? "" : " the first",
			  stats->missed == 1 ? "it was" : "they were",
			  stats->missed == 1 ? "it" : "they");
	else if (stats->none_seen && !is_reported)
		diag_warn(d, "none-seen",
			  "no process that was looked at had these probes: in user mode, programs "
			  "that a child runs for less than a few milliseconds are missed");
	if (stats->untraced > 1) /* of the first a warning has said why */
		diag_warn(d, "user-mode-children",
			  "%llu processes in all ran programs that were not traced",
			  (unsigned long long)stats->untraced);
	if (stats->late > 1)
		diag_warn(d, "user-mode-late-programs",
			  "%llu programs in all ran a few milliseconds before they were traced",
			  (unsigned long long)stats->late);
	if (stats->waited) {
		diag_warn(
			d, "user-mode-waited",
			"threads resumed %llu time%s before their probes were armed: events may be "
			"missing",
			(unsigned long long)stats->waited, stats->waited == 1 ? "" : "s");
		diag_hint(d, "the machine was busy, or nopal was stopped: 'nice -n -10 nopal ...' "
			     "gives it the CPU sooner");
	}
	if (stats->disturbed)
		diag_warn(
			d, "user-mode-disturbed",
			"at the end a debugger or a kernel uprobe had breakpoints on %llu site%s: "
			"events there were missed, for 0.1 s at most",
			(unsigned long long)stats->disturbed, stats->disturbed == 1 ? "" : "s");
}

/* Memory that could not be unmapped. */
static void tell_kept(const struct run_stats *stats, struct diag *d)
{
	if (!stats->kept)
		return;
	diag_warn(d, "user-mode-kept",
		  "%llu KiB of nopal's memory stay mapped in %u process%s (%d%s), since a thread "
		  "may return to code there, or that could not be found out within 0.1 s",
		  (unsigned long long)stats->kept / 1024, stats->kept_processes,
		  stats->kept_processes == 1 ? "" : "es", (int)stats->kept_pid,
		  stats->kept_processes == 1 ? "" : ", ...");
	diag_hint(d, "'nopal clean %d', or the next trace of the process, tries again",
		  (int)stats->kept_pid);
}

static void tell_armed(const struct run_stats *s, struct diag *d)
{
	if (!s->armed_pid)
		return;
	diag_warn(d, "user-mode-armed",
		  "the probe sites of process %d could not be restored: %s; they lead to code of "
		  "nopal that does nothing any more",
		  (int)s->armed_pid,
		  s->armed_err == -EBUSY   ? "another process is debugging it"
		  : s->armed_err == -ETIME ? "a thread of it did not stop in time"
					   : strerror(-s->armed_err));
	diag_hint(d, "'nopal clean %d' restores them when that is over", (int)s->armed_pid);
}

/* A tracer that raises semaphores itself comes a few milliseconds after a program has begun. */
static void tell_semaphores(const struct run_stats *s, struct diag *d)
{
	if (!s->semaphores_late && !s->semaphores_missed)
		return;
	diag_warn(d, "semaphores-late",
		  "the kernel cannot raise the semaphores of some files: of the processes that "
		  "mapped them later, %llu had them raised up to %.1f ms after, and %llu ended "
		  "before: events may be missing",
		  (unsigned long long)s->semaphores_late, (double)s->semaphores_late_most / 1e6,
		  (unsigned long long)s->semaphores_missed);
	diag_hint(d, "doc/authoring.md: 'Semaphores and linkers' says how to build such files");
}

/* What the kernel's filter by process left out: children without --follow, files. */
static void tell_left_out(struct nopal_trace *t, struct diag *d)
{
	struct run_stats stats;

	engine_stats(t->engine, &stats);
	if (stats.spoiled + t->spoiled) { /* the other counts are in that memory, too */
		tell_spoiled(stats.spoiled + t->spoiled, d);
		return;
	}
	if (stats.children) {
		diag_warn(d, "not-followed", "%s started %llu process%s not traced",
			  t->pid ? chosen_process(t) : "the processes",
			  (unsigned long long)stats.children,
			  stats.children == 1 ? " that was" : "es that were");
		diag_hint(d, "--follow%s traces them too", t->pid ? "" : " with one -p");
	}
	tell_kept(&stats, d);
	tell_armed(&stats, d);
	if (stats.uncleaned)
		diag_warn(
			d, "user-mode-uncleaned",
			"%llu child process%s could not be reached in 0.2 s: the probe sites there "
			"still lead to code of nopal, which does nothing any more",
			(unsigned long long)stats.uncleaned, stats.uncleaned == 1 ? "" : "es");
	tell_semaphores(&stats, d);
	tell_missed_in_user_mode(&stats, t->watch.reports && !t->watch.later.lost, d);
	if (stats.had_children && !t->watch.reports)
		tell_no_news(d);
	if (stats.files_missed)
		diag_warn(d, "files-missed",
			  "the main thread of %s ended before the others: probes with a "
			  "path in files that it mapped after that were missed",
			  chosen_process(t));
}

/* How the command ended, unless well. A signal that ends us by ^C ends it too: nothing new. */
static void tell_command(struct nopal_trace *t, struct diag *d)
{
	int code;

	if (!child_has_ended(&t->child))
		return;
	code = child_code(&t->child);
	if (code > 128 && WIFSIGNALED(t->child.status) && !t->stopped)
		diag_warn(d, "command-status", "the command '%s' was killed by signal %d (%s)",
			  t->options.command, code - 128, strsignal(code - 128));
	else if (code > 0 && !WIFSIGNALED(t->child.status))
		diag_warn(d, "command-status", "the command '%s' ended with status %d",
			  t->options.command, code);
}

NOPAL_EXPORT int nopal_trace_finish(struct nopal_trace *t, struct nopal_diag *diag)
{
	struct diag *d = diag_inner(diag);
	bool saw_nothing;
	int err;

	if (t->state >= SESSION_ENDING) /* ORDER */
		return 0;
	if (t->state == SESSION_OPEN)
		stop_watching(t);
	if (!is_over(t))
		t->state = SESSION_OVER;
	engine_stop(t->engine);
	session_read_watch(t);
	/* What was mapped at the last moment is not traced, but whether anything was missed is
	 * known. After a stop that is not waited for. */
	if (!t->stopped && t->watch.images)
		session_extend(t, d);
	later_judge(&t->watch.later, UINT64_MAX);
	do /* until nothing is left: no program writes any more */
		err = session_drain(t, d);
	while (!err && t->batch);
	t->state = SESSION_ENDING;
	report_at_end(t->report);
	saw_nothing = session_saw_nothing(t);
	if (!err)
		err = run_clauses(t, ATTACH_END, d);
	if (!err && t->facts.print_maps_on_exit && !t->options.trial)
		err = nopal_trace_print_maps(t);
	t->state = SESSION_FINISHED;
	engine_detach(t->engine);
	symbols_problems(t->symbols, d);
	session_warn(t, true);
	tell_left_out(t, d);
	session_tell_files(t, d);
	later_tell(&t->watch.later, d);
	tell_command(t, d);
	if (!err && saw_nothing)
		session_explain_no_events(t, d);
	return diag_ensure(d, err, "end the run");
}

NOPAL_EXPORT int nopal_trace_print_maps(struct nopal_trace *t)
{
	int err;

	session_read_watch(t);
	err = report_all_maps(t->report, session_maps(t), &t->out);
	session_flush(t);
	return session_take_spoiled(t, err);
}

NOPAL_EXPORT int nopal_trace_signal(struct nopal_trace *t, struct nopal_diag *diag)
{
	struct diag *d = diag_inner(diag);

	if (!t->facts.uses_signal)
		return nopal_trace_print_maps(t);
	return diag_ensure(d, run_clauses(t, ATTACH_SIGNAL, d), "run the clauses of a signal");
}

NOPAL_EXPORT void nopal_trace_trial(const struct nopal_trace *t, uint64_t *runs, uint64_t *ns)
{
	*runs = t->trial_runs;
	*ns = t->trial_ns;
}

NOPAL_EXPORT int nopal_trace_exit_code(const struct nopal_trace *t)
{
	return t->exit_code;
}

NOPAL_EXPORT int nopal_trace_command_code(const struct nopal_trace *t)
{
	return child_code(&t->child);
}

NOPAL_EXPORT void nopal_trace_stats(struct nopal_trace *t, struct nopal_trace_stats *out)
{
	struct run_stats stats;

	engine_stats(t->engine, &stats);
	*out = (struct nopal_trace_stats){t->records, stats.lost_records,
					  stats.lost_updates + stats.unmapped, stats.lost_scratch};
}

NOPAL_EXPORT const char *nopal_version(void)
{
	return NOPAL_VERSION;
}
