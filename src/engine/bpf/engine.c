/* The BPF engine: from a program to loaded code, attached probes, records and maps; the entries of
 * engine.h. */
#include "engine/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/bpf/attach.h"
#include "engine/bpf/follow.h"
#include "engine/bpf/gen.h"
#include "engine/bpf/kernel.h"
#include "engine/bpf/ring.h"

#define RING_DATA      (4u << 20)  /* bytes, for scripts that send data */
#define RING_CONTROL   (64u << 10) /* for those that only print maps */
#define RING_MOST      (1u << 30)
#define LOG_SIZE       (1u << 20)
#define LOG_TAIL       1500u
#define SLEEPABLE      (1u << 4)   /* BPF_F_SLEEPABLE */
#define MAPPABLE       (1u << 10)  /* BPF_F_MMAPABLE */
#define INITIAL_PID_NS 0xeffffffcu /* inode of the first pid namespace */
#define PAUSE_FIRST    1	   /* ms between looks at the ring */
#define PAUSE_LAST     50

struct loaded {
	struct unit unit;
	struct code code; /* kept for dumps */
	int fd;
	struct loaded *next;
};

struct engine {
	struct engine_options options;
	struct arena arena;
	struct features features;
	const struct program *program;
	struct gen_world world;
	struct store *stores;
	uint32_t store_count;
	struct ring ring;
	struct links links;
	struct loaded *first, **last;
	uint64_t *control; /* mapped */
	size_t control_size;
	uint64_t *unsent; /* control records made up for, by format */
	int pause;
};

/* ---- open, close */

static void find_namespace(struct gen_world *w)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == INITIAL_PID_NS)
		return;
	w->ns_dev = st.st_dev;
	w->ns_ino = st.st_ino;
}

static int bpf_open(const struct engine_options *options, struct engine **out, struct diag *d)
{
	struct engine *e = calloc(1, sizeof(*e));

	(void)d;
	if (!e)
		return -ENOMEM;
	e->options = *options;
	e->last = &e->first;
	e->ring.fd = e->ring.wait_fd = -1;
	e->world.control_fd = e->world.zeros_fd = e->world.scratch_fd = e->world.ring_fd = -1;
	e->world.pids_fd = -1;
	e->pause = PAUSE_FIRST;
	features_init(&e->features);
	if (options->no_multi)
		features_deny(&e->features, STR("uprobe_multi"));
	if (options->no_sleep)
		features_deny(&e->features, STR("sleepable"));
	find_namespace(&e->world);
	*out = e;
	return 0;
}

static void bpf_detach(struct engine *e)
{
	links_close(&e->links);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void bpf_close(struct engine *e)
{
	if (!e)
		return;
	bpf_detach(e);
	for (struct loaded *l = e->first; l; l = l->next) {
		close_fd(l->fd);
		code_free(&l->code);
	}
	for (uint32_t i = 0; i < e->store_count; i++)
		store_close(&e->stores[i]);
	ring_close(&e->ring);
	if (e->control)
		munmap(e->control, e->control_size);
	close_fd(e->world.control_fd);
	close_fd(e->world.zeros_fd);
	close_fd(e->world.scratch_fd);
	close_fd(e->world.pids_fd);
	free(e->unsent);
	arena_free(&e->arena);
	free(e);
}

/* ---- the maps all programs share */

static int make_stores(struct engine *e, const struct program *p, struct diag *d)
{
	e->stores = arena_array(&e->arena, struct store, p->map_count + 1);
	if (!e->stores)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->map_count; i++) {
		int err = store_open(&e->stores[i], &p->maps[i], d);

		e->store_count = i + 1;
		if (err)
			return err;
	}
	e->world.stores = e->stores;
	return 0;
}

static int make_control(struct engine *e, const struct program *p, struct diag *d)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = 8 * (CONTROL_FIXED_ + p->format_count + (size_t)p->place_count * FAULT_KINDS);
	struct kernel_map m = {.type = BPF_MAP_TYPE_ARRAY,
			       .key_size = 4,
			       .value_size = (uint32_t)size,
			       .max_entries = 1,
			       .flags = MAPPABLE,
			       .name = "control"};

	e->unsent = calloc(p->format_count + 1, sizeof(*e->unsent));
	e->world.control_fd = kernel_map_create(&m);
	if (!e->unsent || e->world.control_fd < 0)
		return diag_error(d, e->unsent ? e->world.control_fd : -ENOMEM, "map",
				  "cannot create a BPF map: %s",
				  e->world.control_fd == -EPERM
					  ? "permission denied: tracing needs root, or CAP_BPF "
					    "and CAP_PERFMON"
					  : strerror(-e->world.control_fd));
	e->control_size = (size + page - 1) & ~(page - 1);
	e->control = mmap(NULL, e->control_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			  e->world.control_fd, 0);
	if (e->control == MAP_FAILED) {
		e->control = NULL;
		return diag_error(d, -errno, "map", "cannot map the engine's counters: %s",
				  strerror(errno));
	}
	return 0;
}

/* Zeros to copy from: as many as the largest value, key or text. */
static int make_zeros(struct engine *e, const struct program *p, uint32_t scratch, struct diag *d)
{
	uint32_t size = scratch > 64 ? scratch : 64;
	struct kernel_map m = {
		.type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .max_entries = 1, .name = "zeros"};

	for (uint32_t i = 0; i < p->map_count; i++)
		if (e->stores[i].value_size + 8 > size)
			size = e->stores[i].value_size + 8;
	m.value_size = (size + 7) & ~7u;
	e->world.zeros_fd = kernel_map_create(&m);
	if (e->world.zeros_fd < 0)
		return diag_error(d, e->world.zeros_fd, "map", "cannot create a BPF map: %s",
				  strerror(-e->world.zeros_fd));
	return 0;
}

static int make_ring(struct engine *e, const struct program *p, struct diag *d)
{
	size_t size = e->options.ring_bytes ? e->options.ring_bytes : RING_CONTROL;
	int err;

	if (!p->format_count)
		return 0;
	for (uint32_t i = 0; i < p->format_count && !e->options.ring_bytes; i++)
		if (!format_is_control(&p->formats[i]))
			size = RING_DATA;
	err = ring_open(&e->ring, size < RING_MOST ? size : RING_MOST, d);
	e->world.ring_fd = e->ring.fd;
	e->world.ring_bytes = (uint32_t)e->ring.size;
	return err;
}

static int make_scratch(struct engine *e, uint32_t size, struct diag *d)
{
	struct kernel_map m = {
		.type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = size, .name = "scratch"};

	e->world.scratch_size = size;
	if (!size)
		return 0;
	e->world.scratch_count = 32; /* a sleeping program keeps its own: have some to spare */
	while (e->world.scratch_count < e->world.cpus * 8)
		e->world.scratch_count *= 2;
	m.max_entries = e->world.scratch_count;
	e->world.scratch_fd = kernel_map_create(&m);
	if (e->world.scratch_fd < 0)
		return diag_error(d, e->world.scratch_fd, "map", "cannot create scratch memory: %s",
				  strerror(-e->world.scratch_fd));
	return 0;
}

/* ---- loading */

static void describe_load(const struct unit *u, struct kernel_program *k)
{
	static const struct {
		enum bpf_prog_type type;
		const char *name;
	} kinds[] = {
		[UNIT_UPROBE] = {BPF_PROG_TYPE_KPROBE, "nopal_uprobe"},
		[UNIT_URETPROBE] = {BPF_PROG_TYPE_KPROBE, "nopal_return"},
		[UNIT_TRACEPOINT] = {BPF_PROG_TYPE_TRACEPOINT, "nopal_trace"},
		[UNIT_PROFILE] = {BPF_PROG_TYPE_PERF_EVENT, "nopal_profile"},
		[UNIT_RUN] = {BPF_PROG_TYPE_SYSCALL, "nopal_run"},
	};

	k->type = kinds[u->kind].type;
	k->name = kinds[u->kind].name;
}

static bool is_uprobe(const struct unit *u)
{
	return u->kind == UNIT_UPROBE || u->kind == UNIT_URETPROBE;
}

/* The end of the verifier's log, which has the reason. */
static int explain_load(struct kernel_program *k, int err, struct diag *d)
{
	const char *why = "";
	size_t len;

	k->log = calloc(1, LOG_SIZE);
	k->log_size = LOG_SIZE;
	if (k->log) {
		int fd = kernel_program_load(k);

		if (fd >= 0)
			close(fd);
		len = strlen(k->log);
		why = k->log + (len > LOG_TAIL ? len - LOG_TAIL : 0);
	}
	if (err == -EPERM && !*why)
		why = "permission denied: tracing needs root, or CAP_BPF and CAP_PERFMON";
	diag_error(d, err, "verifier", "the kernel refuses the program (%s): %s", strerror(-err),
		   *why ? why : "no reason given");
	free(k->log);
	k->log = NULL;
	return err;
}

/* Code for one unit, then a fd. `sleepable` is only a wish for uprobes. */
static int load_once(struct engine *e, struct loaded *l, const struct frame *frames, bool sleepable,
		     bool explain, struct diag *d)
{
	struct kernel_program k = {0};
	struct bpf_insn *insns = NULL;
	int err;

	code_free(&l->code);
	e->world.sleepable = sleepable;
	err = gen_unit(&e->world, &l->unit, frames, &l->code, d);
	if (!err)
		err = code_finish(&l->code, &insns, &k.count);
	if (err == -E2BIG)
		diag_error(d, err, "too-large", "the script makes a program too large for eBPF");
	if (err)
		return err;
	describe_load(&l->unit, &k);
	k.flags = sleepable ? SLEEPABLE : 0;
	k.insns = insns;
	if (is_uprobe(&l->unit) && e->features.known[FEATURE_UPROBE_MULTI] >= 0)
		k.attach_type = KERNEL_ATTACH_UPROBE_MULTI;
	l->fd = kernel_program_load(&k);
	if (l->fd < 0 && explain)
		explain_load(&k, l->fd, d);
	free(insns);
	return l->fd < 0 ? l->fd : 0;
}

static int load_unit(struct engine *e, struct loaded *l, const struct frame *frames, struct diag *d)
{
	bool must = l->unit.kind == UNIT_RUN;
	bool may = must || (is_uprobe(&l->unit) && e->features.known[FEATURE_SLEEPABLE] >= 0);
	unsigned said = d ? d->errors : 0;
	int err = load_once(e, l, frames, may, must || !may, d);

	if (!err || must || !may || (d && d->errors != said))
		return err;
	if (feature_has(&e->features, FEATURE_SLEEPABLE)) /* then it is the code that is wrong */
		return load_once(e, l, frames, true, true, d);
	return load_once(e, l, frames, false, true, d);
}

static int plan_frames(struct engine *e, const struct program *p, struct frame **out,
		       uint32_t *scratch, struct diag *d)
{
	struct frame *frames = arena_array(&e->arena, struct frame, p->clause_count + 1);

	if (!frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->clause_count; i++) {
		int err = frame_plan(&e->arena, p, &p->clauses[i], &frames[i]);

		if (err == -E2BIG)
			return diag_error_at(d, err, "too-large", p->clauses[i].span,
					     "the clause needs more memory than a probe has");
		if (err)
			return err;
		if ((uint32_t)frames[i].scratch > *scratch)
			*scratch = (uint32_t)frames[i].scratch;
	}
	*out = frames;
	return 0;
}

static bool has_loops(const struct program *p)
{
	for (uint32_t i = 0; i < p->clause_count; i++)
		for (uint32_t k = 0; k < p->clauses[i].insn_count; k++)
			if (p->clauses[i].code[k].op == OP_LOOP)
				return true;
	return false;
}

/* Load the units of a program that `wanted` says; they are added to the engine's. */
static int load_units(struct engine *e, const struct program *p, const struct frame *frames,
		      bool only_uprobes, struct diag *d)
{
	struct unit *units;
	uint32_t count;
	int err = units_make(&e->arena, p, &units, &count, d);

	e->world.may_goto = has_loops(p) && feature_has(&e->features, FEATURE_MAY_GOTO);
	for (uint32_t i = 0; i < count && !err; i++) {
		struct loaded *l;

		if (only_uprobes && !is_uprobe(&units[i]))
			continue;
		l = arena_new(&e->arena, struct loaded);
		if (!l)
			return -ENOMEM;
		l->unit = units[i];
		l->fd = -1;
		*e->last = l;
		e->last = &l->next;
		err = load_unit(e, l, frames, d);
	}
	return err;
}

static int bpf_build(struct engine *e, const struct program *p, struct diag *d)
{
	struct frame *frames = NULL;
	uint32_t scratch = 0;
	int err;

	e->program = p;
	kernel_raise_memlock();
	e->world.cpus = kernel_cpus();
	e->world.format_count = p->format_count;
	e->world.place_count = p->place_count;
	e->world.pid = e->options.pid;
	err = make_control(e, p, d);
	if (!err)
		err = make_stores(e, p, d);
	if (!err && e->options.pid && e->options.follow_forks)
		err = follow_open(&e->world, d);
	if (!err)
		err = plan_frames(e, p, &frames, &scratch, d);
	if (!err)
		err = make_zeros(e, p, scratch, d);
	if (!err)
		err = make_scratch(e, scratch, d);
	if (!err)
		err = make_ring(e, p, d);
	if (!err)
		err = load_units(e, p, frames, false, d);
	return err;
}

/* ---- attach, run */

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int attach_from(struct engine *e, const struct loaded *l, struct diag *d)
{
	struct attach_options o = {.features = &e->features,
				   .pid = e->options.follow_forks ? 0 : e->options.pid};
	int err = 0;

	for (; l && !err; l = l->next)
		err = attach_unit(&e->links, &o, &l->unit, l->fd, d);
	return err;
}

static int bpf_attach(struct engine *e, struct diag *d)
{
	int err = 0;

	if (!e->control[CONTROL_START])
		e->control[CONTROL_START] = now();
	if (e->world.pids_fd >= 0)
		err = follow_attach(&e->world, &e->links, d);
	if (!err)
		err = attach_from(e, e->first, d);
	if (err)
		bpf_detach(e);
	return err;
}

static int bpf_extend(struct engine *e, const struct program *p, struct diag *d)
{
	struct loaded **first = e->last;
	struct frame *frames = NULL;
	uint32_t scratch = 0;
	int err = plan_frames(e, p, &frames, &scratch, d);

	if (!err && scratch > e->world.scratch_size)
		err = diag_error(d, -EINVAL, "extend", "the program is of another script");
	if (!err)
		err = load_units(e, p, frames, true, d);
	return err ? err : attach_from(e, *first, d);
}

static int bpf_run(struct engine *e, enum attach_kind kind, uint32_t clause, struct diag *d)
{
	int err = 0;

	if (!e->control[CONTROL_START])
		e->control[CONTROL_START] = now();
	for (struct loaded *l = e->first; l && !err; l = l->next) {
		uint32_t result;

		if (l->unit.kind != UNIT_RUN || l->unit.sites->attach->kind != kind)
			continue;
		if (l->unit.cases->steps->clause != clause)
			continue;
		err = kernel_program_run(l->fd, &result);
		if (err)
			diag_error(d, err, "run", "cannot run a clause: %s", strerror(-err));
	}
	return err;
}

/* ---- records */

/* Control records that found the ring full were counted instead: make them here. */
static int drain_unsent(struct engine *e, record_fn *fn, void *arg)
{
	int given = 0;

	for (uint32_t i = 0; i < e->program->format_count; i++) {
		struct record_head head = {.size = sizeof(head), .format = (uint16_t)i};
		uint64_t count = __atomic_load_n(&e->control[CONTROL_FIXED_ + i], __ATOMIC_ACQUIRE);

		for (; e->unsent[i] < count; e->unsent[i]++, given++) {
			int err = fn(arg, str_of((char *)&head, sizeof(head)));

			if (err) {
				e->unsent[i]++;
				return err;
			}
		}
	}
	return given;
}

static int drain_now(struct engine *e, record_fn *fn, void *arg)
{
	int n = ring_drain(&e->ring, fn, arg), more;

	if (n < 0)
		return n;
	more = drain_unsent(e, fn, arg);
	return more < 0 ? more : n + more;
}

/* Wait for the watermark, at most `ms`. */
static int wait_ring(struct engine *e, int ms)
{
	struct epoll_event event;

	if (epoll_wait(e->ring.wait_fd, &event, 1, ms) < 0)
		return -errno;
	return 0;
}

/* Nobody wakes us for a few records, so look again and again: soon when there was something, less
 * often the longer there is nothing. */
static int bpf_drain(struct engine *e, int timeout_ms, record_fn *fn, void *arg)
{
	int n = 0, left = timeout_ms;

	if (e->ring.fd < 0) {
		struct timespec t = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

		if (timeout_ms > 0)
			nanosleep(&t, NULL);
		return 0;
	}
	if (left <= 0)
		wait_ring(e, 0); /* takes back the sign that wait_fd is readable */
	while (left > 0) {
		int ms = e->pause < left ? e->pause : left;
		int err = wait_ring(e, ms);

		if (err)
			return err == -EINTR ? 0 : err;
		left -= ms;
		n = drain_now(e, fn, arg);
		if (n)
			break;
		e->pause = e->pause * 2 < PAUSE_LAST ? e->pause * 2 : PAUSE_LAST;
	}
	if (timeout_ms <= 0)
		n = drain_now(e, fn, arg);
	if (n)
		e->pause = PAUSE_FIRST;
	return n;
}

static int bpf_wait_fd(struct engine *e)
{
	return e->ring.wait_fd;
}

/* ---- maps and numbers */

static int bpf_map_each(struct engine *e, uint32_t map, map_entry_fn *fn, void *arg)
{
	return map < e->store_count ? store_each(&e->stores[map], e->world.cpus, fn, arg) : -EINVAL;
}

static int bpf_map_clear(struct engine *e, uint32_t map)
{
	return map < e->store_count ? store_clear(&e->stores[map], e->world.cpus) : -EINVAL;
}

static int bpf_map_zero(struct engine *e, uint32_t map)
{
	return map < e->store_count ? store_zero(&e->stores[map], e->world.cpus) : -EINVAL;
}

static void bpf_stats(struct engine *e, struct engine_stats *out)
{
	*out = (struct engine_stats){0};
	if (!e->control)
		return;
	out->lost_records = e->control[CONTROL_LOST_RECORDS];
	out->lost_updates = e->control[CONTROL_LOST_UPDATES];
	out->lost_scratch = e->control[CONTROL_LOST_SCRATCH];
	out->loop_limits = e->control[CONTROL_LOOP_LIMITS];
}

static int bpf_faults(struct engine *e, fault_fn *fn, void *arg)
{
	const uint64_t *counts = e->control + CONTROL_FIXED_ + e->world.format_count;
	int err = 0;

	for (uint32_t i = 0; i < e->world.place_count * FAULT_KINDS && !err; i++) {
		struct engine_fault f = {
			.place = i / FAULT_KINDS, .kind = i % FAULT_KINDS, .count = counts[i]};

		if (f.count)
			err = fn(arg, &f);
	}
	return err;
}

static void bpf_dump(struct engine *e, struct buf *out)
{
	static const char *const kinds[] = {
		[UNIT_UPROBE] = "uprobe",
		[UNIT_URETPROBE] = "uretprobe",
		[UNIT_TRACEPOINT] = "tracepoint",
		[UNIT_PROFILE] = "profile",
		[UNIT_RUN] = "run",
	};
	unsigned number = 0;

	for (const struct loaded *l = e->first; l; l = l->next) {
		buf_printf(out, "bpf program %u: %s, %u sites, %u cases\n", number++,
			   kinds[l->unit.kind], l->unit.site_count, l->unit.case_count);
		code_print(&l->code, out);
	}
}

const struct engine_ops engine_bpf = {
	.name = "bpf",
	.open = bpf_open,
	.build = bpf_build,
	.attach = bpf_attach,
	.extend = bpf_extend,
	.run = bpf_run,
	.drain = bpf_drain,
	.wait_fd = bpf_wait_fd,
	.map_each = bpf_map_each,
	.map_clear = bpf_map_clear,
	.map_zero = bpf_map_zero,
	.stats = bpf_stats,
	.faults = bpf_faults,
	.detach = bpf_detach,
	.close = bpf_close,
	.dump = bpf_dump,
};
