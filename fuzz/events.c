/* Recorded events (--events). The first line is the operands of a site, the rest a file of events,
 * each of which is played at it. What must hold: no crash, a refused line has a reason, and every
 * argument that an event gives can be read as its operand says. */
#include <stdlib.h>

#include "engine/interp/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Read all memory that the event was given. */
static unsigned sum(const struct context *c)
{
	unsigned total = 0;

	for (size_t i = 0; i < c->area_count; i++)
		for (size_t k = 0; k < c->areas[i].bytes.len; k++)
			total += (unsigned char)c->areas[i].bytes.ptr[k];
	return total;
}

static void play(const struct recorded *event, const struct attach *at, struct arena *a)
{
	struct context c;
	volatile unsigned total;

	if (event->arg_count > REPLAY_ARGS)
		abort();
	if (recorded_is_at(event, STR("usdt:/x:p:n")) && event->site.len > 11)
		abort();
	if (recorded_fill(event, at, a, &c))
		abort();
	total = sum(&c);
	(void)total;
	for (unsigned i = 0; i < at->arg_count && i < event->arg_count; i++) {
		struct interp engine = {.fault_count = 0};
		struct interp_run r = {.c = &c, .at = at, .e = &engine};
		static const struct insn code = {.op = OP_ARG};
		static const struct clause clause = {.code = &code, .insn_count = 1};
		struct workspace u = {.clause = &clause};

		r.u = &u;
		read_arg(&r, &at->args[i].operand);
		free(engine.faults);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena kept = ARENA_INIT, a = ARENA_INIT;
	struct str all = str_of((const char *)data, size), first = str_cut(&all, '\n');
	struct attach at = {.kind = ATTACH_UPROBE, .arch = arch_by_name(STR("x86_64"))};
	struct replay r = {.path = "events"};
	struct argument *args;

	if (arguments_parse(at.arch, first, &kept, &args, &at.arg_count))
		abort();
	at.args = args;
	buf_str(&r.text, all); /* with a NUL after it, as a file is read */
	r.rest = buf_as_str(&r.text);
	while (r.rest.len) {
		struct diag d = DIAG_INIT;
		struct recorded event;
		int err = replay_next(&r, &a, &event, &d);

		if (!err != !d.first)
			abort();
		if (!err && event.site.len)
			play(&event, &at, &a);
		diag_free(&d);
		arena_free(&a);
	}
	replay_close(&r);
	arena_free(&kept);
	return 0;
}
