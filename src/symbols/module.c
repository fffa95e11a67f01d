/* Opening the files of modules, and their symbol tables. */
#include "symbols/process.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/array.h"
#include "debuginfo/debuginfo.h"
#include "elf/image.h"
#include "elf/symbols.h"

#define VDSO_BYTES_MOST (256u << 10)

void modules_init(struct modules *m)
{
	m->pool = (struct budget){.memory = NAMES_MEMORY_MOST, .work = UINT64_MAX, .stop_fd = -1};
	m->debug_pool =
		(struct budget){.memory = LINES_MEMORY_MOST, .work = UINT64_MAX, .stop_fd = -1};
	m->lines_work =
		(struct budget){.memory = UINT64_MAX, .work = LINES_WORK_MOST, .stop_fd = -1};
	m->problems = (struct diag)DIAG_INIT;
}

static void module_free(struct module *module)
{
	if (module->fd >= 0)
		close(module->fd);
	symtab_free(module->symbols);
	debuginfo_close(module->debuginfo);
	free((char *)(uintptr_t)module->path.ptr);
	free((char *)(uintptr_t)module->build_id.ptr);
	free(module);
}

void modules_free(struct modules *m)
{
	for (size_t i = 0; i < m->count; i++)
		module_free(m->items[i]);
	free(m->items);
	hash_free(&m->by_inode);
	diag_free(&m->problems);
}

struct module *modules_get(struct modules *m, const struct mapped_file *file)
{
	uint64_t hash = hash_bytes(file->device, &file->inode, sizeof(file->inode));
	struct module *module;

	hash_each(i, &m->by_inode, hash) {
		module = m->items[i];
		if (module->inode == file->inode && module->device == file->device &&
		    str_eq(module->path, file->path))
			return module;
	}
	if (m->count >= MODULES_MOST || array_grow(m->items, m->count, m->cap))
		return NULL;
	module = calloc(1, sizeof(*module));
	if (!module)
		return NULL;
	*module = (struct module){.device = file->device,
				  .inode = file->inode,
				  .path = str_copy(file->path),
				  .fd = -1};
	if (!module->path.ptr || hash_add(&m->by_inode, hash, m->count)) {
		module_free(module);
		return NULL;
	}
	m->items[m->count++] = module;
	module->number = (uint32_t)m->count;
	return module;
}

void module_hold(struct modules *m, struct module *module, const struct mapped_file *file)
{
	if (module->fd >= 0 || module->tried || !module->inode || m->open_fds >= MODULE_FDS_MOST)
		return;
	module->fd = mapped_file_open(file);
	if (module->fd >= 0)
		m->open_fds++;
}

/* Warn that something of a file is left out. */
static void say_skipped(struct modules *m, const struct module *module, const char *tag,
			const char *what, const char *why)
{
	struct buf path = BUF_INIT;

	buf_escaped(&path, module->path);
	diag_warn(&m->problems, tag, "%s '%.*s' %s", what, STR_FMT(buf_as_str(&path)), why);
	buf_free(&path);
}

static void read_debuginfo(struct modules *m, struct module *module, struct image *image,
			   struct str root)
{
	struct budget b = m->debug_pool;
	int err;

	if (m->debuginfos >= DEBUGINFOS_MOST) {
		if (m->debuginfos++ == DEBUGINFOS_MOST)
			say_skipped(m, module, "no-lines", "lines of",
				    "and of what comes after it are not shown: debug information "
				    "of 256 files is open");
		return;
	}
	image_set_budget(image, &b);
	err = debuginfo_open(image, module->path, root, &module->debuginfo, NULL);
	image_set_budget(image, NULL);
	if (!err) {
		debuginfo_set_budget(module->debuginfo, &m->lines_work);
		m->debug_pool.memory = b.memory;
		m->debuginfos++;
	} else if (budget_error(&b)) {
		say_skipped(
			m, module, "no-lines", "lines of",
			"are not shown: its debug information takes more than is left of 512 MiB");
	} else if (err == -EBADMSG) {
		say_skipped(m, module, "no-lines", "lines of",
			    "are not shown: its debug information is damaged");
	}
}

/* Takes the descriptor. The root of the process leads to its separate debug files while
 * it lives. */
static void read_file(struct modules *m, int fd, struct module *module, pid_t pid)
{
	/* An image's own limit, or what the run has left. */
	struct budget b = budget_for_file(-1);
	uint64_t memory = b.memory < m->pool.memory ? b.memory : m->pool.memory;
	struct image *image = NULL;
	struct buf root = BUF_INIT, why = BUF_INIT;
	bool run;

	b.memory = memory;
	buf_printf(&root, "/proc/%d/root", (int)pid);
	if (access(root.ptr ? root.ptr : "", F_OK))
		buf_clear(&root);
	if (!image_open_fd(fd, module->path, &image, NULL)) {
		image_set_budget(image, &b);
		module->build_id = str_copy(image_build_id(image));
		symtab_read(image, module->path, buf_as_str(&root), &module->symbols, NULL);
		if (m->wants_lines && module->symbols)
			read_debuginfo(m, module, image, buf_as_str(&root));
	}
	image_close(image);
	buf_free(&root);
	if (!budget_error(&b)) {
		m->pool.memory -= memory - b.memory;
		return;
	}
	run = b.end == BUDGET_NO_MEMORY && m->pool.memory < BUDGET_FILE_MEMORY;
	buf_printf(&why, "have no names: its symbols take %s, the limit for %s",
		   run ? "more than is left of 512 MiB" : budget_limit(&b),
		   run ? "all files of a run" : "one file");
	say_skipped(m, module, "over-budget", "functions of", why.failed ? "" : why.ptr);
	buf_free(&why);
}

/* Bytes of an ELF file in memory: its section headers are at its end. */
static size_t loaded_size(const void *bytes)
{
	const ElfW(Ehdr) *head = bytes;
	size_t size = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;

	return size <= VDSO_BYTES_MOST ? size : 0;
}

/* The kernel gives every process of one word size the same vDSO; we have one, too. */
static struct symtab *read_vdso(uint64_t start)
{
	const void *bytes = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct symtab *symbols = NULL;
	struct image *image = NULL;

	if (!bytes || (sizeof(void *) == 8) != (start > UINT32_MAX) || !loaded_size(bytes))
		return NULL;
	if (!image_open_memory(bytes, loaded_size(bytes), STR("[vdso]"), &image, NULL))
		symtab_read(image, STR(""), STR(""), &symbols, NULL);
	image_close(image);
	return symbols;
}

static void read_symbols(struct modules *m, struct module *module, const struct mapped_file *file)
{
	int fd = module->fd;

	module->tried = true;
	if (str_eq_text(module->path, "[vdso]")) {
		module->symbols = read_vdso(file->start);
		return;
	}
	if (!module->inode)
		return;
	if (fd < 0)
		fd = mapped_file_open(file);
	m->open_fds -= module->fd >= 0;
	module->fd = -1;
	if (fd >= 0)
		read_file(m, fd, module, file->pid);
}

bool module_name_at(struct modules *m, struct module *module, const struct mapped_file *file,
		    uint64_t offset, struct str *name, uint64_t *into)
{
	struct symbol symbol;

	if (!module->tried)
		read_symbols(m, module, file);
	if (!module->symbols || !symtab_at_offset(module->symbols, offset, &symbol, into))
		return false;
	*name = symbol.name;
	return true;
}

bool module_address_of(const struct module *module, uint64_t offset, uint64_t *address)
{
	return module->symbols && symtab_address_of(module->symbols, offset, address);
}

void module_report_cut(struct modules *m, struct module *module)
{
	if (module->is_cut_reported || !debuginfo_frames_are_cut(module->debuginfo))
		return;
	module->is_cut_reported = true;
	say_skipped(m, module, "no-lines", "some lines and inlined functions of",
		    "are not shown: its debug information is too large");
}
