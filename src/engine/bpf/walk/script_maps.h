/* What walks over stacks of scripts read, and the way of the names of functions to the tracer:
 *
 *	targets		process and kind of runtime -> struct lang_target; kind 0: the first one
 *	files		device and inode of a program that is a runtime -> struct lang_target
 *	seen		functions that were sent: { object, process, position or 0 }
 *	definitions	a ring: functions on their way to us
 */
#ifndef NOPAL_ENGINE_BPF_WALK_SCRIPT_MAPS_H
#define NOPAL_ENGINE_BPF_WALK_SCRIPT_MAPS_H

#include "engine/bpf/kernel/features.h"
#include "engine/bpf/kernel/ring_reader.h"

struct lang_names;
struct program;

/* Bytes from the start of the kernel's structures: of struct task_struct up to `mm`, then of those
 * that lead to the file that the task runs. */
struct lang_places {
	bool knows_forks, knows_files;
	uint32_t thread_pointer, parent, tgid, parent_exec, own_exec;
	uint32_t mm, exe, code, inode, number, super, device;
};

struct script_maps {
	int targets_fd, files_fd, seen_fd; /* -1: no clause has such a stack */
	struct ring definitions;
	struct lang_places places;
};

/* No descriptors yet. */
void script_maps_init(struct script_maps *w);
/* Make the maps, if a clause of the program has a stack of a script and they are not there. */
int script_maps_open(struct script_maps *w, const struct program *p, struct features *f,
		     bool has_may_goto, struct diag *d);
void script_maps_close(struct script_maps *w);
/* Give the kernel the runtimes that have been found since the last call. `names` NULL: nothing. */
void script_maps_learn(struct script_maps *w, struct lang_names *names);
/* Take the definitions that have come, so that the records after them have names. */
void script_maps_drain(struct script_maps *w, struct lang_names *names);

#endif
