/* The machine that a build is for. */
#ifndef NOPAL_CMD_TARGET_H
#define NOPAL_CMD_TARGET_H

#include <stdbool.h>

struct target_request {
	const char *self;      /* who speaks in messages */
	const char *triple;    /* asked for by name; NULL */
	const char *mode;      /* asked for by -m32 or -m64: "32", "64"; NULL */
	const char *weak_mode; /* by -32 or -64, which many build systems add out of habit */
};

/* The triple of the object files that CC and CFLAGS in the environment make. *triple NULL: this
 * machine's own; else to be freed. False after a message. */
bool target_find(const struct target_request *r, char **triple);

#endif
