/* What each kind of record does: a table from format kinds to functions. Text of a record is
 * written straight into the caller's buffer; for JSON it goes through a scratch buffer first. A
 * record that turns out malformed takes back what it wrote. */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>

#include "base/json.h"
#include "report/command.h"
#include "report/format.h"
#include "report/moment.h"
#include "report/render.h"
#include "report/symbols.h"
#include "report/table.h"

struct report {
	struct arena arena;
	const struct program *program;
	enum report_style style;
	bool unsafe;
	struct renderer renderer; /* as the output needs it */
	struct renderer raw;	  /* for JSON, paths and commands: nothing is escaped */
	struct pieces *pieces;	  /* one for each format that has a printf text */
	struct buf scratch;
};

/* A record on its way. */
struct event {
	struct report *report;
	const struct engine_ops *ops;
	struct engine *engine;
	struct record record;
	uint32_t format; /* its number */
	struct buf *out;
	enum report_action action;
	int exit_code;
};

static bool has_pieces(const struct format *f)
{
	return f->kind == FORMAT_PRINTF || f->kind == FORMAT_CAT || f->kind == FORMAT_SYSTEM;
}

static int compile_formats(struct report *r)
{
	const struct program *p = r->program;
	int err = 0;

	r->pieces = arena_array(&r->arena, struct pieces, p->format_count);
	if (!r->pieces)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->format_count && !err; i++)
		if (has_pieces(&p->formats[i]))
			err = pieces_compile(&p->formats[i], &r->arena, &r->pieces[i]);
	return err;
}

int report_new(const struct program *p, const struct report_options *options,
	       struct symbols *symbols, struct report **out)
{
	struct report *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->program = p;
	r->style = options->style;
	r->unsafe = options->unsafe;
	r->raw = (struct renderer){
		.program = p,
		.names = p->names,
		.name_count = p->name_count,
		.symbols = symbols,
		.trunc_trailer = options->trunc_trailer,
		.wall_offset = moment_wall_offset(),
	};
	r->renderer = r->raw;
	r->renderer.terminal = options->terminal && options->style == REPORT_TEXT;
	err = compile_formats(r);
	if (err) {
		report_free(r);
		return err;
	}
	*out = r;
	return 0;
}

void report_free(struct report *r)
{
	if (!r)
		return;
	buf_free(&r->scratch);
	arena_free(&r->arena);
	free(r);
}

void report_names(struct report *r, const struct program *more)
{
	if (more->name_count < r->raw.name_count)
		return;
	r->raw.names = r->renderer.names = more->names;
	r->raw.name_count = r->renderer.name_count = more->name_count;
}

/* {"type": TYPE, "data": "TEXT"} */
static void add_message(const char *type, struct str text, struct buf *out)
{
	struct json j = {out, false};

	json_open(&j, '{');
	json_key(&j, "type");
	json_text(&j, type);
	json_key(&j, "data");
	json_str(&j, text);
	json_close(&j, '}');
	buf_char(out, '\n');
}

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

/* The record's printf text, raw, in the scratch buffer. */
static int fill_scratch(struct event *e)
{
	struct report *r = e->report;
	int err;

	buf_clear(&r->scratch);
	err = pieces_render(&r->pieces[e->format], &r->raw, &e->record, &r->scratch);
	if (!err && r->scratch.failed)
		err = -ENOMEM;
	return err;
}

static int report_printf(struct event *e)
{
	struct report *r = e->report;
	int err;

	if (r->style == REPORT_TEXT)
		return pieces_render(&r->pieces[e->format], &r->renderer, &e->record, e->out);
	err = fill_scratch(e);
	if (!err)
		add_message("printf", buf_as_str(&r->scratch), e->out);
	return err;
}

/* print(expression) */
static int report_value(struct event *e)
{
	const struct format *f = e->record.format;
	struct value v;

	if (!f->field_count || record_field(&e->record, &f->fields[0], &v))
		return -EPROTO;
	if (e->report->style == REPORT_TEXT) {
		render_text(&e->report->renderer, &v, INDENT_VALUE, e->out);
	} else {
		buf_text(e->out, "{\"type\": \"value\", \"data\": ");
		render_json(&e->report->raw, &v, INDENT_VALUE, e->out);
		buf_char(e->out, '}');
	}
	buf_char(e->out, '\n');
	return 0;
}

/* print(args): { .word = "hello", .n = 5 } */
static int report_args(struct event *e)
{
	const struct format *f = e->record.format;
	struct str names = f->text;
	bool is_json = e->report->style == REPORT_JSON;
	struct value v;

	buf_text(e->out, is_json ? "{\"type\": \"value\", \"data\": {" : "{");
	for (unsigned i = 0; i < f->field_count; i++) {
		struct str name = str_cut(&names, ' ');

		if (record_field(&e->record, &f->fields[i], &v))
			return -EPROTO;
		buf_text(e->out, i ? (is_json ? ", " : ",") : "");
		if (is_json) {
			render_quoted(name, e->out);
			buf_text(e->out, ": ");
			render_json(&e->report->raw, &v, INDENT_VALUE, e->out);
		} else {
			buf_printf(e->out, " .%.*s = ", STR_FMT(name));
			render_part(&e->report->renderer, &v, e->out);
		}
	}
	buf_text(e->out, is_json ? "}}\n" : " }\n");
	return 0;
}

/* print(@m[key]) */
static int report_map_value(struct event *e)
{
	static const struct type no_key = {.kind = TYPE_NONE};
	const struct format *f = e->record.format;
	struct value key = {.type = &no_key}, value;
	unsigned at = 0;

	if (f->map >= e->report->program->map_count || !f->field_count)
		return -EPROTO;
	if (f->field_count > 1 && record_field(&e->record, &f->fields[at++], &key))
		return -EPROTO;
	if (record_field(&e->record, &f->fields[at], &value))
		return -EPROTO;
	table_print_entry(&e->report->renderer, e->report->style, &e->report->program->maps[f->map],
			  &key, &value, e->out);
	return 0;
}

/* The strings up to the first NULL, the delimiter between them. */
static int join_fields(struct event *e, const struct renderer *r, struct buf *out)
{
	const struct format *f = e->record.format;
	struct value v;

	for (unsigned i = 0; i < f->field_count; i++) {
		if (record_field(&e->record, &f->fields[i], &v))
			return -EPROTO;
		if (v.flags & TEXT_NULL)
			break;
		if (i)
			buf_str(out, f->text);
		render_text(r, &v, INDENT_VALUE, out);
	}
	return 0;
}

static int report_join(struct event *e)
{
	struct report *r = e->report;
	int err;

	if (r->style == REPORT_TEXT) {
		err = join_fields(e, &r->renderer, e->out);
		buf_char(e->out, '\n');
		return err;
	}
	buf_clear(&r->scratch);
	err = join_fields(e, &r->raw, &r->scratch);
	if (!err)
		add_message("join", buf_as_str(&r->scratch), e->out);
	return err;
}

static int report_time(struct event *e)
{
	struct str format = e->record.format->text;
	struct buf *scratch = &e->report->scratch;

	if (!format.len)
		format = STR("%H:%M:%S\n");
	if (e->report->style == REPORT_TEXT) {
		moment_format(format, moment_now(), e->out);
		return 0;
	}
	buf_clear(scratch);
	moment_format(format, moment_now(), scratch);
	add_message("time", buf_as_str(scratch), e->out);
	return 0;
}

static int report_print(struct event *e)
{
	const struct format *f = e->record.format;

	return report_map(e->report, e->ops, e->engine, f->map, f->top, f->div, e->out);
}

static int report_clear(struct event *e)
{
	return e->ops->map_clear(e->engine, e->record.format->map);
}

static int report_zero(struct event *e)
{
	return e->ops->map_zero(e->engine, e->record.format->map);
}

static int report_exit(struct event *e)
{
	e->action = REPORT_EXIT;
	e->exit_code = (int)e->record.format->exit_code;
	return 0;
}

/* What a file or a command gave, or why it did not. */
static void add_taken(struct event *e, const char *type, const char *verb, int err,
		      const struct buf *taken)
{
	const struct renderer *r = &e->report->renderer;

	if (e->report->style == REPORT_JSON) {
		struct json j = {e->out, false};

		json_open(&j, '{');
		json_key(&j, "type");
		json_text(&j, type);
		json_key(&j, "data");
		json_str(&j, buf_as_str(taken));
		if (err) {
			json_key(&j, "error");
			json_text(&j, strerror(-err));
		}
		json_close(&j, '}');
		buf_char(e->out, '\n');
		return;
	}
	buf_str(e->out, buf_as_str(taken));
	if (!err)
		return;
	buf_printf(e->out, "(cannot %s '", verb);
	render_bytes(r, buf_as_str(&e->report->scratch), e->out);
	buf_printf(e->out, "': %s)\n", strerror(-err));
}

static int report_cat(struct event *e)
{
	struct buf taken = BUF_INIT;
	int err = fill_scratch(e);

	if (err)
		return err;
	buf_char(&e->report->scratch, '\0');
	e->report->scratch.len--;
	add_taken(e, "cat", "read", command_cat(e->report->scratch.ptr, &taken), &taken);
	buf_free(&taken);
	return 0;
}

static int report_system(struct event *e)
{
	struct buf taken = BUF_INIT;
	int err = fill_scratch(e);

	if (err)
		return err;
	buf_char(&e->report->scratch, '\0');
	e->report->scratch.len--;
	err = e->report->unsafe ? command_run(e->report->scratch.ptr, &taken) : -EPERM;
	add_taken(e, "syscall", "run", err, &taken);
	buf_free(&taken);
	return 0;
}

typedef int event_fn(struct event *e);

static event_fn *const kinds[] = {
	[FORMAT_PRINTF] = report_printf, [FORMAT_VALUE] = report_value,
	[FORMAT_RECORD] = report_args,	 [FORMAT_MAP_VALUE] = report_map_value,
	[FORMAT_JOIN] = report_join,	 [FORMAT_TIME] = report_time,
	[FORMAT_PRINT] = report_print,	 [FORMAT_CLEAR] = report_clear,
	[FORMAT_ZERO] = report_zero,	 [FORMAT_EXIT] = report_exit,
	[FORMAT_CAT] = report_cat,	 [FORMAT_SYSTEM] = report_system,
};

int report_record(struct report *r, const struct engine_ops *ops, struct engine *e,
		  struct str bytes, struct buf *out, enum report_action *action, int *exit_code)
{
	struct event event = {.report = r, .ops = ops, .engine = e, .out = out};
	size_t start = out->len;
	int err = record_open(r->program, bytes, &event.record);

	if (err)
		return err;
	event.format = (uint32_t)(event.record.format - r->program->formats);
	err = kinds[event.record.format->kind](&event);
	if (err) {
		if (out->ptr && out->len > start)
			out->ptr[out->len = start] = '\0';
		return err;
	}
	*action = event.action;
	if (event.action == REPORT_EXIT)
		*exit_code = event.exit_code;
	return 0;
}

int report_map(struct report *r, const struct engine_ops *ops, struct engine *e, uint32_t map,
	       int64_t top, int64_t div, struct buf *out)
{
	const struct table_request request = {r->style, map, top, div};

	if (map >= r->program->map_count)
		return -EINVAL;
	return table_print(&r->renderer, &request, ops, e, out);
}

int report_entries(struct report *r, const struct engine_ops *ops, struct engine *e, uint32_t map,
		   report_entry_fn *fn, void *arg)
{
	const struct table_request request = {r->style, map, 0, 0};

	if (map >= r->program->map_count)
		return -EINVAL;
	return table_each(&r->raw, &request, ops, e, fn, arg);
}

static int compare_names(const void *a, const void *b, void *arg)
{
	const struct program *p = arg;

	return str_cmp(p->maps[*(const uint32_t *)a].name, p->maps[*(const uint32_t *)b].name);
}

int report_all_maps(struct report *r, const struct engine_ops *ops, struct engine *e,
		    struct buf *out)
{
	uint32_t count = r->program->map_count;
	uint32_t *order = calloc(count ? count : 1, sizeof(*order));
	int err = order ? 0 : -ENOMEM;

	if (count && r->style == REPORT_TEXT)
		buf_text(out, "\n\n");
	for (uint32_t i = 0; i < count && !err; i++)
		order[i] = i;
	if (!err)
		qsort_r(order, count, sizeof(*order), compare_names, (void *)(uintptr_t)r->program);
	for (uint32_t i = 0; i < count && !err; i++)
		err = report_map(r, ops, e, order[i], 0, 0, out);
	free(order);
	return err;
}

void report_attached(struct report *r, unsigned probes, struct buf *out)
{
	if (r->style == REPORT_JSON)
		add_count("attached_probes", "probes", probes, out);
	else
		buf_printf(out, "Attached %u probe%s\n", probes, probes == 1 ? "" : "s");
}

void report_lost(struct report *r, const struct engine_stats *stats, struct buf *out)
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

/* "3 reads failed: bad address", "1 update refused: the map is full" */
static struct str fault_text(const struct engine_fault *fault, struct arena *a)
{
	static const struct {
		const char *one, *many, *why;
	} texts[] = {
		[FAULT_READ] = {"read", "reads", "failed: bad address"},
		[FAULT_MAP_FULL] = {"update", "updates", "refused: the map is full"},
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

void report_fault(struct report *r, const struct engine_fault *fault, struct buf *out)
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
