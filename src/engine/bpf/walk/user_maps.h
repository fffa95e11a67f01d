/* What walks over user stacks read: rows, rules and mappings as arrays of one large entry, which
 * are mapped here too, so that the tables (unwind/tables.h) write them without calls; and the
 * processes, a hash. Without tables, stacks are followed by frame pointers. */
#ifndef NOPAL_ENGINE_BPF_WALK_USER_MAPS_H
#define NOPAL_ENGINE_BPF_WALK_USER_MAPS_H

#include "engine/bpf/kernel/features.h"

struct diag;
struct engine_options;
struct links;
struct pid_filter;

struct user_maps {
	int words_fd, rules_fd, mappings_fd; /* one entry each; -1: no walks, only frame pointers */
	int processes_fd;		     /* hash: pid -> its run of mappings */
	int files_fd;			     /* hash: device and inode -> where its rows are */
	uint32_t word_count, mapping_count;  /* the latter is a power of two */
	bool is_left_out;		     /* of the unit that is generated now */
	bool has_may_goto;
	/* In the kernel: offsets of a thread's list of returns that uretprobes wait for. `utask` 0:
	 * they are not known. */
	uint32_t utask, returns;
	uint32_t return_stack, return_to, return_next;
	/* ... and of what a mapping is kept in. */
	bool finds_mappings; /* then also the registers of user mode, at other events than uprobes
			      */
	uint32_t vm_start, vm_end, vm_offset, vm_flags, vm_file;
	uint32_t file_inode, inode_number, inode_super, super_device;
	void *words, *rules, *mappings; /* mapped; NULL: none */
	size_t word_bytes, rule_bytes, mapping_bytes;
};

/* No descriptors yet. */
void user_maps_init(struct user_maps *w);
/* Make the maps, if there are tables. */
int user_maps_open(struct user_maps *w, const struct engine_options *o, struct features *f,
		   struct diag *d);
/* Forget the mappings of processes that call exec; the link goes to `l`. */
int user_maps_attach(const struct user_maps *w, const struct pid_filter *pids, struct links *l,
		     struct diag *d);
void user_maps_close(struct user_maps *w, const struct engine_options *o);

#endif
