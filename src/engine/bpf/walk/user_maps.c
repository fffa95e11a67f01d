/* The maps of walks over user stacks; see user_maps.h. */
#include "engine/bpf/walk/user_maps.h"

#include <sys/mman.h>
#include <unistd.h>

#include "btf/btf.h"
#include "engine/bpf/kernel/kernel_btf.h"
#include "engine/bpf/kernel/links.h"
#include "engine/bpf/kernel/make_map.h"
#include "engine/bpf/walk/user_code.h"
#include "engine/engine.h"
#include "unwind/tables.h"

#define PROCESSES 65536u
#define FILES	  16384u
/* Memory is taken when the maps are made, for what is mapped later, too: as many rows as the
 * largest libraries have, libLLVM 830,000; and twice the mappings that are known, a power of two.
 */
#define WORDS_LATER    860000u /* 3.3 MiB */
#define MAPPINGS_LEAST (1u << 12)

static uint32_t room_for_words(size_t known)
{
	size_t room = known + WORDS_LATER;

	return room < UNWIND_WORDS_MOST ? (uint32_t)room : UNWIND_WORDS_MOST;
}

static uint32_t room_for_mappings(size_t known, uint32_t least)
{
	uint32_t room = least;

	while (room < UNWIND_MAPPINGS_MOST && room < 2 * known)
		room *= 2;
	return room;
}

/* What the kernel's own structures look like. */
static void read_kernel(struct user_maps *m)
{
	const struct kernel_field returns[] = {
		{"task_struct", "utask", &m->utask},
		{"uprobe_task", "return_instances", &m->returns},
		{"return_instance", "stack", &m->return_stack},
		{"return_instance", "orig_ret_vaddr", &m->return_to},
		{"return_instance", "next", &m->return_next},
	};
	const struct kernel_field mappings[] = {
		{"vm_area_struct", "vm_start", &m->vm_start},
		{"vm_area_struct", "vm_end", &m->vm_end},
		{"vm_area_struct", "vm_pgoff", &m->vm_offset},
		{"vm_area_struct", "vm_flags", &m->vm_flags},
		{"vm_area_struct", "vm_file", &m->vm_file},
		{"file", "f_inode", &m->file_inode},
		{"inode", "i_ino", &m->inode_number},
		{"inode", "i_sb", &m->inode_super},
		{"super_block", "s_dev", &m->super_device},
	};
	struct btf *b;

	if (btf_open(BTF_KERNEL, NULL, &b, NULL))
		return;
	if (!kernel_fields_find(b, returns, COUNT(returns)))
		m->utask = 0;
	m->finds_mappings = kernel_fields_find(b, mappings, COUNT(mappings));
	btf_close(b);
}

static void publish_process(void *arg, pid_t pid, struct unwind_run run)
{
	const struct user_maps *w = arg;
	uint64_t key = (uint64_t)pid;

	if (run.count)
		kernel_map_update(w->processes_fd, &key, &run, BPF_ANY);
	else
		kernel_map_delete(w->processes_fd, &key);
}

static void publish_file(void *arg, struct unwind_file_key key, const struct unwind_file *file)
{
	const struct user_maps *w = arg;

	kernel_map_update(w->files_fd, &key, file, BPF_ANY);
}

void user_maps_init(struct user_maps *w)
{
	*w = (struct user_maps){.words_fd = -1,
				.rules_fd = -1,
				.mappings_fd = -1,
				.processes_fd = -1,
				.files_fd = -1};
}

static int make_maps(struct user_maps *w, const struct engine_options *o, struct diag *d)
{
	struct unwind_memory memory;
	uint32_t words;
	int err;

	w->mapping_count = room_for_mappings(unwind_tables_mappings(o->unwind),
					     o->pid ? MAPPINGS_LEAST : 8 * MAPPINGS_LEAST);
	words = room_for_words(unwind_tables_words(o->unwind));
	w->word_count = words + WALK_WORDS_AFTER;
	err = map_make_memory("rows", w->word_count * sizeof(union unwind_word), &w->words_fd,
				&w->words, &w->word_bytes, d)
		      ?: map_make_memory("rules", UNWIND_RULES_MOST * sizeof(struct unwind_rule),
				     &w->rules_fd, &w->rules, &w->rule_bytes, d)
		      ?: map_make_memory("mappings",
				     w->mapping_count * sizeof(struct unwind_mapping),
				     &w->mappings_fd, &w->mappings, &w->mapping_bytes, d)
		      ?: map_make_hash("processes", 8, sizeof(struct unwind_run), PROCESSES,
				   &w->processes_fd, d)
		      ?: map_make_hash("files", sizeof(struct unwind_file_key),
				   sizeof(struct unwind_file), FILES, &w->files_fd, d);
	if (err)
		return err;
	memory = (struct unwind_memory){.words = w->words,
					.rules = w->rules,
					.mappings = w->mappings,
					.word_cap = words,
					.mapping_cap = w->mapping_count};
	return unwind_tables_move(o->unwind, &memory,
				  &(struct unwind_publisher){w, publish_process, publish_file});
}

int user_maps_open(struct user_maps *w, const struct engine_options *o, struct features *f,
		   struct diag *d)
{
	if (!o->unwind || !user_walk_knows_cpu())
		return 0;
	w->has_may_goto = feature_has(f, FEATURE_MAY_GOTO);
	/* Asking for the feature first would read the kernel's types twice. */
	if (f->known[FEATURE_BTF] >= 0)
		read_kernel(w);
	/* The helpers that these need are as old as bpf_loop, or older. */
	w->finds_mappings =
		w->finds_mappings && (w->has_may_goto || feature_has(f, FEATURE_BPF_LOOP));
	if (o->await_unwind)
		o->await_unwind(o->await_arg);
	return make_maps(w, o, d);
}

/* A process that has called exec has other mappings from then on: its run goes before it gets to
 * its first instruction, whenever we hear of it. */
int user_maps_attach(const struct user_maps *w, const struct pid_filter *pids, struct links *l,
		     struct diag *d)
{
	struct code c;
	int err;

	if (w->processes_fd < 0)
		return 0;
	code_init(&c);
	code_pid(&c, pids, false);
	code_store(&c, 8, FRAME, STACK_KEY, R0);
	code_helper(&c, BPF_FUNC_map_delete_elem, MAP(w->processes_fd), SUM(FRAME, STACK_KEY));
	code_const(&c, R0, 0);
	code_exit(&c);
	err = links_raw(l, &c, "nopal_exec", "sched_process_exec");
	if (err)
		return diag_error(d, err, "attach",
				  "cannot attach to the kernel's 'sched_process_exec': %s",
				  strerror(-err));
	return 0;
}

void user_maps_close(struct user_maps *w, const struct engine_options *o)
{
	const int fds[] = {w->words_fd, w->rules_fd, w->mappings_fd, w->processes_fd, w->files_fd};

	if (o->unwind)
		unwind_tables_leave(o->unwind);
	if (w->words)
		munmap(w->words, w->word_bytes);
	if (w->rules)
		munmap(w->rules, w->rule_bytes);
	if (w->mappings)
		munmap(w->mappings, w->mapping_bytes);
	for (size_t i = 0; i < COUNT(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}
