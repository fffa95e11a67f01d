/* What changes while traced processes run: sites that others change, files that are mapped later,
 * programs that are begun later. */
#include "user/run/native_state.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "user/patch/site.h"
#include "user/ptrace/tracee.h"
#include "user/run/forked.h"
#include "user/run/library_wait.h"

#define LOOK_NS	      1000000u		   /* between two looks at what runs and what is mapped */
#define LOOK_EACH_NS  300000u		   /* ... for each process, where that is more */
#define CLOCK_NS      UINT64_C(1000000000) /* between looks at what the kernel has for a clock */
#define GUARD_NS      100000000u	   /* between two looks at the sites' bytes */
#define GUARD_EACH_NS 3000000u		   /* ... for each process */
#define LIBRARY_WAIT_NS \
	1000000000u /* from the end of a loader's work to the wait of its thread, on a busy CPU */

/* How many of its sites have a breakpoint; *gone: sites whose image was unloaded. */
static unsigned look_at_sites(struct native_process *p, unsigned *gone)
{
	unsigned shadowed = 0;

	*gone = 0;
	for (size_t i = 0; i < p->count; i++) {
		struct inject_site *s = &p->sites[i];
		enum inject_state state = s->stage == SITE_ENABLED ? inject_look(p->x, s) : SITE_ON;

		shadowed += state == SITE_SHADOWED;
		*gone += state == SITE_GONE;
	}
	return shadowed;
}

static void say_shadowed(struct native_process *p, unsigned shadowed, struct diag *d)
{
	if (shadowed > p->found.shadowed)
		diag_warn(
			d, "user-mode-shadowed",
			"a debugger or a kernel uprobe has put breakpoints on %u site%s of process "
			"%d: events there are missed until they are removed",
			shadowed, shadowed == 1 ? "" : "s", (int)inject_pid(p->x));
	p->found.shadowed = shadowed;
}

/* Sites were off that had no breakpoint when they were looked at last. Where threads wait
 * for us, a library was just loaded again, and its sites are enabled before any of its code runs.
 */
static void say_off(struct native *e, const struct native_process *p, unsigned off, struct diag *d)
{
	if (p->loader.waits || off <= p->found.shadowed || e->off++)
		return;
	off -= p->found.shadowed;
	diag_warn(
		d, "user-mode-off",
		"a debugger or a kernel uprobe had put breakpoints on %u site%s of process %d for "
		"a moment, or its file was mapped again: events there were missed",
		off, off == 1 ? "" : "s", (int)inject_pid(p->x));
}

static void say_later(struct native *e, struct native_process *p, struct diag *d)
{
	p->loader.later_at = 0;
	if (e->later++ == 0)
		diag_warn(d, "user-mode-later",
			  "process %d has mapped a file with probes: tracing these begins a "
			  "few milliseconds later",
			  (int)inject_pid(p->x));
}

/* Files are traced now that were mapped when there had been `waits`. If the loader did that, a
 * thread waits after that, before it runs code of them, or does already: then nothing was missed.
 */
static void expect_library_wait(struct native *e, struct native_process *p, uint64_t waits,
				struct diag *d)
{
	if (!p->loader.waits) {
		say_later(e, p, d);
	} else if (!p->loader.later_at && waits <= p->loader.heard &&
		   !library_wait_follows(p, waits)) {
		p->loader.later_at = clock_now();
		p->loader.later_waits = waits;
	}
}

static void judge_later(struct native *e, struct native_process *p, struct diag *d)
{
	if (p->loader.later_at && library_wait_follows(p, p->loader.later_waits))
		p->loader.later_at = 0;
	else if (p->loader.later_at && clock_now() - p->loader.later_at > LIBRARY_WAIT_NS)
		say_later(e, p, d);
}

/* ... that others have put breakpoints on since the last look, or had for a moment. */
static unsigned count_disturbed(const struct native_process *p)
{
	unsigned count = 0;

	for (size_t i = 0; i < p->count; i++) {
		enum inject_state state = p->sites[i].stage == SITE_ENABLED
						  ? inject_look(p->x, &p->sites[i])
						  : SITE_ON;

		count += state == SITE_SHADOWED || state == SITE_OFF;
	}
	return count > p->found.shadowed ? count - p->found.shadowed : 0;
}

unsigned native_count_disturbed(const struct native *e)
{
	unsigned count = 0;

	for (size_t i = 0; i < e->process_count; i++)
		if (!inject_has_ended(e->processes[i]->x))
			count += count_disturbed(e->processes[i]);
	return count;
}

unsigned native_count_late(const struct native *e)
{
	unsigned count = 0;

	for (size_t i = 0; i < e->process_count; i++) {
		const struct native_process *p = e->processes[i];

		count += (p->agent.late_at && p->count) ||
			 (p->loader.later_at && !library_wait_follows(p, p->loader.later_waits));
	}
	return count;
}

/* Report the sites of files that came later, which are missed. */
static int say_left_out(struct native *e, struct native_process *p, struct diag *d)
{
	struct native_left_out left = {0};
	int err = 0;

	for (size_t i = 0; i < e->part_count && !err; i++)
		err = native_find_left_out(p, e->parts[i], &left);
	if (!err)
		err = native_say_left_out(e, &left, d);
	native_left_out_free(&left);
	return err;
}

/* A process without probes is entered only if one may come: that costs a program that begins more
 * than all else. */
static bool awaits_library(struct native *e, const struct native_process *p)
{
	return p->files.may_come && loads_may_come(&e->loads, inject_pid(p->x));
}

static int look_at_files(struct native *e, struct native_process *p, bool is_early, struct diag *d)
{
	size_t before = p->count;
	bool is_new = !p->is_ready, wants_more;
	uint64_t waits = p->loader.waits ? library_wait_count(p) : 0;
	int err = inject_reread(p->x), turned = 0;

	heartbeat(e->store);
	if (!err)
		turned = remapped_take(p);
	if (turned < 0)
		err = turned;
	p->files.are_missing = false;
	for (size_t i = 0; i < e->part_count && !err; i++)
		err = native_add_clauses(p, e->parts[i]);
	if (!err && (p->count > before || turned))
		err = say_left_out(e, p, d);
	if (!is_new && !err)
		native_langs_see(e, p);
	wants_more = native_process_lacks_semaphores(p) ||
		     (is_early &&
		      ((is_new && awaits_library(e, p)) || (p->count && !p->calls.is_libc_done)));
	if (err || (p->count == before && !wants_more && !turned &&
		    !(is_early && native_process_renew(p))))
		return err;
	p->agent.is_waiting = is_new && is_early;
	err = native_arm(e, p, d);
	p->agent.is_waiting = false;
	if (!is_early && !is_new && !err)
		expect_library_wait(e, p, waits, d);
	return err;
}

/* The mappings of a process that has just ended, or called exec, read as empty, or are of the other
 * program: nothing was looked at, unless it has sites, for which it is late. */
static bool was_there(const struct native_process *p)
{
	return p->count > p->own || (inject_has_files(p->x) && !inject_has_ended(p->x));
}

int native_look_at_files(struct native *e, struct native_process *p, bool is_early, struct diag *d)
{
	uint64_t began = clock_now();
	int err = look_at_files(e, p, is_early, d);

	if (!err && was_there(p))
		missed_looked(e->options.watch, inject_pid(p->x), began);
	return err;
}

static void drop_ended(struct native *e, struct diag *d)
{
	size_t kept = e->process_count ? 1 : 0;

	forked_look(e);
	for (size_t i = 1; i < e->process_count; i++) {
		struct native_process *p = e->processes[i];

		if (!inject_has_ended(p->x) || forked_remain(e, p)) {
			e->processes[kept++] = p;
			continue;
		}
		e->given_up += p->loader.later_at != 0;
		if (p->agent.late_at)
			native_say_late(e, p, d);
		native_process_close(p);
	}
	e->process_count = kept;
}

/* ---- one process after the other */

/* An error of one process must not end the run of the others: when it cannot be looked at any more,
 * the sites that it has are traced further. */
static void shut(struct native *e, struct native_process *p, int err, const struct diag *said,
		 struct diag *d)
{
	bool is_forbidden = err == -EACCES || err == -EPERM;

	p->is_shut = true;
	if (e->shut++)
		return;
	diag_warn(d, "user-mode-shut", "what process %d maps from now on is not traced: %.*s",
		  (int)inject_pid(p->x),
		  said->first && !is_forbidden ? (int)said->first->text.len : INT_MAX,
		  is_forbidden	? "the kernel lets only root debug it now, since it has other "
				  "privileges, or has asked for that (PR_SET_DUMPABLE)"
		  : said->first ? said->first->text.ptr
				: strerror(-err));
}

typedef int look_fn(struct native *e, struct native_process *p, struct diag *d);

static int look_at(struct native *e, struct native_process *p, look_fn *look, struct diag *d)
{
	struct diag said = DIAG_INIT;
	int err = p->is_shut || inject_has_ended(p->x) ? 0 : look(e, p, &said);

	if (!err || err == -ENOMEM)
		diag_add_all(d, &said);
	else if (err != -ESRCH)
		shut(e, p, err, &said, d);
	diag_free(&said);
	return err == -ENOMEM ? err : 0;
}

/* Images come and go, and from the first time on threads wait that load them. */
static int guard(struct native *e, struct native_process *p, struct diag *d)
{
	unsigned gone, off;
	int err = inject_reread(p->x), turned = err ? err : remapped_take(p);

	if (turned < 0)
		return turned;
	heartbeat(e->store);
	off = native_process_renew(p);
	if (off || turned || native_process_lacks_semaphores(p))
		err = native_arm(e, p, d);
	say_off(e, p, off, d);
	say_shadowed(p, look_at_sites(p, &gone), d);
	if (gone && !p->loader.waits && !p->files.are_missing && !err) {
		p->files.are_missing = p->files.may_come = true;
		err = native_arm(e, p, d);
	}
	native_process_refresh(p);
	native_langs_see(e, p); /* one may have been loaded */
	return err;
}

static int guard_all(struct native *e, struct diag *d)
{
	int err = 0;

	drop_ended(e, d);
	for (size_t i = 0; i < e->process_count && !err; i++) {
		judge_later(e, e->processes[i], d);
		native_judge_late(e, e->processes[i], d);
		err = look_at(e, e->processes[i], guard, d);
	}
	return err;
}

/* While it waits for the answer: when it has ended, it cannot be asked any more. */
static int look_after_wait(struct native *e, struct native_process *p, struct diag *d)
{
	bool has_waited = p->loader.is_unanswered || !e->waiting.are_known;

	judge_later(e, p, d);
	p->loader.is_unanswered = false;
	return p->loader.waits && has_waited ? native_look_at_files(e, p, true, d) : 0;
}

static int look_for_files(struct native *e, struct native_process *p, struct diag *d)
{
	return p->files.are_missing ? native_look_at_files(e, p, false, d) : 0;
}

static int look_at_all(struct native *e, look_fn *look, struct diag *d)
{
	int err = 0;

	for (size_t i = 0; i < e->process_count && !err; i++)
		err = look_at(e, e->processes[i], look, d);
	return err;
}

/* ---- what the kernel reports */

/* Not every file system has generations, or the same number of its device here and there. */
static bool is_of(const struct attach *at, const struct watch_event *news)
{
	const struct file *f = at->file;

	return at->kind == ATTACH_UPROBE && f && f->inode == news->inode &&
	       (f->device == makedev(news->major, news->minor) ||
		(f->generation && f->generation == news->generation));
}

/* An attachment in that file that this engine has; NULL: none. */
static const struct attach *find_attach(const struct native *e, const struct watch_event *news)
{
	for (size_t n = 0; n < e->part_count; n++)
		for (uint32_t i = 0; i < e->parts[n]->clause_count; i++) {
			const struct clause *c = &e->parts[n]->clauses[i];

			for (uint32_t k = 0; k < c->attach_count; k++)
				if (is_of(&c->attaches[k], news))
					return &c->attaches[k];
		}
	return NULL;
}

/* Is a site within the mapping armed? Those of a process that has ended since are as they were when
 * they were looked at last. */
static bool has_armed(const struct native_process *p, const struct watch_event *news)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct inject_site *s = &p->sites[i];

		if (s->stage == SITE_ENABLED && s->pc - news->start < news->len &&
		    (inject_look(p->x, s) == SITE_ON || inject_has_ended(p->x)))
			return true;
	}
	return false;
}

/* The kernel reports mprotect(2) as a mapping, too: its sites are traced already. */
static bool is_armed_there(const struct native *e, const struct watch_event *news)
{
	for (size_t i = 0; i < e->process_count; i++) {
		const struct native_process *p = e->processes[i];

		if (inject_pid(p->x) == news->pid && !p->has_execed && has_armed(p, news))
			return true;
	}
	return false;
}

/* Sites that were armed in the process are gone with its program. */
static void note_exec(struct native *e, pid_t pid, uint64_t time)
{
	missed_ended(e->options.watch, watch_find(e->options.watch, pid));
	programs_renew(e->options.watch, pid, time);
	for (size_t i = 0; i < e->process_count; i++)
		if (inject_pid(e->processes[i]->x) == pid && inject_has_ended(e->processes[i]->x))
			e->processes[i]->has_execed = true;
}

static void note_mapped(struct native *e, const struct watch_event *event)
{
	bool is_after = e->is_stopped && event->time >= e->stopped_at;
	const struct attach *at = is_after ? NULL : find_attach(e, event);

	if (!at || is_armed_there(e, event))
		return;
	missed_mapped(e->options.watch, event, at->path);
	programs_meet(e->options.watch, event->pid, NULL, NULL);
}

/* ---- who waits */

static void note_waiting(struct native *e)
{
	struct native_waiting *w = &e->waiting;
	struct watch *watch = e->options.watch;

	if (!e->is_attached || e->is_stopped)
		return;
	heartbeat(e->store);
	listener_clear(&e->listener);
	w->any_library = library_wait_is_asked(e->store, &w->asked);
	native_accept_agents(e);
	/* Which of them it is that has loaded a library is not said. */
	for (size_t i = 0; i < e->process_count && w->any_library; i++)
		if (e->processes[i]->loader.waits && !inject_has_ended(e->processes[i]->x))
			watch_wait(watch, inject_pid(e->processes[i]->x));
	if (w->any_library)
		forked_hear(e);
	for (size_t i = 0; i < w->forked_count; i++)
		watch_wait(watch, w->forked[i].pid);
	for (unsigned i = 0; i < w->agent_count; i++)
		watch_wait(watch, w->pids[i]);
}

int native_note(struct engine *engine, const struct watch_event *event, struct diag *d)
{
	struct native *e = (struct native *)engine;

	switch (event->kind) {
	case PROCESS_MAPPED: note_mapped(e, event); break;
	/* The child's parents may end before they are asked for it. */
	case PROCESS_FORKED: programs_meet(e->options.watch, event->pid, NULL, NULL); break;
	case PROCESS_EXEC: note_exec(e, event->pid, event->time); break;
	case PROCESS_ENTERED: return native_enter(e, d);
	case TRACER_ASKS: note_waiting(e); break;
	case TRACER_WORKS: native_beat(e); break;
	default: break;
	}
	return 0;
}

/* Threads that have loaded a library. */
static int answer_library_waits(struct native *e, struct diag *d)
{
	int err;

	if (!e->waiting.any_library)
		return 0;
	err = forked_take(e, d);
	if (!err)
		err = look_at_all(e, look_after_wait, d);
	e->waiting.any_library = false;
	library_wait_answer(e->store, e->waiting.asked);
	heartbeat(e->store);
	return err;
}

/* The kernel leaves the TSC when it finds out that CPUs disagree, or a virtual machine has moved.
 */
static void look_at_clock(struct native *e, struct diag *d)
{
	uint64_t now = clock_now();
	char name[CLOCK_NAME];

	if (e->has_other_clock || now < e->clock_at)
		return;
	e->clock_at = now + CLOCK_NS;
	e->has_other_clock = !native_clock_is_tsc(NULL, name);
	if (e->has_other_clock)
		diag_warn(d, "user-mode-clock",
			  "the kernel does not use the CPU's time stamp counter as its clock any "
			  "more, but '%.*s': times of this run, and the order of its records, may "
			  "be wrong from now on",
			  (int)sizeof(name), name);
}

/* Where there are hundreds of processes, looks take a part of the time, not all of it. */
static uint64_t until_next(size_t count, uint64_t each, uint64_t least)
{
	return count * each > least ? count * each : least;
}

int native_rearm(struct engine *engine, struct diag *d)
{
	struct native *e = (struct native *)engine;
	uint64_t at = clock_now();
	int err;

	if (!e->is_attached || e->is_stopped)
		return 0;
	err = answer_library_waits(e, d);
	if (!err)
		err = native_answer_agents(e, d);
	if (err || at < e->look_at)
		return err;
	e->look_at = at + until_next(e->options.watch->count, LOOK_EACH_NS,
				     native_listens(e) ? GUARD_NS / 10 : LOOK_NS);
	err = native_look_for_programs(e, d);
	if (!err)
		err = look_at_all(e, look_for_files, d);
	if (err || at < e->guard_at)
		return err;
	e->guard_at = at + until_next(e->process_count, GUARD_EACH_NS, GUARD_NS);
	look_at_clock(e, d);
	return guard_all(e, d);
}
