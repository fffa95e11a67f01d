/* Putting a loaded unit to its sites, and taking everything off again. Uprobes go by one
 * uprobe_multi link a file where the kernel has it, else by one perf event a site. */
#ifndef NOPAL_ENGINE_BPF_RUN_ATTACH_H
#define NOPAL_ENGINE_BPF_RUN_ATTACH_H

#include <sys/types.h>

#include "engine/bpf/gen/unit.h"
#include "engine/bpf/kernel/features.h"
#include "engine/bpf/kernel/links.h"

struct attach_options {
	struct features *features;
	pid_t pid;     /* let the kernel fire for this process only; 0: for all */
	pid_t process; /* -p or -c; 0: none. Watchpoints are in its threads ... */
	bool follows;  /* ... and in its children */
};

int attach_unit(struct links *l, const struct attach_options *o, const struct unit *u,
		int program_fd, struct diag *d);
/* attach_other.c: what has no site in a file. */
int attach_other(struct links *l, const struct attach_options *o, const struct unit *u,
		 int program_fd, struct diag *d);
/* What an error of attaching means. */
const char *attach_meaning(int err);
/* A program that a user of the library has loaded, for every site of one probe. */
struct caller_program {
	int fd;
	pid_t pid;	 /* as in attach_options */
	uint64_t cookie; /* what bpf_get_attach_cookie() gives it */
	struct str name; /* "provider:name", for messages */
};
/* Attach it to `sites`, which this sorts. Sites that must not be probed are skipped, with a
 * warning; *count becomes the number of the others. A program that was not loaded for uprobe_multi
 * links is attached by perf events. */
int attach_caller(struct links *l, const struct caller_program *c, struct attach *sites,
		  size_t *count, struct diag *d);
/* Attach a program to one tracepoint by its number. */
int attach_tracepoint(struct links *l, int program_fd, uint32_t id);

#endif
