/* The columns of bcc's trace. */
#include "bcc/trace.h"

#include <stdlib.h>
#include <string.h>

/* ---- options */

/* Those that mean something only with words of bcc's, and what to use with others. */
static const struct only {
	const char *letter;
	size_t at; /* of the flag in struct bcc_columns */
	const char *instead;
} only_bcc[] = {
	/* clang-format off */
	{"-u", offsetof(struct bcc_columns, unix_time), "the time of day is shown; -t shows seconds since the start"},
	{"-Z", 0,                                       "texts are as long as str(arg0, N) says, or NOPAL_MAX_STRLEN"},
	{"-C", offsetof(struct bcc_columns, cpu),       "write cpu among the values of the format"},
	{"-a", offsetof(struct bcc_columns, address),   "-f json has the offsets of frames"},
	{"-A", offsetof(struct bcc_columns, aggregate), "nopal count counts equal events: -k pid,comm,args.name"},
	{"-B", offsetof(struct bcc_columns, binary),    "memcmp(arg0, \"\\x61\\x62\", 2) == 0 compares bytes"},
	/* clang-format on */
};

static const struct only *find_only(const char *letter)
{
	size_t i = 0;

	while (strcmp(only_bcc[i].letter, letter))
		i++;
	return &only_bcc[i];
}

const char *bcc_take_option(void *at, const struct option *o, const char *value)
{
	struct bcc_columns *b = at;

	b->only_bcc = o;
	if (value)
		return take_count(&b->text_size, o, value);
	*(bool *)((char *)b + find_only(o->letter)->at) = true;
	return NULL;
}

const char *bcc_take_header(void *at, const struct option *o, const char *value)
{
	struct bcc_headers *h = at;

	(void)o;
	if (!*value || value[strcspn(value, "\"<>\\\n")])
		return "the name of a header, without quotes";
	if (h->count == BCC_HEADERS)
		return "fewer headers: the limit is 16";
	h->list[h->count++] = value;
	return NULL;
}

void bcc_write_headers(struct script_text *t, const struct bcc_headers *h)
{
	for (unsigned i = 0; i < h->count; i++)
		script_put(t, "#include \"%s\"\n", h->list[i]);
}

int bcc_trace_check(const struct command *c, const struct bcc_columns *b, bool is_bcc, long most)
{
	if (!is_bcc && b->only_bcc)
		return usage_error(
			c,
			"option '%s' is only for words of bcc, such as c:malloc; without them, %s",
			b->only_bcc->letter, find_only(b->only_bcc->letter)->instead);
	if (!is_bcc && b->filter)
		return usage_error(c, "option '-f' needs text|json|folded|csv, not '%s'",
				   b->filter);
	if (b->aggregate && !most)
		return usage_error(c, "-A requires -M, which says how many events to count");
	return 0;
}

/* ---- columns */

bool bcc_trace_is(const struct spec *specs, int count)
{
	for (int i = 0; i < count; i++)
		if (!specs[i].bcc.type)
			return false;
	return count;
}

static bool shows_time(const struct bcc_columns *b)
{
	return b->clock || b->elapsed;
}

char *bcc_trace_header(const struct bcc_columns *b, const struct spec *specs, int count)
{
	bool any = false;
	char *text;

	for (int i = 0; i < count; i++)
		any |= specs[i].format != NULL;
	if (asprintf(&text, "%s%s%-7s %-7s %-15s %-16s %s\n",
		     !shows_time(b) ? ""
		     : b->unix_time ? "TIME              "
				    : "TIME     ",
		     b->cpu ? "CPU " : "", "PID", "TID", "COMM", "FUNC", any ? "-" : "") < 0)
		return NULL;
	return text;
}

/* The time in bcc's columns, and the values for it. */
struct moment {
	const char *format, *values;
};

static struct moment moment_of(const struct bcc_columns *b)
{
	if (!shows_time(b))
		return (struct moment){"", ""};
	if (b->clock)
		return (struct moment){"%-8s ", "strftime(\"%H:%M:%S\", nsecs), "};
	if (b->unix_time)
		return (struct moment){"%-17s ", "strftime(\"%s.%f\", nsecs), "};
	return (struct moment){"%d.%06d ", "elapsed / 1000000000, elapsed % 1000000000 / 1000, "};
}

/* "%s has %d\n", and ", str(arg0), arg1": the two halves of a format. */
static size_t literal_len(const char *format)
{
	const char *at = format + 1;

	while (*at && *at != '"')
		at += *at == '\\' && at[1] ? 2 : 1;
	return (size_t)(at - format) - 1;
}

void bcc_trace_write(struct script_text *t, const struct bcc_columns *b, const struct spec *s)
{
	struct moment m = moment_of(b);
	const char *format = s->format;
	const char *stacks = b->kernel_stack || b->user_stack ? "\\n" : "";
	bool is_pattern = strpbrk(s->bcc.function, "*?") != NULL;
	size_t len = format ? literal_len(format) : 0;

	script_put(t, "\tprintf(\"%s%s%%-7d %%-7d %%-15s %%-16s ", m.format, b->cpu ? "%-3d " : "");
	if (format)
		script_put_piece(t, format, 1, len);
	script_put(t, "\\n%s%s%s\", %s%s", b->kernel_stack ? "%s" : "", b->user_stack ? "%s" : "",
		   stacks, m.values, b->cpu ? "cpu, " : "");
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
		     char **out)
{
	const char *rest = s->bcc.texts;
	size_t size = 0;
	FILE *all;

	*out = NULL;
	if (!b->filter || (s->format && memmem(s->format, literal_len(s->format) + 1, b->filter,
					       strlen(b->filter))))
		return 0;
	if (!rest)
		return usage_error(c, "-f searches strings, and '%s' prints none with %%s",
				   s->bcc.probe);
	if (strpbrk(b->filter, "\"\\"))
		return usage_error(c, "the text of -f cannot contain quotes or backslashes");
	all = open_memstream(out, &size);
	for (bool any = false; all && *rest; any = true) {
		size_t len = value_len(rest);

		fprintf(all, "%sstrcontains(%.*s, \"%s\")", any ? " || " : "", (int)len, rest,
			b->filter);
		rest += len + strspn(rest + len, ", ");
	}
	return all && !fclose(all) ? 0 : EXIT_FAILED;
}

/* ---- equal events */

bool bcc_events_open(struct bcc_events *e)
{
	e->out = open_memstream(&e->text, &e->len);
	return e->out;
}

struct same {
	const char *at;
	size_t len;
	unsigned long count;
};

/* An event is a line and the lines of its stacks, which begin with blanks, or are empty. */
static size_t event_len(const char *at)
{
	const char *end = at + strcspn(at, "\n");

	while (*end && (end[1] == ' ' || end[1] == '\n'))
		end += 1 + strcspn(end + 1, "\n");
	return (size_t)(end - at) + (*end == '\n');
}

static int compare_texts(const void *a, const void *b)
{
	const struct same *x = a, *y = b;
	int order = memcmp(x->at, y->at, x->len < y->len ? x->len : y->len);

	return order ? order : x->len < y->len ? -1 : x->len > y->len;
}

static int compare_counts(const void *a, const void *b)
{
	const struct same *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count ? 1 : -1) : compare_texts(a, b);
}

void bcc_events_print(struct bcc_events *e)
{
	struct same *list = NULL;
	size_t count = 0, kept = 0;

	if (!e->out || fclose(e->out))
		e->len = 0;
	for (const char *at = e->text; e->len && *at; at += event_len(at))
		count++;
	list = calloc(count + 1, sizeof(*list));
	count = 0;
	for (const char *at = e->text; list && e->len && *at; at += event_len(at))
		list[count++] = (struct same){at, event_len(at), 1};
	if (count)
		qsort(list, count, sizeof(*list), compare_texts);
	for (size_t i = 0; i < count; i++)
		if (kept && !compare_texts(&list[kept - 1], &list[i]))
			list[kept - 1].count++;
		else
			list[kept++] = list[i];
	if (kept)
		qsort(list, kept, sizeof(*list), compare_counts);
	for (size_t i = 0; i < kept; i++) {
		fwrite(list[i].at, 1, list[i].len, stdout);
		printf("-->COUNT %lu\n\n", list[i].count);
	}
	free(list);
	free(e->text);
}
