/* What went wrong in scripts: reads of bad addresses, divisions by zero, keys that are missing.
 * Engines count it for each place of the script. At the end of the run each place has a line; with
 * -k there is one each second, too, of what is new. */
#include <errno.h>
#include <stdlib.h>

#include "session/session.h"

/* By place and kind; `now` is gathered from all engines. */
struct fault_counts {
	uint32_t spans;
	struct {
		uint64_t now, shown;
	} counts[];
};

static int print_fault(void *arg, const struct run_fault *fault)
{
	struct nopal_trace *t = arg;

	report_fault(t->report, fault, &t->out);
	return 0;
}

static int add_fault(void *arg, const struct run_fault *fault)
{
	struct fault_counts *f = arg;

	if (fault->span < f->spans)
		f->counts[fault->span * FAULT_KINDS + fault->kind].now += fault->count;
	return 0;
}

/* Room for all places of the program, which may have grown. */
static int make_room(struct nopal_trace *t)
{
	uint32_t spans = t->program->span_count, before = t->faults ? t->faults->spans : 0;
	size_t count = (size_t)spans * FAULT_KINDS, old = (size_t)before * FAULT_KINDS;
	struct fault_counts *f = t->faults;

	if (f && before >= spans)
		return 0;
	f = realloc(f, sizeof(*f) + count * sizeof(f->counts[0]));
	if (!f)
		return -ENOMEM;
	memset(f->counts + old, 0, (count - old) * sizeof(f->counts[0]));
	f->spans = spans;
	t->faults = f;
	return 0;
}

static void show_new(struct nopal_trace *t)
{
	struct fault_counts *f = t->faults;

	for (uint32_t i = 0; i < f->spans * FAULT_KINDS; i++)
		f->counts[i].now = 0;
	engine_faults(t->engine, add_fault, f);
	for (uint32_t i = 0; i < f->spans * FAULT_KINDS; i++) {
		struct run_fault fault = {.span = i / FAULT_KINDS,
					  .count = f->counts[i].now - f->counts[i].shown};

		fault.kind = i % FAULT_KINDS;
		if (fault.count)
			report_fault(t->report, &fault, &t->out);
		f->counts[i].shown = f->counts[i].now;
	}
}

void session_faults(struct nopal_trace *t, bool last)
{
	if (!t->options.report_missing_keys) {
		if (last)
			engine_faults(t->engine, print_fault, t);
	} else if (!make_room(t)) {
		show_new(t);
	}
}
