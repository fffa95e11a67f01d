/* A small set of process ids. */
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

bool pid_set_has(const struct pid_set *f, pid_t pid)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->pids[i] == pid)
			return true;
	return false;
}

int pid_set_add(struct pid_set *f, pid_t pid)
{
	if (pid_set_has(f, pid))
		return 0;
	if (array_grow(f->pids, f->count, f->cap))
		return -ENOMEM;
	f->pids[f->count++] = pid;
	return 0;
}

void pid_set_remove(struct pid_set *f, pid_t pid)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->pids[i] == pid) {
			f->pids[i] = f->pids[--f->count];
			return;
		}
}

void pid_set_free(struct pid_set *f)
{
	free(f->pids);
	*f = (struct pid_set){0};
}
