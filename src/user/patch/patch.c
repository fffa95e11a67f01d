/* Writing the bytes of sites, and semaphores.
 *
 * All threads are stopped while sites are first enabled and last disabled: that makes every CPU
 * read the new bytes, and no thread runs between two of them. In between, a site is switched by its
 * one byte. */
#include "user/patch/patch.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "user/patch/inject.h"
#include "user/patch/ledger.h"
#include "user/patch/plan.h"
#include "user/patch/undo.h"
#include "user/ptrace/threads.h"

#define SETTLE_TRIES 200
#define SETTLE_USECS 5000

/* clang-format off */
static const enum site_stage next_stages[SITE_EVENTS][SITE_STAGES] = {
	/* from:               PLANNED       ENABLED        DISABLED */
	[SITE_IS_WRITTEN]  = { SITE_ENABLED, SITE_ENABLED,  SITE_ENABLED },
	[SITE_IS_RESTORED] = { SITE_PLANNED, SITE_DISABLED, SITE_DISABLED },
	[SITE_IS_GIVEN_UP] = { SITE_PLANNED, SITE_PLANNED,  SITE_PLANNED },
};
/* clang-format on */

void site_step(struct inject_site *s, enum site_event event)
{
	s->stage = next_stages[event][s->stage];
}

/* ---- bytes */

static int read_bytes(struct inject *x, const struct inject_site *s, uint8_t *out)
{
	return inject_read(x, s->patch, out, s->len);
}

bool form_is_whole(enum inject_form form)
{
#if defined(__aarch64__)
	return form != INJECT_NONE;
#else
	return form == INJECT_RETARGET || form == INJECT_DISPLACED;
#endif
}

/* The first byte that changes after byte 0 of a site; the bytes between are instructions of the
 * program, where breakpoints may be. */
static unsigned first_chosen(unsigned len, const uint8_t *before, const uint8_t *after)
{
	unsigned at = 1;

	while (at < len && before[at] == after[at])
		at++;
	return at;
}

/* The first byte is the one that decides, so the others come before it and go after it. */
static int write_after(struct inject *x, const struct inject_site *s)
{
	unsigned chosen = first_chosen(s->len, s->before, s->after);
	int err = 0;

	if (form_is_whole(s->form))
		return inject_write(x, s->patch, s->after, s->len);
	if (chosen < s->len)
		err = inject_write(x, s->patch + chosen, s->after + chosen, s->len - chosen);
	return err ? err : inject_write(x, s->patch, s->after, 1);
}

bool patch_is_written(const uint8_t *now, const uint8_t *before, const uint8_t *after, unsigned len)
{
	unsigned chosen = first_chosen(len, before, after);

	return now[0] == after[0] && !memcmp(now + chosen, after + chosen, len - chosen);
}

/* The owner of a breakpoint there has kept the first byte, and puts it back: perhaps ours. So the
 * other bytes are then left as they are, with which it is a jump to our landing. */
int patch_write_before(struct inject *x, const struct ledger_entry *e)
{
	const uint8_t *before = e->before, *after = e->after;
	uint64_t patch = e->patch;
	unsigned len = e->len;
	uint8_t now[INJECT_PATCH_MAX];
	unsigned chosen = first_chosen(len, before, after);
	int err = inject_read(x, patch, now, len), changed = 0;

	if (!err && patch_is_written(now, before, after, len)) {
		err = e->is_whole ? inject_write(x, patch, before, len)
				  : inject_write(x, patch, before, 1);
		changed = 1;
	}
	if (!err && chosen < len && !e->is_whole && (changed || now[0] == before[0]) &&
	    !memcmp(now + chosen, after + chosen, len - chosen)) {
		err = inject_write(x, patch + chosen, before + chosen, len - chosen);
		changed = 1;
	}
	return err ? err : changed;
}

int patch_restore(struct inject *x, const struct inject_site *s)
{
	const struct ledger_entry entry = ledger_entry(s);
	int done = s->is_listed && s->form != INJECT_NONE ? patch_write_before(x, &entry) : 0;

	return done < 0 ? done : 0;
}

int patch_semaphore(struct inject *x, uint64_t address, int by)
{
	uint16_t value;
	int err = inject_read(x, address, &value, sizeof(value));

	if (err || (by < 0 && !value))
		return err;
	value = (uint16_t)(value + by);
	return inject_write(x, address, &value, sizeof(value));
}

/* ---- landings: where the jump of a site leads, there is a jump to its trampoline */

/* After a call the stack pointer goes back to where it was at the site. The return address is then
 * in what trampolines and the kernel take for the red zone. */
static int write_landing(struct inject *x, const struct inject_site *s)
{
	uint8_t bytes[STACK_STEP + LANDING_FAR] = {0x48, 0x8d, 0x64, 0x24, 0x08};
	unsigned step = s->is_call ? STACK_STEP : 0;
	unsigned len =
		landing_bytes(s->landing + step, s->body, landing_size(s) - step, bytes + step);

	return len ? inject_write(x, s->landing, bytes, step + len) : -ERANGE;
}

static int write_detours(struct inject *x, const struct inject_site *s)
{
	uint8_t jump[LANDING_FAR];
	int err = 0;

	for (unsigned i = 0; i < s->detour_count && !err; i++) {
		unsigned len = landing_bytes(s->detours[i], s->pc + 1, JUMP_NEAR, jump);

		err = len ? inject_write(x, s->detours[i], jump, len) : -ERANGE;
	}
	return err;
}

/* An instruction that was moved, or one of ours, and a jump. */
static int write_copy(struct inject *x, const struct inject_site *s)
{
	uint8_t bytes[COPY_ROOM + LANDING_FAR];
	unsigned len;

	memcpy(bytes, s->copied, s->copied_len);
	len = landing_bytes(s->copy + s->copied_len, s->copy_end, JUMP_NEAR, bytes + s->copied_len);
	return len ? inject_write(x, s->copy, bytes, s->copied_len + len) : -ERANGE;
}

/* Each is one instruction, so no thread is in the middle of an old one. */
static int write_jumps(struct inject *x, const struct inject_site *s)
{
	int err = write_landing(x, s);

	if (!err && s->copy && s->stage != SITE_ENABLED)
		err = write_copy(x, s);
	return err ? err : write_detours(x, s);
}

/* Do breakpoints within its offset make its jump lead elsewhere? */
static bool is_led_away(struct inject *x, const struct inject_site *s)
{
#if defined(__aarch64__)
	(void)x, (void)s; /* the whole instruction was compared */
	return false;
#else
	uint8_t now[JUMP_NEAR];

	return s->detour_count && !inject_read(x, s->patch, now, sizeof(now)) &&
	       jump_target(s->patch, now + 1) != s->landing;
#endif
}

enum inject_state inject_look(struct inject *x, const struct inject_site *s)
{
	uint8_t now[INJECT_PATCH_MAX];

	if (s->form == INJECT_NONE || read_bytes(x, s, now))
		return SITE_GONE;
	if (patch_is_written(now, s->before, s->after, s->len))
		return is_led_away(x, s) ? SITE_SHADOWED : SITE_ON;
	if (!form_is_whole(s->form) && now[0] == s->before[0])
		return SITE_OFF;
	if (!memcmp(now, s->before, s->len))
		return SITE_OFF;
	return is_breakpoint(now) ? SITE_SHADOWED : SITE_GONE;
}

/* ---- the end of a session */

/* Give back what this session has mapped, and what others could not give back. */
static void give_back(struct inject *x, const struct threads *t)
{
	uint64_t ledgers[LEDGERS_MOST + 1] = {x->ledger};
	bool is_given[LEDGERS_MOST + 1];
	unsigned kept = 0;

	memcpy(ledgers + 1, x->old, x->old_count * sizeof(*x->old));
	x->has_left = true;
	x->is_inside = threads_are_in(t, x);
	if (!x->ledger || leave_sessions(x, t, ledgers, 1 + x->old_count, is_given, &x->kept))
		return;
	for (unsigned i = 0; i < x->old_count; i++)
		if (!is_given[1 + i])
			x->old[kept++] = x->old[i];
	x->old_count = kept;
	if (!is_given[0])
		return;
	x->ledger = 0;
	x->world = (struct inject_world){0};
}

static int try_to_leave(void *arg)
{
	struct inject *x = arg;
	struct threads threads;
	int err = process_stop(x, &threads);

	if (err)
		return err;
	give_back(x, &threads);
	process_go(x, &threads);
	return 0;
}

int inject_leave(struct inject *x)
{
	int err = !x->ledger ? 0 : inject_has_ended(x) ? -ESRCH : process_apart(x, try_to_leave, x);

	if (err == -ESRCH)
		x->kept = 0;
	return err;
}

uint64_t inject_kept(const struct inject *x)
{
	return x->kept;
}

/* Until no thread is in our code, so that all that was begun is complete. */
static int settle(struct inject *x)
{
	int err = 0;

	for (unsigned i = 0; i < SETTLE_TRIES && !err && x->is_inside; i++) {
		usleep(SETTLE_USECS);
		err = inject_leave(x);
	}
	return !err && x->is_inside ? -ETIMEDOUT : err;
}

/* ---- all threads stopped */

struct change {
	struct inject *x;
	struct inject_site *sites;
	size_t count;
	int (*one)(struct inject *x, struct inject_site *s);
	bool leaves; /* ... and then gives back what was mapped */
};

/* The jump whose target changes may have been another tracer's, at a nop that is one again by now.
 */
static bool has_opcode(struct inject *x, const struct inject_site *s)
{
	uint8_t now;

	return !s->opcode || (!inject_read(x, s->pc + 1, &now, 1) && now == s->opcode);
}

/* Is everything as it was planned? */
static bool is_as_planned(struct inject *x, const struct inject_site *s)
{
	uint8_t now[INJECT_PATCH_MAX], offset[4];

	if (!has_opcode(x, s))
		return false;
	if (!plan_is_mapped(x, s) || read_bytes(x, s, now) || now[0] != s->before[0])
		return false;
	/* After a breakpoint on a nop5, our bytes may be in the rest of it. */
	if (memcmp(now, s->before, s->len) &&
	    (s->len < JUMP_NEAR || memcmp(now + 1, s->after + 1, s->len - 1u)))
		return false;
	if (s->len > 1)
		return true;
	return !inject_read(x, s->patch + 1, offset, sizeof(offset)) &&
	       jump_target(s->patch, offset) == s->landing;
}

static int raise_semaphore(struct inject *x, struct inject_site *s)
{
	int err;

	if (!s->semaphore || s->is_raised)
		return 0;
	s->is_raised = true;
	err = ledger_mark(x, s);
	if (err)
		return err;
	err = patch_semaphore(x, s->semaphore, 1);
	if (err != -EFAULT)
		return err;
	s->is_raised = false; /* its data are not mapped yet */
	return ledger_mark(x, s);
}

static int enable_one(struct inject *x, struct inject_site *s)
{
	int err;

	if (s->form == INJECT_NONE || !s->body)
		return 0;
	/* With another trampoline, or its semaphore found by now, perhaps. */
	if (s->stage == SITE_ENABLED) {
		err = write_jumps(x, s);
		return err ? err : raise_semaphore(x, s);
	}
	if (!is_as_planned(x, s)) {
		if (s->stage == SITE_DISABLED) /* its image is not there now */
			return 0;
		s->form = INJECT_NONE;
		s->why = "its bytes, or the memory where its jump leads, have just been changed";
		return 0;
	}
	err = write_jumps(x, s);
	if (!err)
		err = write_after(x, s);
	site_step(s, err ? SITE_IS_GIVEN_UP : SITE_IS_WRITTEN);
	return err ? err : raise_semaphore(x, s);
}

/* Where an image was, there may be other data by now: its semaphore is not touched. */
static int disable_one(struct inject *x, struct inject_site *s)
{
	const struct ledger_entry entry = ledger_entry(s);
	bool is_there = inject_look(x, s) != SITE_GONE;
	int err = 0;

	if (s->is_listed && s->form != INJECT_NONE)
		err = patch_write_before(x, &entry);
	site_step(s, SITE_IS_RESTORED);
	if (err >= 0 && s->is_raised) {
		err = is_there ? patch_semaphore(x, s->semaphore, -1) : 0;
		s->is_raised = false;
		if (!err)
			err = ledger_mark(x, s);
	}
	return err < 0 && err != -EFAULT ? err : 0; /* what is not mapped any more needs nothing */
}

static int change_all(struct change *c)
{
	int err = 0;

	for (size_t i = 0; i < c->count && !err; i++)
		err = c->one(c->x, &c->sites[i]);
	return err;
}

static int change_stopped(void *arg)
{
	struct change *c = arg;
	uint64_t start = clock_now();
	struct threads threads;
	int err = process_stop(c->x, &threads);

	if (err)
		return err;
	c->x->pause.threads = (unsigned)threads.count;
	err = inject_write_late(c->x);
	if (!err)
		err = change_all(c);
	if (!err && c->leaves)
		give_back(c->x, &threads);
	process_go(c->x, &threads);
	if (!c->x->held)
		c->x->pause.all_ns += clock_now() - start;
	return err;
}

static int change(struct change *c)
{
	return process_apart(c->x, change_stopped, c);
}

static int say_failed(struct inject *x, int err, const char *what, struct diag *d)
{
	if (!err || err == -ESRCH) /* it has ended: nothing is left to change */
		return err;
	return diag_error(d, err, "user-mode-patch", "cannot %s the probes of process %d: %s", what,
			  (int)x->pid, strerror(-err));
}

int inject_enable(struct inject *x, struct inject_site *sites, size_t count, struct diag *d)
{
	struct change c = {.x = x, .sites = sites, .count = count, .one = enable_one};
	int err = ledger_add(x, sites, count);

	return say_failed(x, err ? err : change(&c), "enable", d);
}

int inject_disable(struct inject *x, struct inject_site *sites, size_t count, struct diag *d)
{
	struct change c = {.x = x, .sites = sites, .count = count, .one = disable_one};

	return say_failed(x, change(&c), "disable", d);
}

int inject_disable_all(struct inject *x, struct inject_site *sites, size_t count, struct diag *d)
{
	struct change c = {
		.x = x, .sites = sites, .count = count, .one = disable_one, .leaves = true};
	int err = say_failed(x, change(&c), "disable", d);

	return err ? err : settle(x);
}

struct writing {
	struct inject *x;
	uint64_t address;
	const void *bytes;
	size_t len;
};

static int write_stopped(void *arg)
{
	const struct writing *w = arg;
	struct threads threads;
	int err = process_stop(w->x, &threads);

	if (err)
		return err;
	err = threads_are_in(&threads, w->x) ? -EAGAIN
					     : inject_write(w->x, w->address, w->bytes, w->len);
	process_go(w->x, &threads);
	return err;
}

int inject_write_stopped(struct inject *x, uint64_t address, const void *bytes, size_t len)
{
	struct writing w = {x, address, bytes, len};

	return process_apart(x, write_stopped, &w);
}

/* We have raised it, so where it is 0 there are other data by now. */
static void forget_raised(struct inject *x, struct inject_site *s)
{
	uint16_t value = 0;

	if (s->is_raised && (inject_read(x, s->semaphore, &value, sizeof(value)) || !value))
		s->is_raised = false;
}

bool inject_renew(struct inject *x, struct inject_site *s)
{
	if (s->stage == SITE_PLANNED || s->form == INJECT_NONE || !is_as_planned(x, s))
		return false;
	site_step(s, SITE_IS_RESTORED);
	forget_raised(x, s);
	return true;
}

bool inject_lacks_semaphore(struct inject *x, struct inject_site *s)
{
	uint16_t value;

	if (s->stage != SITE_ENABLED || !s->semaphore || inject_look(x, s) != SITE_ON)
		return false;
	forget_raised(x, s);
	return !s->is_raised && !inject_read(x, s->semaphore, &value, sizeof(value));
}
