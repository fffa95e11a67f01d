/* nopal list: the probes of files, of processes, of the whole machine. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "list.h"
#include "nopal/sites.h"
#include "options.h"

#define NO_PROBES_HINT \
	"programs have probes when they are built with <sys/sdt.h> or a similar header"

struct list_options {
	pid_t pid; /* 0: none */
	bool all, verbose, json;
};

static int compare_rows(const void *a, const void *b)
{
	const struct list_row *x = a, *y = b;
	int order = strcmp(nopal_site_file(x->site), nopal_site_file(y->site));

	if (!order)
		order = strcmp(nopal_site_provider(x->site), nopal_site_provider(y->site));
	if (!order)
		order = strcmp(nopal_site_name(x->site), nopal_site_name(y->site));
	return order ? order : x->order < y->order ? -1 : 1;
}

bool list_same_probe(const struct nopal_site *a, const struct nopal_site *b)
{
	return !strcmp(nopal_site_name(a), nopal_site_name(b)) &&
	       !strcmp(nopal_site_provider(a), nopal_site_provider(b)) &&
	       !strcmp(nopal_site_file(a), nopal_site_file(b));
}

/* Print a text that the library made, and free it. NULL: out of memory, which main() reports. */
static void put_text(char *text, const char *end)
{
	if (text)
		fputs(text, stdout);
	fputs(end, stdout);
	free(text);
}

/* Untrusted bytes of a file: control bytes do not reach the terminal. */
static void put_raw(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] >= ' ' && text[i] <= '~')
			putchar(text[i]);
		else
			printf("\\x%02x", (unsigned char)text[i]);
}

static void show_args(const struct nopal_site *site)
{
	struct nopal_arg arg;

	for (unsigned i = 0; !nopal_site_arg(site, i, &arg); i++) {
		printf("    arg%u  ", i);
		put_text(nopal_site_arg_text(site, i), "");
		if (arg.kind != NOPAL_ARG_UNKNOWN && arg.problem)
			printf(" (%s)", arg.problem);
		fputs("  [", stdout);
		put_raw(arg.raw, arg.raw_len);
		fputs("]\n", stdout);
	}
	if (nopal_site_arg_count(site) || !*nopal_site_args(site) ||
	    !strcmp(nopal_site_args(site), ":")) /* as assemblers write that there are none */
		return;
	fputs("    arguments for an unknown CPU: ", stdout);
	put_raw(nopal_site_args(site), strlen(nopal_site_args(site)));
	putchar('\n');
}

/* What the program itself or a provider file says of the site, on a line of its own. */
static void show_known(char *text)
{
	if (text && *text)
		printf("    %s\n", text);
	free(text);
}

static void show_site(const struct nopal_site *site, size_t number)
{
	printf("  site %zu  0x%llx", number, (unsigned long long)nopal_site_location(site));
	if (nopal_site_offset(site) != UINT64_MAX)
		printf("  file offset 0x%llx", (unsigned long long)nopal_site_offset(site));
	if (nopal_site_semaphore(site))
		printf("  semaphore 0x%llx", (unsigned long long)nopal_site_semaphore(site));
	putchar('\n');
	if (nopal_site_problem(site))
		printf("    cannot be traced: %s\n", nopal_site_problem(site));
	show_known(nopal_site_declaration(site));
	show_known(nopal_site_description(site));
	show_known(nopal_site_note(site));
	show_args(site);
}

static void show(const struct list_row *rows, size_t count, const struct list_options *o)
{
	size_t number = 0;

	for (size_t i = 0; i < count; i++) {
		bool is_new = !i || !list_same_probe(rows[i - 1].site, rows[i].site);

		if (o->json) {
			put_text(nopal_site_json(rows[i].site), "\n");
			continue;
		}
		number = is_new ? 1 : number + 1;
		if (is_new)
			put_text(nopal_site_pattern(rows[i].site), "\n");
		if (o->verbose)
			show_site(rows[i].site, number);
	}
}

struct list_row *list_rows(const struct nopal_sites *probes, bool sorted)
{
	size_t count = nopal_sites_count(probes);
	struct list_row *rows = calloc(count + 1, sizeof(*rows));

	if (!rows)
		say_error("%s", strerror(ENOMEM));
	for (size_t i = 0; rows && i < count; i++)
		rows[i] = (struct list_row){nopal_sites_at(probes, i), i};
	if (rows && sorted)
		qsort(rows, count, sizeof(*rows), compare_rows);
	return rows;
}

/* JSON keeps the order of the notes. */
static bool show_all(const struct nopal_sites *probes, const struct list_options *o)
{
	struct list_row *rows = list_rows(probes, !o->json);

	if (rows)
		show(rows, nopal_sites_count(probes), o);
	free(rows);
	return rows;
}

/* A file without probes: an interpreter's are often in a library. */
static void say_none(struct nopal_sites *probes, const char *name)
{
	size_t count = 0;
	char *library = nopal_sites_library(probes, name, &count);
	const char *note = nopal_program_note(name);

	say_error("no probes in '%s'", name);
	if (library)
		say_hint("it is linked with '%s', which has %zu: nopal list %s", library, count,
			 library);
	else
		say_hint("%s", note ? note : NO_PROBES_HINT);
	free(library);
}

/* "postgresql:query__start", as the other commands have it: a probe of any process, unless a file
 * of that name has it. */
static bool find_provider(struct nopal_sites *probes, pid_t pid, const char *word)
{
	const char *colon = strchr(word, ':');
	struct nopal_sites *of_file = NULL;
	char *pattern = NULL;
	bool found = false;

	if (!colon || colon == word || strchr(colon + 1, ':') || strchr(word, '/') ||
	    !strncmp(word, "usdt:", 5))
		return false;
	if (!nopal_sites_new(&of_file) && nopal_sites_find(of_file, word, pid, NULL) <= 0 &&
	    asprintf(&pattern, "usdt:*:%s", word) >= 0)
		found = nopal_sites_find(probes, pattern, pid, NULL) > 0;
	nopal_sites_free(of_file);
	free(pattern);
	return found;
}

/* Find what one word names. False when this failed or found nothing. */
static bool find_one(struct nopal_sites *probes, pid_t pid, const char *name, struct nopal_diag *d)
{
	/* A file that exists is meant, even if its name looks like a pattern. */
	bool is_file = !pid && !access(name, F_OK);
	unsigned errors = nopal_diag_errors(d);
	int found;

	if (!is_file && find_provider(probes, pid, name))
		return true;
	found = is_file ? nopal_sites_file(probes, name, d)
			: nopal_sites_find(probes, name, pid, d);
	if (!found && nopal_diag_errors(d) == errors)
		say_none(probes, name);
	return found > 0;
}

static bool find_all(struct nopal_sites *probes, const struct list_options *o, int count,
		     char **names, struct nopal_diag *d)
{
	bool all = true;
	int found = 0;

	if (count) {
		for (int i = 0; i < count; i++)
			all &= find_one(probes, o->pid, names[i], d);
		return all;
	}
	found = o->all ? nopal_sites_system(probes, d) : nopal_sites_process(probes, o->pid, d);
	if (!found && o->all)
		say_error("no process has mapped a file with probes");
	else if (!found)
		say_error("process %d has not mapped a file with probes", (int)o->pid);
	if (!found)
		say_hint(NO_PROBES_HINT);
	return found > 0;
}

static int run(const struct list_options *o, int count, char **names)
{
	struct nopal_diag *d = nopal_diag_new();
	struct nopal_sites *probes = NULL;
	bool ok = d && !nopal_sites_new(&probes);

	if (ok) {
		ok = find_all(probes, o, count, names, d);
		ok &= show_all(probes, o);
		nopal_sites_problems(probes, d);
		show_messages(d);
		ok &= !nopal_diag_errors(d);
	}
	nopal_sites_free(probes);
	nopal_diag_free(d);
	return ok ? EXIT_OK : EXIT_FAILED;
}

static int run_list(const struct command *c, char **argv)
{
	struct list_options o = {0};
	int code, names = options_parse(c, argv, &o, &code);

	if (names < 0)
		return code;
	if (o.all && (o.pid || names))
		return usage_error(c, "-a cannot be combined with -p or other arguments");
	if (o.verbose && o.json)
		return usage_error(c, "-v and --json cannot be combined");
	if (!o.all && !o.pid && !names)
		return usage_error(c, "nothing to list: give a file, a pattern, -p PID or -a");
	return run(&o, names, argv + 1);
}

/* clang-format off */
#define AT(member) offsetof(struct list_options, member)
static const struct option options[] = {
	{"-p", "--pid",     "PID", take_pid,  AT(pid),     "list the files that this process has mapped; patterns refer to them"},
	{"-a", "--all",     NULL,  take_flag, AT(all),     "list the files that any process has mapped"},
	{"-v", "--verbose", NULL,  take_flag, AT(verbose), "show names and types of arguments, sites, addresses, semaphores"},
	{"-j", "--json",    NULL,  take_flag, AT(json),    "print one JSON object per line for each site"},
	{"-h", "--help",    NULL,  take_help, 0,           "print this help"},
	{0},
};
/* clang-format on */

const struct command command_list = {
	.name = "list",
	.self = "nopal list",
	.summary = "list the probes of files, processes, or the whole machine",
	.usage = "[-v | --json] FILE-OR-PATTERN...\n"
		 "[-v | --json] -p PID [PATTERN...]\n"
		 "[-v | --json] -a",
	.about = "List USDT probes, one per line, in the form that scripts use:\n"
		 "usdt:PATH:PROVIDER:NAME\n"
		 "\n"
		 "A name without a slash is searched for in $PATH and among the loader's\n"
		 "libraries.\n",
	.more = "Examples:\n"
		"  nopal list libstdc++.so.6\n"
		"  nopal list -v /usr/lib/postgresql/*/bin/postgres\n"
		"  nopal list -p $(pidof -s java) 'usdt:*:hotspot:gc*'\n"
		"  nopal list 'usdt:*:*:*start*'\n"
		"  nopal list -a --json | jq -r .provider | sort | uniq -c\n"
		"\n"
		"Exit status: 0 if everything was read and something was found, 1 otherwise, 2\n"
		"if the command line is wrong.\n",
	.options = options,
	.run = run_list,
};
