/* Attaching everything but uprobes: tracepoints, events of perf, functions of the kernel,
 * iterators.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/bpf/kernel/bpf_syscall.h"
#include "engine/bpf/run/attach.h"
#include "engine/engine.h"
#include "find/tracefs.h"
#include "symbols/kernel.h"

#define KPROBE_TYPE "/sys/bus/event_source/devices/kprobe/type"

/* ---- Tracepoints */

int attach_tracepoint(struct links *l, int program_fd, uint32_t id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .config = id, .sample_period = 1};
	struct features none;
	int event;

	features_init(&none);
	event = kernel_perf_open(&attr, -1, 0);
	return event < 0 ? event : links_event(l, program_fd, event, 0, &none);
}

static int attach_named_tracepoint(struct links *l, const struct unit *u, int program_fd,
				   struct diag *d)
{
	struct str event = u->sites->attach->tracepoint, category = str_cut(&event, ':');
	struct trace_event found;
	struct arena a = ARENA_INIT;
	int err = trace_event_read(&a, category, event, &found, d);

	if (!err) {
		err = attach_tracepoint(l, program_fd, found.id);
		if (err)
			diag_error(d, err, "attach", "cannot attach to tracepoint '%.*s': %s",
				   STR_FMT(u->sites->attach->tracepoint), attach_meaning(err));
	}
	arena_free(&a);
	return err;
}

/* ---- Samples: timers, counters, watchpoints */

/* On every CPU; CPUs that are off refuse. */
static int sample_everywhere(struct links *l, const struct attach_options *o,
			     struct perf_event_attr *attr, int program_fd)
{
	unsigned cpus = engine_cpus();
	int err = -ENODEV;

	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		int event = kernel_perf_open(attr, -1, (int)cpu);

		if (event == -ENODEV)
			continue;
		err = event < 0 ? event : links_event(l, program_fd, event, 0, o->features);
		if (err)
			break;
	}
	return err;
}

/* In every thread that a process has, and will have; in its children, if they are followed. */
static int sample_process(struct links *l, const struct attach_options *o,
			  struct perf_event_attr *attr, int program_fd)
{
	char path[32];
	struct dirent *e;
	int err = -ESRCH;
	DIR *tasks;

	attr->inherit = 1;
	attr->inherit_thread = !o->follows;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)o->process);
	tasks = opendir(path);
	while (tasks && (e = readdir(tasks))) {
		uint64_t tid;
		int event;

		if (str_to_u64(str_from(e->d_name), &tid))
			continue;
		event = kernel_perf_open(attr, (pid_t)tid, -1);
		if (event == -ESRCH) /* it has ended */
			continue;
		err = event < 0 ? event : links_event(l, program_fd, event, 0, o->features);
		if (err)
			break;
	}
	if (tasks)
		closedir(tasks);
	return err;
}

/* Virtual machines may take watchpoints that then see nothing. */
static bool watchpoints_fire(void)
{
	static volatile long watched;
	struct perf_event_attr attr = {.type = PERF_TYPE_BREAKPOINT,
				       .sample_period = 1,
				       .bp_type = WATCH_WRITE,
				       .bp_addr = (uint64_t)(uintptr_t)&watched,
				       .bp_len = sizeof(watched),
				       .exclude_kernel = 1};
	int event = kernel_perf_open(&attr, 0, -1);
	uint64_t count = 0;
	bool fire;

	if (event < 0)
		return true; /* the watchpoint that is asked for fails too, or does not */
	watched = 1;
	fire = read(event, &count, sizeof(count)) != (ssize_t)sizeof(count) || count;
	close(event);
	return fire;
}

static const char *counter_refusal(const struct attach *at, int err)
{
	if (at->kind == ATTACH_WATCHPOINT && err == -ENOTSUP)
		return "a watchpoint of nopal's own saw nothing (virtual machines may take "
		       "watchpoints that never fire)";
	if (at->kind == ATTACH_WATCHPOINT && err == -EINVAL)
		return "this CPU has no watchpoint of this length and mode (x86 watches w and rw, "
		       "and x with length 8), or the address is not a multiple of the length";
	if (at->kind == ATTACH_WATCHPOINT && err == -ENOSPC)
		return "all watchpoints of the CPU are in use";
	if (at->kind == ATTACH_COUNTER && (err == -ENOENT || err == -EOPNOTSUPP))
		return at->counter_type == PERF_TYPE_HARDWARE
			       ? "this machine does not count it (virtual machines often count no "
				 "hardware events); software events and profile probes are "
				 "available"
			       : "this kernel does not count it";
	return attach_meaning(err);
}

/* A timer, a counter or a watchpoint. */
static int attach_sample(struct links *l, const struct attach_options *o, const struct unit *u,
			 int program_fd, struct diag *d)
{
	const struct attach *at = u->sites->attach;
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_period = at->period};
	bool is_watch = at->kind == ATTACH_WATCHPOINT;
	int err;

	if (at->kind == ATTACH_COUNTER) {
		attr.type = at->counter_type;
		attr.config = at->counter;
	} else if (is_watch) {
		attr.type = PERF_TYPE_BREAKPOINT;
		attr.config = 0;
		attr.sample_period = 1;
		attr.bp_type = at->mode;
		attr.bp_addr = at->offset;
		attr.bp_len = at->mode == WATCH_EXEC ? sizeof(long) : at->length;
	}
	if (is_watch && !watchpoints_fire())
		err = -ENOTSUP;
	else if (is_watch && o->process)
		err = sample_process(l, o, &attr, program_fd);
	else
		err = sample_everywhere(l, o, &attr, program_fd);
	if (err) {
		struct str name = unit_site_name(u, at);

		diag_error(d, err, "attach", "cannot attach '%.*s': %s", STR_FMT(name),
			   counter_refusal(at, err));
	}
	return err;
}

/* ---- Raw tracepoints */

static int attach_raw(struct links *l, const struct unit *u, int program_fd, struct diag *d)
{
	const struct attach *at = u->sites->attach;
	char *name = strndup(at->tracepoint.ptr, at->tracepoint.len);
	int link = name ? kernel_link_raw(program_fd, name) : -ENOMEM;

	free(name);
	if (link >= 0)
		return links_keep(l, link);
	diag_error(d, link, "attach", "cannot attach to raw tracepoint '%.*s': %s",
		   STR_FMT(at->tracepoint),
		   link == -ENOENT   ? "this kernel has no such tracepoint"
		   : link == -EINVAL ? "it has fewer arguments than the script reads"
				     : attach_meaning(link));
	return link;
}

/* ---- Functions of the kernel */

static int link_kprobe(struct links *l, const struct attach_options *o, const struct unit *u,
		       const struct unit_site *site, int program_fd, int type)
{
	const struct attach *at = site->attach;
	char *name = at->function.len ? strndup(at->function.ptr, at->function.len) : NULL;
	struct perf_event_attr attr = {
		.type = (uint32_t)type,
		.config = u->kind == UNIT_KRETPROBE ? 1 : 0,
		.config1 = (uint64_t)(uintptr_t)name, /* without a name an address is in config2 */
		.config2 = at->offset,
	};
	int event;

	if (at->function.len && !name)
		return -ENOMEM;
	event = kernel_perf_open(&attr, -1, 0);
	free(name);
	return event < 0 ? event
			 : links_event(l, program_fd, event,
				       unit_needs_cookie(u) ? site->cookie : 0, o->features);
}

static const char *kprobe_refusal(int err)
{
	switch (-err) {
	case ENOENT: return "this kernel has no such function (or it is only inlined)";
	case EINVAL:
	case EILSEQ:
	case EADDRNOTAVAIL: return "the kernel cannot place a kprobe there";
	default: return attach_meaning(err);
	}
}

/* False also where the kernel does not tell. */
static bool is_no_function(struct str name)
{
	struct kernel_symbols *symbols = NULL;
	bool is_missing = false;
	uint64_t address;

	if (!kernel_symbols_read("/proc/kallsyms", &symbols))
		is_missing = !kernel_symbols_are_hidden(symbols) &&
			     !kernel_symbols_find(symbols, name, &address);
	kernel_symbols_free(symbols);
	return is_missing;
}

static int refuse_kprobes(const struct unit *u, struct diag *d)
{
	struct str name = unit_site_name(u, u->sites->attach),
		   function = u->sites->attach->function;

	if (is_no_function(function))
		return diag_error(d, -ENOENT, "missing-probe",
				  "there is no probe '%.*s': the kernel has no function '%.*s'",
				  STR_FMT(name), STR_FMT(function));
	diag_error(d, -ENOTSUP, "no-kprobes",
		   "cannot attach to '%.*s': this kernel is built without kprobes", STR_FMT(name));
	diag_hint(d, "tracepoints need none: nopal -l 'tracepoint:*:*'; and fentry:%.*s may work",
		  STR_FMT(u->sites->attach->function));
	return -ENOTSUP;
}

/* One of a pattern's functions that cannot be probed does not end the run. */
static int attach_kprobes(struct links *l, const struct attach_options *o, const struct unit *u,
			  int program_fd, struct diag *d)
{
	int type = links_event_type(KPROBE_TYPE), err, last = 0;
	struct str name = unit_site_name(u, u->sites->attach);
	uint32_t attached = 0;

	if (type < 0)
		return refuse_kprobes(u, d);
	err = kernel_reserve_fds(u->site_count);
	for (uint32_t i = 0; i < u->site_count && !err; i++) {
		int one = link_kprobe(l, o, u, &u->sites[i], program_fd, type);

		attached += !one;
		last = one ? one : last;
		name = unit_site_name(u, u->sites[i].attach);
		if (one && u->site_count > 1)
			diag_warn(d, "attach", "'%.*s' is skipped: %s", STR_FMT(name),
				  kprobe_refusal(one));
		if (one == -ENOMEM || one == -EMFILE || one == -EPERM || one == -EACCES)
			err = one;
	}
	err = err ? err : attached ? 0 : last;
	if (err)
		diag_error(d, err, "attach", "cannot attach to '%.*s': %s", STR_FMT(name),
			   kprobe_refusal(err));
	return err;
}

static int attach_function(struct links *l, const struct unit *u, int program_fd, struct diag *d)
{
	struct str name = unit_site_name(u, u->sites->attach);
	int link = kernel_link_function(program_fd);

	if (link >= 0)
		return links_keep(l, link);
	return diag_error(d, link, "attach", "cannot attach to '%.*s': %s", STR_FMT(name),
			  link == -ENOENT || link == -EINVAL
				  ? "the kernel cannot trace this function"
				  : attach_meaning(link));
}

/* Runs the program once for each object: it has run when the file is read to its end. */
static int run_iter(const struct unit *u, int program_fd, struct diag *d)
{
	struct str name = unit_site_name(u, u->sites->attach);
	int link = kernel_link_iter(program_fd);
	int file = link < 0 ? link : kernel_iter_open(link), err = file < 0 ? file : 0;
	char nothing[64];
	ssize_t n = 1;

	while (!err && n) {
		n = read(file, nothing, sizeof(nothing));
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			err = -errno;
	}
	if (file >= 0)
		close(file);
	if (link >= 0)
		close(link);
	return err ? diag_error(d, err, "attach", "cannot run '%.*s': %s", STR_FMT(name),
				attach_meaning(err))
		   : 0;
}

int attach_other(struct links *l, const struct attach_options *o, const struct unit *u,
		 int program_fd, struct diag *d)
{
	switch (u->kind) {
	case UNIT_TRACEPOINT: return attach_named_tracepoint(l, u, program_fd, d);
	case UNIT_SAMPLE: return attach_sample(l, o, u, program_fd, d);
	case UNIT_RAW: return attach_raw(l, u, program_fd, d);
	case UNIT_KPROBE:
	case UNIT_KRETPROBE: return attach_kprobes(l, o, u, program_fd, d);
	case UNIT_FENTRY:
	case UNIT_FEXIT: return attach_function(l, u, program_fd, d);
	case UNIT_ITER: return run_iter(u, program_fd, d);
	default: return 0; /* run when the tracer wants it */
	}
}
