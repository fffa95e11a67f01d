/* Stacks of scripts as text, folded into a line, and as JSON. */
#ifndef NOPAL_REPORT_SCRIPT_STACK_H
#define NOPAL_REPORT_SCRIPT_STACK_H

#include "report/render.h"

/* A newline and a line for each frame, "work (/srv/app.py:12)"; or folded, "<module>
 * (app.py:30);work (...)". Where the stack is not whole, a line says why. */
void script_stack_text(const struct renderer *r, const struct value *v, unsigned indent,
		       struct buf *out);
/* [{"function": "work", "file": "/srv/app.py", "line": 12}, ...] */
void script_stack_json(const struct renderer *r, const struct value *v, struct buf *out);

#endif
