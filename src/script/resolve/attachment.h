/* Attachments: where the clauses of a script run. They live in the script's arena. */
#ifndef NOPAL_SCRIPT_ATTACHMENT_H
#define NOPAL_SCRIPT_ATTACHMENT_H

#include "find/tracefs.h"
#include "program/program.h"
#include "script/parse/probe_spec.h"

struct script;

/* One attachment of a clause. */
struct attachment {
	const struct script *script;
	const struct probe_spec *spec;
	struct attach attach;
	const void *image;		 /* usdt: which file it is in; NULL for other attachments */
	const struct trace_event *event; /* tracepoints, when fields are used */
	/* Of functions, when names or types are used and debug information has them. */
	const uint16_t *params; /* each parameter's argument, in their order; NULL: not known */
	unsigned param_count;
	unsigned numbered; /* how many of the arguments are argN; the others have names only */
	const struct ctype *result;
	/* Of address.c: arguments after those that scripts see. */
	struct added_arg {
		struct str symbol;
		unsigned number;
		uint64_t size; /* of the symbol */
		struct added_arg *next;
	} * added;
	unsigned added_count;
	bool is_done; /* a program has it, or it was given up */
};

struct attachment_list {
	struct attachment **items;
	size_t count, cap;
};

/* The arguments that a script sees. */
static inline unsigned attachment_args(const struct attachment *p)
{
	return p->attach.arg_count - p->added_count;
}

/* Why argument n of the attachment cannot be read by an engine, or by some of them; NULL: it can.
 */
const char *attachment_unreadable(const struct attachment *p, unsigned n, bool by_some);
/* The field of this name; NULL: there is none. */
const struct trace_field *event_field(const struct trace_event *event, struct str name);

#endif
