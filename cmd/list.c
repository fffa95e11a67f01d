/* nopal list: which probes are in a file, a process, the machine. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "nopal/sites.h"

static const char usage[] =
	"usage: nopal list [-v | --json] FILE-OR-PATTERN...\n"
	"       nopal list [-v | --json] -p PID [PATTERN...]\n"
	"       nopal list [-v | --json] -a\n"
	"\n"
	"List USDT probes, one a line, as a script takes them: "
	"usdt:PATH:PROVIDER:NAME\n"
	"\n"
	"  -p, --pid PID   images that the process has mapped; patterns are looked "
	"up in it\n"
	"  -a, --all       images that any process has mapped\n"
	"  -v, --verbose   names and types of arguments, sites, addresses, semaphores\n"
	"  -j, --json      one JSON object a line for each site\n"
	"  -h, --help      this text\n"
	"\n"
	"A name without a slash is looked up in $PATH and among the loader's "
	"libraries.\n"
	"\n"
	"examples:\n"
	"  nopal list libstdc++.so.6\n"
	"  nopal list -v /usr/lib/postgresql/*/bin/postgres\n"
	"  nopal list -p $(pidof -s java) 'usdt:*:hotspot:gc*'\n"
	"  nopal list 'usdt:*:*:*start*'\n"
	"  nopal list -a --json | jq -r .provider | sort | uniq -c\n"
	"\n"
	"exit status: 0 all was read and something was found; 1 not so; 2 wrong "
	"usage\n";

#define NO_PROBES_HINT "hint: programs have them when they are built with <sys/sdt.h> or the like"

struct list_options {
	pid_t pid; /* 0: none */
	bool all, verbose, json;
};

/* A site and the text it is sorted and shown by. */
struct row {
	const struct nopal_site *site;
	size_t order; /* of finding */
};

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = strcmp(nopal_site_file(x->site), nopal_site_file(y->site));

	if (!order)
		order = strcmp(nopal_site_provider(x->site), nopal_site_provider(y->site));
	if (!order)
		order = strcmp(nopal_site_name(x->site), nopal_site_name(y->site));
	return order ? order : x->order < y->order ? -1 : 1;
}

static bool same_probe(const struct nopal_site *a, const struct nopal_site *b)
{
	return !strcmp(nopal_site_name(a), nopal_site_name(b)) &&
	       !strcmp(nopal_site_provider(a), nopal_site_provider(b)) &&
	       !strcmp(nopal_site_file(a), nopal_site_file(b));
}

/* Print a text of the library's and free it. NULL is no memory, which main() tells. */
static void put_text(char *text, const char *end)
{
	if (text)
		fputs(text, stdout);
	fputs(end, stdout);
	free(text);
}

/* Text of a stranger's file: control bytes do not reach the terminal. */
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
	if (nopal_site_arg_count(site) || !*nopal_site_args(site))
		return;
	fputs("    arguments of a machine that is not known: ", stdout);
	put_raw(nopal_site_args(site), strlen(nopal_site_args(site)));
	putchar('\n');
}

/* What the program itself or a provider file tells: a line of its own, if anything. */
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
	show_args(site);
}

static void show(const struct row *rows, size_t count, const struct list_options *o)
{
	size_t number = 0;

	for (size_t i = 0; i < count; i++) {
		bool is_new = !i || !same_probe(rows[i - 1].site, rows[i].site);

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

/* JSON keeps the order of the notes; text is sorted, so that the sites of a
 * probe stand together. */
static bool show_all(const struct nopal_sites *probes, const struct list_options *o)
{
	size_t count = nopal_sites_count(probes);
	struct row *rows = calloc(count + 1, sizeof(*rows));

	if (!rows) {
		say_error("%s", strerror(ENOMEM));
		return false;
	}
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct row){nopal_sites_at(probes, i), i};
	if (!o->json)
		qsort(rows, count, sizeof(*rows), compare_rows);
	show(rows, count, o);
	free(rows);
	return true;
}

/* What one argument names. False when it failed or found nothing. */
static bool find_one(struct nopal_sites *probes, pid_t pid, const char *name, struct nopal_diag *d)
{
	/* A file that is there is meant, whatever is in its name. */
	bool is_file = !pid && !access(name, F_OK);
	unsigned errors = nopal_diag_errors(d);
	int found = is_file ? nopal_sites_file(probes, name, d)
			    : nopal_sites_find(probes, name, pid, d);

	if (!found && nopal_diag_errors(d) == errors)
		say_error("no probes in '%s'\n" NO_PROBES_HINT, name);
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
		say_error("no process has mapped a file with probes\n" NO_PROBES_HINT);
	else if (!found)
		say_error("process %d has mapped no file with probes\n" NO_PROBES_HINT,
			  (int)o->pid);
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

static int check_usage(const struct list_options *o, int names)
{
	if (o->all && (o->pid || names))
		return usage_error("list", "-a stands alone");
	if (o->verbose && o->json)
		return usage_error("list", "-v and --json exclude each other");
	if (!o->all && !o->pid && !names)
		return usage_error("list", "nothing to list: give a file, a pattern, -p PID or -a");
	return EXIT_OK;
}

int cmd_list(int argc, char **argv)
{
	static const struct option options[] = {
		{"pid", required_argument, NULL, 'p'}, {"all", no_argument, NULL, 'a'},
		{"verbose", no_argument, NULL, 'v'},   {"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},      {0},
	};
	struct list_options o = {0};
	long pid;
	int c;

	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc, argv, ":p:avjh", options, NULL)) != -1)
		switch (c) {
		case 'p':
			if (!parse_number(optarg, 1, &pid) || pid > INT_MAX)
				return usage_error("list", "'%s' is no process id", optarg);
			o.pid = (pid_t)pid;
			break;
		case 'a': o.all = true; break;
		case 'v': o.verbose = true; break;
		case 'j': o.json = true; break;
		case 'h': fputs(usage, stdout); return EXIT_OK;
		default: return unknown_option("list", c, argv[optind - 1]);
		}
	c = check_usage(&o, argc - optind);
	return c ? c : run(&o, argc - optind, argv + optind);
}
