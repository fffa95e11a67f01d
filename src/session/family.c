/* A small set of process ids. */
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

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
	if (array_grow(f->pids, f->count, f->cap))
		return -ENOMEM;
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
