/* What tracers left in a process when they were killed: bytes of sites, semaphores, stubs. Their
 * ledgers say what it is; all threads are stopped while it is undone. */
#include "user/patch/undo.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/patch/inject.h"
#include "user/patch/ledger.h"
#include "user/patch/patch.h"
#include "user/patch/plan.h"
#include "user/ptrace/remote.h"
#include "user/ptrace/threads.h"

struct undoing {
	struct inject *x;
	uint64_t ledgers[LEDGERS_MOST];
	unsigned count;
	pid_t only; /* ledgers of this tracer; 0: of those that are gone */
	int undone;
	pid_t busy; /* a tracer that is not gone */
	bool is_given[LEDGERS_MOST];
	uint64_t kept; /* bytes */
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

		if (ledger_read(x, ledger, &head, i, &entry))
			continue;
		count += undo_entry(x, &entry);
		if (entry.len && entry.is_raised)
			ledger_lower(x, ledger, i);
	}
	return count;
}

static int undo_stopped(void *arg)
{
	struct undoing *u = arg;
	struct threads threads;
	int err = process_stop(u->x, &threads);

	for (unsigned i = 0; i < u->count && !err; i++)
		u->undone += undo_ledger(u->x, u->ledgers[i], u->only, &u->busy);
	if (err)
		return err;
	stubs_sweep(u->x, &threads);
	if (!u->busy)
		leave_sessions(u->x, &threads, u->ledgers, u->count, u->is_given, &u->kept);
	process_go(u->x, &threads);
	return 0;
}

static int undo_ledgers(struct undoing *u)
{
	return u->count ? process_apart(u->x, undo_stopped, u) : 0;
}

/* Memory of old sessions that is gone is not there any more when sites are planned. */
int undo_old(struct inject *x, struct diag *d)
{
	struct undoing u = {.x = x};
	int count = ledger_find_old(x, d), err;

	if (count <= 0)
		return count;
	u.count = (unsigned)count;
	memcpy(u.ledgers, x->old, sizeof(u.ledgers));
	err = undo_ledgers(&u);
	x->old_count = 0;
	for (unsigned i = 0; i < u.count; i++)
		if (!u.is_given[i])
			x->old[x->old_count++] = u.ledgers[i];
	if (!err)
		err = space_read(&x->space, x->pid);
	return err ? err : ledger_adopt_old(x);
}

/* The ledgers of this tracer. A process that another one traces is not stopped for nothing. */
static unsigned find_ours(struct inject *x, uint64_t ledgers[LEDGERS_MOST], pid_t tracer)
{
	unsigned count = ledger_find(x, ledgers), ours = 0;
	struct ledger_head head;

	for (unsigned i = 0; i < count; i++)
		if (!ledger_open(x, ledgers[i], &head) && ledger_is_of(&head, tracer))
			ledgers[ours++] = ledgers[i];
	return ours;
}

/* *sites: how many. -ENOENT: there is no ledger. */
static int undo(pid_t pid, struct undoing *u, struct diag *d)
{
	int err = process_open(pid, &u->x, d);

	if (err)
		return err;
	u->count = u->only ? find_ours(u->x, u->ledgers, u->only) : ledger_find(u->x, u->ledgers);
	err = u->count ? undo_ledgers(u) : -ENOENT;
	process_close(u->x);
	return err;
}

static void say_kept(pid_t pid, uint64_t kept, struct diag *d)
{
	if (!kept)
		return;
	diag_warn(d, "clean-kept",
		  "%llu KiB of nopal's memory stay mapped in process %d, since a thread may return "
		  "to code there",
		  (unsigned long long)kept / 1024, (int)pid);
	diag_hint(d, "try again later, or trace the process");
}

/* Does the process run the same program as this one? */
static bool is_nopal(pid_t pid)
{
	struct stat ours, theirs;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return !stat("/proc/self/exe", &ours) && !stat(path, &theirs) &&
	       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

int inject_clean(pid_t pid, struct diag *d)
{
	struct undoing u = {0};
	int err = undo(pid, &u, d);

	if (err == -ENOENT)
		return diag_error(d, err, "nothing-to-clean",
				  "no tracer has left anything in process %d", (int)pid);
	say_kept(pid, u.busy ? 0 : u.kept, d);
	if (err || !u.busy)
		return err ? err : u.undone;
	/* The ledger can name any process: who reads this may be about to end it. */
	if (!is_nopal(u.busy))
		return diag_error(d, -EBUSY, "still-traced",
				  "process %d has memory that says it is traced", (int)pid);
	diag_error(d, -EBUSY, "still-traced", "process %d is tracing process %d", (int)u.busy,
		   (int)pid);
	diag_hint(d, "end it: kill %d", (int)u.busy);
	return -EBUSY;
}

bool inject_is_inherited(pid_t pid)
{
	uint64_t ledgers[LEDGERS_MOST];
	struct inject *x;
	bool is;

	if (process_look(pid, &x))
		return false;
	is = find_ours(x, ledgers, getpid()) > 0;
	process_close(x);
	return is;
}

void inject_clean_child(pid_t pid)
{
	struct undoing u = {.only = getpid()};

	undo(pid, &u, NULL);
}
