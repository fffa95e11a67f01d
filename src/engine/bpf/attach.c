/* Attaching; see attach.h. */
#include "engine/bpf/attach.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "engine/bpf/kernel.h"
#include "engine/engine.h"
#include "find/tracefs.h"

#define NOT_SUPPORTED 524 /* the kernel's ENOTSUPP, which no header has */
#define REF_CTR_SHIFT 32
#define CLOSERS	      64
#define CLOSER_STACK  (64u << 10)

int links_keep(struct links *l, int fd)
{
	if (array_grow(l->fds, l->count, l->cap)) {
		close(fd);
		return -ENOMEM;
	}
	l->fds[l->count++] = fd;
	return 0;
}

void links_cut(struct links *l, size_t first)
{
	while (l->count > first)
		close(l->fds[--l->count]);
}

/* ---- uprobe_multi */

/* The kernel itself increments the semaphores when it arms the sites, and decrements them when the
 * link is closed: also when we are killed, so that no program is left with a raised one. */
static int link_multi(struct links *l, const struct attach_options *o, const struct unit *u,
		      const struct unit_site *sites, uint32_t count, int program_fd)
{
	char link[FILE_LINK_SIZE];
	uint64_t *offsets = calloc(3 * (size_t)count, sizeof(*offsets));
	uint64_t *ref_ctrs, *cookies;
	struct kernel_uprobes k = {.path = link,
				   .offsets = offsets,
				   .count = count,
				   .pid = o->pid,
				   .at_return = u->kind == UNIT_URETPROBE};
	int fd;

	if (!offsets)
		return -ENOMEM;
	file_link(sites->attach->file, link);
	ref_ctrs = offsets + count;
	k.cookies = cookies = ref_ctrs + count;
	for (uint32_t i = 0; i < count; i++) {
		offsets[i] = sites[i].attach->offset;
		ref_ctrs[i] = sites[i].attach->sema_offset;
		cookies[i] = sites[i].cookie;
		if (ref_ctrs[i])
			k.ref_ctrs = ref_ctrs;
	}
	fd = kernel_link_uprobes(program_fd, &k);
	free(offsets);
	return fd < 0 ? fd : links_keep(l, fd);
}

/* ---- perf events */

static int uprobe_type(void)
{
	static const char path[] = "/sys/bus/event_source/devices/uprobe/type";
	FILE *f = fopen(path, "re");
	int type = -1;

	if (!f && errno == EMFILE && file_raise_limit())
		f = fopen(path, "re");
	if (!f)
		return -errno;
	if (fscanf(f, "%d", &type) != 1)
		type = -ENOENT;
	fclose(f);
	return type;
}

/* The program to one event, with a cookie where the kernel can. */
static int link_event(struct links *l, int program_fd, int event, uint64_t cookie,
		      struct features *f)
{
	int link = feature_has(f, FEATURE_COOKIE) ? kernel_link_perf(program_fd, event, cookie)
						  : -EINVAL;

	if (link >= 0) { /* it holds the event */
		close(event);
		return links_keep(l, link);
	}
	if (!cookie && !ioctl(event, PERF_EVENT_IOC_SET_BPF, program_fd) &&
	    !ioctl(event, PERF_EVENT_IOC_ENABLE, 0))
		return links_keep(l, event);
	link = cookie ? link : -errno;
	close(event);
	return link;
}

static int link_perf(struct links *l, const struct attach_options *o, const struct unit *u,
		     const struct unit_site *site, int program_fd, int type)
{
	char link[FILE_LINK_SIZE];
	struct perf_event_attr attr = {
		.type = (uint32_t)type,
		.config = (u->kind == UNIT_URETPROBE ? 1 : 0) | (uint64_t)site->attach->sema_offset
									<< REF_CTR_SHIFT,
		.config1 = (uint64_t)(uintptr_t)link,
		.config2 = site->attach->offset,
	};
	int event;

	file_link(site->attach->file, link);
	/* An event of every process must name a CPU; BPF programs run for the hits on all CPUs, and
	 * only the event's own counter is that CPU's. */
	event = kernel_perf_open(&attr, o->pid ? o->pid : -1, o->pid ? -1 : 0);
	/* A cookie that the code does not ask for says nothing, and kernels without them take none.
	 */
	return event < 0 ? event
			 : link_event(l, program_fd, event, unit_needs_cookie(u) ? site->cookie : 0,
				      o->features);
}

/* ---- one file */

static const char *meaning_of(int err)
{
	switch (-err) {
	case EPERM:
	case EACCES: return rights_denied();
	case NOT_SUPPORTED: return "the kernel cannot place a uprobe on this instruction";
	case ESRCH: return "the process has ended";
	case ENOENT: return "this kernel has no uprobes";
	case EINVAL: return "the kernel refuses an offset or the semaphore of a site";
	default: return strerror(-err);
	}
}

static int link_file(struct links *l, const struct attach_options *o, const struct unit *u,
		     const struct unit_site *sites, uint32_t count, int program_fd)
{
	int err = 0, type;
	/* Whether this kernel has such links is asked only after one was refused. */
	bool multi = o->features->known[FEATURE_UPROBE_MULTI] >= 0 &&
		     (!o->pid || feature_has(o->features, FEATURE_PID_FILTER));

	if (multi)
		err = link_multi(l, o, u, sites, count, program_fd);
	if (multi && !err)
		feature_learn(o->features, FEATURE_UPROBE_MULTI, true);
	if (multi && (!err || feature_has(o->features, FEATURE_UPROBE_MULTI)))
		return err;
	l->is_slow = true;
	type = uprobe_type();
	err = type < 0 ? type : kernel_reserve_fds(count);
	for (uint32_t i = 0; i < count && !err; i++)
		err = link_perf(l, o, u, &sites[i], program_fd, type);
	return err;
}

/* The file that the kernel has resolved must be the one that was read; else nothing stays attached.
 * It is checked afterwards: before, it could still be exchanged. */
static int attach_file(struct links *l, const struct attach_options *o, const struct unit *u,
		       const struct unit_site *sites, uint32_t count, int program_fd,
		       struct diag *d)
{
	struct str name = unit_site_name(u, sites->attach);
	size_t first = l->count;
	int err = link_file(l, o, u, sites, count, program_fd), other;
	/* Does the tracer lack something, whatever the file? */
	bool is_our_own = err == -EPERM || err == -EACCES || err == -ENOMEM || err == -EMFILE ||
			  err == -ENFILE || err == -ENOENT;

	other = !err || err == -ENOENT ? file_check(sites->attach->file, d) : 0;
	if (!err && !other)
		return 0;
	links_cut(l, first);
	if (other)
		return other;
	if (sites->attach->is_met && !is_our_own) {
		diag_warn(d, "attach", "'%.*s'%s in '%.*s' is skipped: %s", STR_FMT(name),
			  count > 1 ? " and others" : "", STR_FMT(sites->attach->path),
			  meaning_of(err));
		return 0;
	}
	diag_error(d, err, "attach", "cannot attach to '%.*s'%s in '%.*s': %s", STR_FMT(name),
		   count > 1 ? " and others" : "", STR_FMT(sites->attach->path), meaning_of(err));
	if (err == -EMFILE)
		diag_hint(d,
			  "each of the %u sites needs a file descriptor: raise the limit with "
			  "ulimit -n",
			  count);
	return err;
}

/* ---- other kinds */

int attach_tracepoint(struct links *l, int program_fd, uint32_t id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .config = id, .sample_period = 1};
	struct features none;
	int event;

	features_init(&none);
	event = kernel_perf_open(&attr, -1, 0);
	return event < 0 ? event : link_event(l, program_fd, event, 0, &none);
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
				   STR_FMT(u->sites->attach->tracepoint), meaning_of(err));
	}
	arena_free(&a);
	return err;
}

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
		err = event < 0 ? event : link_event(l, program_fd, event, 0, o->features);
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
		err = event < 0 ? event : link_event(l, program_fd, event, 0, o->features);
		if (err)
			break;
	}
	if (tasks)
		closedir(tasks);
	return err;
}

static const char *counter_refusal(const struct attach *at, int err)
{
	if (at->kind == ATTACH_WATCHPOINT && err == -EINVAL)
		return "this CPU has no watchpoint of this length and mode (x86 watches w and rw, "
		       "and x with length 8), or the address is not a multiple of the length";
	if (at->kind == ATTACH_WATCHPOINT && err == -ENOSPC)
		return "all watchpoints of the CPU are in use";
	if (at->kind == ATTACH_COUNTER && (err == -ENOENT || err == -EOPNOTSUPP))
		return at->counter_type == PERF_TYPE_HARDWARE
			       ? "this machine does not count it (virtual machines often count no "
				 "hardware events); software events and profile: are there"
			       : "this kernel does not count it";
	return meaning_of(err);
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
	if (is_watch && o->process)
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
				     : meaning_of(link));
	return link;
}

int attach_unit(struct links *l, const struct attach_options *o, const struct unit *u,
		int program_fd, struct diag *d)
{
	int err = 0;

	if (u->kind == UNIT_TRACEPOINT)
		return attach_named_tracepoint(l, u, program_fd, d);
	if (u->kind == UNIT_SAMPLE)
		return attach_sample(l, o, u, program_fd, d);
	if (u->kind == UNIT_RAW)
		return attach_raw(l, u, program_fd, d);
	for (uint32_t at = 0, end; unit_is_uprobe(u) && at < u->site_count && !err; at = end) {
		end = unit_file_end(u, at);
		err = attach_file(l, o, u, u->sites + at, end - at, program_fd, d);
	}
	return err;
}

/* ---- closing */

struct closing {
	const int *fds;
	size_t count, next;
};

static void *close_some(void *arg)
{
	struct closing *c = arg;
	size_t i;

	while ((i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED)) < c->count)
		close(c->fds[i]);
	return NULL;
}

/* Closing a uprobe_multi link waits for a grace period of the kernel. Links of 40 files take 2 s
 * one after the other, and as long as one of them, 0.1 s, when all are closed at once. */
void links_close(struct links *l)
{
	struct closing c = {.fds = l->fds, .count = l->count};
	pthread_t threads[CLOSERS];
	pthread_attr_t attr;
	size_t started = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, CLOSER_STACK);
	while (started < CLOSERS && started + 1 < l->count &&
	       !pthread_create(&threads[started], &attr, close_some, &c))
		started++;
	close_some(&c);
	while (started)
		pthread_join(threads[--started], NULL);
	pthread_attr_destroy(&attr);
	free(l->fds);
	*l = (struct links){0};
}

/* ---- Programs of callers */

/* How the caller's program can be attached is not known: links are tried first, silently. */
int attach_caller(struct links *l, const struct caller_program *c, struct attach *sites,
		  size_t *count, struct diag *d)
{
	struct program program = {.names = &c->name, .name_count = 1};
	struct unit unit = {
		.kind = UNIT_UPROBE, .program = &program, .site_count = (uint32_t)*count};
	struct features features;
	struct attach_options options = {.features = &features, .pid = c->pid};
	int err;

	unit.sites = calloc(*count, sizeof(*unit.sites));
	if (!unit.sites)
		return -ENOMEM;
	qsort(sites, *count, sizeof(*sites), attach_compare);
	for (size_t i = 0; i < *count; i++)
		unit.sites[i] = (struct unit_site){.attach = &sites[i], .cookie = c->cookie};
	features_init(&features);
	err = sites_leave_out_of(&unit, &features, d);
	*count = unit.site_count;
	if (!err && attach_unit(l, &options, &unit, c->fd, NULL)) {
		links_close(l);
		feature_learn(&features, FEATURE_UPROBE_MULTI, false);
		err = attach_unit(l, &options, &unit, c->fd, d);
	}
	free(unit.sites);
	return err;
}
