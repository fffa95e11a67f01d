/* The scripts that nopal trace, count, hist and stack write. */
#include "quick.h"

#include <stdlib.h>

/* What every line of `nopal trace` starts with: the header, a piece of a format, the values. */
struct columns {
	const char *header, *format, *args;
};

/* clang-format off */
static const struct columns clock_columns = {
	"TIME            PID     TID     COMM            PROBE  ARGUMENTS\n",
	"%-15s %-7d %-7d %-15s %s  ",
	"strftime(\"%H:%M:%S.%f\", nsecs), pid, tid, comm, probe",
};
static const struct columns elapsed_columns = {
	"SECONDS      PID     TID     COMM            PROBE  ARGUMENTS\n",
	"%5d.%06d %-7d %-7d %-15s %s  ",
	"elapsed / 1000000000, elapsed % 1000000000 / 1000, pid, tid, comm, probe",
};
/* clang-format on */

static const struct columns *columns_of(const struct quick *q)
{
	return q->bcc.elapsed ? &elapsed_columns : &clock_columns;
}

const char *quick_header(const struct quick *q)
{
	return columns_of(q)->header;
}

/* @[KEY] */
static void write_map(struct script_text *t, const char *key, const char *own)
{
	script_put(t, "\t@");
	if (!key && !own)
		return;
	script_put(t, "[");
	if (key)
		script_put_word(t, key);
	else
		script_put(t, "%s", own);
	script_put(t, "]");
}

void quick_write_count(struct script_text *t, const struct quick *q, const struct spec *s)
{
	(void)s;
	write_map(t, q->key, "probe");
	script_put(t, " = count();\n");
}

void quick_write_hist(struct script_text *t, const struct quick *q, const struct spec *s)
{
	(void)s;
	write_map(t, q->key, NULL);
	script_put(t, q->step ? " = lhist(" : " = hist(");
	script_put_word(t, q->what);
	if (q->step) {
		script_put(t, ", ");
		script_put_word(t, q->step);
	}
	script_put(t, ");\n");
}

void quick_write_stack(struct script_text *t, const struct quick *q, const struct spec *s)
{
	(void)s;
	script_put(t, "\t@[");
	if (q->key) {
		script_put_word(t, q->key);
		script_put(t, ", ");
	}
	script_put(t, "ustack] = count();\n");
}

/* An object for each event: JSON has names, CSV a header. */
static void write_event(struct script_text *t, const struct quick *q, const struct spec *s)
{
	bool is_json = q->run.options.format == NOPAL_JSON;

	script_put(t, "\tevent(\"%stime pid tid comm probe ", is_json ? "type " : "");
	spec_write_names(t, s);
	script_put(t,
		   "\", %sstrftime(\"%%Y-%%m-%%dT%%H:%%M:%%S.%%f%%z\", nsecs), pid, tid, comm, "
		   "probe",
		   is_json ? "\"event\", " : "");
	spec_write_values(t, s);
	script_put(t, ");\n");
}

static void write_line(struct script_text *t, const struct quick *q, const struct spec *s)
{
	spec_write_printf(t, s, columns_of(q)->format, columns_of(q)->args);
	if (q->bcc.kernel_stack)
		script_put(t, "\tprint(kstack);\n");
	if (q->bcc.user_stack)
		script_put(t, "\tprint(ustack);\n");
}

/* One printf for the whole line, so that lines of different threads do not mix. */
void quick_write_trace(struct script_text *t, const struct quick *q, const struct spec *s)
{
	if (q->is_bcc && q->run.options.format == NOPAL_TEXT)
		bcc_trace_write(t, &q->bcc, s);
	else if (q->run.options.format == NOPAL_TEXT)
		write_line(t, q, s);
	else
		write_event(t, q, s);
}

/* "interval:ms:500" */
static void put_interval(struct script_text *t, uint64_t ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}};
	unsigned i = 0;

	while (i < 2 && ns % units[i].ns)
		i++;
	script_put(t, "interval:%s:%llu", units[i].name, (unsigned long long)(ns / units[i].ns));
}

static void put_print(struct script_text *t, const struct quick *q)
{
	script_put(t, q->top ? "print(@, %ld);\n" : "print(@);\n", q->top);
}

/* What is left at the end is shown, unless there were as many results as were asked for. */
/* When an interval's results were read. */
static void put_time(struct script_text *t, const struct quick *q)
{
	if (q->run.options.format == NOPAL_JSON)
		script_put(t, "time(\"%%Y-%%m-%%dT%%H:%%M:%%S%%z\");\n\t");
	else if (q->bcc.clock)
		script_put(t, "time(\"%%H:%%M:%%S\\n\");\n\t");
}

static void write_end(struct script_text *t, const struct quick *q)
{
	script_put(t, "END\n{\n\t");
	if (q->times)
		script_put(t, "if (@results < %ld) {\n\t\t", q->times);
	if (q->interval)
		put_time(t, q);
	put_print(t, q);
	script_put(t, q->times ? "\t}\n}\n" : "\tclear(@);\n}\n");
}

/* The times at which maps are shown, and how much of them. */
static void write_times(struct script_text *t, struct quick *q)
{
	if (q->interval) {
		put_interval(t, q->interval);
		script_put(t, "\n{\n\t");
		put_time(t, q);
		put_print(t, q);
		script_put(t, "\tclear(@);\n");
		if (q->times)
			script_put(t, "\t@results++;\n\tif (@results == %ld) {\n\t\texit();\n\t}\n",
				   q->times);
		script_put(t, "}\n");
		q->run.own_probes++;
	}
	if (q->top || q->times) {
		write_end(t, q);
		q->run.own_probes++;
	}
}

/* One clause: probes, the filter, the command's body. */
static int write_clause(struct script_text *t, const struct command *c, const struct quick *q,
			const struct spec *s)
{
	const struct quick_kind *kind = c->detail;
	bool of_process = q->run.pid_count == 1 || q->run.options.command;
	const char *filter = NULL;
	int code;

	spec_write_probes(t, s, of_process);
	script_put(t, "\n");
	code = scope_write(t, c, &q->scope, s->bcc.filter);
	if (!code)
		code = bcc_trace_filter(c, &q->bcc, s, &filter);
	script_put(t, filter ? "{\n\tif (!(%s)) { return; }\n" : "{\n", filter);
	kind->write_body(t, q, s);
	script_put(t, "}\n");
	return code;
}

int quick_write_script(struct script_text *t, const struct command *c, struct quick *q)
{
	const struct quick_kind *kind = c->detail;
	int code = 0;

	script_text_begin(t);
	if (q->times)
		script_put(t, "config = { print_maps_on_exit = false }\n");
	script_put(t, "%s", q->bcc.headers ? q->bcc.headers : "");
	for (int i = 0; i < q->spec_count && !code; i++)
		code = write_clause(t, c, q, &q->specs[i]);
	if (kind->has_map)
		write_times(t, q);
	if (q->run.show_script && q->run.duration_ns) {
		put_interval(t, q->run.duration_ns);
		script_put(t, " { exit() }\n");
	}
	return script_text_end(t) ? code : EXIT_FAILED;
}
