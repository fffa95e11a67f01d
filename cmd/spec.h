/* What the words after nopal trace, count, hist and stack say: probes, and what to do at them. */
#ifndef NOPAL_CMD_SPEC_H
#define NOPAL_CMD_SPEC_H

#include <stdbool.h>
#include <stddef.h>

#include "bcc/word.h"
#include "command.h"
#include "script_text.h"

/* Probes, and the format that follows them: one clause of the script. */
struct spec {
	char **probes; /* words */
	int probe_count;
	const char *format; /* as it was typed, with or without quotes; NULL: none */
	char **values;	    /* words: what a format without quotes shows */
	int value_count;
	struct bcc_spec
		bcc; /* owned: what a word of bcc's became; `probes` and `format` are in it */
};

/* Take `count` words apart:
 *
 *   words   = spec*
 *   spec    = probe* ( literal | format value* )?
 *   literal = a word that begins with a quote: the format and the values of a printf
 *   format  = a word with a '%', without quotes; as many words follow as it shows values
 *
 * A word may also be one of bcc's, see bcc/word.h: of trace, "u:LIB:NAME" is, unless a format
 * follows.
 *
 * The number of specs in *out, for spec_free(), or -1 after a message of `c`. Words of *out are
 * those of `words`. */
int spec_read(const struct command *c, char **words, int count, const struct bcc_reading *how,
	      struct spec **out);
void spec_free(struct spec *list, int count); /* NULL is fine */
/* Write the probes, one a line. */
void spec_write_probes(struct script_text *t, const struct spec *s, bool of_process);
/* Append the user's format and what it shows to a printf of ours: "BEFORE FORMAT\n", ARGS, VALUES.
 * Without a format all arguments are shown. */
void spec_write_printf(struct script_text *t, const struct spec *s, const char *before,
		       const char *args);

/* The first of the characters `stops`, at `at` or later, that is outside of brackets and quotes; or
 * the end. */
const char *text_until(const char *at, const char *stops);
/* For event(): the names of what is shown, "args" or "args.word args.n", and the values, each with
 * a comma before it. */
void spec_write_names(struct script_text *t, const struct spec *s);
void spec_write_values(struct script_text *t, const struct spec *s);

#endif
