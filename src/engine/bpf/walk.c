/* The maps that walks over user stacks read: rows, rules and mappings as arrays of one large entry,
 * which are mapped here too, so that the tables (unwind/tables.h) write them without calls; and the
 * processes, a hash. */
#include "engine/bpf/inside.h"

#include <sys/mman.h>
#include <unistd.h>

#include "btf/btf.h"
#include "engine/bpf/gen_walk.h"
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

bool kernel_fields_find(struct btf *b, const struct kernel_field *fields, size_t count)
{
	struct ctype_member member;
	const struct ctype *type;

	for (size_t i = 0; i < count; i++) {
		if (btf_find(b, CTYPE_STRUCT, str_from(fields[i].type), &type) ||
		    !ctype_member(type, str_from(fields[i].field), &member))
			return false;
		*fields[i].out = (uint32_t)member.offset;
	}
	return true;
}

/* What the kernel's own structures look like. */
static void read_kernel(struct gen_walk_maps *m)
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
	const struct bpf_engine *e = arg;
	uint64_t key = (uint64_t)pid;

	if (run.count)
		kernel_map_update(e->world.walk.processes_fd, &key, &run, BPF_ANY);
	else
		kernel_map_delete(e->world.walk.processes_fd, &key);
}

static void publish_file(void *arg, struct unwind_file_key key, const struct unwind_file *file)
{
	const struct bpf_engine *e = arg;

	kernel_map_update(e->world.walk.files_fd, &key, file, BPF_ANY);
}

static int make_maps(struct bpf_engine *e, struct diag *d)
{
	struct gen_walk_maps *m = &e->world.walk;
	struct walk_memory *w = &e->walk;
	struct unwind_memory memory;
	uint32_t words;
	int err;

	m->mapping_count = room_for_mappings(unwind_tables_mappings(e->options.unwind),
					     e->options.pid ? MAPPINGS_LEAST : 8 * MAPPINGS_LEAST);
	words = room_for_words(unwind_tables_words(e->options.unwind));
	m->word_count = words + WALK_WORDS_AFTER;
	err = map_make_memory("rows", m->word_count * sizeof(union unwind_word), &m->words_fd,
				&w->words, &w->word_bytes, d)
		      ?: map_make_memory("rules", UNWIND_RULES_MOST * sizeof(struct unwind_rule),
				     &m->rules_fd, &w->rules, &w->rule_bytes, d)
		      ?: map_make_memory("mappings",
				     m->mapping_count * sizeof(struct unwind_mapping),
				     &m->mappings_fd, &w->mappings, &w->mapping_bytes, d)
		      ?: map_make_hash("processes", 8, sizeof(struct unwind_run), PROCESSES,
				   &m->processes_fd, d)
		      ?: map_make_hash("files", sizeof(struct unwind_file_key),
				   sizeof(struct unwind_file), FILES, &m->files_fd, d);
	if (err)
		return err;
	memory = (struct unwind_memory){.words = w->words,
					.rules = w->rules,
					.mappings = w->mappings,
					.word_cap = words,
					.mapping_cap = m->mapping_count};
	return unwind_tables_move(e->options.unwind, &memory,
				  &(struct unwind_publisher){e, publish_process, publish_file});
}

int walk_open(struct bpf_engine *e, struct diag *d)
{
	struct gen_walk_maps *m = &e->world.walk;

	if (!e->options.unwind || !gen_walk_knows_cpu())
		return 0;
	m->loops = feature_has(&e->features, FEATURE_MAY_GOTO)	 ? LOOPS_MAY_GOTO
		   : feature_has(&e->features, FEATURE_BPF_LOOP) ? LOOPS_CALLED
								 : LOOPS_WALKED;
	/* Asking for the feature first would read the kernel's types twice. */
	if (e->features.known[FEATURE_BTF] >= 0)
		read_kernel(m);
	m->finds_registers = m->finds_mappings && m->loops != LOOPS_WALKED;
	if (e->options.await_unwind)
		e->options.await_unwind(e->options.await_arg);
	return make_maps(e, d);
}

/* A process that has called exec has other mappings from then on: its run goes before it gets to
 * its first instruction, whenever we hear of it. */
int walk_attach(struct bpf_engine *e, struct diag *d)
{
	struct kernel_program k = {.type = BPF_PROG_TYPE_RAW_TRACEPOINT, .name = "nopal_exec"};
	int fd, link, err;
	struct code c;

	if (e->world.walk.processes_fd < 0)
		return 0;
	code_init(&c);
	code_pid(&c, &e->world.filter, false);
	code_store(&c, 8, FRAME, STACK_KEY, R0);
	code_helper(&c, BPF_FUNC_map_delete_elem, MAP(e->world.walk.processes_fd),
		    SUM(FRAME, STACK_KEY));
	code_const(&c, R0, 0);
	code_exit(&c);
	fd = kernel_program_load_code(&c, k);
	link = fd < 0 ? fd : kernel_link_raw(fd, "sched_process_exec");
	err = link < 0 ? link : links_keep(&e->links, link);
	if (fd >= 0)
		close(fd);
	if (err)
		return diag_error(d, err, "attach",
				  "cannot attach to the kernel's 'sched_process_exec': %s",
				  strerror(-err));
	return 0;
}

void walk_close(struct bpf_engine *e)
{
	int *fds[] = {&e->world.walk.words_fd, &e->world.walk.rules_fd, &e->world.walk.mappings_fd,
		      &e->world.walk.processes_fd, &e->world.walk.files_fd};

	if (e->options.unwind)
		unwind_tables_leave(e->options.unwind);
	if (e->walk.words)
		munmap(e->walk.words, e->walk.word_bytes);
	if (e->walk.rules)
		munmap(e->walk.rules, e->walk.rule_bytes);
	if (e->walk.mappings)
		munmap(e->walk.mappings, e->walk.mapping_bytes);
	for (size_t i = 0; i < COUNT(fds); i++)
		if (*fds[i] >= 0)
			close(*fds[i]);
}
