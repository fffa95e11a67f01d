/* nopal trace, count, hist and stack: what quick.c and quick_write.c share. */
#ifndef NOPAL_CMD_QUICK_H
#define NOPAL_CMD_QUICK_H

#include "command.h"

#include "bcc/trace.h"
#include "run.h"
#include "scope.h"
#include "script_text.h"
#include "spec.h"

struct quick {
	struct run run;
	struct nopal_look look;
	struct scope scope;
	const char *key;   /* -k: "pid, args.name"; NULL: the command's own */
	const char *step;  /* -l: "0, 100, 10" for lhist */
	const char *what;  /* hist: the expression */
	uint64_t interval; /* -i, ns; 0: only at the end */
	long times;	   /* -n: the number of intervals; 0: no limit */
	long top;	   /* --top; 0: all */
	long most;	   /* -M; 0: no limit */
	bool no_lines;
	const char *flame;	/* stack --flame: the page's file */
	struct bcc_columns bcc; /* -t, -T; trace: options of bcc's trace */
	bool is_bcc;		/* all words are bcc's: its columns */
	long pages;		/* trace -b */
	struct spec *specs;
	int spec_count;
};

/* The last lines of a clause, which differ from command to command. */
typedef void quick_body_fn(struct script_text *t, const struct quick *q, const struct spec *s);
quick_body_fn quick_write_count, quick_write_hist, quick_write_stack, quick_write_trace;

/* What is different in each of these commands. */
struct quick_kind {
	bool needs_expression, has_map;
	quick_body_fn *write_body;
};

/* The line above the events of `nopal trace`. */
const char *quick_header(const struct quick *q);
/* The script of a command; 0, or an exit code after a message. */
int quick_write_script(struct script_text *t, const struct command *c, struct quick *q);

#endif
