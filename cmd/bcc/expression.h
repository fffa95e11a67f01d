/* Expressions of bcc as expressions of scripts; shared by the readers of bcc's words. */
#ifndef NOPAL_CMD_BCC_EXPRESSION_H
#define NOPAL_CMD_BCC_EXPRESSION_H

#include <stddef.h>

#include "bcc/word.h"

#define BCC_NAMES 12

/* A parameter in a signature: "const char *path". */
struct bcc_name {
	const char *at; /* "path" */
	size_t len;
	const char *type; /* "const char *" */
	size_t type_len;
};

struct bcc_text {
	const struct command *command;
	const char *word;
	const struct bcc_reading *how;
	struct bcc_name names[BCC_NAMES];
	unsigned count;
	char type;	/* of the probe, as in struct bcc_spec */
	char map;	/* of argdist: a letter for the maps that keep what a start has */
	bool has_entry; /* an expression has $entry() or $latency */
	unsigned kept;	/* bits: parameters that $entry() names */
	bool is_wrong;	/* there was a message */
};

/* After the quote or bracket that closes the one at `at`; NULL: no bracket does. */
const char *bcc_quote_end(const char *at);
bool bcc_quote_closes(const char *at);
const char *bcc_bracket_end(const char *at);
/* The end of the value at `at`: a comma outside of brackets, or `end`. */
const char *bcc_value_end(const char *at, const char *end);
/* The parameters between two brackets. */
void bcc_read_signature(struct bcc_text *t, const char *at, const char *end);
/* The expression in the language of scripts; the caller frees it. */
char *bcc_expression(struct bcc_text *t, const char *at, const char *end);
/* The probe and the signature of a word. *rest: what follows. 0, or EXIT_USAGE. */
int bcc_read_head(struct bcc_text *t, struct bcc_spec *out, const char **rest);
/* A value as one of this C type, "(uint32)(arg0)"; as text when it is char *. The caller frees it.
 */
char *bcc_cast(const struct bcc_text *t, const char *value, const char *type, size_t len);

#endif
