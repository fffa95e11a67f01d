/* Stacks of scripts: the kernel maps that their walk uses, and the way to them and from them.
 *
 *	lang		process and kind of runtime -> struct lang_target; kind 0: the first one
 *	seen		functions that were sent: { object, process, position or 0 }
 *	definitions	a ring: functions on their way to us
 */
#include "engine/bpf/inside.h"

#include <errno.h>
#include <unistd.h>

#include "lang/lang.h"

#define TARGETS_MOST	8192
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

	*fd = store_make_map(&m, d);
	return *fd < 0 ? *fd : 0;
}

static bool wants_stacks(const struct program *p)
{
	for (uint32_t i = 0; i < p->clause_count; i++)
		for (uint32_t k = 0; k < p->clauses[i].insn_count; k++)
			if (p->clauses[i].code[k].op == OP_LSTACK)
				return true;
	return false;
}

/* Without the kernel's description of itself a child of fork is known when the tracer has heard of
 * it. */
static int find_places(struct lang_places *p)
{
	uint32_t thread, self;
	int err = btf_kernel_field("task_struct", "thread", &thread)
			  ?: btf_kernel_field("thread_struct", "fsbase", &self);

	if (err)
		return err;
	p->thread_pointer = thread + self;
	if (btf_kernel_field("task_struct", "real_parent", &p->parent) ||
	    btf_kernel_field("task_struct", "tgid", &p->tgid) ||
	    btf_kernel_field("task_struct", "parent_exec_id", &p->parent_exec) ||
	    btf_kernel_field("task_struct", "self_exec_id", &p->own_exec))
		p->own_exec = 0;
	return 0;
}

int lang_open(struct bpf_engine *e, const struct program *p, struct diag *d)
{
	struct gen_world *w = &e->world;
	int err;

	if (w->lang_fd >= 0 || !wants_stacks(p))
		return 0;
	err = feature_has(&e->features, FEATURE_MAY_GOTO) ? find_places(&w->lang_places) : -ENOTSUP;
	if (err)
		return diag_error(d, -ENOTSUP, "lang-places",
				  "stacks of scripts need x86-64, and Linux 6.9 that describes its "
				  "types (BTF)");
	err = make_map(&w->lang_fd, BPF_MAP_TYPE_HASH, 8, sizeof(struct lang_target), TARGETS_MOST,
		       "lang", d);
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
	if (e->world.seen_fd >= 0)
		close(e->world.seen_fd);
	ring_close(&e->definitions);
	e->world.lang_fd = e->world.seen_fd = -1;
}

static void put_target(void *arg, pid_t pid, enum lang_kind kind, const struct lang_target *target)
{
	struct bpf_engine *e = arg;
	uint64_t key = (uint64_t)kind << 32 | (uint32_t)pid;

	if (target)
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
