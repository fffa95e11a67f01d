/* A process that is traced in user mode. */
#include "user/ptrace/tracee_state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int open_memory(struct inject *x, struct diag *d)
{
	int err;

	x->mem_fd = process_memory(x->pid, O_RDWR);
	if (x->mem_fd < 0)
		return process_refuse(x->pid, x->mem_fd, d);
	err = space_read(&x->space, x->pid);
	return err ? process_refuse(x->pid, err, d) : 0;
}

static struct inject *new_process(pid_t pid)
{
	struct inject *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->pid = pid;
	x->mem_fd = -1;
	x->dd = 0xf0;
	return x;
}

int process_look(pid_t pid, struct inject **out)
{
	struct inject *x = new_process(pid);
	int fd;

	if (!x)
		return -ENOMEM;
	fd = x->mem_fd = process_memory(pid, O_RDONLY);
	if (fd >= 0)
		*out = x;
	else
		process_close(x);
	return fd < 0 ? fd : 0;
}

int process_open(pid_t pid, struct inject **out, struct diag *d)
{
	struct inject *x = new_process(pid);
	int err;

	if (!x)
		return -ENOMEM;
	err = process_check(x, d);
	if (!err)
		err = open_memory(x, d);
	if (err)
		process_close(x);
	else
		*out = x;
	return err;
}

void jumps_free(struct inject *x)
{
	for (size_t i = 0; i < x->jumps_count; i++)
		free(x->jumps[i].all);
	free(x->jumps);
	x->jumps = NULL;
	x->jumps_count = x->jumps_cap = 0;
}

void process_close(struct inject *x)
{
	if (!x)
		return;
	if (x->mem_fd >= 0)
		close(x->mem_fd);
	space_free(&x->space);
	free(x->claims);
	for (size_t i = 0; i < x->late_count; i++)
		buf_free(&x->late[i].bytes);
	free(x->late);
	jumps_free(x);
	free(x);
}
void inject_use_beat(struct inject *x, void (*beat)(void *arg), void *arg)
{
	x->beat = beat;
	x->beat_arg = arg;
}

void process_beat(const struct inject *x)
{
	if (x->beat)
		x->beat(x->beat_arg);
}

pid_t inject_pid(const struct inject *x)
{
	return x->pid;
}

const struct inject_world *inject_world(const struct inject *x)
{
	return &x->world;
}

void inject_waits_at(struct inject *x, uint64_t address)
{
	if (x->wait_count < WAITS_MOST)
		x->waits[x->wait_count++] = address;
}

const struct inject_pause *inject_pause(const struct inject *x)
{
	return &x->pause;
}

/* A memory map that is gone reads as empty. That of a child of vfork() is its parent's, which lives
 * on when the child calls exec(): the files of the new program are not in it. */
bool inject_has_ended(struct inject *x)
{
	const struct space *s = &x->space;
	char byte;

	if (x->world.process)
		return inject_read(x, x->world.process, &byte, 1) != 0;
	return kill(x->pid, 0) ||
	       (s->file_count && inject_read(x, s->files[0].start, &byte, 1) != 0);
}
