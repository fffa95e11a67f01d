/* What a run delivers while it runs and after: its maps, records, numbers, and the code in dumps.
 */
#include "engine/bpf/run/bpf.h"

#include <errno.h>
#include <sys/epoll.h>
#include <time.h>

#include "engine/bpf/kernel/control.h"
#include "engine/bpf/run/stores.h"
#include "program/record.h"

#define PAUSE_LAST 50 /* ms between looks at the ring */

static void drain_definitions(struct bpf_engine *e)
{
	script_maps_drain(&e->world.script, e->options.langs);
}

/* ---- maps */

int bpf_map_each(void *self, uint32_t map, map_entry_fn *fn, void *arg)
{
	struct bpf_engine *e = self;

	drain_definitions(e);
	return map < e->store_count ? store_each(&e->stores[map], e->world.cpus, fn, arg) : -EINVAL;
}

int bpf_map_take(void *self, uint32_t map, enum format_take what, map_entry_fn *fn, void *arg)
{
	struct bpf_engine *e = self;

	drain_definitions(e);
	return map < e->store_count ? store_take(&e->stores[map], e->world.cpus, what, fn, arg,
						 bpf_wait_for_maps, e)
				    : -EINVAL;
}

int bpf_map_clear(void *self, uint32_t map)
{
	struct bpf_engine *e = self;

	return map < e->store_count ? store_rewrite(&e->stores[map], e->world.cpus, true) : -EINVAL;
}

int bpf_map_zero(void *self, uint32_t map)
{
	struct bpf_engine *e = self;

	return map < e->store_count ? store_rewrite(&e->stores[map], e->world.cpus, false)
				    : -EINVAL;
}

/* ---- records */

/* Control records that found the ring full were counted instead: make them here. Their place among
 * the records is not known. They come after those in the ring, because those had filled it. */
static int drain_unsent(struct bpf_engine *e, record_fn *fn, void *arg)
{
	int given = 0;

	for (uint32_t i = 0, n = 0; i < e->program->format_count; i++) {
		struct record_head head = {.size = sizeof(head), .format = (uint16_t)i};
		uint64_t count;

		if (!format_is_control(&e->program->formats[i]) || n == e->world.control_count)
			continue;
		count = __atomic_load_n(&e->control[CONTROL_FIXED_ + n], __ATOMIC_ACQUIRE);
		for (; e->unsent[n] < count; e->unsent[n]++, given++) {
			int err = fn(arg, str_of((char *)&head, sizeof(head)));

			if (err) {
				e->unsent[n]++;
				return err;
			}
		}
		n++;
	}
	return given;
}

/* A record on its way out. */
struct delivery {
	struct bpf_engine *e;
	record_fn *fn;
	void *arg;
};

/* The functions in its stacks were sent before it; its time comes after it. */
static int take_one(void *arg, struct str bytes)
{
	const struct delivery *t = arg;
	uint64_t *time = &t->e->engine.time;

	if (t->e->program->is_stamped && bytes.len >= sizeof(*time)) {
		bytes.len -= sizeof(*time);
		memcpy(time, bytes.ptr + bytes.len, sizeof(*time));
	}
	drain_definitions(t->e);
	return t->fn(t->arg, bytes);
}

static int drain_now(struct bpf_engine *e, record_fn *fn, void *arg)
{
	struct delivery taken = {e, fn, arg};
	int n, more;

	drain_definitions(e);
	n = e->world.script.targets_fd >= 0 || e->program->is_stamped
		    ? ring_drain(&e->ring, take_one, &taken)
		    : ring_drain(&e->ring, fn, arg);
	e->engine.time = 0;
	if (n < 0)
		return n;
	more = drain_unsent(e, fn, arg);
	return more < 0 ? more : n + more;
}

/* Wait for the watermark, at most `ms`. */
static int wait_ring(struct bpf_engine *e, int ms)
{
	struct epoll_event event;

	return epoll_wait(e->ring.wait_fd, &event, 1, ms) < 0 ? -errno : 0;
}

/* No program wakes us for a few records, so poll: often after there were some, and less often the
 * longer there are none. */
int bpf_drain(struct engine *engine, int timeout_ms, record_fn *fn, void *arg)
{
	struct bpf_engine *e = (struct bpf_engine *)engine;
	int n = 0, left = timeout_ms;

	drain_definitions(e); /* also where there are no records: maps have stacks, too */
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

int bpf_wait_fd(struct engine *engine)
{
	return ((struct bpf_engine *)engine)->ring.wait_fd;
}

/* ---- numbers */

void bpf_stats(struct engine *engine, struct run_stats *out)
{
	struct bpf_engine *e = (struct bpf_engine *)engine;

	*out = (struct run_stats){0};
	if (e->control)
		*out = (struct run_stats){.lost_records = e->control[CONTROL_LOST_RECORDS],
					  .lost_updates = e->control[CONTROL_LOST_UPDATES],
					  .lost_scratch = e->control[CONTROL_LOST_SCRATCH],
					  .loop_limits = e->control[CONTROL_LOOP_LIMITS],
					  .children = e->control[CONTROL_CHILDREN],
					  .files_missed = e->files_missed};
	out->semaphores_late = e->semaphores.late;
	out->semaphores_late_most = e->semaphores.late_most;
	out->semaphores_missed = e->semaphores.ended;
}

int bpf_faults(struct engine *engine, fault_fn *fn, void *arg)
{
	struct bpf_engine *e = (struct bpf_engine *)engine;
	const uint64_t *counts = e->control + CONTROL_FIXED_ + e->world.control_count;
	int err = 0;

	for (uint32_t i = 0; i < e->world.span_count * FAULT_KINDS && !err; i++) {
		struct run_fault f = {
			.span = i / FAULT_KINDS, .kind = i % FAULT_KINDS, .count = counts[i]};

		if (f.count)
			err = fn(arg, &f);
	}
	return err;
}

void bpf_dump(struct engine *engine, struct buf *out)
{
	struct bpf_engine *e = (struct bpf_engine *)engine;
	static const char *const kinds[] = {
		[UNIT_UPROBE] = "uprobe",
		[UNIT_URETPROBE] = "uretprobe",
		[UNIT_KPROBE] = "kprobe",
		[UNIT_KRETPROBE] = "kretprobe",
		[UNIT_TRACEPOINT] = "tracepoint",
		[UNIT_SAMPLE] = "sample",
		[UNIT_RAW] = "rawtracepoint",
		[UNIT_FENTRY] = "fentry",
		[UNIT_FEXIT] = "fexit",
		[UNIT_ITER] = "iter",
		[UNIT_RUN] = "run",
	};
	unsigned number = 0;

	for (const struct loaded *l = e->first; l; l = l->next) {
		buf_printf(out, "bpf program %u: %s, ", number++, kinds[l->unit.kind]);
		buf_count(out, l->unit.site_count, "site");
		buf_text(out, ", ");
		buf_count(out, l->unit.case_count, "case");
		buf_char(out, '\n');
		code_print(&l->code, out);
	}
}
