/* Events on their way to the user: records become text, text is passed on in large pieces, losses
 * are reported. */
#include "session/session.h"

#include <errno.h>

#define FLUSH_BYTES (64 * 1024)
#define BATCH	    65536 /* records until intervals and signals get their turn */
#define SECOND	    1000000000ULL
#define RING	    (4 << 20) /* of the engine by default */

static void give_output(struct nopal_trace *t, nopal_output_fn *to, struct buf *text)
{
	if (text->len && to)
		to(t->options.output_arg, text->ptr, text->len);
	buf_clear(text);
}

void session_flush(struct nopal_trace *t)
{
	give_output(t, t->options.output, &t->out);
}

static void give_notice(struct nopal_trace *t)
{
	bool apart = t->options.notice && t->options.format != NOPAL_JSON;

	give_output(t, apart ? t->options.notice : t->options.output, &t->out);
}

void session_give_log(struct nopal_trace *t)
{
	give_output(t, t->options.notice ? t->options.notice : t->options.output, &t->log);
}

bool session_is_muted(const struct nopal_trace *t)
{
	return t->state == SESSION_EXITING || t->state == SESSION_FINISHED;
}

int session_take_spoiled(struct nopal_trace *t, int err)
{
	if (err != -EPROTO || !t->engine->is_exposed)
		return err;
	t->spoiled++;
	return 0;
}

static int take_record(void *arg, struct str bytes)
{
	struct nopal_trace *t = arg;
	enum report_action action = REPORT_DONE;
	struct str failure;
	size_t before = t->out.len;
	int err;

	if (session_is_muted(t))
		return 0;
	/* mmap events precede this record: read them now, because the process may end. */
	if (t->facts.uses_stacks || t->facts.uses_langs)
		session_read_watch(t);
	err = report_record(t->report, session_maps(t), bytes, &t->out, &action, &t->exit_code);
	if (err) {
		t->out.len = before;
		return session_take_spoiled(t, err);
	}
	t->records++;
	if (t->out.len > before && ++t->shown == t->options.max_events)
		t->state = t->state < SESSION_ENDING ? SESSION_EXITING : t->state; /* ORDER */
	failure = report_failure(t->report);
	if (failure.len) { /* errorf(); what cat() or system() could not do */
		session_flush(t);
		buf_str(&t->log, failure); /* text also where the output is JSON */
		session_give_log(t);
	}
	if (action == REPORT_EXIT)
		/* ORDER: in END it ends the other clauses of END */
		t->state = t->state < SESSION_ENDING ? SESSION_EXITING : SESSION_FINISHED;
	if (t->out.len >= FLUSH_BYTES)
		session_flush(t);
	return ++t->batch >= BATCH;
}

int session_drain(struct nopal_trace *t, struct diag *d)
{
	int count;

	t->batch = 0;
	count = engine_drain(t->engine, 0, take_record, t);
	/* What BEGIN prints may be what somebody waits for, to fire the probes. */
	if (t->state != SESSION_OPEN)
		session_flush(t);
	if (t->batch)
		t->idle_ms = 0;
	if (count == -EPROTO)
		return diag_error(d, count, "bad-record",
				  "the event buffer contains a malformed record");
	return count < 0 ? count : 0; /* what was being done when memory ended, callers know */
}

static int count_entry(void *arg, struct str key, struct str value)
{
	(void)key;
	(void)value;
	++*(uint32_t *)arg;
	return 0;
}

/* Which maps lost updates, and how they get more room. */
static void say_full(struct nopal_trace *t)
{
	for (uint32_t i = 0; i < t->program->map_count; i++) {
		const struct map_def *m = &t->program->maps[i];
		uint32_t count = 0;

		if (m->key.kind == TYPE_NONE || m->forgets ||
		    map_each(&t->engine->maps, i, count_entry, &count) < 0 ||
		    count < m->max_entries)
			continue;
		buf_printf(&t->out, "%.*s is full with %u entr%s", STR_FMT(m->name), count,
			   count == 1 ? "y" : "ies");
		if (m->name.len > 1) /* those of commands have no name */
			buf_printf(&t->out,
				   ": 'let %.*s = %shash(N);' before the clauses gives it N",
				   STR_FMT(m->name), type_is_aggregate(&m->value) ? "percpu" : "");
		buf_char(&t->out, '\n');
	}
}

void session_warn(struct nopal_trace *t, bool last)
{
	struct run_stats stats, fresh;
	uint64_t now = clock_now(), ring;

	if (!t->engine || (!last && now - t->last_warning < SECOND))
		return;
	t->last_warning = now;
	engine_stats(t->engine, &stats);
	session_flush(t);
	if (stats.spoiled + t->spoiled) /* counters are in the same memory: a warning says so */
		return;
	/* As text it is one line, at the end, with a short one when the losses begin. */
	if (t->options.format != NOPAL_JSON && !last) {
		if (stats.lost_records && !t->warned_lost)
			buf_text(&t->out, "Events are being lost: the end of the run says how "
					  "many, and what helps\n");
		t->warned_lost = stats.lost_records;
		session_faults(t, last);
		give_notice(t);
		return;
	}
	fresh = (struct run_stats){.lost_records = stats.lost_records};
	if (t->options.format == NOPAL_JSON)
		fresh.lost_records -= t->warned_lost;
	t->warned_lost = stats.lost_records;
	if (last) {
		fresh.lost_updates = stats.lost_updates;
		fresh.unmapped = stats.unmapped;
		fresh.lost_scratch = stats.lost_scratch;
		fresh.loop_limits = stats.loop_limits;
	}
	ring = session_ring_bytes(t);
	report_lost(t->report, &fresh, t->records, ring ? ring : RING, &t->out);
	if (fresh.lost_updates && t->options.format != NOPAL_JSON)
		say_full(t);
	if (last)
		report_skipped(t->report, &t->out);
	session_faults(t, last);
	give_notice(t);
}
