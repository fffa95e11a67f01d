/* The executable images of processes, each known once, by device, inode and path. A file is opened
 * when a name is asked for; at once only when it is about to be out of reach. */
#ifndef NOPAL_SYMBOLS_MODULE_H
#define NOPAL_SYMBOLS_MODULE_H

#include <sys/types.h>

#include "base/diag.h"

struct symtab;

struct module {
	uint64_t device, inode; /* as /proc/PID/maps has them; inode 0: not a file */
	struct str path;	/* owned; "/usr/bin/x", "/memfd:x (deleted)", "[vdso]" */
	int fd;			/* kept open; -1: not */
	bool tried;		/* symbols were asked for: NULL means there are none to get */
	struct symtab *symbols;
	struct module *next; /* of its hash chain */
};

#define MODULE_CHAINS 256
/* Files that are kept open, so that they can be read after they were deleted. */
#define MODULE_FDS_MOST 256
#define MODULES_MOST	16384

/* Memory for the names of one run: of all images, and of all code compiled at run time. */
#define NAMES_MEMORY_MOST (512u << 20)

struct modules {
	struct module *chains[MODULE_CHAINS];
	size_t count;
	unsigned open_fds;
	struct budget pool;   /* of NAMES_MEMORY_MOST */
	struct diag problems; /* what was left out, not told yet */
};

void modules_init(struct modules *m);
void modules_free(struct modules *m);
/* The module of that identity, new or known. NULL when there is no memory, or too many. */
struct module *modules_get(struct modules *m, uint64_t device, uint64_t inode, struct str path);
/* Keep the file of the mapping open now. */
void module_hold(struct modules *m, struct module *module, pid_t pid, uint64_t start, uint64_t end);
/* The name at an offset of the file. `pid` may still live and give access to the file; `length` is
 * that of the mapping. */
bool module_name_at(struct modules *m, struct module *module, pid_t pid, uint64_t start,
		    uint64_t end, uint64_t offset, struct str *name, uint64_t *into);

#endif
