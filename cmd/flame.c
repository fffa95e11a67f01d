/* nopal flame: a flame graph of folded stacks, as `nopal stack -f folded`, perf's and other tools
 * print them. The page (data/flame.html) is compiled in; it gets the stacks as JSON, so names
 * cannot become markup, and a content policy that runs only its own script. */
#include "flame.h"

#include <errno.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "command.h"
#include "input.h"
#include "nopal/diag.h"
#include "options.h"

#define DEEPEST 1024 /* frames of a stack that are kept; the kernel gives 127 */

/* A function as it was called from one stack. */
struct frame {
	uint32_t name;
	uint32_t first, next; /* the first one it called, and the next that its caller called;
				 0: none */
	uint64_t own;	      /* events that ended here */
};

struct name {
	char *text; /* owned */
	uint32_t number;
};

struct flame {
	struct frame *frames; /* [0] is the root */
	uint32_t count, cap;
	struct name **names; /* in the order of their numbers */
	uint32_t name_count, name_cap;
	void *by_text; /* tree of tsearch() */
};

__asm__(".pushsection .rodata, \"a\"\n"
	"flame_page:\n"
	".incbin \"data/flame.html\"\n"
	".byte 0\n"
	".popsection\n");
extern const char flame_page[] __attribute__((visibility("hidden")));

/* ---- the tree of calls ------------------------------------------------------------------------
 */

static bool grow(void **array, uint32_t count, uint32_t *cap, size_t size)
{
	uint32_t more = *cap ? *cap * 2 : 256;
	void *bigger = count < *cap || more < *cap ? *array : reallocarray(*array, more, size);

	if (count >= *cap && bigger) {
		*array = bigger;
		*cap = more;
	}
	return count < *cap;
}

static int compare_names(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return strcmp(x->text, y->text);
}

/* The number of a name; UINT32_MAX: out of memory. */
static uint32_t name_number(struct flame *f, const char *text, size_t len)
{
	struct name *name = calloc(1, sizeof(*name)), **known;

	if (!name || !grow((void **)&f->names, f->name_count, &f->name_cap, sizeof(*f->names)))
		goto failed;
	name->text = strndup(text, len);
	name->number = f->name_count;
	known = name->text ? tsearch(name, &f->by_text, compare_names) : NULL;
	if (!known)
		goto failed;
	if (*known == name) {
		f->names[f->name_count++] = name;
		return name->number;
	}
	free(name->text);
	free(name);
	return (*known)->number;
failed:
	if (name)
		free(name->text);
	free(name);
	return UINT32_MAX;
}

/* The frame of that name which `caller` calls, made if it is the first; 0: out of memory. */
static uint32_t called_frame(struct flame *f, uint32_t caller, uint32_t name)
{
	uint32_t at = f->frames[caller].first;

	while (at && f->frames[at].name != name)
		at = f->frames[at].next;
	if (at)
		return at;
	if (!grow((void **)&f->frames, f->count, &f->cap, sizeof(*f->frames)))
		return 0;
	f->frames[f->count] = (struct frame){.name = name, .next = f->frames[caller].first};
	f->frames[caller].first = f->count;
	return f->count++;
}

struct flame *flame_new(void)
{
	struct flame *f = calloc(1, sizeof(*f));

	if (!f || !grow((void **)&f->frames, 0, &f->cap, sizeof(*f->frames)) ||
	    name_number(f, "all", 3)) {
		flame_free(f);
		return NULL;
	}
	f->frames[f->count++] = (struct frame){0};
	return f;
}

static void free_name(void *name)
{
	free(((struct name *)name)->text);
	free(name);
}

void flame_free(struct flame *f)
{
	if (!f)
		return;
	tdestroy(f->by_text, free_name);
	free(f->names);
	free(f->frames);
	free(f);
}

/* line = frame { ";" frame } " " count; names may hold blanks. */
bool flame_add(struct flame *f, const char *line, size_t len)
{
	const char *blank = memrchr(line, ' ', len), *end = line + len, *number;
	uint64_t count = 0;
	uint32_t at = 0, depth = 0;

	if (!blank || blank == line || blank + 1 == end || memchr(line, '\0', len))
		return false;
	for (number = blank + 1; number < end; number++)
		if (*number < '0' || *number > '9' || __builtin_mul_overflow(count, 10, &count) ||
		    __builtin_add_overflow(count, (uint64_t)(*number - '0'), &count))
			return false;
	while (line < blank && depth++ < DEEPEST) {
		const char *semicolon = memchr(line, ';', (size_t)(blank - line));
		const char *stop = semicolon ? semicolon : blank;
		uint32_t name = name_number(f, line, (size_t)(stop - line));

		at = name == UINT32_MAX ? 0 : called_frame(f, at, name);
		if (!at)
			return false;
		line = stop + 1;
	}
	f->frames[at].own += count;
	return true;
}

/* Lines of another form are counted, not guessed at. */
size_t flame_read(struct flame *f, const char *text, size_t len)
{
	size_t bad = 0;

	for (const char *at = text; at < text + len;) {
		const char *end = memchr(at, '\n', (size_t)(text + len - at));
		size_t line = (size_t)((end ? end : text + len) - at);

		if (line)
			bad += !flame_add(f, at, line);
		at += line + 1;
	}
	return bad;
}

/* ---- the page ----------------------------------------------------------------------------------
 */

/* A JSON string that cannot end the element it is in. */
static void put_string(const char *text, FILE *out)
{
	char *safe = nopal_escaped(text);

	putc('"', out);
	for (const char *at = safe ? safe : ""; *at; at++) {
		if (*at == '"' || *at == '\\')
			putc('\\', out);
		if (*at == '<' || *at == '\t' || *at == '\n')
			fprintf(out, "\\u%04x", (unsigned)*at);
		else
			putc(*at, out);
	}
	putc('"', out);
	free(safe);
}

/* Preorder, without recursion: a frame, then what it called. */
static void put_tree(const struct flame *f, FILE *out)
{
	uint32_t open[DEEPEST + 2], depth = 0;

	open[depth++] = 0;
	for (bool is_first = true; depth; is_first = false) {
		const struct frame *frame = &f->frames[open[--depth]];
		uint32_t calls = 0;

		for (uint32_t at = frame->first; at; at = f->frames[at].next)
			calls++;
		fprintf(out, "%s%u,%llu,%u", is_first ? "" : ",", frame->name,
			(unsigned long long)frame->own, calls);
		if (frame->next)
			open[depth++] = frame->next;
		if (frame->first)
			open[depth++] = frame->first;
	}
}

static void put_data(const struct flame *f, const char *title, const char *unit, FILE *out)
{
	fputs("{\"title\":", out);
	put_string(title, out);
	fputs(",\"unit\":", out);
	put_string(unit, out);
	fputs(",\"names\":[", out);
	for (uint32_t i = 0; i < f->name_count; i++) {
		fputs(i ? "," : "", out);
		put_string(f->names[i]->text, out);
	}
	fputs("],\"tree\":[", out);
	put_tree(f, out);
	fputs("]}", out);
}

void flame_write(const struct flame *f, const char *title, const char *unit, FILE *out)
{
	uint64_t random[2] = {0};
	const char *at = flame_page, *mark;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		random[0] = (uintptr_t)f;
	while ((mark = strchr(at, '@'))) {
		fwrite(at, 1, (size_t)(mark - at), out);
		at = mark + 1;
		if (!strncmp(mark, "@NONCE@", 7))
			fprintf(out, "%016llx%016llx", (unsigned long long)random[0],
				(unsigned long long)random[1]);
		else if (!strncmp(mark, "@DATA@", 6))
			put_data(f, title, unit, out);
		else
			putc('@', out);
		if (!strncmp(mark, "@NONCE@", 7) || !strncmp(mark, "@DATA@", 6))
			at = strchr(at, '@') + 1;
	}
	fputs(at, out);
}

int flame_save(const struct flame *f, const char *title, const char *unit, const char *path)
{
	FILE *out = path ? fopen(path, "we") : stdout;
	bool ok;

	if (out)
		flame_write(f, title, unit, out);
	ok = out && !fflush(out) && !ferror(out);
	if (out && out != stdout && fclose(out))
		ok = false;
	if (!ok)
		say_error("cannot write '%s': %s", path ? path : "standard output",
			  strerror(errno));
	return ok ? EXIT_OK : EXIT_FAILED;
}

/* ---- the command -------------------------------------------------------------------------------
 */

struct flame_options {
	const char *output, *title, *unit;
};

static int run_flame(const struct command *c, char **argv)
{
	struct flame_options o = {0};
	struct flame *f = NULL;
	size_t len, bad;
	char *text;
	int code, words = options_parse(c, argv, &o, &code);

	if (words < 0)
		return code;
	if (words > 1)
		return usage_error(c, "too many files: give one");
	text = input_read(words ? argv[1] : "-", &len);
	f = text ? flame_new() : NULL;
	code = EXIT_FAILED;
	if (f) {
		bad = flame_read(f, text, len);
		if (bad)
			say_error("%zu line%s not 'frame;frame;... COUNT'", bad,
				  bad == 1 ? " is" : "s are");
		code = flame_save(f, o.title ? o.title : "Flame graph", o.unit ? o.unit : "events",
				  o.output);
		code = bad ? EXIT_FAILED : code;
	}
	flame_free(f);
	free(text);
	return code;
}

/* clang-format off */
#define AT(member) offsetof(struct flame_options, member)
static const struct option options[] = {
	{"-o", "--output", "FILE",  take_text, AT(output), "write to FILE instead of standard output"},
	{"-t", "--title",  "TEXT",  take_text, AT(title),  "set the title of the page"},
	{"-u", "--unit",   "WORD",  take_text, AT(unit),   "say what the numbers are (default: events)"},
	{"-h", "--help",   NULL,    take_help, 0,          "print this help"},
	{0},
};
/* clang-format on */

const struct command command_flame = {
	.name = "flame",
	.self = "nopal flame",
	.summary = "draw folded stacks as a flame graph: one HTML file",
	.usage = "[OPTION]... [FILE]",
	.about = "Read folded stacks, a line each (frame;frame;... COUNT), from FILE or standard\n"
		 "input, and write a page with their flame graph: click to zoom, / to search. It\n"
		 "needs no other file and no network.\n",
	.more = "Examples:\n"
		"  nopal stack -d 10 -f folded ./server:shop:order | nopal flame -o order.html\n"
		"  perf script | stackcollapse-perf.pl | nopal flame -o cpu.html\n"
		"\n"
		"Exit status: 0 if every line was a stack, 1 otherwise, 2 if the command line is\n"
		"wrong.\n",
	.options = options,
	.run = run_flame,
};
