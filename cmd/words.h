/* Lists of words, such as command lines. */
#ifndef NOPAL_CMD_WORDS_H
#define NOPAL_CMD_WORDS_H

#include <stddef.h>

struct words {
	char **list; /* owned, each word too; NULL follows the last one */
	size_t count;
};

void words_free(struct words *w);
/* Add a copy of `prefix` and `word` as one word. -ENOMEM. */
int words_add_joined(struct words *w, const char *prefix, const char *word);
int words_add(struct words *w, const char *word);
/* Add the words of a text, split like a shell, with quotes and backslashes only. -EINVAL: an
 * unterminated quote. */
int words_split(struct words *w, const char *text);

#endif
