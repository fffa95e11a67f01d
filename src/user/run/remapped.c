/* Whose turn it is, by the mappings; see remapped.h. */
#include "user/run/remapped.h"

#include "user/patch/site.h"
#include "user/ptrace/tracee.h"
#include "user/run/process.h"

/* Where nothing is mapped, or other memory, a site stays as it is: its file may come back. */
static bool is_gone(const struct native_process *p, size_t site)
{
	uint64_t now = inject_file_at(p->x, p->sites[site].pc);

	return now && now != p->steps[site].turn.inode;
}

static bool is_back(const struct native_process *p, size_t site)
{
	const struct remapped_site *turn = &p->steps[site].turn;

	return turn->rests && inject_file_at(p->x, p->sites[site].pc) == turn->inode;
}

static int resume(struct native_process *p, size_t site)
{
	int err = inject_resume(p->x, &p->sites[site]);

	p->steps[site].turn.rests = false;
	if (!p->sites[site].body)
		p->steps[site].done = 0;
	return err;
}

/* ORDER: what the sites of one file took is free before those of the next are planned. */
int remapped_take(struct native_process *p)
{
	int err = 0, count = 0;

	for (size_t i = 0; i < p->count && !err; i++) {
		struct remapped_site *turn = &p->steps[i].turn;

		if (!turn->inode || turn->rests || !is_gone(p, i))
			continue;
		turn->rests = true;
		err = inject_rest(p->x, &p->sites[i]);
	}
	for (size_t i = 0; i < p->count && !err; i++)
		if (is_back(p, i)) {
			err = resume(p, i);
			count++;
		}
	return err ? err : count;
}
