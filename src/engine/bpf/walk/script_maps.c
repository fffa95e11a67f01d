/* The maps of walks over stacks of scripts; see script_maps.h. */
#include "engine/bpf/walk/script_maps.h"

#include <errno.h>
#include <unistd.h>

#include "base/array.h"
#include "btf/btf.h"
#include "engine/bpf/kernel/kernel_btf.h"
#include "engine/bpf/kernel/make_map.h"
#include "lang/lang.h"
#include "program/program.h"

#define TARGETS_MOST	8192
#define FILES_MOST	1024
#define SEEN_MOST	16384
#define DEFINITION_RING (8u << 20)

/* Where the kernel keeps what the walk needs of a task; and what lets it know a process before the
 * tracer has heard of it. */
static int find_places(struct lang_places *p)
{
	uint32_t thread, self;
	const struct kernel_field needed[] = {
		{"task_struct", "thread", &thread},
		{"thread_struct", "fsbase", &self},
	};
	const struct kernel_field of_fork[] = {
		{"task_struct", "real_parent", &p->parent},
		{"task_struct", "tgid", &p->tgid},
		{"task_struct", "parent_exec_id", &p->parent_exec},
		{"task_struct", "self_exec_id", &p->own_exec},
	};
	const struct kernel_field of_file[] = {
		{"task_struct", "mm", &p->mm},	       {"mm_struct", "exe_file", &p->exe},
		{"mm_struct", "start_code", &p->code}, {"file", "f_inode", &p->inode},
		{"inode", "i_ino", &p->number},	       {"inode", "i_sb", &p->super},
		{"super_block", "s_dev", &p->device},
	};
	struct btf *b;
	int err = btf_open(BTF_KERNEL, NULL, &b, NULL);

	if (err)
		return err;
	if (!kernel_fields_find(b, needed, COUNT(needed)))
		err = -ENOENT;
	else
		p->thread_pointer = thread + self;
	p->knows_forks = !err && kernel_fields_find(b, of_fork, COUNT(of_fork));
	p->knows_files = !err && kernel_fields_find(b, of_file, COUNT(of_file));
	btf_close(b);
	return err;
}

void script_maps_init(struct script_maps *w)
{
	*w = (struct script_maps){.targets_fd = -1,
				  .files_fd = -1,
				  .seen_fd = -1,
				  .definitions = {.fd = -1, .wait_fd = -1}};
}

int script_maps_open(struct script_maps *w, const struct program *p, struct features *f,
		     bool has_may_goto, struct diag *d)
{
	int err;

	if (w->targets_fd >= 0 || !program_uses(p, OP_LSTACK))
		return 0;
	err = has_may_goto || feature_has(f, FEATURE_BPF_LOOP) ? find_places(&w->places) : -ENOTSUP;
	if (err)
		return diag_error(
			d, -ENOTSUP, "lang-places",
			"stacks of scripts need x86-64, and Linux 5.17 that describes its "
			"types (BTF)");
	err = map_make_plain(&w->targets_fd, BPF_MAP_TYPE_HASH, 8, sizeof(struct lang_target),
			     TARGETS_MOST, "lang", d);
	if (!err)
		err = map_make_plain(&w->files_fd, BPF_MAP_TYPE_HASH, 16,
				     sizeof(struct lang_target), FILES_MOST, "lang_files", d);
	if (!err)
		err = map_make_plain(&w->seen_fd, BPF_MAP_TYPE_LRU_HASH, 24, 8, SEEN_MOST,
				     "lang_seen", d);
	return err ?: ring_open(&w->definitions, DEFINITION_RING, d);
}

void script_maps_close(struct script_maps *w)
{
	const int fds[] = {w->targets_fd, w->files_fd, w->seen_fd};

	for (size_t i = 0; i < COUNT(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	ring_close(&w->definitions);
	w->targets_fd = w->files_fd = w->seen_fd = -1;
}

/* The kernel's own number of a device has 20 bits for the minor one. */
static void put_file(const struct script_maps *w, const struct lang_target *target)
{
	const uint64_t key[] = {target->device >> 32 << 20 | (target->device & 0xfffff),
				target->inode};

	kernel_map_update(w->files_fd, key, target, BPF_ANY);
}

static void put_target(void *arg, pid_t pid, enum lang_kind kind, const struct lang_target *target)
{
	const struct script_maps *w = arg;
	uint64_t key = (uint64_t)kind << 32 | (uint32_t)pid;

	if (!pid)
		put_file(w, target);
	else if (target)
		kernel_map_update(w->targets_fd, &key, target, BPF_ANY);
	else
		kernel_map_delete(w->targets_fd, &key);
}

void script_maps_learn(struct script_maps *w, struct lang_names *names)
{
	if (w->targets_fd >= 0 && names)
		lang_names_changes(names, put_target, w);
}

static int take_definition(void *arg, struct str bytes)
{
	lang_names_define(arg, bytes);
	return 0;
}

void script_maps_drain(struct script_maps *w, struct lang_names *names)
{
	if (w->targets_fd < 0 || !names)
		return;
	script_maps_learn(w, names);
	ring_drain(&w->definitions, take_definition, names);
}
