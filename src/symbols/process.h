/* What a process has mapped as code: the modules, and where they are, as last seen, and kept after
 * it has exited. */
#ifndef NOPAL_SYMBOLS_PROCESS_H
#define NOPAL_SYMBOLS_PROCESS_H

#include "base/diag.h"
#include "base/hash.h"
#include "symbols/jit.h"
#include "symbols/maps.h"

/* The executable images of processes, each known once, by device, inode and path. A file is opened
 * when a name is asked for; at once only when it is about to be out of reach. */
struct symtab;
struct debuginfo;

struct module {
	uint64_t device, inode; /* as /proc/PID/maps has them; inode 0: not a file */
	uint32_t number;	/* from 1, its place among all */
	struct str path;	/* owned; "/usr/bin/x", "/memfd:x (deleted)", "[vdso]" */
	int fd;			/* kept open; -1: not */
	bool tried;		/* symbols were asked for: NULL means there are none to get */
	struct symtab *symbols;
	struct debuginfo *debuginfo; /* NULL: none, or not asked for */
	bool is_cut_reported;	     /* that not all of that is read */
	struct str build_id;	     /* bytes, owned; empty: none, or not asked for */
};

/* Files that are kept open, so that they can be read after they were deleted. */
#define MODULE_FDS_MOST 256
#define MODULES_MOST	16384

/* Memory for all names of one run: those of images and of code compiled at run time. */
#define NAMES_MEMORY_MOST (512u << 20)

/* Files whose debug information is kept open, and memory for those that cannot be mapped. */
#define DEBUGINFOS_MOST	  256
#define LINES_MEMORY_MOST (512u << 20)
#define LINES_WORK_MOST	  UINT64_C(10000000000) /* steps, some ten seconds of a run */

struct modules {
	struct module **items;
	size_t count, cap;
	struct hash by_inode; /* their indexes */
	unsigned open_fds;
	struct budget pool; /* of NAMES_MEMORY_MOST */
	bool wants_lines;
	unsigned debuginfos;	  /* that are open */
	struct budget debug_pool; /* of LINES_MEMORY_MOST */
	struct budget lines_work; /* of LINES_WORK_MOST */
	struct diag problems;	  /* what was left out, not reported yet */
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
/* Warn, once, when lines of the module were left out. */
void module_report_cut(struct modules *m, struct module *module);
/* The link-time address of an offset, in a file whose names were asked for. */
bool module_address_of(const struct module *module, uint64_t offset, uint64_t *address);

/* ---- Processes */

struct process_mapping {
	uint64_t start, end;
	uint64_t offset;       /* of `start` in the file */
	struct module *module; /* NULL: no file, so perhaps code compiled at run time */
};

struct process {
	pid_t pid;
	pid_t inner_pid; /* in its own pid namespace */
	uid_t uid;
	bool is_foreign;    /* other mount namespace or root: its paths mean nothing here */
	bool is_identified; /* these three are its own, else its parent's */
	struct process_mapping *mappings; /* by start, none overlaps another */
	size_t count, cap;
	struct jit_names *jit;
	bool is_cut_reported; /* that not all of `jit` is known */
	int64_t tried_ms;     /* when an unknown address last made us read the maps again */
};

/* Mappings of one process that are remembered. */
#define MAPPINGS_MOST 65536

/* Take the text of its maps, and who it is; what was known is kept where nothing newer covers it.
 * -ESRCH and others: the process is gone, and all that was known is kept. */
int process_renew(struct process *p, struct modules *modules, struct str maps);
/* Only the text of its maps. */
int process_read_maps(struct process *p, struct modules *modules, struct str text);
/* Add one mapping, in the place of what it covers. -ENOMEM. */
int process_map(struct process *p, struct modules *modules, const struct mapped_file *file);
int process_copy_mappings(struct process *to, const struct process *from); /* -ENOMEM */
void process_free(struct process *p);
const struct process_mapping *process_mapping_at(const struct process *p, uint64_t address);
/* The name of an address outside files. */
bool process_jit_name_at(struct process *p, struct modules *modules, uint64_t address,
			 struct str *name, uint64_t *into);

#endif
