/* Attaching; see attach.h. */
#include "engine/bpf/run/attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "engine/bpf/kernel/bpf_syscall.h"
#include "engine/bpf/kernel/rights.h"
#include "engine/bpf/run/site_checks.h"

#define UPROBE_TYPE   "/sys/bus/event_source/devices/uprobe/type"
#define NOT_SUPPORTED 524 /* the kernel's ENOTSUPP, which no header has */
#define REF_CTR_SHIFT 32

/* What the kernel itself counts in; the others are raised by semaphores.c. */
static uint64_t kernel_semaphore(const struct attach *at)
{
	return at->sema_is_ours ? 0 : at->sema_offset;
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
		ref_ctrs[i] = kernel_semaphore(sites[i].attach);
		cookies[i] = sites[i].cookie;
		if (ref_ctrs[i])
			k.ref_ctrs = ref_ctrs;
	}
	fd = kernel_link_uprobes(program_fd, &k);
	free(offsets);
	return fd < 0 ? fd : links_keep(l, fd);
}

/* ---- perf events */

static int link_perf(struct links *l, const struct attach_options *o, const struct unit *u,
		     const struct unit_site *site, int program_fd, int type)
{
	char link[FILE_LINK_SIZE];
	struct perf_event_attr attr = {
		.type = (uint32_t)type,
		.config = (u->kind == UNIT_URETPROBE ? 1 : 0) | kernel_semaphore(site->attach)
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
			 : links_event(l, program_fd, event,
				       unit_needs_cookie(u) ? site->cookie : 0, o->features);
}

/* ---- one file */

const char *attach_meaning(int err)
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
	type = links_event_type(UPROBE_TYPE);
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
			  attach_meaning(err));
		return 0;
	}
	diag_error(d, err, "attach", "cannot attach to '%.*s'%s in '%.*s': %s", STR_FMT(name),
		   count > 1 ? " and others" : "", STR_FMT(sites->attach->path),
		   attach_meaning(err));
	if (err == -EMFILE)
		diag_hint(d,
			  "each of the %u sites needs a file descriptor: raise the limit with "
			  "ulimit -n",
			  count);
	return err;
}

int attach_unit(struct links *l, const struct attach_options *o, const struct unit *u,
		int program_fd, struct diag *d)
{
	int err = 0;

	if (!unit_is_uprobe(u))
		return attach_other(l, o, u, program_fd, d);
	for (uint32_t at = 0, end; at < u->site_count && !err; at = end) {
		end = unit_file_end(u, at);
		err = attach_file(l, o, u, u->sites + at, end - at, program_fd, d);
	}
	return err;
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
