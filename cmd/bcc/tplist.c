/* nopal tplist: the probes of a library or process, in the form of bcc's tplist. */
#include "command.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"
#include "nopal/sites.h"
#include "nopal/trace.h"
#include "options.h"

struct tplist {
	pid_t pid;
	const char *library;
	unsigned verbose;
	const char *filter; /* of PROVIDER:NAME, or CATEGORY:EVENT; NULL: none */
	unsigned shown;
};

/* -v, -vv */
static const char *take_more(void *at, const struct option *o, const char *value)
{
	(void)o;
	(void)value;
	++*(unsigned *)at;
	return NULL;
}

/* ---- arguments */

/* x86-64's registers have no size in bcc's output: "ax" of "rax", "eax" and "al", "r8" of "r8d". */
static void put_register(const char *name)
{
	static const char *const words[] = {"ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip"};
	size_t len = strlen(name), digits = strspn(name + 1, "0123456789");

	for (size_t i = 0; len < 4 && i < sizeof(words) / sizeof(*words); i++) {
		bool is_byte = len == 2 ? i < 4 && *name == *words[i] : !strncmp(name, words[i], 2);

		if (strstr(name, words[i]) || (is_byte && name[len - 1] == 'l'))
			name = words[i];
	}
	printf("%.*s", *name == 'r' && digits ? (int)digits + 1 : -1, name);
}

/* "ax", "*(bp - 8)", "14" */
static void put_place(const struct nopal_arg *a)
{
	unsigned long long distance = (unsigned long long)a->value;

	if (a->kind == NOPAL_ARG_CONSTANT) {
		printf("%lld", (long long)a->value);
	} else if (a->kind == NOPAL_ARG_REGISTER) {
		put_register(a->reg);
	} else {
		fputs("*(", stdout);
		put_register(a->base ? a->base : "0");
		printf(" %c %llu", a->value < 0 ? '-' : '+', a->value < 0 ? -distance : distance);
		if (a->index) {
			fputs(" + ", stdout);
			put_register(a->index);
		}
		if (a->index && a->scale > 1)
			printf(" * %u", a->scale);
		putchar(')');
	}
}

static void show_argument(const struct nopal_site *site, unsigned n)
{
	struct nopal_arg a;
	char *text = NULL;

	printf("    argument #%u ", n + 1);
	if (!nopal_site_arg(site, n, &a) && a.kind != NOPAL_ARG_UNKNOWN && !a.is_float &&
	    !a.shift) {
		printf("%u %s bytes @ ", a.size, a.is_signed ? "signed  " : "unsigned");
		put_place(&a);
	} else {
		text = nopal_site_arg_text(site, n);
	}
	printf("%s\n", text ? text : "");
	free(text);
}

/* ---- probes */

/* As in bcc, a filter is about the whole name. */
static bool is_wanted(struct tplist *l, const char *name)
{
	bool wanted = !l->filter || !fnmatch(l->filter, name, 0);

	l->shown += wanted;
	return wanted;
}

static void show_location(const struct nopal_site *site, size_t number, const char *path)
{
	printf("  location #%zu %s 0x%llx\n", number, path,
	       (unsigned long long)nopal_site_location(site));
	for (unsigned n = 0; n < nopal_site_arg_count(site); n++)
		show_argument(site, n);
}

/* "PATH PROVIDER:NAME", or with -v what is at its `count` sites. */
static void show_probe(struct tplist *l, const struct list_row *rows, size_t count)
{
	const struct nopal_site *first = rows->site;
	char *whole = NULL, *name, *path = nopal_escaped(nopal_site_file(first));

	if (asprintf(&whole, "%s:%s", nopal_site_provider(first), nopal_site_name(first)) < 0)
		whole = NULL;
	name = whole && is_wanted(l, whole) ? nopal_escaped(whole) : NULL;
	if (name && path && !l->verbose)
		printf("%s %s\n", path, name);
	else if (name)
		printf("%s [sema 0x%llx]\n", name, (unsigned long long)nopal_site_semaphore(first));
	if (name && l->verbose == 1)
		printf("  %zu location(s)\n  %u argument(s)\n", count, nopal_site_arg_count(first));
	for (size_t i = 0; name && path && l->verbose > 1 && i < count; i++)
		show_location(rows[i].site, i + 1, path);
	free(whole);
	free(name);
	free(path);
}

static void show(struct tplist *l, const struct nopal_sites *probes)
{
	size_t count = nopal_sites_count(probes), first = 0;
	struct list_row *rows = list_rows(probes, true);

	for (size_t i = 1; rows && i <= count; i++) {
		if (i < count && list_same_probe(rows[first].site, rows[i].site))
			continue;
		show_probe(l, rows + first, i - first);
		first = i;
	}
	free(rows);
}

static void find(struct tplist *l, struct nopal_diag *d)
{
	struct nopal_sites *probes = NULL;
	char *pattern = NULL;

	if (!nopal_sites_new(&probes) &&
	    asprintf(&pattern, l->library ? "usdt:\"%s\":*:*" : "usdt:*:*:*", l->library) >= 0)
		nopal_sites_find(probes, pattern, l->pid, d);
	if (probes)
		show(l, probes);
	nopal_sites_free(probes);
	free(pattern);
}

/* ---- tracepoints of the kernel */

/* "tracepoint:sched:sched_switch", and with -v its fields: "    char prev_comm[16]" */
static int show_tracepoint(void *arg, const char *text)
{
	char *name = strdup(text + strlen("tracepoint:")), *rest = name;
	const char *line = strsep(&rest, "\n");

	if (name && is_wanted(arg, line))
		puts(line);
	else
		rest = NULL;
	while ((line = strsep(&rest, "\n")))
		printf("%s;\n", line);
	free(name);
	return 0;
}

static int run(struct tplist *l, struct nopal_diag *d)
{
	const struct nopal_trace_options options = {.size = sizeof(options),
						    .verbose = l->verbose > 0};

	if (l->pid || l->library)
		find(l, d);
	else
		nopal_trace_list("tracepoint:*:*", &options, show_tracepoint, l, d);
	show_messages(d);
	if (l->shown)
		return EXIT_OK;
	if (!nopal_diag_errors(d))
		say_error(l->filter ? "no probe matches '%s'" : "no probe matches", l->filter);
	if (!nopal_diag_errors(d) && l->filter && !strchr(l->filter, ':'))
		say_hint("it is compared with PROVIDER:NAME: write '*:%s'", l->filter);
	return EXIT_FAILED;
}

static int run_tplist(const struct command *c, char **argv)
{
	struct tplist l = {.pid = 0};
	struct nopal_diag *d;
	int code, words = options_parse(c, argv, &l, &code);

	if (words < 0)
		return code;
	if (words > 1)
		return usage_error(c, "one filter, not %d", words);
	l.filter = words ? argv[1] : NULL;
	d = nopal_diag_new();
	code = d ? run(&l, d) : EXIT_FAILED;
	nopal_diag_free(d);
	return code;
}

/* clang-format off */
#define AT(member) offsetof(struct tplist, member)
static const struct option options[] = {
	{"-p", "--pid",  "PID",     take_pid,  AT(pid),     "list the probes of what this process has mapped"},
	{"-l", "--lib",  "LIBRARY", take_text, AT(library), "list the probes of this library or program"},
	{"-v", NULL,     NULL,      take_more, AT(verbose), "show semaphores and numbers of sites and arguments; -vv: each of them"},
	{"-h", "--help", NULL,      take_help, 0,           "print this help"},
	{0},
};
/* clang-format on */

const struct command command_tplist = {
	.name = "tplist",
	.self = "nopal tplist",
	.summary = "list probes, as bcc's tplist (see also list)",
	.usage = "[-p PID] [-l LIBRARY] [-v]... [FILTER]",
	.about = "List USDT probes, or without -p and -l tracepoints of the kernel, as bcc's "
		 "tplist\n"
		 "does; FILTER is a pattern of PROVIDER:NAME.\n",
	.more = "Example:\n  nopal tplist -l c 'libc:mem*'\n",
	.options = options,
	.run = run_tplist,
};
