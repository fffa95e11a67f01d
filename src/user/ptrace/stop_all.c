/* Stopping all threads of a process: for one step, or while several are made. */
#include "user/ptrace/tracee_state.h"

#include <errno.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/tracees.h"
#include "user/ptrace/remote.h"
#include "user/ptrace/threads.h"

/* Stop threads that one of those asleep in the kernel may have made since. */
static int stop_made(struct threads *held)
{
	for (size_t i = 0; i < held->count; i++)
		if (held->all[i].is_asleep)
			return threads_stop_others(held);
	return 0;
}

/* `out` is the threads that inject_held() has stopped. */
static int lend_held(struct threads *held, struct threads *out)
{
	int err = stop_made(held);

	*out = (struct threads){.pid = held->pid, .is_held = true};
	if (!err)
		err = array_reserve(out->all, out->cap, held->count);
	if (err)
		return err;
	memcpy(out->all, held->all, held->count * sizeof(*out->all));
	out->count = held->count;
	return 0;
}

/* A process that is held is stopped already, before its first instruction. */
int process_stop(struct inject *x, struct threads *out)
{
	int err = 0;

	process_beat(x);
	if (x->held) {
		err = lend_held(x->held, out);
	} else if (!process_is_held(x)) {
		err = threads_stop(x->pid, out);
	} else {
		*out = (struct threads){.pid = x->pid, .is_held = true};
		err = array_grow(out->all, 0, out->cap);
		if (!err)
			out->all[out->count++] = (struct thread){.tid = x->pid, .is_stopped = true};
	}
	for (size_t i = 0; i < out->count && !err && !x->poker; i++)
		if (out->all[i].is_stopped)
			x->poker = out->all[i].tid;
	return err;
}

int process_stop_for_calls(struct inject *x, struct threads *out)
{
	uint64_t start = clock_now();
	int err;

	do {
		err = process_stop(x, out);
		if (!err) {
			err = threads_await_one(out);
			if (err)
				process_go(x, out);
		}
	} while (threads_are_awaited(err, start));
	return err;
}

void process_go(struct inject *x, struct threads *t)
{
	if (!x->held)
		x->poker = 0;
	threads_resume(t);
}

int process_apart(struct inject *x, int (*fn)(void *arg), void *arg)
{
	return x->held || process_is_held(x) ? fn(arg) : tracees_apart(fn, arg);
}

/* ---- stopped all the time */

struct holding {
	struct inject *x;
	int (*fn)(void *arg);
	void *arg;
	int result;
};

/* 0 or -errno; the function's result is another thing. */
static int run_held(void *arg)
{
	struct holding *h = arg;
	struct inject *x = h->x;
	uint64_t start = clock_now();
	struct threads held;
	int err = process_stop_for_calls(x, &held);

	if (err)
		return err;
	x->held = &held;
	h->result = h->fn(h->arg);
	x->held = NULL;
	process_go(x, &held);
	x->pause.one_ns = x->pause.all_ns = clock_now() - start;
	return err;
}

int inject_held(struct inject *x, int (*fn)(void *arg), void *arg, struct diag *d)
{
	struct holding h = {x, fn, arg, 0};
	int err;

	if (process_is_held(x))
		return fn(arg);
	err = tracees_apart(run_held, &h);
	if (!err)
		return h.result;
	return remote_refuse(x, err, d);
}
