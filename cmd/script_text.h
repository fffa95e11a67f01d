/* The text of a script that a command writes, and which pieces of it are words of the user, so that
 * messages about such a piece show the word itself. */
#ifndef NOPAL_CMD_SCRIPT_TEXT_H
#define NOPAL_CMD_SCRIPT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "nopal/trace.h"

struct script_text {
	FILE *out;  /* NULL: finished */
	char *text; /* owned; whole after script_text_end() */
	size_t len;
	struct nopal_origin *origins; /* owned */
	size_t origin_count;
	bool failed; /* out of memory */
};

void script_text_begin(struct script_text *t);
/* Append text of ours. */
void script_put(struct script_text *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Append `len` bytes at `at` of a word of the user, which must live as long as `t`. */
void script_put_piece(struct script_text *t, const char *word, size_t at, size_t len);
void script_put_word(struct script_text *t, const char *word); /* all of it */
/* The word as a string literal of a script, with its quotes. */
void script_put_literal(struct script_text *t, const char *word);
/* The closing quote of the literal that starts at text[0]; NULL: there is none. */
const char *script_literal_end(const char *text);
/* False: out of memory, after a message. */
bool script_text_end(struct script_text *t);
void script_text_free(struct script_text *t);

#endif
