/* The executable images of processes, each known once, by device, inode and path. A file is opened
 * when a name is asked for; at once only when it is about to be out of reach. */
#ifndef NOPAL_SYMBOLS_MODULE_H
#define NOPAL_SYMBOLS_MODULE_H

#include <sys/types.h>

#include "base/diag.h"
#include "base/hash.h"

struct mapped_file;
struct symtab;

struct module {
	uint64_t device, inode; /* as /proc/PID/maps has them; inode 0: not a file */
	struct str path;	/* owned; "/usr/bin/x", "/memfd:x (deleted)", "[vdso]" */
	int fd;			/* kept open; -1: not */
	bool tried;		/* symbols were asked for: NULL means there are none to get */
	struct symtab *symbols;
};

/* Files that are kept open, so that they can be read after they were deleted. */
#define MODULE_FDS_MOST 256
#define MODULES_MOST	16384

/* Memory for all names of one run: those of images and of code compiled at run time. */
#define NAMES_MEMORY_MOST (512u << 20)

struct modules {
	struct module **items;
	size_t count, cap;
	struct hash by_inode; /* their indexes */
	unsigned open_fds;
	struct budget pool;   /* of NAMES_MEMORY_MOST */
	struct diag problems; /* what was left out, not reported yet */
};

void modules_init(struct modules *m);
void modules_free(struct modules *m);
/* The module of a mapped file, new or known. NULL when there is no memory, or there are too many.
 */
struct module *modules_get(struct modules *m, const struct mapped_file *file);
/* Keep its file open from now on. */
void module_hold(struct modules *m, struct module *module, const struct mapped_file *file);
/* The name at an offset of the file; *into: bytes from where the function starts. The process that
 * maps `file` may still live and give access to it. */
bool module_name_at(struct modules *m, struct module *module, const struct mapped_file *file,
		    uint64_t offset, struct str *name, uint64_t *into);

#endif
