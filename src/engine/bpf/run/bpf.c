/* The BPF engine, an implementation of engine.h: open, attach, extend, run, stop. */
#include "engine/bpf/run/bpf.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/bpf/kernel/bpf_syscall.h"
#include "engine/bpf/kernel/control.h"
#include "engine/bpf/kernel/registers.h"
#include "engine/bpf/run/attach.h"
#include "engine/bpf/run/follow.h"
#include "engine/bpf/run/site_checks.h"
#include "engine/bpf/run/stores.h"
#include "find/process.h"

#define INITIAL_PID_NS 0xeffffffcu /* inode of the first pid namespace */
#define MAIN_END_NS    100000000u  /* a process that ends is gone by then */

/* Chosen processes, whose children are not followed. */
static bool is_confined(const struct bpf_engine *e)
{
	return e->world.filter.count && !e->options.follow_forks;
}

/* How probes are attached where the kernel's links cannot tell processes: to one by events of perf,
 * to several as to all, since each event is of one site and one process. */
static void do_without_filter(struct bpf_engine *e)
{
	if (e->world.filter.count == 1)
		features_deny(&e->features, STR("uprobe_multi"));
	else
		e->everybody = true;
}

/* ---- open, close */

static int bpf_open(const struct engine_options *options, struct engine **out, struct diag *d)
{
	struct bpf_engine *e;
	struct stat st;
	int err = features_check(d);

	if (err)
		return err;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->engine = (struct engine){
		.ops = &engine_bpf,
		.maps = {e, bpf_map_each, bpf_map_clear, bpf_map_zero, bpf_map_take}};
	e->options = *options;
	e->last = &e->first;
	e->ring.fd = e->ring.wait_fd = -1;
	e->world.control_fd = e->world.zeros_fd = e->world.scratch_fd = e->world.ring_fd = -1;
	e->world.filter.followed_fd = -1;
	user_maps_init(&e->world.user);
	script_maps_init(&e->world.script);
	e->pause = PAUSE_FIRST;
	features_init(&e->features);
	e->world.filter.pids = options->pid ? &e->options.pid : options->pids;
	e->world.filter.count = options->pid ? 1 : options->pid_count;
	/* How a program will be attached is decided when it is loaded. */
	if (is_confined(e) && !feature_has(&e->features, FEATURE_PID_FILTER))
		do_without_filter(e);
	if (!stat("/proc/self/ns/pid", &st) && st.st_ino != INITIAL_PID_NS) {
		e->world.filter.ns_dev = st.st_dev;
		e->world.filter.ns_ino = st.st_ino;
	}
	*out = &e->engine;
	return 0;
}

static void detach_now(struct bpf_engine *e)
{
	links_close(&e->uprobes);
	links_close(&e->links);
	semaphores_end(&e->semaphores);
}

static void bpf_detach(struct engine *engine)
{
	struct bpf_engine *e = (struct bpf_engine *)engine;

	if (e->options.detach_later && e->uprobes.is_slow && bpf_hand_over(e))
		semaphores_end(&e->semaphores);
	else
		detach_now(e);
}

/* Closing the links waits for the programs that run, too. */
static void bpf_stop(struct engine *engine)
{
	struct bpf_engine *e = (struct bpf_engine *)engine;

	if (!bpf_stop_programs(e))
		detach_now(e);
	else if (e->options.detach_later)
		bpf_detach(engine);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* Forget what was loaded last. */
static void unload_from(struct bpf_engine *e, struct loaded **first)
{
	for (struct loaded *l = *first; l; l = l->next) {
		close_fd(l->fd);
		code_free(&l->code);
	}
	*first = NULL;
	e->last = first;
}

static void bpf_close(struct engine *engine)
{
	struct bpf_engine *e = (struct bpf_engine *)engine;

	if (!e)
		return;
	bpf_detach(engine);
	unload_from(e, &e->first);
	for (uint32_t i = 0; i < e->store_count; i++)
		store_close(&e->stores[i]);
	groups_close(&e->groups);
	user_maps_close(&e->world.user, &e->options);
	ring_close(&e->ring);
	script_maps_close(&e->world.script);
	if (e->control)
		munmap(e->control, e->control_size);
	close_fd(e->world.control_fd);
	close_fd(e->world.zeros_fd);
	close_fd(e->world.scratch_fd);
	close_fd(e->world.filter.followed_fd);
	free(e->unsent);
	arena_free(&e->arena);
	free(e);
}

/* ---- attach, run */

static bool has_main_ended(const struct bpf_engine *e)
{
	for (unsigned i = 0; i < e->world.filter.count; i++)
		if (process_main_ended(e->world.filter.pids[i]))
			return true;
	return false;
}

/* The breakpoints go into the memory of the chosen processes alone, where the kernel can. */
static int attach_uprobes(struct bpf_engine *e, struct attach_options *o, const struct loaded *l,
			  struct diag *d)
{
	int err = 0;

	if (!is_confined(e) || e->everybody)
		return attach_unit(&e->uprobes, o, &l->unit, l->fd, d);
	e->is_alone = true;
	for (unsigned i = 0; i < e->world.filter.count && !err; i++) {
		o->pid = e->world.filter.pids[i];
		err = attach_unit(&e->uprobes, o, &l->unit, l->fd, d);
	}
	return err;
}

static int raise_semaphores(struct bpf_engine *e, const struct loaded *l, struct diag *d)
{
	int err = 0;

	for (; l && !err; l = l->next)
		if (unit_is_uprobe(&l->unit))
			err = semaphores_add(&e->semaphores, &l->unit);
	if (err)
		return err;
	e->engine.wants_news |= e->semaphores.wants_news;
	semaphores_raise(&e->semaphores, e->world.filter.pids, e->world.filter.count);
	semaphores_renew(&e->semaphores, d);
	return 0;
}

static int attach_from(struct bpf_engine *e, const struct loaded *first, bool only_uprobes,
		       struct diag *d)
{
	struct attach_options o = {.features = &e->features,
				   .process = e->options.pid,
				   .follows = e->options.follow_forks};
	int err = 0;

	e->everybody |= is_confined(e) && has_main_ended(e);
	for (const struct loaded *l = first; l && !err; l = l->next) {
		if (unit_is_uprobe(&l->unit))
			err = attach_uprobes(e, &o, l, d);
		else if (!only_uprobes)
			err = attach_unit(&e->links, &o, &l->unit, l->fd, d);
	}
	return err ? err : raise_semaphores(e, first, d);
}

static int bpf_attach(struct engine *engine, struct diag *d)
{
	struct bpf_engine *e = (struct bpf_engine *)engine;
	int err = 0;

	if (!e->control[CONTROL_START])
		e->control[CONTROL_START] = clock_now();
	if (e->world.filter.followed_fd >= 0)
		err = follow_attach(&e->world, &e->features, &e->links, d);
	else if (is_confined(e))
		err = single_attach(&e->world, &e->links, d);
	err = err ?: user_maps_attach(&e->world.user, &e->world.filter, &e->links, d) ?: sites_leave_out(e, e->first, true, d) ?: attach_from(e, e->first, false, d);
	if (e->options.log)
		features_log(&e->features, e->options.log);
	if (err)
		bpf_detach(engine);
	return err;
}

static void bpf_retract(struct engine *engine)
{
	struct bpf_engine *e = (struct bpf_engine *)engine;

	links_cut(&e->uprobes, e->before.links);
	unload_from(e, e->before.last);
	e->program = e->before.program;
}

static int bpf_extend(struct engine *engine, const struct program *p, struct diag *d)
{
	struct bpf_engine *e = (struct bpf_engine *)engine;
	struct loaded **first = e->last;
	struct frame *frames = NULL;
	uint32_t scratch = 0;
	int err;

	e->before = (struct before_extend){first, e->uprobes.count, e->program};
	err = bpf_renew(e, p, d) ?: script_maps_open(&e->world.script, p, &e->features,
						  e->world.has_may_goto, d) ?: bpf_plan(e, p, &frames, &scratch, d);
	/* The first program may have had no probes at all, and so no scratch memory. */
	err = err ?: bpf_scratch(e, scratch, d) ?: bpf_load(e, p, frames, true, d) ?:
	      sites_leave_out(e, *first, false, d) ?: attach_from(e, *first, true, d);
	if (err)
		bpf_retract(engine);
	else
		e->program = p;
	return err;
}

static bool is_traced(const struct bpf_engine *e, pid_t pid)
{
	for (unsigned i = 0; i < e->world.filter.count; i++)
		if (e->world.filter.pids[i] == pid)
			return true;
	return !is_confined(e);
}

static int bpf_note(struct engine *engine, const struct watch_event *event, struct diag *d)
{
	struct bpf_engine *e = (struct bpf_engine *)engine;
	bool is_chosen = !event->pid && e->world.filter.count;

	(void)d;
	if (event->kind == PROCESS_RUNTIMES)
		script_maps_learn(&e->world.script, e->options.langs);
	else if (event->kind == PROCESS_UNREPORTED)
		semaphores_raise(&e->semaphores, is_chosen ? e->world.filter.pids : &event->pid,
				 is_chosen ? e->world.filter.count : event->pid != 0);
	else if (event->kind == PROCESS_MAPPED && is_traced(e, event->pid))
		semaphores_mapped(&e->semaphores, event->pid, event->inode, event->time);
	return 0;
}

/* Is a process lost to the kernel's filter: has another thread called exec, or has the main
 * thread ended while others go on? In a process that ends it may look so, too, for a moment. Perf
 * events lose the process with its main thread. Links keep what they have armed, and only what
 * is mapped later is lost to them. */
static bool is_lost(struct bpf_engine *e)
{
	if (e->control[CONTROL_TAKEOVERS] != e->takeovers)
		return true;
	if (e->everybody || !e->control[CONTROL_MAIN_ENDS])
		return false;
	if (!has_main_ended(e)) {
		e->main_ended = 0;
		return false;
	}
	if (!e->main_ended)
		e->main_ended = clock_now();
	e->everybody = clock_now() - e->main_ended > MAIN_END_NS;
	if (!e->everybody)
		return false;
	e->files_missed = feature_has(&e->features, FEATURE_UPROBE_MULTI);
	return !e->files_missed;
}

static int bpf_rearm(struct engine *engine, struct diag *d)
{
	struct bpf_engine *e = (struct bpf_engine *)engine;

	semaphores_renew(&e->semaphores, d);
	if (!e->is_alone || !e->uprobes.count || !is_lost(e))
		return 0;
	e->takeovers = e->control[CONTROL_TAKEOVERS];
	e->is_alone = false;
	/* One of several processes may have ended, and cannot be named any more. */
	e->everybody |= e->world.filter.count > 1;
	/* Closed first: an old link may still match some of the threads, and with the new one each
	 * of their events would count twice. */
	links_close(&e->uprobes);
	return attach_from(e, e->first, true, d) ?: 1;
}

static int bpf_run(struct engine *engine, enum attach_kind kind, uint64_t period, uint32_t clause,
		   struct diag *d)
{
	struct bpf_engine *e = (struct bpf_engine *)engine;
	int err = 0;

	if (!e->control[CONTROL_START])
		e->control[CONTROL_START] = clock_now();
	for (struct loaded *l = e->first; l && !err; l = l->next) {
		const struct attach *at = l->unit.sites->attach;
		uint32_t result;

		if (l->unit.kind != UNIT_RUN || at->kind != kind || at->period != period ||
		    l->unit.cases->steps->clause != clause)
			continue;
		err = kernel_program_run(l->fd, &result);
		if (err)
			diag_error(d, err, "run", "cannot run a clause: %s", strerror(-err));
	}
	return err;
}

const struct engine_ops engine_bpf = {
	.name = "bpf",
	.unreadable = bpf_unreadable,
	.open = bpf_open,
	.build = bpf_build,
	.attach = bpf_attach,
	.extend = bpf_extend,
	.retract = bpf_retract,
	.note = bpf_note,
	.rearm = bpf_rearm,
	.run = bpf_run,
	.drain = bpf_drain,
	.wait_fd = bpf_wait_fd,
	.stats = bpf_stats,
	.faults = bpf_faults,
	.stop = bpf_stop,
	.detach = bpf_detach,
	.close = bpf_close,
	.dump = bpf_dump,
};
