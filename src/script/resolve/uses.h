/* What a clause asks of its attachments, found by looking at its tree, before types are known. */
#ifndef NOPAL_SCRIPT_USES_H
#define NOPAL_SCRIPT_USES_H

#include "script/parse/builtin.h"
#include "script/parse/script_state.h"

#define FLOAT_LETTERS "fFeEgGaA" /* of conversions in formats that show a float: %f */

struct uses {
	uint64_t args[2];   /* bit n: argN */
	uint64_t floats[2]; /* bit n: printf shows argN as a float, if it is one */
	struct str *fields; /* args.x: tracepoint formats must be read */
	size_t field_count, field_cap;
	unsigned needs;	  /* enum builtin_need */
	bool has_unknown; /* a name that is none: it may be meant as an argument's */
};

int uses_find(struct script *s, const struct tree_clause *c, struct uses *out); /* -ENOMEM */
/* Is it a call of ustack() for this mode, such as ustack(mixed)? */
bool stack_has_mode(const struct expr *e, const char *word);
/* ustack(lang), ustack(mixed): does it have frames of a script? */
bool is_lang_stack(const struct expr *e);

#endif
