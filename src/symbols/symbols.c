/* Processes by pid, and the way from an address to a name: process -> mapping -> module -> symbol,
 * with the maps read again when the address is not covered. */
#include "symbols/symbols.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "symbols/demangle.h"
#include "symbols/kernel.h"
#include "symbols/process.h"

#define CHAINS 256
/* Beyond these the process seen longest ago is forgotten. */
#define PROCESSES_MOST 4096

/* Maps are read again for unknown addresses, but not more often. */
#define REFRESH_MS 20

struct symbols {
	struct modules modules;
	struct process *chains[CHAINS];
	struct process *order[PROCESSES_MOST]; /* a ring, oldest at `oldest` when it is full */
	size_t count, oldest;
	bool kernel_tried;
	struct kernel_symbols *kernel;
	struct demangler demangler;
};

int symbols_new(struct symbols **out)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	modules_init(&s->modules);
	*out = s;
	return 0;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		process_free(s->order[i]);
	modules_free(&s->modules);
	kernel_symbols_free(s->kernel);
	demangler_close(&s->demangler);
	free(s);
}

static struct process **chain_of(struct symbols *s, pid_t pid)
{
	return &s->chains[(unsigned)pid % CHAINS];
}

static struct process *find_process(struct symbols *s, pid_t pid)
{
	struct process *p = *chain_of(s, pid);

	while (p && p->pid != pid)
		p = p->next;
	return p;
}

static void forget(struct symbols *s, struct process *p)
{
	struct process **at = chain_of(s, p->pid);

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	process_free(p);
}

static void remember(struct symbols *s, struct process *p)
{
	struct process **chain = chain_of(s, p->pid);

	if (s->count < PROCESSES_MOST) {
		s->order[s->count++] = p;
	} else {
		forget(s, s->order[s->oldest]);
		s->order[s->oldest] = p;
		s->oldest = (s->oldest + 1) % PROCESSES_MOST;
	}
	p->next = *chain;
	*chain = p;
}

static struct process *see(struct symbols *s, pid_t pid)
{
	struct process *p = find_process(s, pid);

	if (p) {
		process_refresh(p, &s->modules); /* when it is gone, what is known stays */
		return p;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	if (process_refresh(p, &s->modules)) {
		process_free(p);
		return NULL;
	}
	remember(s, p);
	return p;
}

void symbols_see(struct symbols *s, pid_t pid)
{
	if (pid > 0)
		see(s, pid);
}

/* A process by what the kernel says of it, not by /proc. */
static struct process *hear_of(struct symbols *s, pid_t pid)
{
	struct process *p = find_process(s, pid);

	if (p || pid <= 0)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = p->inner_pid = pid;
	remember(s, p);
	return p;
}

void symbols_map(struct symbols *s, pid_t pid, const struct symbols_mapping *m)
{
	const struct map_line line = {
		.mapping = {m->start, m->start + m->length, m->offset, NULL},
		.is_executable = true,
		.device = (uint64_t)m->major << 32 | m->minor,
		.inode = m->inode,
		.path = m->path,
	};
	struct process *p = hear_of(s, pid);

	if (p && line.mapping.end > line.mapping.start)
		process_map(p, &s->modules, &line);
}

void symbols_fork(struct symbols *s, pid_t parent, pid_t child)
{
	const struct process *from;
	struct process *to;

	if (!find_process(s, parent) || find_process(s, child))
		return;
	to = hear_of(s, child);
	from = find_process(s, parent); /* it may have been forgotten for the child */
	if (to && from)
		process_copy_mappings(to, from);
}

void symbols_see_all(struct symbols *s)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		uint64_t pid;

		if (!str_to_u64(str_from(entry->d_name), &pid) && pid <= INT32_MAX)
			symbols_see(s, (pid_t)pid);
	}
	if (proc)
		closedir(proc);
}

void symbols_number(uint64_t address, struct buf *out)
{
	if (address)
		buf_text(out, "0x");
	buf_hex(out, address);
}

static void add_name(struct symbols *s, struct str name, uint64_t into, unsigned flags,
		     struct buf *out)
{
	demangle(&s->demangler, name, out);
	if (!(flags & SYMBOL_OFFSET))
		return;
	buf_char(out, '+');
	buf_u64(out, into);
}

/* A stack without frame pointers is full of addresses that no reading of maps explains. */
static bool may_refresh(struct process *p)
{
	struct timespec t = {0, 0};
	int64_t now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	now = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
	if (now - p->tried_ms < REFRESH_MS)
		return false;
	p->tried_ms = now;
	return true;
}

static const struct mapping *find_mapping(struct symbols *s, pid_t pid, uint64_t address,
					  struct process **process)
{
	const struct mapping *m = NULL;
	struct process *p = find_process(s, pid);

	if (p)
		m = process_mapping_at(p, address);
	if (!m && (!p || may_refresh(p))) {
		p = see(s, pid);
		m = p ? process_mapping_at(p, address) : NULL;
	}
	*process = p;
	return m;
}

static bool name_in_process(struct symbols *s, struct process *p, const struct mapping *m,
			    uint64_t address, struct str *name, uint64_t *into)
{
	if (m->module && module_name_at(&s->modules, m->module, p->pid, m->start, m->end,
					address - m->start + m->offset, name, into))
		return true;
	/* Run-times also put their code into files of memory. */
	if (m->module && !str_starts(m->module->path, STR("/memfd:")))
		return false;
	return process_jit_name_at(p, &s->modules, address, name, into);
}

void symbols_user(struct symbols *s, pid_t pid, uint64_t address, unsigned flags, struct buf *out)
{
	struct process *p = NULL;
	const struct mapping *m = pid > 0 ? find_mapping(s, pid, address, &p) : NULL;
	struct str name;
	uint64_t into;

	if (m && name_in_process(s, p, m, address, &name, &into))
		add_name(s, name, into, flags, out);
	else
		symbols_number(address, out);
	if (m && m->module && flags & SYMBOL_MODULE) {
		buf_text(out, " (");
		buf_str(out, m->module->path);
		buf_char(out, ')');
	}
}

void symbols_problems(struct symbols *s, struct diag *d)
{
	diag_add_all(d, &s->modules.problems);
	diag_free(&s->modules.problems);
	s->modules.problems = (struct diag)DIAG_INIT;
}

void symbols_kernel(struct symbols *s, uint64_t address, unsigned flags, struct buf *out)
{
	struct str name;
	uint64_t into;

	if (!s->kernel_tried)
		kernel_symbols_read("/proc/kallsyms", &s->kernel);
	s->kernel_tried = true;
	if (s->kernel && kernel_symbols_at(s->kernel, address, &name, &into))
		add_name(s, name, into, flags, out);
	else
		symbols_number(address, out);
}
