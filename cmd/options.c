/* Parsing and printing the tables of options. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "command.h"

#define HELP_WIDTH   80 /* columns of a terminal */
#define HELP_MARGIN  24 /* where the text of an option begins at most */
#define MAX_MISTAKES 2	/* letters by which a misspelt option differs */

/* ---- What options do ------------------------------------------------------------------------- */

const char *take_flag(void *at, const struct option *o, const char *value)
{
	(void)o;
	(void)value;
	*(bool *)at = true;
	return NULL;
}

const char *take_text(void *at, const struct option *o, const char *value)
{
	(void)o;
	*(const char **)at = value;
	return NULL;
}

const char *take_line(void *at, const struct option *o, const char *value)
{
	char **lines = at, *all = NULL;

	(void)o;
	if (asprintf(&all, "%s%s\n", *lines ? *lines : "", value) < 0)
		return "less text: there is no memory";
	free(*lines);
	*lines = all;
	return NULL;
}

const char *take_pid(void *at, const struct option *o, const char *value)
{
	long pid;

	(void)o;
	if (!parse_number(value, 1, &pid) || pid > INT_MAX)
		return "a process ID, as pgrep prints it";
	*(pid_t *)at = (pid_t)pid;
	return NULL;
}

const char *take_count(void *at, const struct option *o, const char *value)
{
	(void)o;
	return parse_number(value, 1, at) ? NULL : "a number of at least 1";
}

const char *take_size(void *at, const struct option *o, const char *text)
{
	char *end;
	unsigned long long value;
	unsigned shift;

	(void)o;
	errno = 0;
	value = strtoull(text, &end, 10);
	shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
	if (errno || end == text || *text == '-' || end[shift ? 1 : 0] || !value ||
	    value > (1ULL << 32 >> shift))
		return "a number of bytes such as 64K or 4M";
	*(size_t *)at = (size_t)value << shift;
	return NULL;
}

const char *take_duration(void *at, const struct option *o, const char *value)
{
	static const char wanted[] = "seconds or a time such as 0.5, 100ms, 30s, 1m or 2h";
	/* clang-format off */
	static const struct { const char *name; double ns; } units[] = {
		{"", 1e9}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9},
	};
	/* clang-format on */
	char *end;
	double number = strtod(value, &end);

	(void)o;
	if (!isdigit((unsigned char)*value) && *value != '.')
		return wanted; /* strtod() takes "inf" and "-1" */
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(end, units[i].name) != 0)
			continue;
		number *= units[i].ns;
		if (number < 1e3 || number > 1e18)
			return wanted;
		*(uint64_t *)at = (uint64_t)number;
		return NULL;
	}
	return wanted;
}

const char *take_choice(void *at, const struct option *o, const char *value)
{
	size_t len = strlen(value);
	unsigned number = 0;

	for (const char *name = o->value;; name += strcspn(name, "|") + 1, number++) {
		if (strcspn(name, "|") == len && !strncmp(name, value, len)) {
			memcpy(at, &number, sizeof(number));
			return NULL;
		}
		if (!strchr(name, '|'))
			return o->value;
	}
}

const char *take_nothing(void *at, const struct option *o, const char *value)
{
	(void)at;
	(void)o;
	(void)value;
	return NULL;
}

/* Only its address counts: printing needs the command. */
const char *take_help(void *at, const struct option *o, const char *value)
{
	return take_nothing(at, o, value);
}

/* ---- Help ------------------------------------------------------------------------------------ */

/* "  -p, --pid PID"; the number of columns. */
static int print_option(const struct option *o)
{
	return printf("  %s%s%s%s%s", o->letter ? o->letter : "",
		      o->letter && o->word	       ? ", "
		      : o->letter || o->word[1] != '-' ? ""
						       : "    ",
		      o->word ? o->word : "", o->value ? " " : "", o->value ? o->value : "");
}

/* Print `text` from `column` on, in lines that begin at `margin`. */
static void print_wrapped(const char *text, int column, int margin)
{
	int at = column;

	while (*text) {
		int len = (int)strcspn(text, " ");

		if (at > margin && at + 1 + len > HELP_WIDTH) {
			printf("\n%*s", margin, "");
			at = margin;
		} else if (at > margin) {
			at += printf(" ");
		}
		at += printf("%.*s", len, text);
		text += len + strspn(text + len, " ");
	}
	putchar('\n');
}

static void print_row(const struct option *o)
{
	int column = print_option(o);

	if (column + 2 > HELP_MARGIN) {
		putchar('\n');
		column = 0;
	}
	printf("%*s", HELP_MARGIN - column, "");
	print_wrapped(o->help, HELP_MARGIN, HELP_MARGIN);
}

/* Has the command's own table an option of this name? */
static bool is_replaced(const struct command *c, const struct option *row)
{
	for (const struct option *o = c->options; row->help && o && o->take; o++)
		if ((row->letter && o->letter && !strcmp(row->letter, o->letter)) ||
		    (!row->letter && o->word && !strcmp(row->word, o->word)))
			return true;
	return false;
}

/* The options of help come last, after those of both tables. */
static void print_tables(const struct command *c, bool of_help)
{
	const struct option *const tables[] = {c->options, c->shared};

	for (size_t i = 0; i < 2; i++)
		for (const struct option *o = tables[i]; o && o->take; o++)
			if (o->help && (o->take == take_help) == of_help &&
			    !(i && is_replaced(c, o)))
				print_row(o);
}

void options_help(const struct command *c)
{
	const char *line = c->usage;

	for (int i = 0; line; i++) {
		int len = (int)strcspn(line, "\n");

		printf("%s%s%s%.*s\n", i ? "       " : "usage: ", c->self, len ? " " : "", len,
		       line);
		line = line[len] ? line + len + 1 : NULL;
	}
	printf("\n%s", c->about);
	fputs("\nOptions:\n", stdout);
	print_tables(c, false);
	print_tables(c, true);
	if (c->more)
		printf("\n%s", c->more);
	if (c->name)
		printf("\nManual page: nopal-%s(1)\n", c->name);
}

/* ---- Parsing --------------------------------------------------------------------------------- */

/* A command line while it is taken apart. */
struct parse {
	const struct command *command;
	char **next; /* of argv */
	void *target;
	bool helped;
};

bool words_are_near(const char *a, const char *b, int mistakes)
{
	while (*a && *a == *b)
		a++, b++;
	if (!*a && !*b)
		return true;
	if (!mistakes)
		return false;
	if (*a && *b && a[0] == b[1] && a[1] == b[0] &&
	    words_are_near(a + 2, b + 2, mistakes - 1)) /* exchanged */
		return true;
	return (*a && *b && words_are_near(a + 1, b + 1, mistakes - 1)) ||
	       (*a && words_are_near(a + 1, b, mistakes - 1)) ||
	       (*b && words_are_near(a, b + 1, mistakes - 1));
}

/* "--dump=tree" is the word "--dump"; dtrace's words, such as "-m32", have no value. */
static size_t word_len(const char *arg)
{
	return strncmp(arg, "--", 2) ? strlen(arg) : strcspn(arg, "=");
}

static bool is_word(const struct option *o, const char *arg)
{
	return o->word && strlen(o->word) == word_len(arg) && !strncmp(o->word, arg, word_len(arg));
}

static bool is_letter(const struct option *o, const char *at)
{
	return o->letter && o->letter[1] == *at;
}

/* An abbreviation or a misspelling. */
static bool is_like(const struct option *o, const char *arg)
{
	return o->word && o->help && strlen(arg) > 3 &&
	       (!strncmp(o->word, arg, strlen(arg)) || words_are_near(o->word, arg, MAX_MISTAKES));
}

const struct option *options_find(const struct command *c, const char *arg,
				  bool (*matches)(const struct option *, const char *))
{
	const struct option *const tables[] = {c->options, c->shared};

	for (size_t i = 0; i < 2; i++)
		for (const struct option *o = tables[i]; o && o->take; o++)
			if (matches(o, arg))
				return o;
	return NULL;
}

static bool is_same_option(const struct option *o, const char *arg)
{
	return arg[1] == '-' ? is_word(o, arg) : o->value && is_letter(o, arg + 1);
}

/* The commands that have an option of this name, as "count, hist"; empty: none. */
static void list_owners(const char *arg, char *out, size_t size)
{
	size_t len = 0;

	*out = 0;
	for (size_t i = 0; nopal_commands[i]; i++)
		if (nopal_commands[i]->summary && len < size &&
		    options_find(nopal_commands[i], arg, is_same_option))
			len += (size_t)snprintf(out + len, size - len, "%s%s", len ? ", " : "",
						nopal_commands[i]->name);
}

static int unknown(const struct command *c, const char *arg)
{
	const struct option *like = options_find(c, arg, is_like);
	char owners[128] = "";

	if (!like)
		list_owners(arg, owners, sizeof(owners));
	if (*owners)
		return usage_error(c, "unknown option '%s'; commands that have it: %s", arg,
				   owners);
	return like ? usage_error(c, "unknown option '%s': did you mean '%s'?", arg, like->word)
		    : usage_error(c, "unknown option '%s'", arg);
}

/* `name` is the option as the user wrote it. `value` is what was attached to it, or NULL. */
static int take(struct parse *p, const struct option *o, const char *name, const char *value)
{
	const char *needed;

	if (o->take == take_help) {
		options_help(p->command);
		p->helped = true;
		return 0;
	}
	if (value && !o->value)
		return usage_error(p->command, "option '%s' takes no value", name);
	if (o->value && !value && *p->next)
		value = *p->next++;
	if (o->value && !value)
		return usage_error(p->command, "option '%s' needs a value: %s %s", name, name,
				   o->value);
	needed = o->take((char *)p->target + o->at, o, value);
	return needed ? usage_error(p->command, "option '%s' needs %s, not '%s'", name, needed,
				    value)
		      : 0;
}

/* -p, -pVALUE, -p VALUE, -qv. */
static int take_letters(struct parse *p, const char *arg)
{
	int code = 0;

	for (const char *at = arg + 1; *at && !code && !p->helped; at++) {
		const struct option *o = options_find(p->command, at, is_letter);

		if (!o)
			return unknown(p->command, arg);
		code = take(p, o, o->letter, o->value && at[1] ? at + 1 : NULL);
		if (o->value)
			break;
	}
	return code;
}

/* --word, --word=VALUE, --word VALUE, or letters. */
static int take_argument(struct parse *p, const char *arg)
{
	const struct option *o = options_find(p->command, arg, is_word);
	const char *value = arg + word_len(arg);

	return o ? take(p, o, o->word, *value ? value + 1 : NULL) : take_letters(p, arg);
}

int options_parse(const struct command *c, char **argv, void *target, int *code)
{
	struct parse p = {.command = c, .next = argv + 1, .target = target};
	bool only_words = false;
	int count = 0;

	*code = 0;
	while (*p.next && !*code && !p.helped) {
		char *arg = *p.next++;

		if (only_words || arg[0] != '-' || !arg[1] || isdigit((unsigned char)arg[1]))
			argv[1 + count++] = arg;
		else if (!strcmp(arg, "--"))
			only_words = true;
		else
			*code = take_argument(&p, arg);
	}
	return *code || p.helped ? -1 : count;
}

const struct option pid_options[] = {
	{"-h", "--help", NULL, take_help, 0, "print this help"},
	{0},
};

bool options_parse_pid(const struct command *c, char **argv, void *target, pid_t *pid, int *code)
{
	int words = options_parse(c, argv, target, code);
	const char *needed;

	if (words < 0)
		return false;
	needed = words == 1 ? take_pid(pid, NULL, argv[1]) : NULL;
	if (words != 1)
		*code = usage_error(c, "%s takes one process ID", c->name);
	else if (needed)
		*code = usage_error(c, "%s takes %s, not '%s'", c->name, needed, argv[1]);
	return !*code;
}
