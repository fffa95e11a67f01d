/* Short forms of probes. */
#include "probe_word.h"

#include <string.h>

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

static void split(const char *word, struct parts *p)
{
	bool quoted = false;
	size_t at = 0;

	*p = (struct parts){.count = 1};
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

	split(word, &p);
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (part_is(word, &p, types[i]))
			return true;
	return false;
}

/* A part of a probe; in quotes when a script would end it earlier. */
static void put_part(struct script_text *t, const char *word, const struct parts *p, unsigned n)
{
	const char *part = word + p->at[n];
	size_t len = p->len[n];
	bool plain = strcspn(part, " \t\r\n,;{}\"\\") >= len && !memmem(part, len, "//", 2);

	/* Quotes of the user's own, and what scripts take as it is. */
	if (plain || memchr(part, '"', len)) {
		script_put_piece(t, word, p->at[n], len);
		return;
	}
	script_put(t, "\"");
	for (size_t i = 0; i < len; i++) {
		if (part[i] == '\\')
			script_put(t, "\\");
		script_put_piece(t, word, p->at[n] + i, 1);
	}
	script_put(t, "\"");
}

static void put_parts(struct script_text *t, const char *word, const struct parts *p)
{
	for (unsigned n = 0; n < p->count; n++) {
		if (n)
			script_put_piece(t, word, p->at[n] - 1, 1);
		put_part(t, word, p, n);
	}
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

	split(word, &p);
	if (bcc && p.count == 3) {
		script_put(t, "%s", bcc->type);
		script_put_piece(t, word, 2, strlen(word + 2));
	} else if (probe_word_is_typed(word)) {
		script_put_word(t, word);
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
