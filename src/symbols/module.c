/* Opening the files of modules, and their symbol tables. */
#include "symbols/module.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/image.h"
#include "elf/symbols.h"

#define VDSO_BYTES_MOST (256u << 10)

void modules_init(struct modules *m)
{
	m->pool = (struct budget){.memory = NAMES_MEMORY_MOST, .work = UINT64_MAX, .stop_fd = -1};
	m->problems = (struct diag)DIAG_INIT;
}

static void module_free(struct module *module)
{
	if (module->fd >= 0)
		close(module->fd);
	symtab_free(module->symbols);
	free((char *)(uintptr_t)module->path.ptr);
	free(module);
}

void modules_free(struct modules *m)
{
	for (size_t i = 0; i < MODULE_CHAINS; i++) {
		while (m->chains[i]) {
			struct module *next = m->chains[i]->next;

			module_free(m->chains[i]);
			m->chains[i] = next;
		}
	}
	diag_free(&m->problems);
}

static struct module *module_new(uint64_t device, uint64_t inode, struct str path)
{
	struct module *module = calloc(1, sizeof(*module));
	char *copy = malloc(path.len + 1);

	if (!module || !copy) {
		free(module);
		free(copy);
		return NULL;
	}
	memcpy(copy, path.ptr, path.len);
	copy[path.len] = '\0';
	*module = (struct module){
		.device = device, .inode = inode, .path = {copy, path.len}, .fd = -1};
	return module;
}

struct module *modules_get(struct modules *m, uint64_t device, uint64_t inode, struct str path)
{
	struct module **chain = &m->chains[(inode ^ device ^ path.len) % MODULE_CHAINS];
	struct module *module;

	for (module = *chain; module; module = module->next)
		if (module->inode == inode && module->device == device &&
		    str_eq(module->path, path))
			return module;
	if (m->count >= MODULES_MOST)
		return NULL;
	module = module_new(device, inode, path);
	if (!module)
		return NULL;
	module->next = *chain;
	*chain = module;
	m->count++;
	return module;
}

static int open_formatted(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int open_formatted(const char *format, ...)
{
	struct buf path = BUF_INIT;
	va_list args;
	int fd = -1;

	va_start(args, format);
	buf_vprintf(&path, format, args);
	va_end(args);
	if (!path.failed)
		fd = open(path.ptr, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	buf_free(&path);
	return fd;
}

/* Is `fd` the file that was mapped? File systems that stack others show another device in maps, so
 * only the inode tells. */
static int only_the_same(int fd, const struct module *module)
{
	struct stat st;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_ino == module->inode)
		return fd;
	close(fd);
	return -1;
}

/* The ways to a mapped file, the surest first. */
static int open_module(const struct module *module, pid_t pid, uint64_t start, uint64_t end)
{
	int fd = open_formatted("/proc/%d/map_files/%llx-%llx", (int)pid, (unsigned long long)start,
				(unsigned long long)end);

	fd = only_the_same(fd, module);
	if (fd < 0)
		fd = only_the_same(open_formatted("/proc/%d/root%s", (int)pid, module->path.ptr),
				   module);
	if (fd < 0)
		fd = only_the_same(open_formatted("%s", module->path.ptr), module);
	return fd;
}

void module_hold(struct modules *m, struct module *module, pid_t pid, uint64_t start, uint64_t end)
{
	if (module->fd >= 0 || module->tried || !module->inode || m->open_fds >= MODULE_FDS_MOST)
		return;
	module->fd = open_module(module, pid, start, end);
	if (module->fd >= 0)
		m->open_fds++;
}

/* An image's own limit, or what the run has left. */
static struct budget budget_of(const struct modules *m)
{
	struct budget b = budget_for_file(-1);

	if (b.memory > m->pool.memory)
		b.memory = m->pool.memory;
	return b;
}

static void warn_over(struct modules *m, const struct module *module, const struct budget *b)
{
	struct buf path = BUF_INIT;
	bool run = b->end == BUDGET_NO_MEMORY && m->pool.memory < BUDGET_FILE_MEMORY;

	buf_escaped(&path, module->path);
	diag_warn(&m->problems, "over-budget",
		  "functions of '%.*s' have no names: its symbols take %s, the limit for %s",
		  STR_FMT(buf_as_str(&path)),
		  run ? "more than is left of 512 MiB" : budget_limit(b),
		  run ? "all files of a run" : "one file");
	buf_free(&path);
}

/* Takes the descriptor. The root of the process leads to its separate debug files while
 * it lives. */
static struct symtab *read_file(struct modules *m, int fd, const struct module *module, pid_t pid)
{
	struct budget b = budget_of(m);
	uint64_t memory = b.memory;
	struct symtab *symbols = NULL;
	struct image *image = NULL;
	struct buf root = BUF_INIT;

	buf_printf(&root, "/proc/%d/root", (int)pid);
	if (access(root.ptr ? root.ptr : "", F_OK))
		buf_clear(&root);
	if (!image_open_fd(fd, module->path, &image, NULL)) {
		image_set_budget(image, &b);
		symtab_read(image, module->path, buf_as_str(&root), &symbols, NULL);
	}
	image_close(image);
	buf_free(&root);
	if (budget_error(&b))
		warn_over(m, module, &b);
	else
		m->pool.memory -= memory - b.memory;
	return symbols;
}

/* Bytes of an ELF file in memory: its section headers stand at its end. */
static size_t loaded_size(const void *bytes)
{
	const ElfW(Ehdr) *head = bytes;
	size_t size = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;

	return size <= VDSO_BYTES_MOST ? size : 0;
}

/* The kernel gives every process of one word size the same vDSO; ours is at hand. */
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

static void read_symbols(struct modules *m, struct module *module, pid_t pid, uint64_t start,
			 uint64_t end)
{
	int fd = module->fd;

	module->tried = true;
	if (str_eq_text(module->path, "[vdso]")) {
		module->symbols = read_vdso(start);
		return;
	}
	if (!module->inode)
		return;
	if (fd < 0)
		fd = open_module(module, pid, start, end);
	module->fd = -1;
	if (fd >= 0)
		module->symbols = read_file(m, fd, module, pid);
}

bool module_name_at(struct modules *m, struct module *module, pid_t pid, uint64_t start,
		    uint64_t end, uint64_t offset, struct str *name, uint64_t *into)
{
	struct symbol symbol;

	if (!module->tried)
		read_symbols(m, module, pid, start, end);
	if (!module->symbols || !symtab_at_offset(module->symbols, offset, &symbol, into))
		return false;
	*name = symbol.name;
	return true;
}
