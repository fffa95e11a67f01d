/* Stacks as text, folded into a line, and as JSON. */
#ifndef NOPAL_REPORT_STACK_H
#define NOPAL_REPORT_STACK_H

#include "report/render.h"

/* An empty line, then a frame a line, innermost first. A frame that lies in nothing executable ends
 * the stack, with a line that says so: what follows it is no more than bytes of data. */
void stack_text(const struct renderer *r, const struct value *v, unsigned indent, struct buf *out);
struct symbols_frame;
/* "main+0x12 [prog]" */
void stack_bcc_frame(const struct renderer *r, const struct symbols_frame *f, bool is_kernel,
		     struct buf *out);
/* A stack of any kind, a script's too, for people: without the empty lines that bpftrace has around
 * it. */
void stack_lines(const struct renderer *r, const struct value *v, struct buf *out);
/* [{"module": "/bin/x", "function": "main", "offset": 18}, ...]; the reason of a cut is a frame
 * with the key "cut". */
void stack_json(const struct renderer *r, const struct value *v, struct buf *out);

/* How one frame is shown on its own. */
enum stack_form { STACK_LINE, STACK_FOLDED, STACK_OBJECT };

/* What a function of native code is to a script. */
enum stack_role {
	ROLE_NONE,
	ROLE_EVALUATOR, /* it evaluates the script's code */
	ROLE_RUNOPS,	/* Perl's; again for what comes after an exception may have been caught: */
	ROLE_CATCHER,	/* ... through these */
	ROLE_UNNAMED,	/* or some of the same file of which the name is not known */
	ROLE_MAIN,	/* it reads, runs or ends Perl's program */
};

/* A frame, or a note in place of one. Of a script, `is_mark`: the evaluator was entered by it, and
 * `parts` times more for parts of it. */
struct stack_part {
	struct str text;
	bool is_mark, is_note;
	enum stack_role role;
	unsigned parts;
};

typedef void stack_part_fn(void *arg, const struct stack_part *part);
/* Each frame of a native stack, innermost first. */
void stack_each(const struct renderer *r, const struct value *v, enum stack_form form,
		stack_part_fn *fn, void *arg);

#endif
