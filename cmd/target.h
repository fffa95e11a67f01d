/* The machine that a build is for. */
#ifndef NOPAL_CMD_TARGET_H
#define NOPAL_CMD_TARGET_H

#include <stdbool.h>

struct target_request {
	const char *triple;    /* of --target; or NULL */
	const char *mode;      /* "32" or "64" of -m32, -m64; or NULL */
	const char *weak_mode; /* of -32, -64, which many build systems add out of habit */
};

/* The triple of the object files that CC and CFLAGS in the environment make. free *triple; NULL:
 * this machine's own. False after a message. */
bool target_find(const struct target_request *r, char **triple);

#endif
