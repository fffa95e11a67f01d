/* Finding pairs of probes by the names that authors give them. */
#include "pair.h"

#include <stdlib.h>
#include <string.h>

#include "nopal/diag.h"
#include "nopal/sites.h"
#include "probe_word.h"
#include "words.h"

/* clang-format off */
static const char *const separators[] = {"__", "-", "_", ""};
static const char *const ends[][2] = {
	{"start", "done"}, {"start", "end"},    {"start", "stop"},  {"start", "finish"},
	{"entry", "return"}, {"entry", "exit"}, {"begin", "end"},   {"begin", "done"}, {"enter", "entered"},
	{"enter", "exit"}, {"enter", "leave"},  {"enter", "return"},
};
/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Searching in the probes of a file, or of all programs. */
struct hunt {
	struct nopal_sites *sites;
	const char *wanted; /* "query"; "": any */
	char *start, *done; /* names of the pair; owned */
	char *others;	    /* "query, sort": pairs that were found, for the message */
	size_t found;	    /* pairs with different names */
	char *related;	    /* probes whose names begin as what is wanted does */
	unsigned related_count;
};

void pair_free(struct pair *p)
{
	free(p->own_start);
	free(p->own_done);
	*p = (struct pair){.start = NULL};
}

static bool has_probe(const struct hunt *h, const char *provider, const char *name)
{
	for (size_t i = 0; i < nopal_sites_count(h->sites); i++) {
		const struct nopal_site *s = nopal_sites_at(h->sites, i);

		if (!strcmp(nopal_site_provider(s), provider) && !strcmp(nopal_site_name(s), name))
			return true;
	}
	return false;
}

/* "query" of "query__start" and "__start"; NULL: it ends otherwise. */
static char *stem(const char *name, const char *separator, const char *end)
{
	size_t len = strlen(name), tail = strlen(separator) + strlen(end);

	if (len < tail || strncmp(name + len - tail, separator, strlen(separator)) ||
	    strcmp(name + len - strlen(end), end))
		return NULL;
	return strndup(name, len - tail);
}

/* Add to "query, sort", unless there are too many. */
static void list_name(char **list, const char *name)
{
	char *longer;

	if ((*list && strlen(*list) > 400) ||
	    asprintf(&longer, "%s%s%s", *list ? *list : "", *list ? ", " : "", name) < 0)
		return;
	free(*list);
	*list = longer;
}

/* Keep a pair that is wanted, and the names of the first few others. */
static void take_pair(struct hunt *h, const char *base, const char *start, char *done)
{
	bool is_it = !*h->wanted || !strcmp(h->wanted, base) || !strcmp(h->wanted, start);

	if (h->start && !strcmp(h->start, start)) {
		free(done);
		return;
	}
	h->found += is_it;
	if (is_it && !h->start) {
		h->start = strdup(start);
		h->done = done;
	} else {
		free(done);
	}
	list_name(&h->others, *base ? base : start);
}

/* "transaction__start" is wanted: "transaction__commit" may be its end. */
static void take_related(struct hunt *h, const char *name)
{
	const char *end = strstr(h->wanted, "__");
	size_t len = end ? (size_t)(end - h->wanted) : strlen(h->wanted);

	if (!len || strncmp(name, h->wanted, len) != 0)
		return;
	list_name(&h->related, name);
	h->related_count++;
}

/* The pair that this probe starts, if any. */
static void look_at(struct hunt *h, const struct nopal_site *s)
{
	const char *name = nopal_site_name(s);
	bool found = false;

	for (size_t e = 0; !found && e < COUNT(ends) * COUNT(separators); e++) {
		const char *separator = separators[e / COUNT(ends)];
		const char *const *end = ends[e % COUNT(ends)];
		char *base = stem(name, separator, end[0]), *done = NULL;

		if (base && asprintf(&done, "%s%s%s", base, separator, end[1]) < 0)
			done = NULL;
		found = done && has_probe(h, nopal_site_provider(s), done);
		if (found)
			take_pair(h, base, name, done);
		else
			free(done);
		free(base);
	}
}

static bool is_new(const struct hunt *h, size_t index)
{
	const char *name = nopal_site_name(nopal_sites_at(h->sites, index));

	for (size_t i = 0; i < index; i++)
		if (!strcmp(nopal_site_name(nopal_sites_at(h->sites, i)), name))
			return false;
	return true;
}

static int not_one(const struct command *c, const struct hunt *h, const char *word,
		   const struct run *run)
{
	if (h->found > 1)
		return usage_error(c, "'%s' has several pairs of probes: choose one of %s", word,
				   h->others);
	if (h->related_count > 1)
		return usage_error(c,
				   "no pair of probes is called '%s': write START DONE, two of %s",
				   h->wanted, h->related);
	if (h->others)
		return usage_error(c, "no pair of probes is called '%s'; found: %s", h->wanted,
				   h->others);
	if (run->options.command)
		return usage_error(c, "the command's file and its libraries have no such pair of "
				      "probes: write FILE:NAME, or START DONE");
	return usage_error(
		c, "no pair of probes in '%s', such as x__start and x__done: write START DONE",
		word);
}

/* The pattern up to its last part: "usdt:*:postgresql:" and "query" of "postgresql:query". */
static char *prefix_of(const char *word, const struct run *run, const char **name)
{
	const char *colon = strrchr(word, ':');
	bool is_file = !colon || strchr(colon, '/') || probe_word_file(word) == strlen(word);
	struct script_text t;
	char *some = NULL, *prefix = NULL;

	*name = is_file ? "" : colon + 1;
	if (!strcmp(*name, "*"))
		*name = "";
	if (asprintf(&some, "%.*s%s", (int)(is_file ? strlen(word) : (size_t)(colon - word)), word,
		     is_file ? "" : ":*") < 0)
		return NULL;
	script_text_begin(&t);
	probe_word_write(&t, some, run->pid_count == 1);
	if (script_text_end(&t))
		prefix = strndup(t.text, strlen(t.text) - 1);
	script_text_free(&t);
	free(some);
	return prefix;
}

/* Messages about a search without result. */
enum say {
	SAY_NOTHING, /* there is another place to look */
	SAY_PAIRS,   /* which pairs there are */
	SAY_ALL,     /* also why a file has none */
};

static int find_by_name(const struct command *c, const char *word, const struct run *run,
			enum say say, struct pair *out)
{
	struct nopal_diag *d = nopal_diag_new();
	struct hunt h = {.wanted = ""};
	char *prefix = prefix_of(word, run, &h.wanted), *pattern = NULL;
	int code = EXIT_FAILED, count = -1;

	if (d && prefix && asprintf(&pattern, "%s*", prefix) >= 0 && !nopal_sites_new(&h.sites))
		count = nopal_sites_find(h.sites, pattern, run->options.pid, d);
	if (count < 0 && d && say == SAY_ALL)
		show_messages(d);
	for (size_t i = 0; count > 0 && i < nopal_sites_count(h.sites); i++)
		if (is_new(&h, i)) {
			look_at(&h, nopal_sites_at(h.sites, i));
			take_related(&h, nopal_site_name(nopal_sites_at(h.sites, i)));
		}
	if (h.found != 1 && (count >= 0 || say == SAY_PAIRS))
		code = say ? not_one(c, &h, word, run) : EXIT_FAILED;
	else if (count >= 0 && asprintf(&out->own_start, "%s%s", prefix, h.start) >= 0 &&
		 asprintf(&out->own_done, "%s%s", prefix, h.done) >= 0)
		code = EXIT_OK;
	out->start = out->own_start;
	out->done = out->own_done;
	nopal_sites_free(h.sites);
	nopal_diag_free(d);
	free(h.start);
	free(h.done);
	free(h.others);
	free(h.related);
	free(pattern);
	free(prefix);
	return code;
}

/* In one file of the command, "./prog" of "./prog -x" or a library of it. */
static int find_in_file(const struct command *c, const char *file, const char *word,
			const struct run *run, enum say say, struct pair *out)
{
	char *whole = NULL;
	int code = EXIT_FAILED;

	if (asprintf(&whole, "usdt:%s:%s", file, word) >= 0)
		code = find_by_name(c, whole, run, say, out);
	free(whole);
	return code;
}

/* In the program of the command, then in the first library with probes that it is linked with. */
static int find_in_command(const struct command *c, const char *word, const struct run *run,
			   struct pair *out)
{
	struct nopal_sites *sites = NULL;
	struct words words = {NULL, 0};
	char *library = NULL;
	size_t count;
	int code = EXIT_FAILED;

	if (!words_split(&words, run->options.command) && words.count && !nopal_sites_new(&sites)) {
		library = nopal_sites_library(sites, words.list[0], &count);
		code = find_in_file(c, words.list[0], word, run, library ? SAY_NOTHING : SAY_PAIRS,
				    out);
		if (code == EXIT_FAILED && library)
			code = find_in_file(c, library, word, run, SAY_PAIRS, out);
	}
	nopal_sites_free(sites);
	words_free(&words);
	free(library);
	return code;
}

/* The rest of the word after one of these; NULL: it is not a function. As in bcc, "c:malloc" is
 * one.
 */
static const char *function_of(const char *word)
{
	static const char *const types[] = {"uprobe:", "uretprobe:", "p:", "r:"};

	if (!strncmp(word, "c:", 2) && !strchr(word + 2, ':'))
		return word;

	for (size_t i = 0; i < COUNT(types); i++)
		if (!strncmp(word, types[i], strlen(types[i])))
			return word + strlen(types[i]);
	return NULL;
}

int pair_find(const struct command *c, char **words, int count, const struct run *run,
	      struct pair *out)
{
	const char *function = count ? function_of(words[0]) : NULL;

	*out = (struct pair){.start = NULL};
	if (!count || count > 2)
		return usage_error(c, count ? "too many words: a pair of probes is expected"
					    : "no probes given: write START DONE");
	if (count == 2) {
		out->start = words[0];
		out->done = words[1];
		return EXIT_OK;
	}
	if (!function && run->options.command && !strchr(words[0], '/'))
		return find_in_command(c, words[0], run, out);
	if (!function)
		return find_by_name(c, words[0], run, SAY_ALL, out);
	if (asprintf(&out->own_start, "uprobe:%s", function) < 0 ||
	    asprintf(&out->own_done, "uretprobe:%s", function) < 0)
		return EXIT_FAILED;
	out->start = out->own_start;
	out->done = out->own_done;
	out->is_function = true;
	return EXIT_OK;
}

/* ---- what the two have in common */

/* An argument by which authors number operations, which overlap in one thread; and such a key,
 * which tells those of several processes apart. */
#define ID     "span_id"
#define ID_KEY "pid, args.span_id"

static bool has_id(const struct nopal_site *s)
{
	struct nopal_arg arg;

	for (unsigned i = 0; i < nopal_site_arg_count(s); i++)
		if (!nopal_site_arg(s, i, &arg) && arg.name && !strcmp(arg.name, ID))
			return !arg.problem;
	return false;
}

static bool all_have_id(const char *probe, const struct run *run)
{
	struct nopal_sites *sites = NULL;
	struct script_text t;
	int found = -1;

	script_text_begin(&t);
	probe_word_write(&t, probe, run->pid_count == 1);
	if (script_text_end(&t) && !strncmp(t.text, "usdt:", 5) && !nopal_sites_new(&sites))
		found = nopal_sites_find(sites, t.text, run->options.pid, NULL);
	for (size_t i = 0; found > 0 && i < nopal_sites_count(sites); i++)
		if (!has_id(nopal_sites_at(sites, i)))
			found = 0;
	nopal_sites_free(sites);
	script_text_free(&t);
	return found > 0;
}

const char *pair_key(const struct pair *p, const struct run *run)
{
	return !p->is_function && all_have_id(p->start, run) && all_have_id(p->done, run) ? ID_KEY
											  : NULL;
}

static const char *last_part(const char *probe)
{
	const char *colon = strrchr(probe, ':');

	return colon ? colon + 1 : probe;
}

/* Are these "query__start" and "query__done", by the ends number `e`? */
static bool is_pair(const char *start, const char *done, size_t e)
{
	char *from = stem(start, separators[e / COUNT(ends)], ends[e % COUNT(ends)][0]);
	char *to = stem(done, separators[e / COUNT(ends)], ends[e % COUNT(ends)][1]);
	bool is = from && to && !strcmp(from, to);

	free(from);
	free(to);
	return is;
}

bool pair_is_reversed(const struct pair *p)
{
	const char *first = last_part(p->start), *second = last_part(p->done);

	for (size_t e = 0; e < COUNT(ends) * COUNT(separators); e++)
		if (is_pair(second, first, e))
			return true;
	return false;
}
