/* Processes by pid, and the way from an address to a name: process -> mapping -> module -> symbol,
 * with the maps read again when the address is not covered. */
#include "symbols/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/proc.h"
#include "symbols/demangle.h"
#include "symbols/kernel.h"
#include "symbols/process.h"
#include "symbols/sources.h"

/* Beyond these the process that was seen first is forgotten. */
#define PROCESSES_MOST 4096

/* Maps are read again for unknown addresses, but not more often. */
#define REFRESH_MS 20

struct symbols {
	struct modules modules;
	struct process *processes[PROCESSES_MOST]; /* a ring, oldest at `oldest` when it is full */
	size_t count, oldest;
	struct hash by_pid; /* their indexes */
	bool kernel_tried;
	struct kernel_symbols *kernel;
	enum demangle_form form;
	struct sources sources;
};

int symbols_new(struct symbols **out)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (!s || hash_reserve(&s->by_pid, PROCESSES_MOST)) {
		free(s);
		return -ENOMEM;
	}
	modules_init(&s->modules);
	*out = s;
	return 0;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		process_free(s->processes[i]);
	hash_free(&s->by_pid);
	modules_free(&s->modules);
	kernel_symbols_free(s->kernel);
	sources_free(&s->sources);
	free(s);
}

static uint64_t hash_pid(pid_t pid)
{
	return hash_bytes(0, &pid, sizeof(pid));
}

static struct process *find_process(struct symbols *s, pid_t pid)
{
	hash_each(i, &s->by_pid, hash_pid(pid))
		if (s->processes[i]->pid == pid)
			return s->processes[i];
	return NULL;
}

static void remember_process(struct symbols *s, struct process *p)
{
	size_t at = s->count;

	if (at == PROCESSES_MOST) {
		at = s->oldest;
		s->oldest = (at + 1) % PROCESSES_MOST;
		hash_remove(&s->by_pid, hash_pid(s->processes[at]->pid), at);
		process_free(s->processes[at]);
	} else {
		s->count++;
	}
	s->processes[at] = p;
	hash_add(&s->by_pid, hash_pid(p->pid), at); /* there is room: see symbols_new() */
}

static struct process *renew_process(struct symbols *s, pid_t pid, struct str maps)
{
	struct process *p = find_process(s, pid);

	if (p) {
		process_renew(p, &s->modules, maps); /* when it is gone, what is known is kept */
		return p;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	if (process_renew(p, &s->modules, maps)) {
		process_free(p);
		return NULL;
	}
	remember_process(s, p);
	return p;
}

static struct process *refresh_process(struct symbols *s, pid_t pid)
{
	struct buf maps = BUF_INIT;
	struct process *p = maps_read(pid, &maps) ? find_process(s, pid)
						  : renew_process(s, pid, buf_as_str(&maps));

	buf_free(&maps);
	return p;
}

void symbols_see(struct symbols *s, pid_t pid)
{
	if (pid > 0)
		refresh_process(s, pid);
}

void symbols_see_maps(struct symbols *s, pid_t pid, struct str maps)
{
	renew_process(s, pid, maps);
}

/* A process that the kernel reported, without reading /proc. */
static struct process *add_unread(struct symbols *s, pid_t pid)
{
	struct process *p = find_process(s, pid);

	if (p || pid <= 0)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = p->inner_pid = pid;
	remember_process(s, p);
	return p;
}

void symbols_map(struct symbols *s, pid_t pid, const struct symbols_mapping *m)
{
	const struct mapped_file file = {
		.pid = pid,
		.start = m->start,
		.end = m->start + m->length,
		.offset = m->offset,
		.device = (uint64_t)m->major << 32 | m->minor,
		.inode = m->inode,
		.path = m->path,
	};
	struct process *p = add_unread(s, pid);

	if (p && file.end > file.start)
		process_map(p, &s->modules, &file);
}

void symbols_fork(struct symbols *s, pid_t parent, pid_t child)
{
	const struct process *from;
	struct process *to;

	if (!find_process(s, parent) || find_process(s, child))
		return;
	to = add_unread(s, child);
	from = find_process(s, parent); /* it may have been forgotten for the child */
	if (to && from)
		process_copy_mappings(to, from);
}

static int see_one(void *s, pid_t pid)
{
	refresh_process(s, pid);
	return 0;
}

void symbols_see_all(struct symbols *s)
{
	processes_each(see_one, s);
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
	demangle(name, s->form, out);
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

static const struct process_mapping *find_mapping(struct symbols *s, pid_t pid, uint64_t address,
						  struct process **process)
{
	const struct process_mapping *m = NULL;
	struct process *p = find_process(s, pid);

	if (p)
		m = process_mapping_at(p, address);
	if (!m && (!p || may_refresh(p))) {
		p = refresh_process(s, pid);
		m = p ? process_mapping_at(p, address) : NULL;
	}
	*process = p;
	return m;
}

static bool name_in_process(struct symbols *s, struct process *p, const struct process_mapping *m,
			    uint64_t address, struct str *name, uint64_t *into)
{
	struct mapped_file file = {.pid = p->pid, .start = m->start, .end = m->end};

	if (m->module) {
		file.inode = m->module->inode;
		file.path = m->module->path;
		if (module_name_at(&s->modules, m->module, &file, address - m->start + m->offset,
				   name, into))
			return true;
	}
	/* Run-time compilers also put their code into memfds. */
	if (m->module && !str_starts(m->module->path, STR("/memfd:")))
		return false;
	return process_jit_name_at(p, &s->modules, address, name, into);
}

void symbols_demangle(struct symbols *s, bool any, bool parameters)
{
	s->form = !any ? DEMANGLE_NOT : parameters ? DEMANGLE_WHOLE : DEMANGLE_SHORT;
}

void symbols_want_lines(struct symbols *s)
{
	s->modules.wants_lines = true;
}

/* After the name, for which the file was opened. */
static void add_sources(struct symbols *s, struct module *module, uint64_t offset,
			struct symbols_frame *out)
{
	uint64_t address;

	if (!module->debuginfo || !module_address_of(module, offset, &address))
		return;
	sources_at(&s->sources, module->debuginfo, address, s->form, &out->sources,
		   &out->source_count);
	module_report_cut(&s->modules, module);
}

static void set_module(struct symbols_frame *out, const struct module *module)
{
	out->module = module ? module->path : STR("");
	out->device = module ? module->device : 0;
	out->inode = module ? module->inode : 0;
}

void symbols_frame_user(struct symbols *s, pid_t pid, uint64_t address, bool is_return,
			struct symbols_frame *out)
{
	uint64_t at = address - is_return, offset;
	struct process *p = NULL;
	const struct process_mapping *m = pid > 0 ? find_mapping(s, pid, at, &p) : NULL;
	struct str name;

	buf_clear(&out->function);
	out->source_count = 0;
	set_module(out, m ? m->module : NULL);
	offset = m ? at - m->start + m->offset : at;
	out->is_code = m || !p || !p->count;
	/* Code that was made and mapped unseen, or is not mapped any more, may have a name, too. */
	if (m ? name_in_process(s, p, m, at, &name, &out->offset)
	      : p && process_jit_name_at(p, &s->modules, at, &name, &out->offset))
		demangle(name, s->form, &out->function);
	else
		out->offset = offset;
	out->offset += is_return;
	out->in_file = offset + is_return;
	out->build_id = m && m->module ? m->module->build_id : STR("");
	if (m && m->module)
		add_sources(s, m->module, offset, out);
}

uint32_t symbols_file(struct symbols *s, const struct mapped_file *file)
{
	struct module *module = modules_get(&s->modules, file);

	return module ? module->number : 0;
}

static uint32_t find_by_inode(const struct symbols *s, uint64_t bits, uint64_t mask)
{
	uint32_t number = 0;

	for (size_t i = 0; i < s->modules.count; i++) {
		if (!bits || (s->modules.items[i]->inode & mask) != bits)
			continue;
		if (number)
			return 0;
		number = s->modules.items[i]->number;
	}
	return number;
}

uint32_t symbols_file_by_inode(struct symbols *s, pid_t pid, uint64_t bits, uint64_t mask)
{
	uint32_t number = find_by_inode(s, bits, mask);
	struct process *p = find_process(s, pid);

	if (number || (p && !may_refresh(p)))
		return number;
	refresh_process(s, pid);
	return find_by_inode(s, bits, mask);
}

void symbols_frame_file(struct symbols *s, uint32_t number, uint64_t offset, bool is_return,
			struct symbols_frame *out)
{
	struct module *module =
		number && number <= s->modules.count ? s->modules.items[number - 1] : NULL;
	struct mapped_file file = {.start = UINT32_MAX + UINT64_C(1)};
	struct str name;

	buf_clear(&out->function);
	set_module(out, module);
	out->source_count = 0;
	out->is_code = true;
	out->in_file = offset;
	out->build_id = STR("");
	offset -= is_return && offset;
	out->offset = offset;
	if (!module)
		return;
	file.inode = module->inode;
	file.path = module->path;
	if (module_name_at(&s->modules, module, &file, offset, &name, &out->offset))
		demangle(name, s->form, &out->function);
	out->offset += is_return;
	out->build_id = module->build_id;
	add_sources(s, module, offset, out);
}

static bool name_in_kernel(struct symbols *s, uint64_t address, struct str *name, uint64_t *into)
{
	if (!s->kernel_tried)
		kernel_symbols_read("/proc/kallsyms", &s->kernel);
	s->kernel_tried = true;
	return s->kernel && kernel_symbols_at(s->kernel, address, name, into);
}

void symbols_frame_kernel(struct symbols *s, uint64_t address, struct symbols_frame *out)
{
	struct str name;

	buf_clear(&out->function);
	set_module(out, NULL);
	out->offset = out->in_file = address;
	out->build_id = STR("");
	out->is_code = true;
	out->source_count = 0;
	if (name_in_kernel(s, address, &name, &out->offset))
		demangle(name, s->form, &out->function);
}

void symbols_user(struct symbols *s, pid_t pid, uint64_t address, unsigned flags, struct buf *out)
{
	struct process *p = NULL;
	const struct process_mapping *m = pid > 0 ? find_mapping(s, pid, address, &p) : NULL;
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

	if (name_in_kernel(s, address, &name, &into))
		add_name(s, name, into, flags, out);
	else
		symbols_number(address, out);
}
