/* Children of fork: they have what was put into their parent, as it was then, and its ledger, which
 * says whose it was. When one needs more than that, it becomes a process of its own here. What its
 * parent got since is planned again. */
#include "user/patch/inject.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "user/patch/ledger.h"
#include "user/patch/patch.h"
#include "user/patch/plan.h"

static bool read_at(int memory, uint64_t address, void *bytes, size_t len)
{
	return pread(memory, bytes, len, (off_t)address) == (ssize_t)len;
}

static bool is_ledger_of(const struct ledger_head *head, const struct inject *x)
{
	return head->magic == LEDGER_MAGIC && head->count <= x->ledger_most &&
	       head->process == (uint64_t)x->pid && ledger_is_of(head, getpid());
}

bool inject_is_forked(const struct inject *of, int memory, uint64_t address, void *bytes,
		      size_t len)
{
	struct ledger_head head;

	return of->ledger && read_at(memory, of->ledger, &head, sizeof(head)) &&
	       is_ledger_of(&head, of) && read_at(memory, address, bytes, len);
}

/* Pages that the child has, too, and what is spoken for in them. */
static int inherit_space(struct space *s, const struct space *from)
{
	int err = 0;

	for (size_t i = 0; i < from->mapped_count && !err; i++) {
		const struct range *r = &from->planned[i];

		if (!space_is_code(s, r->start, r->end))
			continue;
		err = space_adopt(s, &(struct range){.start = r->start, .end = r->end});
		if (!err)
			s->planned[s->planned_count - 1].is_bodies = r->is_bodies;
	}
	for (size_t i = 0; i < from->piece_count && !err; i++) {
		const struct page_piece *piece = &from->pieces[i];

		if (!space_is_mapped(s, piece->start, piece->end - piece->start))
			continue;
		err = array_grow(s->pieces, s->piece_count, s->piece_cap);
		if (!err)
			s->pieces[s->piece_count++] = *piece;
	}
	return err;
}

static int inherit_claims(struct inject *x, const struct inject *from)
{
	int err = array_reserve(x->claims, x->claim_cap, from->claim_count);

	if (err || !from->claim_count)
		return err;
	memcpy(x->claims, from->claims, from->claim_count * sizeof(*x->claims));
	x->claim_count = from->claim_count;
	return 0;
}

/* ORDER: from the last write on, its own children inherit from it, not from its parent. */
static int inherit_ledger(struct inject *x, const struct inject *from)
{
	const uint64_t mine = (uint64_t)x->pid;
	struct ledger_head head;
	int err = ledger_open(x, from->ledger, &head);

	if (err || !is_ledger_of(&head, from))
		return -ESRCH;
	x->ledger = from->ledger;
	x->ledger_size = from->ledger_size;
	x->ledger_most = from->ledger_most;
	x->ledger_count = head.count;
	return inject_write(x, x->ledger + offsetof(struct ledger_head, process), &mine,
			    sizeof(mine));
}

int inject_inherit(const struct inject *from, pid_t pid, struct inject **out, struct diag *d)
{
	struct inject *x;
	int err = process_open(pid, &x, d);

	if (err)
		return err;
	x->world = from->world;
	memcpy(x->waits, from->waits, sizeof(x->waits));
	x->wait_count = from->wait_count;
	inject_use_beat(x, from->beat, from->beat_arg);
	err = inherit_space(&x->space, &from->space);
	if (!err)
		err = inherit_claims(x, from);
	if (!err)
		err = inherit_ledger(x, from);
	if (err) {
		process_close(x);
		return err;
	}
	*out = x;
	return 0;
}

bool inject_inherit_site(struct inject *x, struct inject_site *s)
{
	enum inject_state state = SITE_GONE;

	if (s->form == INJECT_NONE)
		return false;
	if (s->is_listed && s->entry < x->ledger_count && plan_is_mapped(x, s))
		state = inject_look(x, s);
	if (state == SITE_ON || state == SITE_SHADOWED) {
		site_step(s, SITE_IS_WRITTEN);
		return true;
	}
	plan_forget(x, s);
	return false;
}

bool inject_has_code(const struct inject *x, uint64_t start, uint64_t end)
{
	return space_is_mapped(&x->space, start, end - start);
}
