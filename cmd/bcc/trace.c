/* The columns of bcc's trace. */
#include "bcc/trace.h"

#include <stdlib.h>
#include <string.h>

/* ---- options */

/* Those that mean something only with words of bcc's, and what to use with others. */
#define AT(member) offsetof(struct bcc_columns, member), sizeof(((struct bcc_columns *)0)->member)
static const struct only {
	const char *letter;
	size_t at, size; /* of what is not 0 if the option was given */
	const char *instead;
} only_bcc[] = {
	/* clang-format off */
	{"-u", AT(unix_time), "the time of day is shown; -t shows seconds since the start"},
	{"-Z", AT(text_size), "texts are as long as str(arg0, N) says, or NOPAL_MAX_STRLEN"},
	{"-C", AT(cpu),       "write cpu among the values of the format"},
	{"-a", AT(address),   "-f json has the offsets of frames"},
	{"-A", AT(aggregate), "nopal count counts equal events: -k pid,comm,args.name"},
	{"-B", AT(binary),    "memcmp(arg0, \"\\x61\\x62\", 2) == 0 compares bytes"},
	/* clang-format on */
};

const char *bcc_take_header(void *at, const struct option *o, const char *value)
{
	const char *needed = "the name of a header, without quotes";
	char *line = NULL;

	if (*value && !value[strcspn(value, "\"<>\\\n")] &&
	    asprintf(&line, "#include \"%s\"", value) >= 0)
		needed = take_line(at, o, line);
	free(line);
	return needed;
}

int bcc_trace_check(const struct command *c, const struct bcc_columns *b, bool is_bcc, long most)
{
	static const struct bcc_columns none;

	for (size_t i = 0; !is_bcc && i < sizeof(only_bcc) / sizeof(*only_bcc); i++) {
		const struct only *o = &only_bcc[i];

		if (memcmp((const char *)b + o->at, (const char *)&none + o->at, o->size) != 0)
			return usage_error(c,
					   "option '%s' is only for words of bcc, such as "
					   "c:malloc; without them, %s",
					   o->letter, o->instead);
	}
	if (!is_bcc && b->filter)
		return usage_error(c, "option '-f' needs text|json|folded|csv, not '%s'",
				   b->filter);
	if (b->aggregate && !most)
		return usage_error(c, "-A requires -M, which says how many events to count");
	return 0;
}

/* ---- columns */

/* The time in bcc's columns: a title, a format, and the values for it. */
static const struct moment {
	const char *title, *format, *values;
} no_moment = {"", "", ""},
  clock_moment = {"TIME     ", "%-8s ", "strftime(\"%H:%M:%S\", nsecs), "},
  unix_moment = {"TIME              ", "%-17s ", "strftime(\"%s.%f\", nsecs), "},
  elapsed_moment = {"TIME     ", "%d.%06d ", "elapsed / 1000000000, elapsed % 1000000000 / 1000, "};

static const struct moment *moment_of(const struct bcc_columns *b)
{
	if (!b->clock && !b->elapsed)
		return &no_moment;
	return b->clock ? &clock_moment : b->unix_time ? &unix_moment : &elapsed_moment;
}

void bcc_trace_header(const struct bcc_columns *b, const struct spec *specs, int count,
		      char out[BCC_HEADER])
{
	bool any = false;

	for (int i = 0; i < count; i++)
		any |= specs[i].format != NULL;
	snprintf(out, BCC_HEADER, "%s%s%-7s %-7s %-15s %-16s %s\n", moment_of(b)->title,
		 b->cpu ? "CPU " : "", "PID", "TID", "COMM", "FUNC", any ? "-" : "");
}

/* How long the text of a format is: 9 of "\"%s has %d\", str(arg0), arg1". */
static size_t literal_len(const char *format)
{
	return (size_t)(script_literal_end(format) - format) - 1;
}

void bcc_trace_write(struct script_text *t, const struct bcc_columns *b, const struct spec *s)
{
	const struct moment *m = moment_of(b);
	const char *format = s->format;
	const char *stacks = b->kernel_stack || b->user_stack ? "\\n" : "";
	bool is_pattern = strpbrk(s->bcc.function, "*?") != NULL;
	size_t len = format ? literal_len(format) : 0;

	script_put(t, "\tprintf(\"%s%s%%-7d %%-7d %%-15s %%-16s ", m->format,
		   b->cpu ? "%-3d " : "");
	if (format)
		script_put_piece(t, format, 1, len);
	script_put(t, "\\n%s%s%s\", %s%s", b->kernel_stack ? "%s" : "", b->user_stack ? "%s" : "",
		   stacks, m->values, b->cpu ? "cpu, " : "");
	script_put(t, "pid, tid, comm, ");
	if (!is_pattern)
		script_put_literal(t, s->bcc.function);
	else
		script_put(t, strchr("pr", s->bcc.type) ? "func" : "probe");
	if (format)
		script_put_piece(t, format, len + 2, strlen(format + len + 2));
	script_put(t, "%s%s);\n", b->kernel_stack ? ", kstack" : "",
		   b->user_stack ? ", ustack" : "");
}

/* A text that is shown contains it, or the format does. */
int bcc_trace_filter(const struct command *c, const struct bcc_columns *b, const struct spec *s,
		     const char **out)
{
	*out = NULL;
	if (!b->filter || (s->format && memmem(s->format, literal_len(s->format) + 1, b->filter,
					       strlen(b->filter))))
		return 0;
	if (!s->bcc.contains)
		return usage_error(c, "-f searches strings, and '%s' prints none with %%s",
				   s->bcc.probe);
	if (strpbrk(b->filter, "\"\\"))
		return usage_error(c, "the text of -f cannot contain quotes or backslashes");
	*out = s->bcc.contains;
	return 0;
}

/* ---- equal events */

struct equal {
	const char *text;
	unsigned long count;
};

/* An event is a line and the lines of its stacks, which begin with blanks, or are empty. Returns
 * its last line feed, or the end of the text. */
static char *event_end(char *at)
{
	do
		at = strchrnul(at + 1, '\n');
	while (*at && (at[1] == ' ' || at[1] == '\n'));
	return at;
}

/* Most frequent first; those that are as frequent, by their text. */
static int compare_events(const void *a, const void *b)
{
	const struct equal *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->text, y->text);
}

void bcc_print_equal(char *events)
{
	size_t most = 1, count = 0, kept = 0;
	struct equal *list;

	for (const char *at = events; *at; at++)
		most += *at == '\n';
	list = calloc(most + 1, sizeof(*list));
	for (char *at = events, *end; list && *at; at = end) {
		end = event_end(at);
		list[count++] = (struct equal){at, 1};
		if (*end)
			*end++ = '\0';
	}
	/* Equal ones follow each other, since all have the same count. */
	if (count)
		qsort(list, count, sizeof(*list), compare_events);
	for (size_t i = 0; i < count; i++)
		if (kept && !strcmp(list[kept - 1].text, list[i].text))
			list[kept - 1].count++;
		else
			list[kept++] = list[i];
	if (kept)
		qsort(list, kept, sizeof(*list), compare_events);
	for (size_t i = 0; i < kept; i++)
		printf("%s\n-->COUNT %lu\n\n", list[i].text, list[i].count);
	free(list);
}
