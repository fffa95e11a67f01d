/* nopal stackcount: counts of call stacks, as bcc's stackcount prints them. */
#include <string.h>

#include "bcc/tool.h"

/* ---- frames: lines of "    7f3b12 main+0x12 [prog]" */

/* Without its file, and without the offset if that is not shown. */
struct frame {
	const char *address, *name;
	int address_len, name_len;
};

/* The frame in the line at *at, which moves to the next line; false: there is none. */
static bool next_frame(const char **at, bool offsets, struct frame *out)
{
	const char *line = *at + strspn(*at, " \n"), *end = line + strcspn(line, "\n"), *last;
	/* A line that says why a stack is cut short is not a frame: "(cut: ...)" */
	const char *name = *line == '(' ? line : line + strcspn(line, " \n");

	*at = end;
	*out = (struct frame){line, name + (*name == ' '), (int)(name - line), 0};
	name = out->name;
	last = end > name && end[-1] == ']' ? memrchr(name, '[', (size_t)(end - name)) : NULL;
	if (last && last > name + 1 && last[-1] == ' ')
		end = last - 1;
	last = offsets ? NULL : memrchr(name, '+', (size_t)(end - name));
	if (last && !strncmp(last, "+0x", 3))
		end = last;
	out->name_len = (int)(end - name);
	return *line;
}

/* A line for each; folded, outermost first. */
static void print_frames(const struct bcc_run *r, const char *stack, bool *any, FILE *out)
{
	struct frame frames[128];
	unsigned count = 0;

	while (count < 128 && next_frame(&stack, r->offsets, &frames[count]))
		count++;
	for (unsigned i = 0; i < count; i++) {
		const struct frame *f = &frames[r->folded ? count - 1 - i : i];

		fputs(!r->folded ? "  " : *any ? ";" : "", out);
		if (r->addresses && !r->folded)
			fprintf(out, "%-16.*s ", f->address_len, f->address);
		fprintf(out, r->folded ? "%.*s" : "%.*s\n", f->name_len, f->name);
		*any = true;
	}
}

/* ---- results */

/* The part of a key that write_word() gave in this place, and that these options leave out. */
static const char *part(const struct tally_row *row, unsigned *at, bool left_out)
{
	return left_out || *at >= row->part_count ? "" : row->parts[(*at)++];
}

static void print_row(const struct bcc_run *r, const struct tally_row *row, FILE *out)
{
	bool is_delimited = r->delimited && !r->only_user && !r->only_kernel, any;
	unsigned at = 0;
	const char *kernel = part(row, &at, r->only_user), *user = part(row, &at, r->only_kernel);
	const char *pid = part(row, &at, !r->by_process), *comm = part(row, &at, !r->by_process);

	any = r->folded && *comm;
	fputs(any ? comm : "", out);
	print_frames(r, r->folded ? user : kernel, &any, out);
	if (is_delimited)
		fputs(!r->folded ? "    --\n" : any ? ";-" : "-", out);
	any |= is_delimited;
	print_frames(r, r->folded ? kernel : user, &any, out);
	if (r->by_process && !r->folded && !r->run.pid_count)
		fprintf(out, "    %s [%s]\n", comm, pid);
	fprintf(out, r->folded ? " %llu\n" : "    %llu\n\n", (unsigned long long)row->count);
}

/* ---- the script */

static int check(struct bcc_run *r, const struct command *c)
{
	if (r->only_kernel && r->only_user)
		return usage_error(c, "-K and -U cannot be combined: without them, both stacks are "
				      "counted");
	for (int i = 0; i < r->word_count; i++) /* -d is a time in other commands */
		if (strspn(r->words[i], "0123456789.") == strlen(r->words[i]))
			return usage_error(c, "'%s' is not a probe: the option for a time is -D",
					   r->words[i]);
	return 0;
}

static int write_word(struct bcc_run *r, const struct command *c, int word, struct script_text *t)
{
	char type;
	int code = bcc_write_probes(t, c, r, r->words[word], false, &type);

	script_put(t, "{\n\t@[%s%s%s%s] = count();\n}\n", r->only_user ? "" : "kstack",
		   r->only_user || r->only_kernel ? "" : ", ", r->only_kernel ? "" : "ustack",
		   r->by_process ? ", pid, comm" : "");
	return code;
}

/* clang-format off */
static const struct option options[] = {
	BCC_DURATION("-D"), BCC_INTERVAL, BCC_CLOCK, BCC_TIMES(NULL),
	BCC_FLAG("-s", "--offset",             offsets,     "show the offsets in functions"),
	BCC_FLAG("-v", "--verbose",            addresses,   "show addresses"),
	BCC_FLAG("-P", "--perpid",             by_process,  "count separately for each process"),
	BCC_FLAG("-K", "--kernel-stacks-only", only_kernel, "show only the stack in the kernel"),
	BCC_FLAG("-U", "--user-stacks-only",   only_user,   "show only the stack in the program"),
	BCC_FLAG("-d", "--delimited",          delimited,   "put a mark between the two stacks"),
	BCC_FLAG("-f", "--folded",             folded,      "print a line for each stack, for flame graphs"),
	BCC_REGEX, BCC_CPU, BCC_SCRIPT(NULL, "--debug"), BCC_COMMON,
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
	.run = bcc_run_command,
	.detail =
		&(const struct bcc_tool){
			.check = check,
			.write = write_word,
			.print_row = print_row,
		},
};
