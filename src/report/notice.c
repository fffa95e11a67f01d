/* What is said about the tracing itself, not by the script: how many probes are attached, what was
 * lost, and what failed where. */
#include "base/json.h"
#include "report/inside.h"

/* {"type": TYPE, "data": {KEY: COUNT}} */
static void add_count(const char *type, const char *key, uint64_t count, struct buf *out)
{
	struct json j = {out, false};

	json_open(&j, '{');
	json_key(&j, "type");
	json_text(&j, type);
	json_key(&j, "data");
	json_open(&j, '{');
	json_key(&j, key);
	json_u64(&j, count);
	json_close(&j, '}');
	json_close(&j, '}');
	buf_char(out, '\n');
}

struct str report_failure(const struct report *r)
{
	return buf_as_str(&r->failure);
}

void report_attached(struct report *r, unsigned probes, struct buf *out)
{
	if (r->style == REPORT_JSON)
		add_count("attached_probes", "probes", probes, out);
	else
		buf_printf(out, "Attached %u probe%s\n", probes, probes == 1 ? "" : "s");
}

void report_lost(struct report *r, const struct run_stats *stats, struct buf *out)
{
	const struct {
		uint64_t count;
		const char *text, *type, *key;
	} losses[] = {
		{stats->lost_records, "Lost %llu events\n", "lost_events", "events"},
		{stats->lost_updates, "Lost %llu map updates: a map was full\n", "lost_updates",
		 "updates"},
		{stats->lost_scratch, "Lost %llu runs: no scratch memory was free\n", "lost_runs",
		 "runs"},
		{stats->loop_limits, "Cut %llu loops short: they reached their limit\n",
		 "cut_loops", "loops"},
	};

	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++) {
		if (!losses[i].count)
			continue;
		if (r->style == REPORT_JSON)
			add_count(losses[i].type, losses[i].key, losses[i].count, out);
		else
			buf_printf(out, losses[i].text, (unsigned long long)losses[i].count);
	}
}

void report_skipped(struct report *r, struct buf *out)
{
	if (!r->skipped)
		return;
	if (r->style == REPORT_JSON)
		add_count("skipped_calls", "calls", r->skipped, out);
	else
		buf_printf(out, "Skipped %llu calls of system() or cat(): the run was ended\n",
			   (unsigned long long)r->skipped);
}

/* "3 reads failed: bad address", "1 update refused: the map is full" */
static struct str fault_text(const struct run_fault *fault, struct arena *a)
{
	static const struct {
		const char *one, *many, *why;
	} texts[] = {
		[FAULT_READ] = {"read", "reads", "failed: bad address"},
		[FAULT_MAP_FULL] = {"update", "updates", "refused: the map is full"},
		[FAULT_DIVIDE] = {"division", "divisions", "by zero: the result is 0"},
		[FAULT_LOOP_LIMIT] = {"loop", "loops", "cut short: the limit of rounds is reached"},
	};
	size_t kind = (size_t)fault->kind;

	if (kind >= sizeof(texts) / sizeof(*texts))
		kind = FAULT_READ;
	return arena_printf(a, "%llu %s %s", (unsigned long long)fault->count,
			    fault->count == 1 ? texts[kind].one : texts[kind].many,
			    texts[kind].why);
}

static void add_json_fault(struct span span, struct str text, uint64_t count, struct buf *out)
{
	struct json j = {out, false};
	unsigned line = 0, column = 0;

	if (span.source.ptr)
		span_position(span, &line, &column);
	json_open(&j, '{');
	json_key(&j, "type");
	json_text(&j, "runtime_error");
	json_key(&j, "msg");
	json_str(&j, text);
	json_key(&j, "filename");
	json_str(&j, span.path);
	json_key(&j, "line");
	json_u64(&j, line);
	json_key(&j, "col");
	json_u64(&j, column);
	json_key(&j, "count");
	json_u64(&j, count);
	json_close(&j, '}');
	buf_char(out, '\n');
}

void report_fault(struct report *r, const struct run_fault *fault, struct buf *out)
{
	struct diag d = DIAG_INIT;
	struct span span = {.path = {"", 0}};
	struct str text;

	if (fault->place < r->program->place_count)
		span = r->program->places[fault->place];
	text = fault_text(fault, &d.arena);
	if (r->style == REPORT_JSON) {
		add_json_fault(span, text, fault->count, out);
	} else {
		diag_warn_at(&d, "fault", span, "%.*s", STR_FMT(text));
		diag_render(&d, out);
	}
	diag_free(&d);
}
