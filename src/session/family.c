/* A small set of process ids. */
#include "session/family.h"

#include <errno.h>
#include <stdlib.h>

bool family_has(const struct family *f, pid_t pid)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->pids[i] == pid)
			return true;
	return false;
}

int family_add(struct family *f, pid_t pid)
{
	if (family_has(f, pid))
		return 0;
	if (f->count == f->cap) {
		size_t cap = f->cap ? f->cap * 2 : 16;
		pid_t *bigger = realloc(f->pids, cap * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		f->pids = bigger;
		f->cap = cap;
	}
	f->pids[f->count++] = pid;
	return 0;
}

void family_remove(struct family *f, pid_t pid)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->pids[i] == pid) {
			f->pids[i] = f->pids[--f->count];
			return;
		}
}

void family_free(struct family *f)
{
	free(f->pids);
	*f = (struct family){0};
}
