/* Lists of words, and splitting a text like a shell. */
#include "words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void words_free(struct words *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->list[i]);
	free(w->list);
	*w = (struct words){NULL, 0};
}

/* Take over `word`. */
static int add_owned(struct words *w, char *word)
{
	char **bigger = word ? realloc(w->list, (w->count + 2) * sizeof(*bigger)) : NULL;

	if (!bigger) {
		free(word);
		return -ENOMEM;
	}
	w->list = bigger;
	w->list[w->count++] = word;
	w->list[w->count] = NULL;
	return 0;
}

int words_add_joined(struct words *w, const char *prefix, const char *word)
{
	char *both = malloc(strlen(prefix) + strlen(word) + 1);

	if (both)
		strcpy(stpcpy(both, prefix), word);
	return add_owned(w, both);
}

int words_add(struct words *w, const char *word)
{
	return words_add_joined(w, "", word);
}

static bool is_space(char c)
{
	return c && strchr(" \t\r\n", c);
}

/* Copy one word to `out`, which is as large as *text. False: an unterminated quote. A backslash
 * before a newline, which Makefiles pass on, joins the lines. */
static bool take_word(const char **text, char *out)
{
	const char *p = *text;
	char quote = '\0';

	for (; *p && (quote || !is_space(*p)); p++) {
		if (*p == '\\' && quote != '\'' && p[1]) {
			if (*++p != '\n')
				*out++ = *p;
		} else if (*p == quote) {
			quote = '\0';
		} else if (!quote && (*p == '"' || *p == '\'')) {
			quote = *p;
		} else {
			*out++ = *p;
		}
	}
	*out = '\0';
	*text = p;
	return !quote;
}

int words_split(struct words *w, const char *text)
{
	char *word = malloc(strlen(text) + 1);
	int err = word ? 0 : -ENOMEM;

	while (!err) {
		while (is_space(*text) || (*text == '\\' && is_space(text[1])))
			text++;
		if (!*text)
			break;
		err = take_word(&text, word) ? words_add(w, word) : -EINVAL;
	}
	free(word);
	return err;
}
