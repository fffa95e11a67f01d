/* Which processes' events nopal trace, count, hist and stack use: --comm, --uid, --cgroup ... */
#ifndef NOPAL_CMD_SCOPE_H
#define NOPAL_CMD_SCOPE_H

#include "command.h"
#include "run.h"
#include "script_text.h"

struct scope {
	const char *condition; /* -w: an expression of the script; the others: NULL, or as typed */
	const char *comm, *comm_part /* of the name */, *uid, *tid;
	const char *cgroup, *unit, *container;
	const char *cpu; /* of bcc's tools; digits */
};

/* Rows of options for a struct T that has a struct scope as member `m`. */
/* clang-format off */
#define SCOPE_AT(T, m, x) (offsetof(T, m) + offsetof(struct scope, x))
#define SCOPE_OPTIONS(T, m) \
	{"-w", NULL,          "CONDITION", take_text, SCOPE_AT(T, m, condition), "use only events for which CONDITION is true, such as 'arg0>100'"}, \
	{NULL, "--comm",      "NAME",      take_text, SCOPE_AT(T, m, comm),      "... of threads with this name"}, \
	{NULL, "--uid",       "USER",      take_text, SCOPE_AT(T, m, uid),       "... of this user, a name or a number"}, \
	{"-L", "--tid",       "TID",       take_text, SCOPE_AT(T, m, tid),       "... of this thread"}, \
	{NULL, "--cgroup",    "PATH",      take_text, SCOPE_AT(T, m, cgroup),    "... of processes in this cgroup (version 2) or below"}, \
	{NULL, "--unit",      "NAME",      take_text, SCOPE_AT(T, m, unit),      "... of processes of this systemd unit"}, \
	{NULL, "--container", "ID",        take_text, SCOPE_AT(T, m, container), "... of processes in this container"}
/* clang-format on */

/* Write "/condition/\n" if there is one: the scope's, and the probe's own `filter` (NULL: none). 0,
 * or an exit code after a message. */
int scope_write(struct script_text *t, const struct command *c, const struct scope *s,
		const char *filter);

#endif
