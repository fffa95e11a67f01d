/* Stacks of scripts in user mode, as the tracer sees them: it writes where a process has its
 * runtimes, and takes the functions that were met. */
#include <stdlib.h>

#include "lang/lang.h"
#include "user/inside/langs.h"
#include "user/inside/words.h"
#include "user/ptrace/tracee.h"
#include "user/run/native_state.h"

static struct lang_area *area_of(const struct native *e)
{
	const struct layout *l = e->store ? &e->store->layout : NULL;

	return l && l->langs_at && e->options.langs ? (void *)(e->store->base + l->langs_at) : NULL;
}

void native_langs_number(struct native *e, struct native_process *p, struct diag *d)
{
	if (p->lang.is_given)
		return;
	p->lang.is_given = true;
	p->lang.number = e->langs++;
	if (p->lang.number == LANG_PLACES && area_of(e)) {
		diag_warn(d, "user-mode-langs",
			  "more than %d programs were traced: stacks of scripts in process %d, and "
			  "in programs that begin after it, are not known",
			  LANG_PLACES, (int)inject_pid(p->x));
		diag_hint(d, "trace some of them with -p");
	}
}

void native_langs_see(struct native *e, const struct native_process *p)
{
	struct lang_area *area = area_of(e);
	pid_t pid = inject_pid(p->x);
	struct lang_place *place;
	uint64_t known = 0;

	if (!area || !p->lang.is_given || p->lang.number >= LANG_PLACES || p->forks.is_child)
		return;
	lang_names_see(e->options.langs, pid);
	place = &area->places[p->lang.number];
	for (unsigned kind = 0; kind < LANG_READ; kind++) {
		const struct lang_target *t =
			lang_names_target(e->options.langs, pid, (enum lang_kind)kind);

		if (!t)
			continue;
		known |= 1u << kind;
		if (memcmp(&place->targets[kind], t, sizeof(*t)))
			place->targets[kind] = *t;
	}
	word_release(&place->known, known);
}

/* Another process may write anything there meanwhile: each is copied first. */
static void take_function(struct native *e, const struct lang_function *f)
{
	const size_t size = sizeof(f->head) + sizeof(f->bytes);
	char *bytes = malloc(size);

	if (!bytes)
		return;
	memcpy(bytes, &f->head, size);
	lang_names_define(e->options.langs, str_of(bytes, size));
	free(bytes);
}

void native_langs_take(struct native *e)
{
	struct lang_area *area = area_of(e);
	uint64_t count = area ? word_acquire(&area->count) : 0;
	bool all = true;

	if (count > LANG_FUNCTIONS)
		count = LANG_FUNCTIONS;
	for (uint64_t i = e->langs_taken; i < count; i++) {
		struct lang_function *f = &area->functions[i];
		uint64_t state = word_acquire(&f->is_ready);

		/* One that is not complete yet is skipped, and looked at again. */
		all &= state != 0;
		if (state == 1) {
			take_function(e, f);
			word_store(&f->is_ready, 2);
		}
		if (all)
			e->langs_taken = i + 1;
	}
}
