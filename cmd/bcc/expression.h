/* Expressions of bcc as expressions of scripts; shared by the readers of bcc's words. */
#ifndef NOPAL_CMD_BCC_EXPRESSION_H
#define NOPAL_CMD_BCC_EXPRESSION_H

#include <stddef.h>

#include "bcc/word.h"
#include "script_text.h"

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

/* The probe in the first `len` bytes of the word, and the signature after it. *rest: what follows.
 * 0, or an exit code after a message. */
int bcc_read_head(struct bcc_text *t, size_t len, struct bcc_spec *out, const char **rest);
/* The expression in the language of scripts; the caller frees it. */
char *bcc_expression(struct bcc_text *t, const char *at, const char *end);
/* Write a value as one of this C type, "(int)(arg0)"; as text when it is char *. */
void bcc_put_value(struct script_text *out, const struct bcc_text *t, const char *value,
		   const char *type, size_t len);

#endif
