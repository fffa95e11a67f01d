/* Tree + attachments -> program. */
#ifndef NOPAL_SCRIPT_COMPILE_H
#define NOPAL_SCRIPT_COMPILE_H

#include "script/parse/script_state.h"

struct program;

/* The code of all attachments that no program has yet. -errno with messages */
int compile_program(struct script *s, struct program **out, struct diag *d);

#endif
