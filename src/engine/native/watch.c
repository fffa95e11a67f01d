/* What changes while traced processes run: sites that others change, files that are mapped later,
 * programs that are begun later. */
#include "engine/native/native_state.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/native/agent.h"
#include "engine/native/knock.h"
#include "symbols/maps.h"

#define LOOK_NS	 1000000u    /* between two looks at what runs and what is mapped */
#define GUARD_NS 100000000u  /* between two looks at the sites' bytes */
#define PATIENCE 20000000u   /* ns until a program counts as one without the agent */
#define KNOCK_NS 1000000000u /* from the end of a loader's work to its knock, on a busy CPU */

/* How many of its sites have a breakpoint; *gone: sites whose image was unloaded. */
static unsigned look_at_sites(struct native_process *p, unsigned *gone)
{
	unsigned shadowed = 0;

	*gone = 0;
	for (size_t i = 0; i < p->count; i++) {
		struct inject_site *s = &p->sites[i];
		enum inject_state state = s->is_on ? inject_look(p->x, s) : SITE_ON;

		shadowed += state == SITE_SHADOWED;
		*gone += state == SITE_GONE;
	}
	return shadowed;
}

static void say_shadowed(struct native_process *p, unsigned shadowed, struct diag *d)
{
	if (shadowed > p->shadowed)
		diag_warn(
			d, "user-mode-shadowed",
			"a debugger or a kernel uprobe has put breakpoints on %u site%s of process "
			"%d: events there are missed until they are removed",
			shadowed, shadowed == 1 ? "" : "s", (int)inject_pid(p->x));
	p->shadowed = shadowed;
}

/* Sites were off that had no breakpoint when they were looked at last. Where threads knock, a
 * library was just loaded again, and its sites are enabled before any of its code runs. */
static void say_off(struct native *e, const struct native_process *p, unsigned off, struct diag *d)
{
	if (p->knocks || off <= p->shadowed || e->off++)
		return;
	off -= p->shadowed;
	diag_warn(
		d, "user-mode-off",
		"a debugger or a kernel uprobe had put breakpoints on %u site%s of process %d for "
		"a moment, or its file was mapped anew: events there were missed",
		off, off == 1 ? "" : "s", (int)inject_pid(p->x));
}

static void say_later(struct native *e, struct native_process *p, struct diag *d)
{
	p->later_at = 0;
	if (e->later++ == 0)
		diag_warn(d, "user-mode-later",
			  "process %d has mapped a file with probes: tracing these begins some "
			  "milliseconds later",
			  (int)inject_pid(p->x));
}

/* Files are traced now that were mapped after `knocks`. If the loader did that, a thread knocks
 * after that, before it runs code of them: then nothing was missed. */
static void expect_knock(struct native *e, struct native_process *p, uint64_t knocks,
			 struct diag *d)
{
	if (!p->knocks) {
		say_later(e, p, d);
	} else if (!p->later_at && !knock_follows(p, knocks)) {
		p->later_at = clock_now();
		p->later_knocks = knocks;
	}
}

static void judge_later(struct native *e, struct native_process *p, struct diag *d)
{
	if (p->later_at && knock_follows(p, p->later_knocks))
		p->later_at = 0;
	else if (p->later_at && clock_now() - p->later_at > KNOCK_NS)
		say_later(e, p, d);
}

unsigned native_count_late(const struct native *e)
{
	unsigned count = 0;

	for (size_t i = 0; i < e->process_count; i++) {
		const struct native_process *p = e->processes[i];

		count += p->later_at && !knock_follows(p, p->later_knocks);
	}
	return count;
}

/* Files that are mapped by now; `is_early`: nothing of them has run. */
static int look_at_files(struct native *e, struct native_process *p, bool is_early, struct diag *d)
{
	struct native_left_out left = {0};
	size_t before = p->count;
	bool is_new = !p->is_ready, wants_knocks;
	uint64_t knocks = p->knocks ? knock_count(p) : 0;
	int err = inject_reread(p->x);

	knock_beat(e->store);
	p->has_waiting = false;
	for (size_t i = 0; i < e->part_count && !err; i++)
		err = native_add_clauses(p, e->parts[i], &left);
	if (left.count > e->left_out && !err) {
		native_say_left_out(&left, d);
		e->left_out = left.count;
	}
	if (!is_new && !err)
		native_langs_see(e, p);
	wants_knocks = is_new && is_early && p->expects_library;
	if (err || (p->count == before && !wants_knocks && !(is_early && native_process_renew(p))))
		return err;
	err = native_arm(e, p, d);
	if (!is_early && !is_new && !err)
		expect_knock(e, p, knocks, d);
	return err;
}

static void drop_ended(struct native *e)
{
	size_t kept = 1;

	for (size_t i = 1; i < e->process_count; i++) {
		struct native_process *p = e->processes[i];

		if (!inject_has_ended(p->x)) {
			e->processes[kept++] = p;
			continue;
		}
		e->given_up += p->later_at != 0;
		native_process_close(p);
	}
	e->process_count = kept;
}

/* Images come and go, and from the first time on threads knock. */
static int guard(struct native *e, struct diag *d)
{
	unsigned gone, off;
	int err = 0;

	drop_ended(e);
	for (size_t i = 0; i < e->process_count && !err; i++) {
		struct native_process *p = e->processes[i];

		judge_later(e, p, d);
		if (inject_has_ended(p->x))
			continue;
		knock_beat(e->store);
		off = native_process_renew(p);
		if (off)
			err = native_arm(e, p, d);
		say_off(e, p, off, d);
		say_shadowed(p, look_at_sites(p, &gone), d);
		if (gone && !p->knocks && !p->has_waiting && !err) {
			p->has_waiting = p->expects_library = true;
			err = native_arm(e, p, d);
		}
		native_process_refresh(p);
		native_langs_see(e, p); /* one may have been loaded */
	}
	return err;
}

struct newcomers {
	struct native *e;
	struct diag *d;
	bool are_early; /* nothing of their programs has run */
};

static void say_late(pid_t pid, struct diag *d)
{
	diag_warn(d, "user-mode-late",
		  "process %d began to run another program: tracing it begins some milliseconds "
		  "later",
		  (int)pid);
}

/* A process has called exec, or is a child that did. Children of fork have inherited all. */
static void take_newcomer(void *arg, pid_t pid)
{
	struct newcomers *n = arg;
	struct native *e = n->e;
	struct native_process *p;
	struct diag said = DIAG_INIT;
	int err = inject_is_inherited(pid) ? -EEXIST : native_open_process(e, pid, &p, &said);

	if (!err)
		err = look_at_files(e, p, n->are_early, &said);
	if (err && err != -EEXIST && err != -ESRCH && e->unreached++ == 0)
		diag_warn(n->d, "user-mode-child", "process %d is not traced: %.*s", (int)pid,
			  said.first ? (int)said.first->text.len : 0,
			  said.first ? said.first->text.ptr : "");
	else if (!err && p->count && !n->are_early && e->late++ == 0)
		say_late(pid, n->d);
	if (!err)
		diag_add_all(n->d, &said);
	diag_free(&said);
}

/* ---- who waits */

/* Any user may connect to the socket; only so many are looked at in one turn. */
static void accept_agents(struct native *e)
{
	struct native_waiting *w = &e->waiting;
	int fd;

	while (w->agent_count < AGENTS_AT_ONCE &&
	       (fd = native_agent_accept(e->options.agent_fd, &w->pids[w->agent_count])) >= 0)
		w->agents[w->agent_count++] = fd;
}

bool native_hear(struct engine *engine, waits_fn *fn, void *arg)
{
	struct native *e = (struct native *)engine;
	struct native_waiting *w = &e->waiting;

	if (!e->is_attached || e->is_stopped)
		return false;
	knock_beat(e->store);
	w->any_knocks = knock_is_heard(e->store, &w->knock);
	if (e->options.agent_fd)
		accept_agents(e);
	/* Which of them it is that has loaded a library is not said. */
	for (size_t i = 0; i < e->process_count && w->any_knocks; i++)
		if (e->processes[i]->knocks)
			fn(arg, inject_pid(e->processes[i]->x));
	for (unsigned i = 0; i < w->agent_count; i++)
		fn(arg, w->pids[i]);
	return w->any_knocks || w->agent_count;
}

void native_let_go(struct native *e)
{
	struct native_waiting *w = &e->waiting;

	while (w->agent_count)
		close(w->agents[--w->agent_count]);
}

/* Threads that have loaded a library. */
static int answer_knocks(struct native *e, struct diag *d)
{
	int err = 0;

	if (!e->waiting.any_knocks)
		return 0;
	for (size_t i = 0; i < e->process_count && !err; i++)
		if (e->processes[i]->knocks && !inject_has_ended(e->processes[i]->x))
			err = look_at_files(e, e->processes[i], true, d);
	e->waiting.any_knocks = false;
	knock_answer(e->store, e->waiting.knock);
	knock_beat(e->store);
	return err == -ESRCH ? 0 : err;
}

static void take_later(void *arg, pid_t pid)
{
	(void)arg, (void)pid;
}

/* One that has not waited as long as this has taken: if it has ended meanwhile, what it was is not
 * known any more. */
static void take_agent(struct native *e, int fd, pid_t pid, struct diag *d)
{
	struct newcomers newcomers = {e, d, !native_agent_has_left(fd)};
	int err = children_take(&e->children, pid, take_newcomer, &newcomers);

	if (!native_agent_has_left(fd))
		return;
	e->given_up += !err || !process_stat_number(pid, STAT_PROGRAM);
	if (!err && newcomers.are_early && e->late++ == 0)
		say_late(pid, d);
}

/* Programs that the traced processes have begun. Others may have come to the socket, too. */
static int answer_agents(struct native *e, struct diag *d)
{
	struct native_waiting *w = &e->waiting;
	int err = 0;

	if (w->agent_count)
		err = children_look(&e->children, e->options.pid, e->options.follow_forks,
				    UINT64_MAX, take_later, NULL);
	for (unsigned i = 0; i < w->agent_count; i++) {
		if (!err)
			take_agent(e, w->agents[i], w->pids[i], d);
		knock_beat(e->store);
		close(w->agents[i]);
	}
	w->agent_count = 0;
	return err;
}

int native_rearm(struct engine *engine, struct diag *d)
{
	struct native *e = (struct native *)engine;
	struct newcomers newcomers = {e, d, false};
	uint64_t at = clock_now();
	int err;

	if (!e->is_attached || e->is_stopped)
		return 0;
	err = answer_knocks(e, d);
	if (!err)
		err = answer_agents(e, d);
	if (err || at < e->look_at)
		return err;
	e->look_at = at + (native_listens(e) ? GUARD_NS / 10 : LOOK_NS);
	err = children_look(&e->children, e->options.pid, e->options.follow_forks,
			    e->options.agent_fd ? PATIENCE : 0, take_newcomer, &newcomers);
	for (size_t i = 0; i < e->process_count && !err; i++)
		if (e->processes[i]->has_waiting && !inject_has_ended(e->processes[i]->x))
			err = look_at_files(e, e->processes[i], false, d);
	if (err || at < e->guard_at)
		return err == -ESRCH ? 0 : err;
	e->guard_at = at + GUARD_NS;
	return guard(e, d);
}
