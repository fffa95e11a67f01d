/* The native engine, an implementation of engine.h: the traced processes run their clauses as
 * machine code at the probes' sites; BEGIN, END and intervals run here, by the interpreter, on the
 * same maps. */
#include "user/run/native_state.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "elf/kind.h"
#include "engine/interp/interp.h"
#include "user/patch/inject.h"
#include "user/patch/known.h"
#include "user/patch/map.h"
#include "user/ptrace/tracee.h"
#include "user/run/library_wait.h"
#include "user/run/native.h"

#define SCRATCH_LEAST	16384	/* for extensions, whose frames are not known yet */
#define PAUSE_FIRST	100000u /* ns between two looks at the rings */
#define PAUSE_LAST	10000000u
#define PAUSE_LIBRARIES 1000000u /* ... where a thread may not make a call to wake us */
#define LEAVE_TRIES	3
#define LEAVE_USECS	50000
#define LEAVE_NS	200000000u
#define FIRST_PIDS	0xeffffffcu /* inode of the first pid namespace */

/* ---- open, close */

static void native_detach(struct engine *engine);

static void native_close(struct engine *engine)
{
	struct native *e = (struct native *)engine;

	if (!e)
		return;
	native_detach(engine);
	if (e->is_attached)
		e->options.watch->is_looked_at = false;
	engine_close(e->interp);
	for (size_t i = 0; i < e->process_count; i++)
		native_process_close(e->processes[i]);
	free(e->processes);
	free(e->waiting.forked);
	listener_close(&e->listener);
	places_free(&e->left_out);
	native_store_close(e->store);
	inject_known_free(e->known);
	if (e->wait_fd >= 0)
		close(e->wait_fd);
	if (e->timer_fd >= 0)
		close(e->timer_fd);
	free(e->parts);
	free(e);
}

static void set_timer(struct native *e, uint64_t pause)
{
	const struct itimerspec t = {.it_value = {.tv_nsec = (long)pause},
				     .it_interval = {.tv_nsec = (long)pause}};

	if (pause == e->pause)
		return;
	e->pause = pause;
	timerfd_settime(e->timer_fd, 0, &t, NULL);
}

const char *native_problem(bool experimental)
{
#if defined(__x86_64__)
	(void)experimental;
	return NULL;
#elif defined(__aarch64__)
	return experimental ? NULL
			    : "on aarch64 it is experimental, and has to be asked for by "
			      "--experimental";
#else
	(void)experimental;
	return "it needs an x86-64 or aarch64 CPU";
#endif
}

/* A thread of one process may wait for us while another process takes long. */
static void beat(void *arg)
{
	const struct native *e = arg;

	if (e->store)
		heartbeat(e->store);
}

/* A process with none of the sites yet. */
int native_open_process(struct native *e, pid_t pid, struct native_process **out, struct diag *d)
{
	int err = array_grow(e->processes, e->process_count, e->process_cap);

	if (!err)
		err = native_process_open(pid, out, d);
	if (!err && !e->options.follow_forks)
		inject_keep_private((*out)->x);
	if (!err)
		(*out)->files.may_come = e->options.may_grow;
	if (!err)
		inject_use_known((*out)->x, e->known);
	if (!err)
		inject_use_beat((*out)->x, beat, e);
	if (!err)
		e->processes[e->process_count++] = *out;
	return err;
}

static int open_waiting(struct native *e, struct diag *d)
{
	struct epoll_event event = {.events = EPOLLIN};
	const struct watch *w = e->options.watch;
	int err;

	e->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	e->wait_fd = epoll_create1(EPOLL_CLOEXEC);
	err = e->timer_fd < 0 || e->wait_fd < 0 ||
	      epoll_ctl(e->wait_fd, EPOLL_CTL_ADD, e->timer_fd, &event) ||
	      (watch_has_agent(w) && epoll_ctl(e->wait_fd, EPOLL_CTL_ADD, w->agent.fd, &event));
	return err ? diag_error(d, -errno, "no-timer", "cannot make a timer: %s", strerror(errno))
		   : 0;
}

static int open_parts(struct native *e, struct diag *d)
{
	struct native_process *first;
	const struct engine_options tracer = {.ring_bytes = e->options.ring_bytes};
	const char *why = native_problem(e->options.experimental);
	int err = 0;

	if (!e->options.pid)
		err = diag_error(d, -EINVAL, "user-mode-process",
				 "user mode traces one process: choose it with -p, or start it "
				 "with -c");
	if (!err && why)
		err = diag_error(d, -ENOTSUP, "user-mode-cpu",
				 "user mode is not possible on this machine: %s", why);
	if (!err)
		err = open_waiting(e, d);
	if (!err)
		err = engine_interp.open(&tracer, &e->interp, d);
	if (!err && !e->options.is_held)
		err = native_open_process(e, e->options.pid, &first, d);
	return err;
}

static int native_open(const struct engine_options *options, struct engine **out, struct diag *d)
{
	struct native *e = calloc(1, sizeof(*e));
	char name[CLOCK_NAME];
	int err;

	if (!e)
		return diag_error(d, -ENOMEM, "no-memory", "out of memory");
	e->engine = (struct engine){.ops = &engine_native, .is_exposed = true, .makes_wait = true};
	e->options = *options;
	e->timer_fd = e->wait_fd = -1;
	e->known = inject_known_new();
	e->has_other_clock = !native_clock_is_tsc(NULL, name);
	err = open_parts(e, d);
	if (err)
		native_close(&e->engine);
	else
		*out = &e->engine;
	return err;
}

/* ---- what it can run */

/* Are the numbers of a process and of its threads, as they are known there, those of the first pid
 * namespace? */
static bool has_first_numbers(pid_t pid)
{
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	return !stat(path, &st) && st.st_ino == FIRST_PIDS;
}

static const char *undoable(const struct native *e, const struct program *p, const struct insn *in)
{
	if (in->op == OP_BUILTIN && (in->imm == BUILTIN_INIT_PID || in->imm == BUILTIN_INIT_TID) &&
	    !has_first_numbers(e->options.pid))
		return "the process is in a pid namespace of its own, and only the kernel has the "
		       "numbers of the first";
	return native_undoable(p, in);
}

/* NULL: it has not called exec yet, or cannot be traced. */
static struct native_process *chosen(const struct native *e)
{
	return e->process_count ? e->processes[0] : NULL;
}

/* Programs of its file, which begin later, run before they can be traced: only those with the agent
 * wait. */
static bool begins_untraced(const struct native *e, const struct attach *at)
{
	struct file_kind kind;

	if (!at->file || (chosen(e) && native_process_has(chosen(e), at)))
		return false;
	kind = file_kind(at->file);
	return kind.is_program && !(watch_has_agent(e->options.watch) && kind.preloads);
}

/* Counting needs no time; records are ordered by theirs. */
static bool needs_clock(const struct clause *c)
{
	for (uint32_t i = 0; i < c->insn_count; i++) {
		const struct insn *in = &c->code[i];

		if (in->op == OP_EMIT || (in->op == OP_BUILTIN &&
					  (in->imm == BUILTIN_NSECS || in->imm == BUILTIN_ELAPSED)))
			return true;
	}
	return false;
}

/* What the program is extended for may have been mapped after the mappings were read. Where they
 * cannot be read, the process ends. */
static void see_file(struct native_process *p, const struct attach *at)
{
	if (p->files.are_read || native_process_has(p, at))
		return;
	p->files.are_read = true;
	inject_reread(p->x);
}

static const char *unreachable(const struct native *e, const struct clause *c,
			       const struct attach *at)
{
	const char *why;

	if (attach_is_tracers(at))
		return NULL;
	if (at->kind != ATTACH_UPROBE)
		return "user mode traces only probes in the process itself";
	if (e->has_other_clock && needs_clock(c))
		return "the process would read times by the CPU's time stamp counter, which is not "
		       "the kernel's clock here: see 'nopal doctor'";
	/* Without another engine these sites are left out. */
	if (e->options.is_alone)
		return NULL;
	if (chosen(e))
		see_file(chosen(e), at);
	if (begins_untraced(e, at))
		return "a program that is begun later would not wait until it is traced";
	if (!chosen(e) || inject_has_ended(chosen(e)->x))
		return e->is_refused ? "the process cannot be traced in user mode" : NULL;
	why = native_process_problem(chosen(e), at);
	if (why)
		native_process_leave(chosen(e), at);
	return why;
}

static bool shares_site(const struct native *e, const struct attach *at, const struct attach *other)
{
	return attach_is_tracers(at) || (chosen(e) && native_process_shares(chosen(e), at, other));
}

static const char *native_refuses(const struct engine *engine, const struct engine_task *task)
{
	const struct native *e = (const struct native *)engine;

	if (task->insn)
		return undoable(e, task->program, task->insn);
	if (task->other)
		return shares_site(e, task->at, task->other)
			       ? NULL
			       : "a breakpoint would be in the instructions that it replaces";
	return unreachable(e, task->clause, task->at);
}

/* ---- build, extend */

static uint32_t largest_frame(const struct native *e, const struct program *p)
{
	uint32_t most = e->options.may_grow ? SCRATCH_LEAST : 0;

	for (uint32_t i = 0; i < p->clause_count; i++) {
		uint32_t size = native_frame_size(&p->clauses[i]);

		most = size > most ? size : most;
	}
	return most;
}

static bool is_tracers(const struct clause *c)
{
	for (uint32_t i = 0; i < c->attach_count; i++)
		if (!attach_is_tracers(&c->attaches[i]))
			return false;
	return c->attach_count > 0;
}

static bool sends_data(const struct program *p, const struct clause *c)
{
	for (uint32_t i = 0; i < c->insn_count; i++)
		if (c->code[i].op == OP_EMIT && !format_is_control(&p->formats[c->code[i].imm]))
			return true;
	return false;
}

static enum native_senders senders_of(const struct native *e, const struct program *p)
{
	enum native_senders who = e->options.data_later ? SENDERS_ALL : SENDER_NONE;

	for (uint32_t i = 0; i < p->clause_count; i++) {
		if (!sends_data(p, &p->clauses[i]))
			continue;
		if (!is_tracers(&p->clauses[i]))
			return SENDERS_ALL;
		who = who == SENDER_NONE ? SENDER_TRACER : who;
	}
	return who;
}

static int keep_part(struct native *e, const struct program *p)
{
	int err = array_grow(e->parts, e->part_count, e->part_cap);

	if (!err)
		e->parts[e->part_count++] = p;
	return err;
}

static int native_build(struct engine *engine, const struct program *p, struct diag *d)
{
	struct native *e = (struct native *)engine;
	const struct native_sizes sizes = {.ring_bytes = e->options.ring_bytes,
					   .senders = senders_of(e, p),
					   .scratch_size = largest_frame(e, p),
					   .grows = e->options.may_grow};
	int err = program_check(p, d);

	if (!err)
		err = native_store_open(p, &sizes, &e->store, d);
	for (size_t i = 0; i < e->process_count && !err; i++)
		err = native_process_fits(inject_pid(e->processes[i]->x), e->store, d);
	if (err)
		return err;
	interp_use_store(e->interp, &e->store->interp);
	engine->maps = native_store_maps(e->store);
	err = engine_build(e->interp, p, d);
	interp_set_start(e->interp, e->store->layout.start);
	return err ? err : keep_part(e, p);
}

static bool uses_thread_numbers(const struct program *p)
{
	for (uint32_t i = 0; i < p->clause_count; i++)
		for (uint32_t k = 0; k < p->clauses[i].insn_count; k++) {
			const struct insn *in = &p->clauses[i].code[k];

			if (in->op == OP_BUILTIN && in->imm == BUILTIN_TID)
				return true;
		}
	return false;
}

/* Does a process number its threads as we do? One that is gone says nothing. */
static bool has_our_numbers(pid_t pid)
{
	struct stat ours, theirs;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	if (stat(path, &theirs))
		return errno == ENOENT;
	return !stat("/proc/self/ns/pid", &ours) && ours.st_ino == theirs.st_ino;
}

/* A thread knows itself by its number in its own namespace. */
static void judge_numbers(const struct native *e, struct diag *d)
{
	if (has_our_numbers(e->options.pid) || !uses_thread_numbers(e->parts[0]))
		return;
	diag_warn(d, "user-mode-namespace",
		  "process %d is in another pid namespace: in user mode, 'tid' is the number that "
		  "a thread has there",
		  (int)e->options.pid);
}

/* Where no other engine traces them, and they may end before they are seen. */
static void say_begun_untraced(const struct native *e, struct diag *d)
{
	const struct program *p = e->parts[0];

	for (uint32_t i = 0; i < p->clause_count && e->options.is_alone; i++)
		for (uint32_t k = 0; k < p->clauses[i].attach_count; k++) {
			const struct attach *at = &p->clauses[i].attaches[k];

			if (!begins_untraced(e, at))
				continue;
			diag_warn(d, "user-mode-begins",
				  "programs of '%.*s' do not wait until they are traced: in user "
				  "mode, what they fire in their first milliseconds is missed",
				  STR_FMT(at->path));
			diag_hint(d, "as root, --user has the kernel trace them");
			return;
		}
}

static int add_sites(struct native *e, struct native_process *p, struct diag *d)
{
	struct native_left_out left = {0};
	int err = native_add_clauses(p, e->parts[0]);

	if (!err)
		err = native_find_left_out(p, e->parts[0], &left);
	e->has_sites = left.all.count > 0;
	if (!err)
		err = native_judge_left_out(e, &left, d);
	native_left_out_free(&left);
	return err;
}

static int attach_process(struct native *e, struct diag *d)
{
	uint64_t began = clock_now();
	int err = add_sites(e, e->processes[0], d);

	if (!err)
		err = programs_begin(e->options.watch);
	if (!err)
		err = native_arm(e, e->processes[0], d);
	if (!err && watch_has_agent(e->options.watch))
		err = agent_listen(e->options.watch);
	if (err)
		return err;
	missed_looked(e->options.watch, e->options.pid, began);
	judge_numbers(e, d);
	say_begun_untraced(e, d);
	return 0;
}

static int native_attach(struct engine *engine, struct diag *d)
{
	struct native *e = (struct native *)engine;
	int err;

	native_clock_tick(e->store);
	err = engine_attach(e->interp, d);
	if (!err && !e->options.is_held)
		err = attach_process(e, d);
	if (err)
		return err;
	e->is_attached = true;
	set_timer(e, PAUSE_FIRST);
	return 0;
}

void native_say_refused(struct diag *d, const struct diag *said)
{
	diag_warn(d, "user-mode-refused", "%.*s: the kernel traces it",
		  STR_FMT(said->last ? said->last->text : STR("no user mode")));
}

/* Has the first program sites of processes? Clauses that wait have none yet. */
static bool has_sites(const struct native *e)
{
	const struct program *p = e->parts[0];

	for (uint32_t i = 0; i < p->clause_count; i++)
		if (p->clauses[i].attach_count && !is_tracers(&p->clauses[i]))
			return true;
	return false;
}

/* Where the process cannot be traced here, all its sites are another engine's. */
int native_enter(struct native *e, struct diag *d)
{
	struct diag said = DIAG_INIT;
	struct native_process *p;
	int err = native_process_fits(e->options.pid, e->store, &said);

	if (!err)
		err = native_open_process(e, e->options.pid, &p, &said);
	if (!err) {
		err = attach_process(e, &said);
	} else if (err != -ENOMEM && !e->options.is_alone && !has_sites(e)) {
		native_say_refused(d, &said);
		e->is_refused = true;
		diag_free(&said);
		return 0;
	}
	diag_add_all(d, &said);
	diag_free(&said);
	return err;
}

static bool is_used(void *arg, uint32_t map)
{
	const struct native *e = arg;

	for (size_t i = 0; i < e->part_count; i++)
		for (uint32_t k = 0; k < e->parts[i]->clause_count; k++)
			if (clause_uses_map(&e->parts[i]->clauses[k], map))
				return true;
	return false;
}

void native_beat(const struct native *e)
{
	if (e->is_attached && !e->is_stopped)
		heartbeat(e->store);
}

/* One that has ended is all right; so is one that runs another program now, whose mappings would
 * be read. */
static int extend_process(struct native *e, struct native_process *process, const struct program *p,
			  struct native_left_out *left, struct diag *d)
{
	int err = inject_reread(process->x);

	process->files.are_read = false;
	native_beat(e);
	if (err == -ESRCH || (!err && inject_has_ended(process->x)))
		return 0;
	if (!err)
		err = remapped_take(process);
	if (err >= 0)
		err = native_add_clauses(process, p);
	if (!err && inject_has_ended(process->x)) /* meanwhile: nothing could be read */
		return 0;
	if (!err)
		err = native_find_left_out(process, p, left);
	return !err && e->is_attached && !e->is_stopped ? native_arm(e, process, d) : err;
}

static int native_extend(struct engine *engine, const struct program *p, struct diag *d)
{
	struct native *e = (struct native *)engine;
	struct native_left_out left = {0};
	int err = program_check(p, d);

	if (!err)
		err = native_store_extend(e->store, p, is_used, e, d);
	if (!err)
		err = engine_extend(e->interp, p, d);
	if (!err)
		err = keep_part(e, p);
	for (size_t i = 0; i < e->process_count && !err; i++)
		err = extend_process(e, e->processes[i], p, &left, d);
	if (!err)
		err = e->options.is_alone ? native_judge_left_out(e, &left, d)
					  : native_say_left_out(e, &left, d);
	e->has_sites |= left.any_good;
	native_left_out_free(&left);
	return err;
}

/* The clauses stay known, but their sites do nothing more. */
static void native_retract(struct engine *engine)
{
	struct native *e = (struct native *)engine;

	if (e->part_count > 1)
		e->part_count--;
	engine_interp.retract(e->interp);
}

/* ---- run */

static int native_run(struct engine *engine, enum attach_kind kind, uint64_t period,
		      uint32_t clause, struct diag *d)
{
	struct native *e = (struct native *)engine;

	return engine_run(e->interp, kind, period, clause, d);
}

/* ---- records */

/* May a thread wait for us that has loaded a library? */
bool native_listens(const struct native *e)
{
	for (size_t i = 0; i < e->process_count; i++)
		if (e->processes[i]->loader.waits)
			return true;
	return false;
}

/* If that fails, the tracer looks all the time whether a thread waits. */
void native_start_listening(struct native *e)
{
	struct layout *l = (struct layout *)(void *)e->store->base;
	struct epoll_event event = {.events = EPOLLIN};

	if (e->listener.waits || !native_listens(e) || listener_open(&e->listener, &l->waits))
		return;
	if (epoll_ctl(e->wait_fd, EPOLL_CTL_ADD, e->listener.fd, &event))
		listener_close(&e->listener);
}

/* May a thread wait for us that cannot wake us, since it must make no system call? */
static bool has_silent_waits(const struct native *e)
{
	for (size_t i = 0; i < e->process_count; i++)
		if (e->processes[i]->loader.waits &&
		    (e->processes[i]->calls.are_forbidden || !e->listener.waits))
			return true;
	return false;
}

/* Threads of containers count as alive, since their numbers mean other threads here. */
static bool is_alive(void *arg, uint32_t tid)
{
	const struct native *e = arg;
	char path[32];

	for (size_t i = 0; i < e->process_count; i++)
		if (!has_our_numbers(inject_pid(e->processes[i]->x)))
			return true;
	snprintf(path, sizeof(path), "/proc/%u", tid);
	return !access(path, F_OK);
}

/* A record comes after the functions of its stacks. */
struct handing {
	struct native *e;
	record_fn *fn;
	void *arg;
};

static int hand_over(void *arg, struct str bytes)
{
	const struct handing *h = arg;

	if (h->e->parts[0]->is_stamped)
		h->e->engine.time = h->e->store->time;
	native_langs_take(h->e);
	return h->fn(h->arg, bytes);
}

static int drain_rings(struct native *e, record_fn *fn, void *arg)
{
	struct handing h = {e, fn, arg};
	bool looks = e->parts[0]->is_stamped || e->store->layout.langs_at;

	native_store_stay_ahead(e->store);
	return looks ? native_ring_drain(e->store, hand_over, &h, is_alive, e)
		     : native_ring_drain(e->store, fn, arg, is_alive, e);
}

static int native_drain(struct engine *engine, int timeout_ms, record_fn *fn, void *arg)
{
	struct native *e = (struct native *)engine;
	uint64_t ticks, pause, most;
	int count;

	native_clock_tick(e->store);
	native_beat(e);
	native_langs_take(e);
	if (read(e->timer_fd, &ticks, sizeof(ticks)) < 0 && errno != EAGAIN)
		return -errno;
	count = drain_rings(e, fn, arg);
	if (!count && timeout_ms) {
		poll(&(struct pollfd){.fd = e->timer_fd, .events = POLLIN}, 1, timeout_ms);
		count = drain_rings(e, fn, arg);
	}
	if (!count && e->is_stopped) {
		native_ring_end(e->store);
		count = drain_rings(e, fn, arg);
	}
	pause = count ? PAUSE_FIRST : 2 * e->pause;
	most = has_silent_waits(e) ? PAUSE_LIBRARIES : PAUSE_LAST;
	if (e->is_attached)
		set_timer(e, pause < most ? pause : most);
	return count;
}

static int native_wait_fd(struct engine *engine)
{
	return ((struct native *)engine)->wait_fd;
}

static void count_kept(const struct native *e, struct run_stats *out)
{
	for (size_t i = e->process_count; i--;) {
		uint64_t kept = inject_kept(e->processes[i]->x);

		if (!kept)
			continue;
		out->kept += kept;
		out->kept_processes++;
		out->kept_pid = inject_pid(e->processes[i]->x);
	}
}

static void native_stats(struct engine *engine, struct run_stats *out)
{
	struct native *e = (struct native *)engine;

	*out = (struct run_stats){0};
	if (e->store)
		native_store_stats(e->store, out);
	out->disturbed = e->disturbed;
	out->untraced = e->unreached;
	out->late = e->late;
	out->uncleaned = e->uncleaned;
	out->had_children = e->options.watch->had_others;
	if (e->is_stopped)
		out->missed = missed_count(e->options.watch, &out->missed_file);
	out->waited = e->given_up + (e->store ? library_wait_given_up(e->store) : 0);
	if (e->has_left)
		count_kept(e, out);
	out->armed_pid = e->armed_pid;
	out->armed_err = e->armed_err;
	out->none_seen = e->is_attached && e->has_sites && !e->any_reached;
}

static int native_faults(struct engine *engine, fault_fn *fn, void *arg)
{
	struct native *e = (struct native *)engine;

	return native_store_faults(e->store, fn, arg);
}

/* ---- stop */

/* What threads have begun is complete before the rest is cut off: children of fork, and threads
 * that a signal handler keeps in the middle of a trampoline. */
static void disarm(struct native *e, struct native_process *p)
{
	int err = native_process_disarm(p, NULL);

	if (!err || err == -ETIMEDOUT || inject_has_ended(p->x)) /* a thread was in our code */
		return;
	e->armed_pid = inject_pid(p->x);
	e->armed_err = err;
}

static void native_stop(struct engine *engine)
{
	struct native *e = (struct native *)engine;

	if (!e->is_attached || e->is_stopped)
		return;
	e->is_stopped = true;
	e->stopped_at = clock_now();
	e->given_up += native_count_late(e);
	e->disturbed = native_count_disturbed(e);
	library_wait_answer_all(e->store);
	native_stop_agents(e);
	for (size_t i = 0; i < e->process_count; i++)
		disarm(e, e->processes[i]);
	native_store_stop(e->store);
	set_timer(e, PAUSE_LAST);
}

/* Memory that a thread could return to when the run stopped. */
static void leave(struct native *e)
{
	uint64_t start = clock_now();
	bool any = true;

	for (unsigned i = 0; i < LEAVE_TRIES && any && clock_now() - start < LEAVE_NS; i++) {
		any = false;
		for (size_t k = 0; k < e->process_count; k++)
			any |= inject_kept(e->processes[k]->x) > 0;
		if (any)
			usleep(LEAVE_USECS);
		for (size_t k = 0; k < e->process_count; k++)
			if (inject_kept(e->processes[k]->x))
				inject_leave(e->processes[k]->x);
	}
}

struct cleaning {
	struct native *e;
	uint64_t until;
};

static bool is_own(const struct native *e, pid_t pid)
{
	for (size_t i = 0; i < e->process_count; i++)
		if (inject_pid(e->processes[i]->x) == pid)
			return true;
	return false;
}

static int clean_child(void *arg, pid_t pid)
{
	struct cleaning *c = arg;

	if (is_own(c->e, pid))
		return 0;
	if (clock_now() > c->until)
		c->e->uncleaned++;
	else
		inject_clean_child(pid);
	return 0;
}

/* Children of fork have the sites, which lead to code of their own that does nothing any more: what
 * is not reached in time does them no harm. Nobody else is looked at. */
static void clean_children(struct native *e, uint64_t until)
{
	struct cleaning c = {e, until};

	if (e->is_attached)
		programs_each(e->options.watch, clean_child, &c);
}

/* The results of the run were printed before. */
static void native_detach(struct engine *engine)
{
	struct native *e = (struct native *)engine;
	uint64_t until = clock_now() + LEAVE_NS;

	native_stop(engine);
	if (!e->has_left) {
		leave(e);
		clean_children(e, until);
	}
	e->has_left = true;
}

static void native_dump(struct engine *engine, struct buf *out)
{
	struct native *e = (struct native *)engine;

	if (e->part_count)
		program_print(e->parts[0], out);
}

const struct engine_ops engine_native = {
	.name = "native",
	.unreadable = native_unreadable,
	.refuses = native_refuses,
	.open = native_open,
	.build = native_build,
	.attach = native_attach,
	.extend = native_extend,
	.retract = native_retract,
	.note = native_note,
	.rearm = native_rearm,
	.run = native_run,
	.drain = native_drain,
	.wait_fd = native_wait_fd,
	.stats = native_stats,
	.faults = native_faults,
	.stop = native_stop,
	.detach = native_detach,
	.close = native_close,
	.dump = native_dump,
};
