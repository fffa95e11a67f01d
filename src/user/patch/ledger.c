/* The ledger: what was changed and mapped in a process, written into the process itself, so that it
 * can be undone when the tracer is no more. It is memory that the process can write, so it is read
 * as hostile: what it says harms at most the process itself.
 *
 * It has no name. It is found as the start of a mapping without a file that begins with
 * LEDGER_MAGIC; those that version 0.1 has left are files in memory, of another size. */
#include "user/patch/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/proc.h"
#include "symbols/maps.h"
#include "user/patch/patch.h"

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

static uint32_t entries_most(uint64_t size)
{
	return (uint32_t)((size - sizeof(struct ledger_head)) / sizeof(struct ledger_entry));
}

uint32_t ledger_size_for(const struct inject *x)
{
	uint64_t entries = 4 * (uint64_t)x->claim_count + 512,
		 size = sizeof(struct ledger_head) + entries * sizeof(struct ledger_entry);

	if (size > LEDGER_LARGE - LEDGER_STEP)
		return LEDGER_LARGE - LEDGER_STEP;
	return (uint32_t)((size + LEDGER_STEP - 1) / LEDGER_STEP * LEDGER_STEP);
}

int ledger_start(struct inject *x)
{
	const struct ledger_head head = {.magic = LEDGER_MAGIC,
					 .tracer = (uint64_t)getpid(),
					 .started = process_stat_number(getpid(), STAT_STARTED),
					 .names = names_of(getpid()),
					 .process = (uint64_t)x->pid,
					 .size = x->ledger_size};

	x->ledger_count = 0;
	x->ledger_most = entries_most(x->ledger_size);
	return inject_write(x, x->ledger, &head, sizeof(head));
}

int ledger_end(struct inject *x)
{
	const uint64_t none = 0;

	return x->ledger ? inject_write(x, x->ledger + offsetof(struct ledger_head, tracer), &none,
					sizeof(none))
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

bool ledger_is_full(const struct inject *x)
{
	return x->ledger_count >= x->ledger_most;
}

int ledger_add_pages(struct inject *x, const struct range *pages)
{
	const struct ledger_entry entry = {
		.patch = pages->start, .semaphore = pages->end, .is_whole = pages->is_bodies};
	int err = ledger_is_full(x) ? -ENOSPC
				    : inject_write(x, entry_address(x->ledger, x->ledger_count),
						   &entry, sizeof(entry));

	x->ledger_count += !err;
	return err ? err : write_count(x);
}

int ledger_confirm_last(struct inject *x)
{
	const uint8_t yes = 1;

	return inject_write(x,
			    entry_address(x->ledger, x->ledger_count - 1) +
				    offsetof(struct ledger_entry, is_raised),
			    &yes, sizeof(yes));
}

void ledger_drop_last(struct inject *x)
{
	x->ledger_count--;
	write_count(x);
}

/* A tracer that was killed just before it mapped pages has not confirmed them, and neither has one
 * that was killed just after. The latter are zeros, and what the program has mapped there is not.
 */
bool ledger_is_confirmed(struct inject *x, const struct ledger_entry *e)
{
	uint8_t bytes[LEAST_PAGE];
	bool zeros = true;

	for (uint64_t at = e->patch; !e->is_raised && zeros && at < e->semaphore; at += LEAST_PAGE)
		zeros = !inject_read(x, at, bytes, sizeof(bytes)) && !bytes[0] &&
			!memcmp(bytes, bytes + 1, sizeof(bytes) - 1);
	return zeros;
}

int ledger_forget(struct inject *x, uint64_t ledger, uint64_t number)
{
	const struct ledger_entry none = {0};

	return inject_write(x, entry_address(ledger, number), &none, sizeof(none));
}

int ledger_add(struct inject *x, struct inject_site *sites, size_t count)
{
	uint64_t first = x->ledger_count;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		if (sites[i].form == INJECT_NONE || sites[i].is_listed)
			continue;
		if (ledger_is_full(x))
			return -ENOSPC;
		sites[i].entry = x->ledger_count++;
		sites[i].is_listed = true;
		err = ledger_mark(x, &sites[i]);
	}
	return !err && x->ledger_count > first ? write_count(x) : err;
}

/* ---- reading one */

struct ledger_search {
	struct inject *x;
	uint64_t *found; /* addresses */
	unsigned count;
};

static bool is_file(const struct mapped_file *m)
{
	return str_eq_text(m->path, "/memfd:" OLD_LEDGER_NAME MAPPED_DELETED) &&
	       m->end - m->start == OLD_LEDGER_SIZE;
}

static bool is_memory(const struct mapped_file *m)
{
	return !m->inode && !m->path.len && !memcmp(m->access, "rw-p", sizeof(m->access)) &&
	       !((m->end - m->start) % LEDGER_STEP);
}

static int take_ledger(void *arg, const struct mapped_file *m)
{
	struct ledger_search *s = arg;
	struct ledger_head head;

	if ((is_file(m) || is_memory(m)) && !ledger_open(s->x, m->start, &head) &&
	    ledger_size(&head) == m->end - m->start && s->count < LEDGERS_MOST)
		s->found[s->count++] = m->start;
	return 0;
}

unsigned ledger_find(struct inject *x, uint64_t out[LEDGERS_MOST])
{
	struct ledger_search s = {.x = x, .found = out};
	struct buf text = BUF_INIT;

	if (!maps_read(x->pid, &text))
		maps_parse_all(buf_as_str(&text), x->pid, take_ledger, &s);
	buf_free(&text);
	return s.count;
}

uint64_t ledger_size(const struct ledger_head *head)
{
	return head->magic == LEDGER_MAGIC ? head->size : OLD_LEDGER_SIZE;
}

int ledger_open(struct inject *x, uint64_t ledger, struct ledger_head *out)
{
	int err = inject_read(x, ledger, out, sizeof(*out));

	if (err)
		return err;
	if (out->magic != LEDGER_MAGIC && out->magic != OLD_LEDGER_MAGIC)
		return -EPROTO;
	if (ledger_size(out) < LEDGER_STEP || ledger_size(out) >= LEDGER_LARGE)
		return -EPROTO;
	return out->count > entries_most(ledger_size(out)) ? -EPROTO : 0;
}

int ledger_read(struct inject *x, uint64_t ledger, const struct ledger_head *head, uint64_t number,
		struct ledger_entry *out)
{
	int err = inject_read(x, entry_address(ledger, number), out, sizeof(*out));

	/* Version 0.1 confirms nothing. */
	out->is_raised |= !out->len && head->magic == OLD_LEDGER_MAGIC;
	return !err && out->len > INJECT_PATCH_MAX ? -EPROTO : err;
}

/* A tracer that was killed may stay a zombie: its parent need not ask for its status. */
static bool is_started_then(pid_t pid, uint64_t started)
{
	return process_stat_number(pid, STAT_STARTED) == started &&
	       process_stat_number(pid, STAT_PROGRAM);
}

/* Is the tracer of the ledger the process that has this pid here? */
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

/* ---- sessions that are over, and that could not be given back */

/* Only mapped pages of code, once; what the entry says can be anything. */
static int adopt_entry(struct inject *x, uint64_t ledger, const struct ledger_head *head,
		       uint64_t number)
{
	struct ledger_entry entry;
	struct range pages;
	int err = ledger_read(x, ledger, head, number, &entry);

	if (err || !ledger_pages(x, &entry, &pages) || x->space.planned_count >= ADOPTED_MOST ||
	    space_is_planned(&x->space, pages.start, pages.end))
		return 0;
	return space_adopt(&x->space, &pages);
}

bool ledger_pages(struct inject *x, const struct ledger_entry *entry, struct range *out)
{
	*out = (struct range){
		.start = entry->patch, .end = entry->semaphore, .is_bodies = entry->is_whole};
	return !entry->len && space_is_code(&x->space, out->start, out->end) &&
	       ledger_is_confirmed(x, entry);
}

int ledger_adopt_old(struct inject *x)
{
	struct ledger_head head;
	int err = 0;

	for (unsigned i = 0; i < x->old_count; i++)
		for (uint64_t n = 0; !ledger_open(x, x->old[i], &head) && n < head.count && !err;
		     n++)
			err = adopt_entry(x, x->old[i], &head, n);
	return err;
}

static int refuse_second(const struct inject *x, const struct ledger_head *head, struct diag *d)
{
	diag_error(d, -EBUSY, "user-mode-traced",
		   "cannot trace process %d in user mode: process %d is tracing it already",
		   (int)x->pid, (int)head->tracer);
	if (head->names == names_of(getpid()))
		diag_hint(d, "end it with 'kill %d', or use --kernel", (int)head->tracer);
	else
		diag_hint(d, "its number is of another pid namespace: end it there, or use "
			     "--kernel");
	return -EBUSY;
}

/* `old` and *count: those of sessions that are over. */
static int judge_ledgers(struct inject *x, uint64_t old[LEDGERS_MOST], unsigned *count,
			 struct diag *d)
{
	uint64_t all[LEDGERS_MOST];
	unsigned found = ledger_find(x, all);
	struct ledger_head head;

	*count = 0;
	for (unsigned i = 0; i < found; i++) {
		if (ledger_open(x, all[i], &head))
			continue;
		if (ledger_tracer_lives(&head))
			return refuse_second(x, &head, d);
		old[(*count)++] = all[i];
	}
	return 0;
}

int ledger_find_old(struct inject *x, struct diag *d)
{
	int err = judge_ledgers(x, x->old, &x->old_count, d);

	return err ? err : (int)x->old_count;
}

int ledger_refuse_second(struct inject *x, struct diag *d)
{
	uint64_t old[LEDGERS_MOST];
	unsigned count;

	return judge_ledgers(x, old, &count, d);
}
