#include "shown.h"

#include <stdlib.h>
#include <string.h>

#include "nopal/sites.h"
#include "probe_word.h"

#define MOST 16

void shown_free(struct shown *s)
{
	free(s->values);
	free(s->names);
	free(s->format);
	*s = (struct shown){.values = NULL};
}

static bool append(char **text, const char *separator, const char *format, const char *name)
{
	char *longer = NULL, *piece = NULL;
	bool ok =
		asprintf(&piece, format, name) >= 0 &&
		asprintf(&longer, "%s%s%s", *text ? *text : "", *text ? separator : "", piece) >= 0;

	free(piece);
	if (!ok)
		return false;
	free(*text);
	*text = longer;
	return true;
}

/* How an argument is read, and shown: both with its name for %s. */
static void add(struct shown *s, const char *name, const char *value, const char *shown)
{
	if (s->count < MOST && append(&s->values, ", ", value, name) &&
	    append(&s->names, " ", "args.%s", name) && append(&s->format, " ", shown, name))
		s->count++;
}

/* ---- of a USDT probe */

static bool is_plain(const char *name)
{
	return name && *name &&
	       !name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")];
}

static void add_argument(struct shown *s, const struct nopal_arg *a, unsigned index)
{
	char number[16];

	if (a->kind == NOPAL_ARG_UNKNOWN || a->problem || a->is_float || a->size > 8)
		return;
	if (is_plain(a->name)) {
		add(s, a->name, "args.%s",
		    a->is_string   ? "%s=%%s"
		    : a->is_signed ? "%s=%%ld"
				   : "%s=%%lu");
		return;
	}
	snprintf(number, sizeof(number), "arg%u", index);
	if (a->is_string)
		add(s, number, "str(%s)", "%s=%%s");
	else
		add(s, number, "%s", a->is_signed ? "%s=%%ld" : "%s=%%lu");
}

/* The first of its sites says what it passes. */
static void find_arguments(struct shown *s, const char *probe, pid_t pid)
{
	struct nopal_sites *sites = NULL;
	const struct nopal_site *site;
	struct nopal_arg arg;

	if (!nopal_sites_new(&sites) && nopal_sites_find(sites, probe, pid, NULL) > 0) {
		site = nopal_sites_at(sites, 0);
		for (unsigned i = 0; i < nopal_site_arg_count(site); i++)
			if (!nopal_site_arg(site, i, &arg))
				add_argument(s, &arg, i);
	}
	nopal_sites_free(sites);
}

/* ---- of a function */

struct parameters {
	struct shown *shown;
	const char *probe;
	struct nopal_trace_options options;
};

/* Can a script read it? It may be in a register that tracers cannot see. */
static bool can_read(const struct parameters *p, const char *name)
{
	char *script;
	bool can;

	if (asprintf(&script, "%s { print(args.%s) }", p->probe, name) < 0)
		return false;
	can = !nopal_trace_dump(script, &p->options, NOPAL_DUMP_PROGRAM, NULL);
	free(script);
	return can;
}

/* "const char * name" */
static void add_parameter(const struct parameters *p, char *declaration)
{
	char *name = declaration + strlen(declaration);
	bool is_text, is_pointer, is_unsigned;

	while (name > declaration && name[-1] != ' ')
		name--;
	if (!is_plain(name) || name == declaration || !can_read(p, name))
		return;
	is_pointer = strstr(declaration, "* ");
	is_text = strstr(declaration, "char * ");
	is_unsigned = strstr(declaration, "unsigned ") || strstr(declaration, "size_t ");
	add(p->shown, name, is_text ? "str(args.%s)" : "args.%s",
	    is_text	  ? "%s=%%s"
	    : is_pointer  ? "%s=%%p"
	    : is_unsigned ? "%s=%%lu"
			  : "%s=%%ld");
}

/* A function as `nopal -lv` lists it: its name, and a line for each parameter. The first one is
 * taken. */
static int take_function(void *arg, const char *text)
{
	struct parameters *p = arg;
	char *copy = strdup(text), *rest = copy, *line;

	strsep(&rest, "\n");
	while (rest && (line = strsep(&rest, "\n")))
		add_parameter(p, line + strspn(line, " "));
	free(copy);
	return 1;
}

void shown_find(struct shown *s, const struct pair *pair, const struct run *run)
{
	struct script_text t;

	script_text_begin(&t);
	probe_word_write(&t, pair->start, run->pid_count == 1);
	if (script_text_end(&t) && pair->is_function) {
		struct parameters p = {.shown = s, .probe = t.text, .options = run->options};

		p.options.size = sizeof(p.options);
		p.options.verbose = true;
		p.options.command = NULL;
		p.options.output = NULL;
		nopal_trace_list(t.text, &p.options, take_function, &p, NULL);
	} else if (t.text) {
		find_arguments(s, t.text, run->options.pid);
	}
	script_text_free(&t);
}
