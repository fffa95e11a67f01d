/* nopal tplist: the probes of a library or process, in the form of bcc's tplist. */
#include "command.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nopal/sites.h"
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

/* "PATH PROVIDER:NAME [sema 0x...]", and with -v what is at its `count` sites. */
static void show_probe(const struct tplist *l, const struct nopal_site *const *sites, size_t count)
{
	char *path = nopal_escaped(nopal_site_file(*sites));
	char *provider = nopal_escaped(nopal_site_provider(*sites));
	char *name = nopal_escaped(nopal_site_name(*sites));

	if (path && provider && name && !l->verbose)
		printf("%s %s:%s\n", path, provider, name);
	else if (path && provider && name)
		printf("%s:%s [sema 0x%llx]\n  %zu location(s)\n  %u argument(s)\n", provider, name,
		       (unsigned long long)nopal_site_semaphore(*sites), count,
		       nopal_site_arg_count(*sites));
	for (size_t i = 0; l->verbose > 1 && i < count; i++) {
		printf("  location #%zu %s 0x%llx\n", i + 1, path ? path : "",
		       (unsigned long long)nopal_site_location(sites[i]));
		for (unsigned n = 0; n < nopal_site_arg_count(sites[i]); n++) {
			char *text = nopal_site_arg_text(sites[i], n);

			printf("    argument #%u %s\n", n + 1, text ? text : "");
			free(text);
		}
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

static int run(const struct tplist *l, const char *filter)
{
	struct nopal_diag *d = nopal_diag_new();
	struct nopal_sites *probes = NULL;
	bool ok = d && !nopal_sites_new(&probes);

	if (ok) {
		int found = l->library ? nopal_sites_file(probes, l->library, d)
				       : nopal_sites_process(probes, l->pid, d);

		ok = found >= 0 && show(probes, l, filter);
		show_messages(d);
		if (!ok && !nopal_diag_errors(d))
			say_error("no probe matches");
	}
	nopal_sites_free(probes);
	nopal_diag_free(d);
	return ok ? EXIT_OK : EXIT_FAILED;
}

static int run_tplist(const struct command *c, char **argv)
{
	struct tplist l = {.pid = 0};
	int code, words = options_parse(c, argv, &l, &code);

	if (words < 0)
		return code;
	if (words > 1)
		return usage_error(c, "one filter, not %d", words);
	if (!l.pid == !l.library)
		return usage_error(
			c, "give -p PID or -l LIBRARY; tracepoints of the kernel are listed "
			   "by nopal -l 'tracepoint:*:*'");
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
	.usage = "{-p PID | -l LIBRARY} [-v]... [FILTER]",
	.about = "List USDT probes as bcc's tplist does; FILTER is a pattern of PROVIDER:NAME.\n",
	.more = "Example:\n  nopal tplist -l c 'libc:mem*'\n",
	.options = options,
	.run = run_tplist,
};
