/* nopal stackcount: counts of call stacks, as bcc's stackcount prints them. */
#include <stdlib.h>
#include <string.h>

#include "bcc/show.h"
#include "options.h"

struct stackcount {
	struct bcc_run base; /* first: its options */
	struct tally tally;
	bool offsets, addresses; /* -s, -v */
	bool by_process;	 /* -P */
	bool only_kernel, only_user;
	bool delimited, folded; /* -d, -f */
};

/* ---- frames: lines of "    7f3b12 main+0x12 [prog]" */

struct frame {
	const char *address, *name; /* name: without its offset if that is not shown */
	int address_len, name_len;
};

/* The frame in the line at *at, which moves to the next line; false: there is none. */
static bool next_frame(const char **at, bool offsets, struct frame *out)
{
	const char *line = *at + strspn(*at, " \n"), *end = line + strcspn(line, "\n");
	const char *name = line + strcspn(line, " \n"), *last = end;

	if (line == end)
		return false;
	*at = end;
	name += *name == ' ';
	/* A frame that cuts a stack short: "[cut: ...]" */
	if (*line == '[') {
		*out = (struct frame){"", line, 0, (int)(end - line)};
		return true;
	}
	if (last > name && last[-1] == ']')
		while (last > name + 1 && !(last[-1] == '[' && last[-2] == ' '))
			last--;
	last = last > name + 1 ? last - 2 : end;
	for (const char *plus = last; !offsets && plus-- > name;)
		if (!strncmp(plus, "+0x", 3)) {
			last = plus;
			break;
		}
	*out = (struct frame){line, name, (int)(name - 1 - line), (int)(last - name)};
	return true;
}

static void print_frames(const struct stackcount *s, const char *stack, FILE *out)
{
	struct frame f;

	while (next_frame(&stack, s->offsets, &f)) {
		fputs("  ", out);
		if (s->addresses)
			fprintf(out, "%-16.*s ", f.address_len, f.address);
		fprintf(out, "%.*s\n", f.name_len, f.name);
	}
}

/* Outermost first. */
static void print_folded(const struct stackcount *s, const char *stack, bool *any, FILE *out)
{
	struct frame frames[128];
	unsigned count = 0;

	while (count < 128 && next_frame(&stack, s->offsets, &frames[count]))
		count++;
	while (count--) {
		fprintf(out, "%s%.*s", *any ? ";" : "", frames[count].name_len, frames[count].name);
		*any = true;
	}
}

/* ---- results */

/* The parts of a key, in the order that write_word() gives them. */
struct parts {
	const char *kernel, *user, *pid, *comm;
};

static struct parts parts_of(const struct stackcount *s, const struct tally_row *row)
{
	struct parts p = {"", "", "", ""};
	unsigned at = 0;

	if (!s->only_user && at < row->part_count)
		p.kernel = row->parts[at++];
	if (!s->only_kernel && at < row->part_count)
		p.user = row->parts[at++];
	if (s->by_process && at + 1 < row->part_count) {
		p.pid = row->parts[at++];
		p.comm = row->parts[at];
	}
	return p;
}

static void print_line(const struct stackcount *s, const struct tally_row *row, FILE *out)
{
	struct parts p = parts_of(s, row);
	bool any = *p.comm;

	fputs(p.comm, out);
	print_folded(s, p.user, &any, out);
	if (s->delimited && !s->only_user && !s->only_kernel) {
		fputs(any ? ";-" : "-", out);
		any = true;
	}
	print_folded(s, p.kernel, &any, out);
	fprintf(out, " %llu\n", (unsigned long long)row->count);
}

static void print_stack(const struct stackcount *s, const struct tally_row *row, FILE *out)
{
	struct parts p = parts_of(s, row);

	print_frames(s, p.kernel, out);
	if (s->delimited && !s->only_user && !s->only_kernel)
		fputs("    --\n", out);
	print_frames(s, p.user, out);
	if (s->by_process && !s->base.run.pid_count)
		fprintf(out, "    %s [%s]\n", p.comm, p.pid);
	fprintf(out, "    %llu\n\n", (unsigned long long)row->count);
}

static void print(struct bcc_run *r, struct nopal_trace *t, FILE *out)
{
	struct stackcount *s = (struct stackcount *)r;
	const struct tally_row **rows;
	size_t count;

	tally_update(&s->tally, t, "@");
	if (r->rest && !tally_has_news(&s->tally))
		return;
	rows = bcc_sorted(&s->tally, &count);
	if (!s->folded)
		bcc_show_time(r, out);
	for (size_t i = 0; rows && i < count; i++)
		if (s->folded)
			print_line(s, rows[i], out);
		else
			print_stack(s, rows[i], out);
	free(rows);
}

static void begin(struct bcc_run *r, struct nopal_trace *t, FILE *out)
{
	struct stackcount *s = (struct stackcount *)r;

	if (!s->folded)
		bcc_show_tracing(r, nopal_trace_probe_count(t), out);
}

/* ---- the script */

static int write_word(const struct bcc_run *r, const struct command *c, const char *word,
		      struct script_text *t)
{
	const struct stackcount *s = (const struct stackcount *)r;
	char type;
	int code;

	if (s->only_kernel && s->only_user)
		return usage_error(c, "-K and -U cannot be combined: without them, both stacks are "
				      "counted");
	if (strspn(word, "0123456789.") == strlen(word)) /* -d is a time in other commands */
		return usage_error(c, "'%s' is not a probe: the option for a time is -D", word);
	code = bcc_write_probes(t, c, &s->base, word, &type);
	script_put(t, "\n");
	if (!code)
		code = scope_write(t, c, &s->base.scope, NULL);
	script_put(t, "{\n\t@[%s%s%s%s] = count();\n}\n", s->only_user ? "" : "kstack",
		   s->only_user || s->only_kernel ? "" : ", ", s->only_kernel ? "" : "ustack",
		   s->by_process ? ", pid, comm" : "");
	return code;
}

static int run_stackcount(const struct command *c, char **argv)
{
	struct stackcount s = {.base = {.print = print, .begin = begin, .write = write_word}};
	int code;

	if (!bcc_parse(&s.base, c, argv, &code))
		return code;
	s.base.end = s.folded ? "" : "Detaching...\n";
	s.base.run.options.frames = NOPAL_FRAMES_BCC_ADDRESS;
	code = bcc_run_words(&s.base, c, "c:malloc");
	tally_free(&s.tally);
	return code;
}

/* clang-format off */
#define AT(member) offsetof(struct stackcount, member)
static const struct option options[] = {
	{"-D", "--duration",  "TIME", take_duration, BCC_AT(run.duration_ns), "stop after TIME: seconds, or as in 0.5, 100ms, 1m (default: on ^C)"},
	BCC_INTERVAL, BCC_CLOCK,
	{"-n", NULL,          "COUNT", take_count,   BCC_AT(times),     "stop after COUNT times"},
	{"-s", "--offset",    NULL,    take_flag,    AT(offsets),       "show the offsets in functions"},
	{"-v", "--verbose",   NULL,    take_flag,    AT(addresses),     "show addresses"},
	{"-P", "--perpid",    NULL,    take_flag,    AT(by_process),    "count separately for each process"},
	{"-K", "--kernel-stacks-only", NULL, take_flag, AT(only_kernel), "show only the stack in the kernel"},
	{"-U", "--user-stacks-only",   NULL, take_flag, AT(only_user),   "show only the stack in the program"},
	{"-d", "--delimited", NULL,    take_flag,    AT(delimited),     "put a mark between the two stacks"},
	{"-f", "--folded",    NULL,    take_flag,    AT(folded),        "print a line for each stack, for flame graphs"},
	BCC_REGEX, BCC_CPU, BCC_SCOPE,
	{NULL, "--debug",     NULL,    take_flag,    BCC_AT(run.script_first), "print the script before it runs"},
	RUN_SCRIPT, BCC_HELP, {0},
};
/* clang-format on */

const struct command command_stackcount = {
	.name = "stackcount",
	.self = "nopal stackcount",
	.summary = "count the stacks of functions and events, as bcc's stackcount",
	.usage = "[OPTION]... [p:]LIBRARY:FUNCTION | {u|t}:LIBRARY:NAME...",
	.about = "Count the stacks that lead to functions and events, with the words and the\n"
		 "output of bcc's stackcount.\n",
	.more = "Examples:\n"
		"  nopal stackcount -D 5 c:malloc\n"
		"  nopal stackcount -D 5 -P -f c:malloc | nopal flame -o malloc.html\n",
	.options = options,
	.shared = run_options,
	.run = run_stackcount,
};
