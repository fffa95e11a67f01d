/* Expressions of bcc as expressions of scripts; shared by the readers of bcc's words. */
#ifndef NOPAL_CMD_BCC_EXPRESSION_H
#define NOPAL_CMD_BCC_EXPRESSION_H

#include <stddef.h>

#include "bcc/word.h"
#include "script_text.h"

struct bcc_text {
	const struct command *command;
	const char *word;
	const struct bcc_reading *how;
	const char *signature; /* "char *path, int flags)"; NULL: there is none */
	char type;	       /* of the probe, as in struct bcc_spec */
	bool is_wrong;	       /* there was a message */
	/* Of argdist: the letter of the map @a_start, which has for each thread what the start of
	 * the function keeps: the time, and `kept_count` values that $latency and $entry() have put
	 * here, ", 0, (int)(arg1)". */
	char map;
	struct script_text kept;
	unsigned kept_count;
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
