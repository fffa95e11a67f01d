/* Looking at them; see children.h. The kernel lists the children of each thread, so
 * a look costs as much as there are processes. */
#include "engine/native/children.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "symbols/maps.h"

#define STAT_PROGRAM 26 /* in /proc/PID/stat: where the code begins */
#define LIST_MAX     (1u << 20)

void children_free(struct native_children *f)
{
	free(f->all);
	*f = (struct native_children){0};
}

struct look {
	struct native_children *all;
	uint64_t now, patience;
	child_fn *fn;
	void *arg;
};

static struct native_child *find(struct native_children *f, pid_t pid)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->all[i].pid == pid)
			return &f->all[i];
	return NULL;
}

static int note(struct look *l, pid_t pid)
{
	uint64_t program = process_stat_number(pid, STAT_PROGRAM);
	struct native_children *f = l->all;
	struct native_child *m = find(f, pid);

	if (!program)
		return 0;
	if (!m) {
		if (array_grow(f->all, f->count, f->cap))
			return -ENOMEM;
		m = &f->all[f->count++];
		*m = (struct native_child){.pid = pid};
	}
	if (m->program != program)
		*m = (struct native_child){.pid = pid, .program = program, .since = l->now};
	m->is_there = true;
	if (m->is_known || l->now - m->since < l->patience)
		return 0;
	m->is_known = true;
	l->fn(l->arg, pid);
	return 0;
}

static int note_children_of(struct look *l, const char *path)
{
	struct buf text = BUF_INIT;
	struct str rest;
	uint64_t pid;
	int err = file_slurp(path, LIST_MAX, &text);

	rest = str_trim(buf_as_str(&text));
	while (!err && rest.len)
		if (!str_to_u64(str_cut(&rest, ' '), &pid))
			err = note(l, (pid_t)pid);
	buf_free(&text);
	return err == -ENOMEM ? err : 0;
}

static int note_children(struct look *l, pid_t pid)
{
	struct dirent *entry;
	char path[320];
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && !err && (entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, entry->d_name);
		err = note_children_of(l, path);
	}
	if (dir)
		closedir(dir);
	return err;
}

int children_look(struct native_children *f, pid_t first, bool follow, uint64_t patience,
		  child_fn *fn, void *arg)
{
	struct look l = {f, clock_now(), patience, fn, arg};
	size_t kept = 0;
	int err;

	for (size_t i = 0; i < f->count; i++)
		f->all[i].is_there = false;
	err = note(&l, first);
	/* Members whose parents have ended are looked at, too; new ones come to the end. */
	for (size_t i = 0; follow && i < f->count && !err; i++) {
		pid_t pid = f->all[i].pid;

		err = note(&l, pid);
		if (!err)
			err = note_children(&l, pid);
	}
	for (size_t i = 0; i < f->count; i++)
		if (f->all[i].is_there)
			f->all[kept++] = f->all[i];
	f->count = kept;
	return err;
}

int children_take(struct native_children *f, pid_t pid, child_fn *fn, void *arg)
{
	struct native_child *m = find(f, pid);

	if (!m)
		return -ESRCH;
	m->is_known = true;
	fn(arg, pid);
	return 0;
}
