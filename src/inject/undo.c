/* What tracers left in a process when they were killed: bytes of sites, semaphores, stubs. Their
 * ledgers say what it is; all threads are stopped while it is undone. */
#include "inject/inside.h"

#include <errno.h>
#include <unistd.h>

#include "symbols/maps.h"

struct undoing {
	struct inject *x;
	const uint64_t *ledgers;
	unsigned count;
	pid_t only; /* ledgers of this tracer; 0: of those that are gone */
	int undone;
	pid_t busy; /* a tracer that is not gone */
};

static int undo_entry(struct inject *x, const struct ledger_entry *e)
{
	uint8_t now[INJECT_PATCH_MAX] = {0};
	bool is_there = e->len && !inject_read(x, e->patch, now, e->len) &&
			(patch_is_written(now, e->before, e->after, e->len) ||
			 !memcmp(now, e->before, e->len) || is_breakpoint(now));
	int changed = is_there ? patch_write_before(x, e) : 0;

	if (e->is_raised && is_there)
		patch_semaphore(x, e->semaphore, -1);
	return changed == 1;
}

/* Entries stay, so that pages of landings are found again. */
int undo_ledger(struct inject *x, uint64_t ledger, pid_t only, pid_t *busy)
{
	struct ledger_head head;
	int count = 0;

	if (ledger_open(x, ledger, &head))
		return 0;
	if (only ? !ledger_is_of(&head, only) : ledger_tracer_lives(&head)) {
		*busy = only ? 0 : (pid_t)head.tracer;
		return 0;
	}
	for (uint64_t i = 0; i < head.count; i++) {
		struct ledger_entry entry;

		if (ledger_read(x, ledger, i, &entry))
			continue;
		count += undo_entry(x, &entry);
		if (entry.is_raised)
			ledger_lower(x, ledger, i);
	}
	return count;
}

static int undo_stopped(void *arg)
{
	struct undoing *u = arg;
	struct threads threads;
	int err = threads_stop(u->x->pid, &threads);

	for (unsigned i = 0; i < u->count && !err; i++)
		u->undone += undo_ledger(u->x, u->ledgers[i], u->only, &u->busy);
	if (err)
		return err;
	stubs_sweep(u->x, &threads);
	threads_resume(&threads);
	return 0;
}

int undo_old(struct inject *x)
{
	struct undoing u = {.x = x, .ledgers = x->old, .count = x->old_count};
	int err = x->old_count ? threads_apart(undo_stopped, &u) : 0;

	return err ? err : u.undone;
}

/* Is one of these ledgers of this tracer? What others trace is not stopped for nothing. */
static bool has_ledger_of(struct inject *x, const uint64_t *ledgers, unsigned count, pid_t tracer)
{
	struct ledger_head head;

	for (unsigned i = 0; i < count; i++)
		if (!ledger_open(x, ledgers[i], &head) && ledger_is_of(&head, tracer))
			return true;
	return false;
}

/* The number of sites; -ENOENT: there is no ledger. */
static int undo(pid_t pid, pid_t only, pid_t *busy, struct diag *d)
{
	uint64_t ledgers[LEDGERS_MOST];
	struct undoing u = {.only = only, .ledgers = ledgers};
	int err;

	u.count = ledger_find(pid, ledgers);
	if (!u.count && only)
		return -ENOENT;
	err = process_open(pid, &u.x, d);
	if (!err && (!u.count || (only && !has_ledger_of(u.x, ledgers, u.count, only))))
		err = -ENOENT;
	if (!err)
		err = threads_apart(undo_stopped, &u);
	process_close(u.x);
	*busy = u.busy;
	return err ? err : u.undone;
}

int inject_clean(pid_t pid, struct diag *d)
{
	pid_t busy = 0;
	int done = undo(pid, 0, &busy, d);

	if (done == -ENOENT)
		return diag_error(d, done, "nothing-to-clean",
				  "no tracer has left anything in process %d", (int)pid);
	if (!busy)
		return done;
	diag_error(d, -EBUSY, "still-traced", "process %d is tracing process %d", (int)busy,
		   (int)pid);
	diag_hint(d, "end it: kill %d", (int)busy);
	return -EBUSY;
}

bool inject_is_inherited(pid_t pid)
{
	uint64_t ledgers[LEDGERS_MOST];
	unsigned count = ledger_find(pid, ledgers);
	struct inject *x;
	bool is;

	if (!count || process_look(pid, &x))
		return false;
	is = has_ledger_of(x, ledgers, count, getpid());
	process_close(x);
	return is;
}

static int clean_child(void *arg, pid_t pid)
{
	pid_t busy;

	(void)arg;
	if (pid != getpid())
		undo(pid, getpid(), &busy, NULL);
	return 0;
}

void inject_clean_children(void)
{
	processes_each(clean_child, NULL);
}
