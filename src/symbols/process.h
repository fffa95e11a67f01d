/* What a process has mapped as code, as last seen, and kept after it has exited. */
#ifndef NOPAL_SYMBOLS_PROCESS_H
#define NOPAL_SYMBOLS_PROCESS_H

#include "symbols/jit.h"
#include "symbols/maps.h"
#include "symbols/module.h"

struct mapping {
	uint64_t start, end;
	uint64_t offset;       /* of `start` in the file */
	struct module *module; /* NULL: no file, so perhaps code compiled at run time */
};

struct process {
	pid_t pid;
	pid_t inner_pid; /* in its own pid namespace */
	uid_t uid;
	bool is_foreign;	  /* other mount namespace or root: its paths mean nothing here */
	struct mapping *mappings; /* by start, none overlaps another */
	size_t count, cap;
	struct jit_names *jit;
	bool is_cut_reported; /* that not all of `jit` is known */
	int64_t tried_ms;     /* when an unknown address last made us read the maps again */
};

/* Mappings of one process that are remembered. */
#define MAPPINGS_MOST 65536

/* Read /proc/PID/maps; what was known is kept where nothing newer covers it. -ESRCH and others: the
 * process is gone, and all that was known is kept. */
int process_refresh(struct process *p, struct modules *modules);
/* The same with the text of the maps, already read. */
int process_read_maps(struct process *p, struct modules *modules, struct str text);
/* Add one mapping, in the place of what it covers. -ENOMEM. */
int process_map(struct process *p, struct modules *modules, const struct mapped_file *file);
int process_copy_mappings(struct process *to, const struct process *from); /* -ENOMEM */
void process_free(struct process *p);
const struct mapping *process_mapping_at(const struct process *p, uint64_t address);
/* The name of an address outside files. */
bool process_jit_name_at(struct process *p, struct modules *modules, uint64_t address,
			 struct str *name, uint64_t *into);

#endif
