/* Short forms of probes. */
#include "probe_word.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* First parts of probes that scripts have, or that the library has a message for. */
static const char *const types[] = {
	"usdt",
	"U",
	"uprobe",
	"uretprobe",
	"ur",
	"tracepoint",
	"t",
	"interval",
	"i",
	"profile",
	"BEGIN",
	"END",
	"begin",
	"end",
	"kprobe",
	"k",
	"kretprobe",
	"kr",
	"kfunc",
	"kretfunc",
	"fentry",
	"fexit",
	"rawtracepoint",
	"rt",
	"hardware",
	"h",
	"software",
	"s",
	"watchpoint",
	"w",
	"asyncwatchpoint",
	"iter",
	"it",
	"self",
};

/* clang-format off */
static const struct probe_letter letters[] = {
	{'u', "usdt:",      "usdt:*:*"},  {'t', "tracepoint:", "tracepoint:"},
	{'r', "uretprobe:", "kretprobe"}, {'p', "uprobe:",     "kprobe"},
};
/* clang-format on */

const struct probe_letter *probe_letter(char letter)
{
	for (size_t i = 0; i < sizeof(letters) / sizeof(*letters); i++)
		if (letters[i].letter == letter)
			return &letters[i];
	return NULL;
}

/* The parts of a word, which ':' separates outside of quotes. */
struct parts {
	size_t at[5], len[5]; /* of `count`, at most 4; the fifth: what is after them */
	unsigned count;
};

size_t probe_word_file(const char *word)
{
	for (size_t len = strlen(word); len; len--) {
		char *name = !word[len] || word[len] == ':' ? strndup(word, len) : NULL;
		bool exists = name && strchr(name, '/') && !access(name, F_OK);

		free(name);
		if (exists)
			return len;
	}
	return 0;
}

static void split(const char *word, size_t from, struct parts *p)
{
	bool quoted = false;
	size_t at = from + probe_word_file(word + from);

	*p = (struct parts){.at = {from}, .count = 1};
	for (; word[at]; at++) {
		if (word[at] == '"')
			quoted = !quoted;
		else if (word[at] == '\\' && quoted && word[at + 1])
			at++;
		if (word[at] != ':' || quoted || p->count > 4)
			continue;
		p->len[p->count - 1] = at - p->at[p->count - 1];
		p->at[p->count++] = at + 1;
	}
	p->len[p->count - 1] = at - p->at[p->count - 1];
}

static bool part_is(const char *word, const struct parts *p, const char *text)
{
	return strlen(text) == p->len[0] && !strncmp(word, text, p->len[0]);
}

bool probe_word_is_typed(const char *word)
{
	struct parts p;

	split(word, 0, &p);
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (part_is(word, &p, types[i]))
			return true;
	return false;
}

/* The part of a word that may begin with a file: after the type of a probe, if it has one. */
static const char *after_type(const char *word)
{
	static const char *const of_files[] = {"usdt:", "U:", "uprobe:", "uretprobe:", "ur:"};

	for (size_t i = 0; i < sizeof(of_files) / sizeof(*of_files); i++)
		if (!strncmp(word, of_files[i], strlen(of_files[i])))
			return word + strlen(of_files[i]);
	return word;
}

/* Where the file ends that the text begins with; NULL: it begins with none. */
static const char *file_end(const char *text)
{
	const char *quote = *text == '"' ? script_literal_end(text) : NULL;
	size_t len = probe_word_file(text);

	if (len)
		return text + len;
	return quote && quote[1] == ':' ? quote + 1 : NULL;
}

bool probe_word_is_plain(const char *word)
{
	const char *end = file_end(after_type(word));

	return end && !end[strcspn(end, " \t\"(")];
}

/* Does a script read the part of a probe as it is? */
static bool is_bare(const char *part, size_t len)
{
	return strcspn(part, " \t\r\n,;:{}$\"\\") >= len && !memmem(part, len, "//", 2);
}

static void put_quoted(struct script_text *t, const char *word, size_t at, size_t len)
{
	script_put(t, "\"");
	for (size_t i = at; i < at + len; i++) {
		if (word[i] == '\\' || word[i] == '"')
			script_put(t, "\\");
		script_put_piece(t, word, i, 1);
	}
	script_put(t, "\"");
}

/* A file that exists has no quotes of the user's own; other parts may. */
static void put_part(struct script_text *t, const char *word, const struct parts *p, unsigned n)
{
	size_t at = p->at[n], len = p->len[n];
	bool is_file = !n && len && probe_word_file(word + at) == len;

	if (is_bare(word + at, len) || (!is_file && memchr(word + at, '"', len)))
		script_put_piece(t, word, at, len);
	else
		put_quoted(t, word, at, len);
}

static void put_parts(struct script_text *t, const char *word, const struct parts *p)
{
	for (unsigned n = 0; n < p->count; n++) {
		if (n)
			script_put_piece(t, word, p->at[n] - 1, 1);
		put_part(t, word, p, n);
	}
}

/* A script takes the word as it is, except for a file that only its existence tells from what
 * follows. */
static void put_typed(struct script_text *t, const char *word)
{
	size_t len = (size_t)(after_type(word) - word);
	struct parts p;

	if (!len || !probe_word_file(word + len)) {
		script_put_word(t, word);
		return;
	}
	split(word, len, &p);
	script_put_piece(t, word, 0, len);
	put_parts(t, word, &p);
}

/* A file is written with a slash: "./prog"; what has none is a provider. */
static bool is_path(const char *word, const struct parts *p)
{
	return memchr(word, '/', p->len[0]);
}

void probe_word_write(struct script_text *t, const char *word, bool of_process)
{
	const struct probe_letter *bcc =
		*word && word[1] == ':' && *word != 't' ? probe_letter(*word) : NULL;
	const char *everywhere = of_process ? "" : "*";
	struct parts p;

	split(word, 0, &p);
	if (bcc && p.count == 3) {
		script_put(t, "%s", bcc->type);
		script_put_piece(t, word, 2, strlen(word + 2));
	} else if (probe_word_is_typed(word)) {
		put_typed(t, word);
	} else if (p.count == 1) {
		script_put(t, "usdt:");
		put_parts(t, word, &p);
		script_put(t, ":*");
	} else if (p.count == 2 && !is_path(word, &p)) {
		script_put(t, "usdt:%s:", everywhere);
		if (!p.len[0])
			script_put(t, "*");
		put_parts(t, word, &p);
	} else {
		script_put(t, "usdt:%s", p.len[0] ? "" : everywhere);
		put_parts(t, word, &p);
	}
}
