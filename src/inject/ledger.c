/* The ledger: what was changed in a process, written into the process itself, so that it can be
 * undone when the tracer is no more. It can be written by the process, so it is read as hostile. */
#include "inject/inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/maps.h"

#define STAT_STARTED 22
#define FIRST_PIDS   0xeffffffcu /* inode of the pid namespace in which all processes are seen */

/* The pid namespace of a process; 0: it cannot be seen. */
static uint64_t names_of(pid_t pid)
{
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	return stat(path, &st) ? 0 : st.st_ino;
}

int ledger_start(struct inject *x)
{
	const struct ledger_head head = {.magic = LEDGER_MAGIC,
					 .tracer = (uint64_t)getpid(),
					 .started = process_stat_number(getpid(), STAT_STARTED),
					 .names = names_of(getpid()),
					 .process = (uint64_t)x->pid};

	x->ledger_count = 0;
	return inject_write(x, x->ledger, &head, sizeof(head));
}

int ledger_end(struct inject *x)
{
	const uint64_t none[2] = {0, 0}; /* tracer, started */

	return x->ledger ? inject_write(x, x->ledger + offsetof(struct ledger_head, tracer), none,
					x->is_left ? sizeof(none) : sizeof(none[0]))
			 : 0;
}

static uint64_t entry_address(uint64_t ledger, uint64_t number)
{
	return ledger + sizeof(struct ledger_head) + number * sizeof(struct ledger_entry);
}

struct ledger_entry ledger_entry(const struct inject_site *s)
{
	struct ledger_entry entry = {.patch = s->patch,
				     .semaphore = s->semaphore,
				     .len = s->len,
				     .is_raised = s->is_raised,
				     .is_whole = form_is_whole(s->form)};

	memcpy(entry.before, s->before, sizeof(entry.before));
	memcpy(entry.after, s->after, sizeof(entry.after));
	return entry;
}

int ledger_mark(struct inject *x, const struct inject_site *s)
{
	const struct ledger_entry entry = ledger_entry(s);

	return inject_write(x, entry_address(x->ledger, s->entry), &entry, sizeof(entry));
}

static int write_count(struct inject *x)
{
	return inject_write(x, x->ledger + offsetof(struct ledger_head, count), &x->ledger_count,
			    sizeof(x->ledger_count));
}

int ledger_add_pages(struct inject *x, const struct range *pages)
{
	const struct ledger_entry entry = {
		.patch = pages->start, .semaphore = pages->end, .is_whole = pages->is_bodies};
	int err;

	if (x->ledger_count == LEDGER_MOST)
		return -ENOSPC;
	err = inject_write(x, entry_address(x->ledger, x->ledger_count), &entry, sizeof(entry));
	x->ledger_count += !err;
	return err ? err : write_count(x);
}

void ledger_drop_last(struct inject *x)
{
	x->ledger_count--;
	write_count(x);
}

int ledger_adopt(struct inject *x)
{
	const struct space *s = &x->space;
	int err = 0;

	for (size_t i = 0; i < s->mapped_count && !err; i++)
		if (!s->planned[i].is_bodies)
			err = ledger_add_pages(x, &s->planned[i]);
	return err;
}

int ledger_add(struct inject *x, struct inject_site *sites, size_t count)
{
	uint64_t first = x->ledger_count;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		if (sites[i].form == INJECT_NONE || sites[i].is_listed)
			continue;
		if (x->ledger_count == LEDGER_MOST)
			return -ENOSPC;
		sites[i].entry = x->ledger_count++;
		sites[i].is_listed = true;
		err = ledger_mark(x, &sites[i]);
	}
	return !err && x->ledger_count > first ? write_count(x) : err;
}

/* ---- reading one */

struct search {
	uint64_t *found; /* addresses */
	unsigned count;
};

static int take_ledger(void *arg, const struct mapped_file *m)
{
	struct search *s = arg;

	if (str_eq_text(m->path, "/memfd:" LEDGER_NAME MAPPED_DELETED) &&
	    m->end - m->start == LEDGER_SIZE && s->count < LEDGERS_MOST)
		s->found[s->count++] = m->start;
	return 0;
}

unsigned ledger_find(pid_t pid, uint64_t out[LEDGERS_MOST])
{
	struct search s = {.found = out};
	struct buf text = BUF_INIT;

	if (!maps_read(pid, &text))
		maps_parse_all(buf_as_str(&text), pid, take_ledger, &s);
	buf_free(&text);
	return s.count;
}

int ledger_open(struct inject *x, uint64_t ledger, struct ledger_head *out)
{
	int err = inject_read(x, ledger, out, sizeof(*out));

	if (!err && (out->magic != LEDGER_MAGIC || out->count > LEDGER_MOST))
		err = -EPROTO;
	return err;
}

int ledger_read(struct inject *x, uint64_t ledger, uint64_t number, struct ledger_entry *out)
{
	int err = inject_read(x, entry_address(ledger, number), out, sizeof(*out));

	return !err && out->len > INJECT_PATCH_MAX ? -EPROTO : err;
}

/* One that was killed may stay a zombie: its parent need not ask for its status. */
static bool is_started_then(pid_t pid, uint64_t started)
{
	return process_stat_number(pid, STAT_STARTED) == started &&
	       process_stat_number(pid, STAT_PROGRAM);
}

/* It is this process, as it is seen here. */
static int is_tracer(void *arg, pid_t pid)
{
	const struct ledger_head *head = arg;

	return names_of(pid) == head->names && is_started_then(pid, head->started);
}

/* A tracer in another pid namespace has another number here, or cannot be seen from here: then it
 * is not known to be gone. */
static bool lives_elsewhere(const struct ledger_head *head)
{
	struct ledger_head copy = *head;

	return names_of(getpid()) != FIRST_PIDS || processes_each(is_tracer, &copy) == 1;
}

bool ledger_tracer_lives(const struct ledger_head *head)
{
	if (!head->tracer || head->tracer > INT32_MAX || !head->started)
		return false;
	if (head->names != names_of(getpid()))
		return lives_elsewhere(head);
	return is_started_then((pid_t)head->tracer, head->started);
}

bool ledger_is_of(const struct ledger_head *head, pid_t tracer)
{
	return head->tracer == (uint64_t)tracer && head->names == names_of(getpid());
}

int ledger_lower(struct inject *x, uint64_t ledger, uint64_t number)
{
	const uint8_t no = 0;

	return inject_write(
		x, entry_address(ledger, number) + offsetof(struct ledger_entry, is_raised), &no,
		sizeof(no));
}

/* ---- sessions that are over */

static int adopt_entry(struct inject *x, uint64_t ledger, uint64_t number)
{
	struct ledger_entry entry;
	int err = ledger_read(x, ledger, number, &entry);

	/* Only mapped pages of code, once; what it says can be anything. */
	if (err || entry.len || entry.is_whole ||
	    !space_is_code(&x->space, entry.patch, entry.semaphore) ||
	    x->space.planned_count >= ADOPTED_MOST ||
	    space_is_planned(&x->space, entry.patch, entry.semaphore))
		return 0;
	return space_adopt(&x->space, entry.patch, entry.semaphore);
}

int ledger_take_old(struct inject *x, uint64_t ledger)
{
	struct ledger_head head;
	int err = 0;

	if (ledger_open(x, ledger, &head) || ledger_tracer_lives(&head))
		return 0;
	x->old[x->old_count++] = ledger;
	for (uint64_t n = 0; n < head.count && !err; n++)
		err = adopt_entry(x, ledger, n);
	return err;
}

int ledger_find_old(struct inject *x)
{
	uint64_t all[LEDGERS_MOST];
	unsigned count = ledger_find(x->pid, all);
	int err = 0;

	for (unsigned i = 0; i < count && !err; i++)
		err = ledger_take_old(x, all[i]);
	return err;
}

bool ledger_is_left(struct inject *x, uint64_t ledger)
{
	struct ledger_head head;

	return !ledger_open(x, ledger, &head) && !head.tracer && !head.started;
}

bool ledger_bodies(struct inject *x, uint64_t ledger, uint64_t number, struct range *out)
{
	struct ledger_entry entry;

	if (ledger_read(x, ledger, number, &entry) || entry.len || !entry.is_whole)
		return false;
	*out = (struct range){.start = entry.patch, .end = entry.semaphore};
	return space_is_code(&x->space, out->start, out->end);
}

static bool find_living_tracer(struct inject *x, struct ledger_head *out)
{
	uint64_t all[LEDGERS_MOST];
	unsigned count = ledger_find(x->pid, all);

	for (unsigned i = 0; i < count; i++)
		if (!ledger_open(x, all[i], out) && ledger_tracer_lives(out))
			return true;
	return false;
}

int ledger_refuse_second(struct inject *x, struct diag *d)
{
	struct ledger_head head;

	if (!find_living_tracer(x, &head))
		return 0;
	diag_error(d, -EBUSY, "user-mode-traced",
		   "cannot trace process %d in user mode: process %d is tracing it already",
		   (int)x->pid, (int)head.tracer);
	if (head.names == names_of(getpid()))
		diag_hint(d, "end it with 'kill %d', or use --kernel", (int)head.tracer);
	else
		diag_hint(d, "its number is of another pid namespace: end it there, or use "
			     "--kernel");
	return -EBUSY;
}
