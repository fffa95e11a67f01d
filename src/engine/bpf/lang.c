/* Stacks of scripts: the kernel maps that their walk uses, and the way to them and from them.
 *
 *	lang		process and kind of runtime -> struct lang_target; kind 0: the first one
 *	lang_files	device and inode of a program that is a runtime -> struct lang_target
 *	seen		functions that were sent: { object, process, position or 0 }
 *	definitions	a ring: functions on their way to us
 */
#include "engine/bpf/inside.h"

#include <errno.h>
#include <unistd.h>

#include "base/array.h"
#include "btf/btf.h"
#include "lang/lang.h"

#define TARGETS_MOST	8192
#define FILES_MOST	1024
#define SEEN_MOST	16384
#define DEFINITION_RING (8u << 20)

static int make_map(int *fd, enum bpf_map_type type, uint32_t key, uint32_t value, uint32_t entries,
		    const char *name, struct diag *d)
{
	struct kernel_map m = {.type = type,
			       .key_size = key,
			       .value_size = value,
			       .max_entries = entries,
			       .name = name};

	*fd = map_make(&m, d);
	return *fd < 0 ? *fd : 0;
}

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

int lang_open(struct bpf_engine *e, const struct program *p, struct diag *d)
{
	struct gen_world *w = &e->world;
	int err;

	if (w->lang_fd >= 0 || !program_uses(p, OP_LSTACK))
		return 0;
	err = w->has_may_goto || feature_has(&e->features, FEATURE_BPF_LOOP)
		      ? find_places(&w->lang_places)
		      : -ENOTSUP;
	if (err)
		return diag_error(
			d, -ENOTSUP, "lang-places",
			"stacks of scripts need x86-64, and Linux 5.17 that describes its "
			"types (BTF)");
	err = make_map(&w->lang_fd, BPF_MAP_TYPE_HASH, 8, sizeof(struct lang_target), TARGETS_MOST,
		       "lang", d);
	if (!err)
		err = make_map(&w->lang_files_fd, BPF_MAP_TYPE_HASH, 16, sizeof(struct lang_target),
			       FILES_MOST, "lang_files", d);
	if (!err)
		err = make_map(&w->seen_fd, BPF_MAP_TYPE_LRU_HASH, 24, 8, SEEN_MOST, "lang_seen",
			       d);
	if (!err)
		err = ring_open(&e->definitions, DEFINITION_RING, d);
	w->definitions_fd = e->definitions.fd;
	return err;
}

void lang_close(struct bpf_engine *e)
{
	if (e->world.lang_fd >= 0)
		close(e->world.lang_fd);
	if (e->world.lang_files_fd >= 0)
		close(e->world.lang_files_fd);
	if (e->world.seen_fd >= 0)
		close(e->world.seen_fd);
	ring_close(&e->definitions);
	e->world.lang_fd = e->world.lang_files_fd = e->world.seen_fd = -1;
}

/* The kernel's own number of a device has 20 bits for the minor one. */
static void put_file(struct bpf_engine *e, const struct lang_target *target)
{
	const uint64_t key[] = {target->device >> 32 << 20 | (target->device & 0xfffff),
				target->inode};

	kernel_map_update(e->world.lang_files_fd, key, target, BPF_ANY);
}

static void put_target(void *arg, pid_t pid, enum lang_kind kind, const struct lang_target *target)
{
	struct bpf_engine *e = arg;
	uint64_t key = (uint64_t)kind << 32 | (uint32_t)pid;

	if (!pid)
		put_file(e, target);
	else if (target)
		kernel_map_update(e->world.lang_fd, &key, target, BPF_ANY);
	else
		kernel_map_delete(e->world.lang_fd, &key);
}

void bpf_learn(struct engine *engine)
{
	struct bpf_engine *e = (struct bpf_engine *)engine;

	if (e->world.lang_fd >= 0 && e->options.langs)
		lang_names_changes(e->options.langs, put_target, e);
}

static int take_definition(void *arg, struct str bytes)
{
	lang_names_define(arg, bytes);
	return 0;
}

void lang_drain(struct bpf_engine *e)
{
	if (e->world.lang_fd < 0 || !e->options.langs)
		return;
	bpf_learn(&e->engine);
	ring_drain(&e->definitions, take_definition, e->options.langs);
}
