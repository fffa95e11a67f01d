/* nopal complete: what the last word of a command line may become, for the completion of shells.
 * A line of output is a candidate, and after a tab what it is. Commands, options and their values
 * come from the tables that parse them; probes from the file that is typed so far. Nothing is
 * printed where a file name is wanted: shells complete these themselves. */
#include "command.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nopal/diag.h"
#include "nopal/sites.h"
#include "options.h"

/* The beginnings of a probe; the manual of the language describes them. */
static const char *const probe_types[] = {
	"usdt:", "uprobe:", "uretprobe:", "tracepoint:", "interval:", "profile:",
};

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* A candidate that `typed` begins. Names of files and processes may hold any byte. */
static void offer(const char *typed, const char *candidate, const char *about)
{
	char *safe = starts(candidate, typed) ? nopal_escaped(about ? about : "") : NULL;

	if (safe && !strpbrk(candidate, "\n\t"))
		printf("%s%s%.*s\n", candidate, *safe ? "\t" : "", (int)strcspn(safe, ";:("), safe);
	free(safe);
}

static void offer_commands(const char *typed)
{
	for (size_t i = 0; nopal_commands[i]; i++)
		if (nopal_commands[i]->summary)
			offer(typed, nopal_commands[i]->name, nopal_commands[i]->summary);
}

static void offer_option(const struct option *o, const char *typed)
{
	if (o->word)
		offer(typed, o->word, o->help);
	if (o->letter && !starts(typed, "--"))
		offer(typed, o->letter, o->help);
}

/* The rows that --help shows. */
static void offer_options(const struct command *c, const char *typed)
{
	const struct option *const tables[] = {c->options, c->shared};

	for (size_t i = 0; i < 2; i++)
		for (const struct option *o = tables[i]; o && o->take; o++)
			if (o->help)
				offer_option(o, typed);
}

/* The processes whose files this user may read. */
static void offer_pids(const char *typed)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		char path[64], name[64] = "";
		FILE *comm;

		if (!isdigit((unsigned char)entry->d_name[0]) || strlen(entry->d_name) > 10)
			continue;
		snprintf(path, sizeof(path), "/proc/%.10s/exe", entry->d_name);
		if (!starts(entry->d_name, typed) || access(path, R_OK))
			continue;
		snprintf(path, sizeof(path), "/proc/%.10s/comm", entry->d_name);
		comm = fopen(path, "re");
		if (comm && fgets(name, sizeof(name), comm))
			name[strcspn(name, "\n")] = '\0';
		if (comm)
			fclose(comm);
		offer(typed, entry->d_name, name);
	}
	if (proc)
		closedir(proc);
}

/* "text|json"; in front of each stands `before`: "--dump=" or nothing. */
static void offer_choices(const struct option *o, const char *before, const char *typed)
{
	char candidate[128];

	for (const char *at = o->value; *at; at += strcspn(at, "|"), at += *at == '|') {
		snprintf(candidate, sizeof(candidate), "%s%.*s", before, (int)strcspn(at, "|"), at);
		offer(typed, candidate, NULL);
	}
}

static void offer_value(const struct option *o, const char *before, const char *typed)
{
	if (o->take == take_pid)
		offer_pids(typed);
	else if (strchr(o->value, '|'))
		offer_choices(o, before, typed);
}

/* ---- probes ---------------------------------------------------------------------------------- */

/* A probe of a file is offered as it was begun: with the file as it was typed. */
static void offer_sites(const char *typed, const char *before, const char *file)
{
	struct nopal_diag *d = nopal_diag_new();
	struct nopal_sites *sites = NULL;

	if (!d || nopal_sites_new(&sites) || nopal_sites_file(sites, file, d) < 0)
		goto out;
	for (size_t i = 0; i < nopal_sites_count(sites); i++) {
		const struct nopal_site *site = nopal_sites_at(sites, i);
		char *text = NULL;

		if (asprintf(&text, "%s%s:%s:%s", before, file, nopal_site_provider(site),
			     nopal_site_name(site)) < 0)
			break;
		offer(typed, text, NULL);
		free(text);
	}
out:
	nopal_sites_free(sites);
	nopal_diag_free(d);
}

static bool is_folder(const char *folder, const char *name)
{
	struct stat st;
	char *path = NULL;
	bool is = asprintf(&path, "%s%s", folder, name) >= 0 && !stat(path, &st) &&
		  S_ISDIR(st.st_mode);

	free(path);
	return is;
}

/* The files that a path in the middle of a probe may become; those are followed by ":". */
static void offer_files(const char *typed, const char *before, const char *path)
{
	const char *slash = strrchr(path, '/');
	int len = slash ? (int)(slash + 1 - path) : 0;
	char *folder = strndup(path, (size_t)len);
	DIR *dir = folder ? opendir(len ? folder : ".") : NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *text = NULL;

		if (entry->d_name[0] == '.' && (!slash || slash[1] != '.'))
			continue;
		if (asprintf(&text, "%s%s%s%s", before, folder, entry->d_name,
			     is_folder(folder, entry->d_name) ? "/" : ":") >= 0)
			offer(typed, text, NULL);
		free(text);
	}
	if (dir)
		closedir(dir);
	free(folder);
}

/* word = [ "usdt:" ] FILE ":" PROBE. A bare file name is left to the shell. */
static void offer_probes(const char *typed)
{
	const char *before = starts(typed, "usdt:") ? "usdt:" : "";
	const char *path = typed + strlen(before), *colon = strchr(path, ':');
	char *file = colon ? strndup(path, (size_t)(colon - path)) : NULL;

	if (file && *file && !access(file, R_OK))
		offer_sites(typed, before, file);
	else if (*before && !colon)
		offer_files(typed, before, path);
	else if (*typed && !colon && !strchr(typed, '/'))
		for (size_t i = 0; i < sizeof(probe_types) / sizeof(probe_types[0]); i++)
			offer(typed, probe_types[i], NULL);
	free(file);
}

/* ---- the last word --------------------------------------------------------------------------- */

/* An option of that name which has a value. */
static bool takes_value(const struct option *o, const char *word)
{
	return o->value &&
	       ((o->word && !strcmp(o->word, word)) || (o->letter && !strcmp(o->letter, word)));
}

/* The option whose value comes after `word`; NULL: none. */
static const struct option *option_before(const struct command *c, const char *word, size_t len)
{
	char name[64];

	if (len >= sizeof(name))
		return NULL;
	memcpy(name, word, len);
	name[len] = '\0';
	return options_find(c, name, takes_value);
}

static void complete(const struct command *c, const char *previous, const char *typed)
{
	const char *equals = starts(typed, "--") ? strchr(typed, '=') : NULL;
	const struct option *o = option_before(c, previous, strlen(previous));
	char before[64];

	if (o) {
		offer_value(o, "", typed);
	} else if (equals) {
		o = option_before(c, typed, (size_t)(equals - typed));
		snprintf(before, sizeof(before), "%.*s", (int)(equals + 1 - typed), typed);
		if (o)
			offer_value(o, before, typed);
	} else if (*typed == '-') {
		offer_options(c, typed);
	} else {
		offer_probes(typed);
	}
}

/* Words of the command line after `nopal`; the last one is being typed. */
static int run_complete(const struct command *self, char **argv)
{
	char **words = argv[1] && !strcmp(argv[1], "--") ? argv + 2 : argv + 1;
	const struct command *c = NULL;
	size_t count = 0;

	(void)self;
	while (words[count])
		count++;
	if (count > 1)
		c = find_command(words[0]);
	else
		offer_commands(count ? words[0] : "");
	if (count)
		complete(c ? c : &command_script, count > 1 ? words[count - 2] : "",
			 words[count - 1]);
	return EXIT_OK;
}

/* Not in nopal --help: shells call it. */
const struct command command_complete = {
	.name = "complete",
	.self = "nopal complete",
	.usage = "-- [WORD]...",
	.about = "Print what the last WORD of a command line may become.\n",
	.run = run_complete,
};
