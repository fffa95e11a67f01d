/* nopal tplist: the probes of a library or process, in the form of bcc's tplist. */
#include "command.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nopal/sites.h"
#include "nopal/trace.h"
#include "options.h"

struct tplist {
	pid_t pid;
	const char *library;
	unsigned verbose;
};

static const char *take_more(void *at, const struct option *o, const char *value)
{
	(void)o;
	(void)value;
	++*(unsigned *)at;
	return NULL;
}

static int compare_sites(const void *a, const void *b)
{
	const struct nopal_site *x = *(const struct nopal_site *const *)a;
	const struct nopal_site *y = *(const struct nopal_site *const *)b;
	int order = strcmp(nopal_site_file(x), nopal_site_file(y));

	if (!order)
		order = strcmp(nopal_site_provider(x), nopal_site_provider(y));
	return order ? order : strcmp(nopal_site_name(x), nopal_site_name(y));
}

/* x86-64's registers without their size, as bcc has them: "ax" of "rax" and "eax", "r8" of "r8d".
 */
static const char *bare_register(const char *name, char out[8])
{
	static const char *const words[] = {"ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip"};
	size_t len = strlen(name);

	for (size_t i = 0; len < 4 && i < sizeof(words) / sizeof(*words); i++)
		if (strstr(name, words[i]) ||
		    (len == 2 && name[0] == words[i][0] && name[1] == 'l' && i < 4) ||
		    (len == 3 && !strncmp(name, words[i], 2) && name[2] == 'l'))
			return words[i];
	snprintf(out, 8, "%s", name);
	if (out[0] == 'r' && out[1] >= '0' && out[1] <= '9')
		out[1 + strspn(out + 1, "0123456789")] = '\0';
	return out;
}

/* "ax", "*(bp - 8)", "14" */
static void show_place(const struct nopal_arg *a)
{
	char base[8], index[8];

	if (a->kind == NOPAL_ARG_CONSTANT) {
		printf("%lld", (long long)a->value);
	} else if (a->kind == NOPAL_ARG_REGISTER) {
		fputs(bare_register(a->reg, base), stdout);
	} else {
		printf("*(%s %c %llu", a->base ? bare_register(a->base, base) : "0",
		       a->value < 0 ? '-' : '+',
		       a->value < 0 ? -(unsigned long long)a->value : (unsigned long long)a->value);
		if (a->index)
			printf(" + %s", bare_register(a->index, index));
		if (a->index && a->scale > 1)
			printf(" * %u", a->scale);
		putchar(')');
	}
}

static void show_argument(const struct nopal_site *site, unsigned n)
{
	struct nopal_arg a;
	char *text;

	printf("    argument #%u ", n + 1);
	if (!nopal_site_arg(site, n, &a) && a.kind != NOPAL_ARG_UNKNOWN && !a.is_float &&
	    !a.shift) {
		printf("%u %s bytes @ ", a.size, a.is_signed ? "signed  " : "unsigned");
		show_place(&a);
	} else {
		text = nopal_site_arg_text(site, n);
		fputs(text ? text : "", stdout);
		free(text);
	}
	putchar('\n');
}

/* "PATH PROVIDER:NAME", or with -v what is at its `count` sites. */
static void show_probe(const struct tplist *l, const struct nopal_site *const *sites, size_t count)
{
	char *path = nopal_escaped(nopal_site_file(*sites));
	char *provider = nopal_escaped(nopal_site_provider(*sites));
	char *name = nopal_escaped(nopal_site_name(*sites));

	if (path && provider && name && !l->verbose)
		printf("%s %s:%s\n", path, provider, name);
	else if (path && provider && name)
		printf("%s:%s [sema 0x%llx]\n", provider, name,
		       (unsigned long long)nopal_site_semaphore(*sites));
	if (l->verbose == 1)
		printf("  %zu location(s)\n  %u argument(s)\n", count,
		       nopal_site_arg_count(*sites));
	for (size_t i = 0; l->verbose > 1 && i < count; i++) {
		printf("  location #%zu %s 0x%llx\n", i + 1, path ? path : "",
		       (unsigned long long)nopal_site_location(sites[i]));
		for (unsigned n = 0; n < nopal_site_arg_count(sites[i]); n++)
			show_argument(sites[i], n);
	}
	free(path);
	free(provider);
	free(name);
}

static bool is_wanted(const struct nopal_site *site, const char *filter)
{
	char *text = NULL;
	bool wanted = true;

	if (filter &&
	    asprintf(&text, "%s:%s", nopal_site_provider(site), nopal_site_name(site)) >= 0)
		wanted = !fnmatch(filter, text, 0);
	free(text);
	return wanted;
}

static bool show(const struct nopal_sites *probes, const struct tplist *l, const char *filter)
{
	size_t count = nopal_sites_count(probes), kept = 0, same;
	const struct nopal_site **list = calloc(count + 1, sizeof(*list));

	for (size_t i = 0; list && i < count; i++)
		if (is_wanted(nopal_sites_at(probes, i), filter))
			list[kept++] = nopal_sites_at(probes, i);
	if (kept)
		qsort(list, kept, sizeof(*list), compare_sites);
	for (size_t i = 0; i < kept; i += same) {
		for (same = 1; i + same < kept && !compare_sites(&list[i], &list[i + same]);)
			same++;
		show_probe(l, list + i, same);
	}
	free(list);
	return kept;
}

/* A library as the process sees it. */
static int find_in_process(struct nopal_sites *probes, const struct tplist *l, struct nopal_diag *d)
{
	char *pattern = NULL;
	int found = asprintf(&pattern, "usdt:%s:*:*", l->library) < 0
			    ? -ENOMEM
			    : nopal_sites_find(probes, pattern, l->pid, d);

	free(pattern);
	return found;
}

/* As in bcc, a filter is about the whole of PROVIDER:NAME, or SUBSYSTEM:EVENT. */
static void say_none(const char *filter)
{
	if (!filter) {
		say_error("no probe matches");
		return;
	}
	say_error("no probe matches '%s'", filter);
	if (!strchr(filter, ':'))
		fprintf(stderr, "hint: it is compared with PROVIDER:NAME: write '*:%s'\n", filter);
}

static int run(const struct tplist *l, const char *filter)
{
	struct nopal_diag *d = nopal_diag_new();
	struct nopal_sites *probes = NULL;
	bool ok = d && !nopal_sites_new(&probes);

	if (ok) {
		int found = l->library && l->pid ? find_in_process(probes, l, d)
			    : l->library	 ? nopal_sites_file(probes, l->library, d)
						 : nopal_sites_process(probes, l->pid, d);

		ok = found >= 0 && show(probes, l, filter);
		show_messages(d);
		if (!ok && !nopal_diag_errors(d))
			say_none(filter);
	}
	nopal_sites_free(probes);
	nopal_diag_free(d);
	return ok ? EXIT_OK : EXIT_FAILED;
}

/* ---- tracepoints of the kernel */

struct tracepoints {
	const char *filter;
	unsigned count;
};

/* "tracepoint:sched:sched_switch", and with -v its fields: "    char prev_comm[16]" */
static int show_tracepoint(void *arg, const char *text)
{
	struct tracepoints *t = arg;
	const char *colon = strchr(text, ':'), *rest = strchr(text, '\n');
	char *name =
		colon ? strndup(colon + 1, rest ? (size_t)(rest - colon) - 1 : SIZE_MAX / 2) : NULL;

	if (name && (!t->filter || !fnmatch(t->filter, name, 0))) {
		puts(name);
		t->count++;
		while (rest && *++rest) {
			int len = (int)strcspn(rest, "\n");

			printf("%.*s;\n", len, rest);
			rest = rest[len] ? rest + len : NULL;
		}
	}
	free(name);
	return 0;
}

static int list_tracepoints(const struct tplist *l, const char *filter)
{
	const struct nopal_trace_options options = {.size = sizeof(options),
						    .verbose = l->verbose > 0};
	struct tracepoints t = {.filter = filter};
	struct nopal_diag *d = nopal_diag_new();
	int err = nopal_trace_list("tracepoint:*:*", &options, show_tracepoint, &t, d);

	if (err < 0 && d)
		show_messages(d);
	else if (!t.count)
		say_none(filter);
	nopal_diag_free(d);
	return t.count ? EXIT_OK : EXIT_FAILED;
}

static int run_tplist(const struct command *c, char **argv)
{
	struct tplist l = {.pid = 0};
	int code, words = options_parse(c, argv, &l, &code);

	if (words < 0)
		return code;
	if (words > 1)
		return usage_error(c, "one filter, not %d", words);
	if (!l.pid && !l.library)
		return list_tracepoints(&l, words ? argv[1] : NULL);
	return run(&l, words ? argv[1] : NULL);
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
