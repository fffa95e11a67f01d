/* Recorded events: text with one event a line, which the interpreter plays instead of tracing.
 *
 *	event = site { argument } { name "=" number } | "#" comment
 *	site = the end of a probe's name: tick:word, main
 *	argument = number | float | '"' text '"'
 *
 *	tick:word "hello" 5 pid=12 nsecs=1000
 *
 * Arguments are put where the site's operands say, text into memory that they point to. What is
 * not given is as in replay.c. Lines for sites that the script does not trace are passed over. */
#ifndef NOPAL_ENGINE_INTERP_REPLAY_H
#define NOPAL_ENGINE_INTERP_REPLAY_H

#include "engine/interp/interp.h"

#define REPLAY_ARGS 16

/* One argument of an event. */
struct recorded_arg {
	struct str raw; /* as it is written: "-7", "1.5"; empty for text */
	struct str text;
};

/* One line. */
struct recorded {
	struct str site; /* empty: the line has no event */
	struct recorded_arg args[REPLAY_ARGS];
	unsigned arg_count;
	struct context context; /* without registers and memory */
};

struct replay {
	const char *path;
	struct buf text;
	struct str rest; /* lines that are still to be played */
	unsigned line;
	uint64_t nsecs; /* of the event before */
};

/* Read the file; every line is checked. -errno, -EINVAL, with a message. */
int replay_open(struct replay *r, const char *path, struct diag *d);
void replay_close(struct replay *r);
/* The next line. 0, -ENOMEM, or -EINVAL with a message. Text lives in `a`. */
int replay_next(struct replay *r, struct arena *a, struct recorded *out, struct diag *d);
/* Is this the name of an attachment that the event's site means? */
bool recorded_is_at(const struct recorded *event, struct str name);
/* The context in which the operands of `at` read the event's arguments; memory lives in `a`.
 * -ENOMEM. */
int recorded_fill(const struct recorded *event, const struct attach *at, struct arena *a,
		  struct context *out);

#endif
