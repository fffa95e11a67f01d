/* What each kind of record does: a table from format kinds to functions. Text of a record is
 * written straight into the caller's buffer; for JSON it goes through a scratch buffer first. A
 * record that turns out malformed takes back what it wrote. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "report/inside.h"
#include "report/moment.h"
#include "report/row.h"
#include "report/stack.h"

/* A record on its way. */
struct event {
	struct report *report;
	const struct map_store *maps;
	struct record record;
	struct buf *out;
	enum report_action action;
	int exit_code;
};

/* {"type": TYPE, "data": "TEXT"}, and "error" when there is one */
static void add_message(const char *type, struct str text, int err, struct buf *out)
{
	struct json j = {out, false};

	json_open(&j, '{');
	json_pair(&j, "type", str_from(type));
	json_pair(&j, "data", text);
	if (err)
		json_pair(&j, "error", str_from(strerror(-err)));
	json_close(&j, '}');
	buf_char(out, '\n');
}

/* The record's printf text, raw, in the scratch buffer, with a NUL after it. */
static int fill_scratch(struct event *e)
{
	struct report *r = e->report;
	int err;

	buf_clear(&r->scratch);
	err = format_render(e->record.format, &r->raw, &e->record, &r->scratch);
	buf_text(&r->scratch, ""); /* there may have been nothing so far */
	if (!err && r->scratch.failed)
		err = -ENOMEM;
	return err;
}

static int report_printf(struct event *e)
{
	struct report *r = e->report;
	int err;

	if (r->style == REPORT_TEXT)
		return format_render(e->record.format, &r->renderer, &e->record, e->out);
	err = fill_scratch(e);
	if (!err)
		add_message("printf", buf_as_str(&r->scratch), 0, e->out);
	return err;
}

/* "x.bt:3:9-24" or "x.bt:3-5": the number after the last ':', which is cut off. */
static uint64_t cut_number(struct str *place)
{
	struct str number = *place;
	uint64_t value = 0;

	while (place->len && place->ptr[place->len - 1] != ':')
		place->len--;
	number = str_of(number.ptr + place->len, number.len - place->len);
	place->len -= place->len > 0;
	number.len = strcspn(number.ptr, "-") < number.len ? strcspn(number.ptr, "-") : number.len;
	return str_to_u64(number, &value) ? 0 : value;
}

/* {"type": "errorf", "msg": "too large", "filename": "x.bt", "line": 3, "col": 9} */
static int message_json(struct event *e, const char *type)
{
	struct str place = e->record.format->text, before;
	struct json j = {e->out, false};
	int err = fill_scratch(e);
	uint64_t line, column;

	if (err)
		return err;
	column = cut_number(&place);
	before = place;
	line = cut_number(&before);
	json_open(&j, '{');
	json_pair(&j, "type", str_from(type));
	json_pair(&j, "msg", buf_as_str(&e->report->scratch));
	json_pair(&j, "filename", line ? before : place);
	json_key(&j, "line");
	json_u64(&j, line ? line : column);
	json_key(&j, "col");
	json_u64(&j, line ? column : 1);
	json_close(&j, '}');
	buf_char(e->out, '\n');
	return 0;
}

/* "x.bt:3:9-24: ERROR: too large": a line for standard error. In JSON it is an object of the
 * output. */
static int report_message(struct event *e)
{
	struct report *r = e->report;
	bool is_error = e->record.format->kind == FORMAT_MESSAGE;
	int err;

	if (r->style == REPORT_JSON)
		return message_json(e, is_error ? "errorf" : "warnf");
	buf_str(&r->failure, e->record.format->text);
	buf_text(&r->failure, is_error ? ": ERROR: " : ": WARNING: ");
	err = format_render(e->record.format, &r->renderer, &e->record, &r->failure);
	if (err)
		buf_clear(&r->failure);
	else if (!str_ends(buf_as_str(&r->failure), STR("\n")))
		buf_char(&r->failure, '\n');
	return err;
}

static int report_warning(struct event *e)
{
	return e->report->no_warnings ? 0 : report_message(e);
}

/* debugf(): what is written to that file is in the kernel's trace, /sys/kernel/tracing/trace_pipe
 */
static int report_debug(struct event *e)
{
	static const char marker[] = "/sys/kernel/tracing/trace_marker";
	struct buf *text = &e->report->scratch;
	int err = fill_scratch(e), fd;

	if (err)
		return err;
	fd = open(marker, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text->ptr, text->len) < 0)
		buf_printf(&e->report->failure, "error: cannot write to '%s': %s\n", marker,
			   strerror(errno));
	if (fd >= 0)
		close(fd);
	return 0;
}

/* print(expression) */
static int report_value(struct event *e)
{
	const struct format *f = e->record.format;
	struct value v;

	if (!f->field_count || record_field(&e->record, &f->fields[0], &v))
		return -EPROTO;
	if (e->report->renderer.look && (type_is_stack(v.type) || type_is_mixed(v.type))) {
		stack_lines(&e->report->renderer, &v, e->out);
		return 0;
	}
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

/* The names and values of a record, one after the other. */
struct event_fields {
	struct event *event;
	struct str names; /* that are left */
	unsigned next;
	struct str name;
	struct value value;
};

/* 1: there is one more; 0: none; -EPROTO. */
static int next_part(struct event_fields *p)
{
	const struct format *f = p->event->record.format;

	if (p->next == f->field_count)
		return 0;
	p->name = str_cut(&p->names, ' ');
	return record_field(&p->event->record, &f->fields[p->next++], &p->value) ? -EPROTO : 1;
}

/* { .word = "hello", .n = 5 } */
static int parts_text(struct event_fields *p)
{
	struct buf *out = p->event->out;
	int more;

	buf_char(out, '{');
	while ((more = next_part(p)) > 0) {
		buf_printf(out, "%s .%.*s = ", p->next > 1 ? "," : "", STR_FMT(p->name));
		render_part(&p->event->report->renderer, &p->value, out);
	}
	buf_text(out, " }\n");
	return more;
}

/* {"pid": 7, "args": {"word": "hello"}}: names that begin with "args." are an object of their own,
 * at the end. */
static int parts_json(struct event_fields *p)
{
	struct buf *out = p->event->out;
	struct json j = {out, false};
	bool inside = false;
	int more;

	json_open(&j, '{');
	while ((more = next_part(p)) > 0) {
		if (!inside && str_starts(p->name, STR("args."))) {
			inside = true;
			json_key(&j, "args");
			json_open(&j, '{');
		}
		json_key_str(&j, inside ? str_of(p->name.ptr + 5, p->name.len - 5) : p->name);
		render_json(&p->event->report->raw, &p->value, INDENT_VALUE, out);
		j.comma = true;
	}
	if (inside)
		json_close(&j, '}');
	json_close(&j, '}');
	return more;
}

static int parts_csv(struct event_fields *p)
{
	struct buf *out = p->event->out;
	int more;

	row_add_names(&p->event->report->renderer, p->names, out);
	while ((more = next_part(p)) > 0)
		row_add_cell(&p->event->report->renderer, &p->value, p->next == 1, out);
	buf_char(out, '\n');
	return more;
}

/* print(args), event() */
static int report_args(struct event *e)
{
	struct event_fields p = {.event = e, .names = e->record.format->text};
	const struct renderer *r = &e->report->renderer;
	int err;

	if (r->is_csv)
		return parts_csv(&p);
	if (e->report->style == REPORT_TEXT)
		return parts_text(&p);
	buf_text(e->out, r->is_structured ? "" : "{\"type\": \"value\", \"data\": ");
	err = parts_json(&p);
	buf_text(e->out, r->is_structured ? "\n" : "}\n");
	return err;
}

/* print(@stats[key]): as it is by now, since each CPU has a part of it */
static int report_map_entry(struct event *e)
{
	const struct format *f = e->record.format;
	struct value key;

	if (record_field(&e->record, &f->fields[0], &key))
		return -EPROTO;
	return table_print_entry(&e->report->renderer,
				 &(struct table_request){.style = e->report->style, .map = f->map},
				 e->maps, &key, e->out);
}

/* print(@m[key]): the value alone, as any value */
static int report_map_value(struct event *e)
{
	const struct format *f = e->record.format;
	struct value key, value;
	unsigned at = 0;

	if (f->map >= e->report->program->map_count || !f->field_count)
		return -EPROTO;
	if (e->report->program->maps[f->map].value.kind == TYPE_STATS)
		return report_map_entry(e);
	if (f->field_count > 1 && record_field(&e->record, &f->fields[at++], &key))
		return -EPROTO;
	if (record_field(&e->record, &f->fields[at], &value))
		return -EPROTO;
	table_print_value(&e->report->renderer, e->report->style, &e->report->program->maps[f->map],
			  &value, e->out);
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
		add_message("join", buf_as_str(&r->scratch), 0, e->out);
	return err;
}

static int report_time(struct event *e)
{
	struct str format = e->record.format->text;
	struct buf *scratch = &e->report->scratch;
	const struct renderer *r = &e->report->renderer;

	if (!format.len)
		format = STR("%H:%M:%S\n");
	if (e->report->style == REPORT_TEXT) {
		moment_format(format, moment_now(), render_is_for_programs(r), e->out);
		return 0;
	}
	buf_clear(scratch);
	moment_format(format, moment_now(), render_is_for_programs(r), scratch);
	add_message("time", buf_as_str(scratch), 0, e->out);
	return 0;
}

static int report_print(struct event *e)
{
	const struct format *f = e->record.format;

	return report_table(
		e->report, e->maps,
		&(struct table_request){e->report->style, f->map, f->top, f->div, true, f->take},
		e->out);
}

static int report_clear(struct event *e)
{
	return map_clear(e->maps, e->record.format->map);
}

static int report_zero(struct event *e)
{
	return map_zero(e->maps, e->record.format->map);
}

static int report_exit(struct event *e)
{
	const struct format *f = e->record.format;
	struct value code = {.bits = (uint64_t)f->exit_code};

	/* A record that found no room comes without its field: the run has failed. */
	if (f->field_count && record_field(&e->record, &f->fields[0], &code))
		code.bits = 1;
	e->action = REPORT_EXIT;
	e->exit_code = (int)code.bits;
	return 0;
}

/* Why a file or a command gave nothing, which is an error of its own, or not all. */
static void add_failure(struct event *e, const char *failure, int err, struct str taken)
{
	bool is_part = err == -EFBIG || err == -EINTR;
	struct buf *out = is_part ? e->out : &e->report->failure;

	if (taken.len && !str_ends(taken, STR("\n")))
		buf_char(e->out, '\n');
	buf_printf(out, is_part ? "(%s '" : "error: %s '",
		   err == -EFBIG   ? "the rest of"
		   : err == -EINTR ? "the run was ended during"
				   : failure);
	render_bytes(&e->report->renderer, buf_as_str(&e->report->scratch), out);
	if (err == -EFBIG)
		buf_printf(out, "', after %zu bytes, is not shown)\n", taken.len);
	else if (err == -EINTR)
		buf_text(out, "')\n");
	else
		buf_printf(out, "': %s\n", strerror(-err));
}

/* What a file or a command gave, or why it did not. Both are untrusted text: a command writes
 * into our pipe, and so escapes nothing itself. */
static void add_taken(struct event *e, const char *type, const char *failure, int err,
		      const struct buf *taken)
{
	struct str text = buf_as_str(taken);

	if (e->report->style == REPORT_JSON) {
		add_message(type, text, err, e->out);
		return;
	}
	render_lines(&e->report->renderer, text, e->out);
	if (err)
		add_failure(e, failure, err, text);
}

/* A command that failed has said why, or not. */
static void add_status(struct event *e, int status)
{
	struct buf *out = &e->report->failure;

	if (!status)
		return;
	buf_text(out, "error: '");
	render_bytes(&e->report->renderer, buf_as_str(&e->report->scratch), out);
	if (WIFSIGNALED(status))
		buf_printf(out, "' was ended by signal %d\n", WTERMSIG(status));
	else
		buf_printf(out, "' exited with code %d\n", WEXITSTATUS(status));
}

/* Who ends a run does not wait for thousands of commands: they are counted instead. */
static bool is_skipped(struct report *r)
{
	struct pollfd stop = {r->stop_fd, POLLIN, 0};

	if (!r->stop_fd || poll(&stop, 1, 0) <= 0)
		return false;
	r->skipped++;
	return true;
}

static int report_cat(struct event *e)
{
	struct buf taken = BUF_INIT;
	int err = fill_scratch(e);

	if (err || is_skipped(e->report))
		return err;
	add_taken(e, "cat", "cannot read",
		  command_cat(e->report->scratch.ptr, e->report->cat_bytes, &taken), &taken);
	buf_free(&taken);
	return 0;
}

static int report_system(struct event *e)
{
	struct report *r = e->report;
	struct record again = e->record;
	struct shell_line line = {.text = BUF_INIT};
	struct buf taken = BUF_INIT;
	char **argv = NULL;
	int err = fill_scratch(e), end = -EPERM, status = 0; /* the scratch: for messages */

	if (err || is_skipped(r))
		return err;
	err = format_render_shell(e->record.format, &r->raw, &again, &line);
	if (!err) {
		argv = shell_arguments(&line);
		if (!argv)
			end = -ENOMEM;
		else if (r->unsafe)
			end = command_run(argv, r->stop_fd, &taken, &status);
		add_taken(e, "syscall", "cannot run", end, &taken);
		if (r->style == REPORT_TEXT && !end)
			buf_char(e->out, '\n');
		if (!end)
			add_status(e, status);
	}
	free(argv);
	shell_free(&line);
	buf_free(&taken);
	return err;
}

typedef int event_fn(struct event *e);

/* clang-format off */
static event_fn *const kinds[] = {
	[FORMAT_PRINTF]    = report_printf, [FORMAT_VALUE]     = report_value,
	[FORMAT_RECORD]    = report_args,   [FORMAT_MAP_VALUE] = report_map_value,
	[FORMAT_JOIN]      = report_join,   [FORMAT_TIME]      = report_time,
	[FORMAT_PRINT]     = report_print,  [FORMAT_CLEAR]     = report_clear,
	[FORMAT_ZERO]      = report_zero,   [FORMAT_EXIT]      = report_exit,
	[FORMAT_CAT]       = report_cat,    [FORMAT_SYSTEM]    = report_system,
	[FORMAT_MESSAGE]   = report_message, [FORMAT_WARNING]  = report_warning,
	[FORMAT_DEBUG]     = report_debug,
};
/* clang-format on */

int report_record(struct report *r, const struct map_store *maps, struct str bytes, struct buf *out,
		  enum report_action *action, int *exit_code)
{
	struct event event = {.report = r, .maps = maps, .out = out};
	size_t start = out->len;
	int err = record_open(r->program, bytes, &event.record);

	if (err)
		return err;
	buf_clear(&r->failure);
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
