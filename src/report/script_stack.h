/* Stacks of scripts as text, folded into a line, and as JSON. */
#ifndef NOPAL_REPORT_SCRIPT_STACK_H
#define NOPAL_REPORT_SCRIPT_STACK_H

#include "report/stack.h"

/* A newline and a line for each frame, "work (/srv/app.py:12)"; or folded, "<module>
 * (app.py:30);work (...)". Where the stack is not whole, a line says why. */
void script_stack_text(const struct renderer *r, const struct value *v, unsigned indent,
		       struct buf *out);
/* [{"function": "work", "file": "/srv/app.py", "line": 12}, ...] */
void script_stack_json(const struct renderer *r, const struct value *v, struct buf *out);
/* Each frame, innermost first, and a note where the stack is not whole. Of a thread that runs no
 * script: nothing. */
void script_stack_each(const struct renderer *r, const struct value *v, enum stack_form form,
		       stack_part_fn *fn, void *arg);

#endif
