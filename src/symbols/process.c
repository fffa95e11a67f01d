/* Keeping mappings: newer ones replace what they cover. */
#include "base/proc.h"
#include "symbols/process.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

void process_free(struct process *p)
{
	if (!p)
		return;
	free(p->mappings);
	jit_names_free(p->jit);
	free(p);
}

static int add_mapping(struct process *p, const struct process_mapping *m)
{
	if (p->count >= MAPPINGS_MOST)
		return -E2BIG;
	if (array_grow(p->mappings, p->count, p->cap))
		return -ENOMEM;
	p->mappings[p->count++] = *m;
	return 0;
}

/* A process whose mappings are read. */
struct maps_reading {
	struct process *process;
	struct modules *modules;
};

static int take_mapped(void *arg, const struct mapped_file *file)
{
	const struct maps_reading *r = arg;
	struct process_mapping m = {.start = file->start, .end = file->end, .offset = file->offset};
	/* A 32-bit process has another vDSO than we have. */
	bool is_vdso = str_eq_text(file->path, "[vdso]") && m.start > UINT32_MAX;

	if (file->inode || is_vdso)
		m.module = modules_get(r->modules, file);
	/* The file may be out of reach once the process has ended. */
	if (m.module && (r->process->is_foreign || mapped_is_deleted(file) ||
			 str_starts(file->path, STR("/memfd:"))))
		module_hold(r->modules, m.module, file);
	return add_mapping(r->process, &m);
}

static int compare_starts(const void *a, const void *b)
{
	const struct process_mapping *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Fresh mappings, of the text of maps or of one file; then those that were known before and that
 * nothing new covers: libraries that were closed, the image before an exec. What does not fit is
 * left out. After another failure `p` is what it was. */
static int replace_mappings(struct process *p, struct modules *modules, struct str maps,
			    const struct mapped_file *file)
{
	struct maps_reading r = {p, modules};
	const struct process before = *p;
	size_t fresh, at = 0;
	int err;

	p->mappings = NULL;
	p->count = p->cap = 0;
	err = file ? take_mapped(&r, file) : maps_parse(maps, p->pid, take_mapped, &r);
	fresh = p->count;
	for (size_t i = 0; i < before.count && !err; i++) {
		const struct process_mapping *old = &before.mappings[i];

		while (at < fresh && p->mappings[at].end <= old->start)
			at++;
		if (at == fresh || old->end <= p->mappings[at].start)
			err = add_mapping(p, old);
	}
	if (err && err != -E2BIG) {
		free(p->mappings);
		*p = before;
		return err;
	}
	if (p->count)
		qsort(p->mappings, p->count, sizeof(*p->mappings), compare_starts);
	free(before.mappings);
	return 0;
}

int process_read_maps(struct process *p, struct modules *modules, struct str text)
{
	return replace_mappings(p, modules, text, NULL);
}

int process_map(struct process *p, struct modules *modules, const struct mapped_file *file)
{
	return replace_mappings(p, modules, STR(""), file);
}

int process_copy_mappings(struct process *to, const struct process *from)
{
	int err = 0;

	for (size_t i = 0; i < from->count && !err; i++)
		err = add_mapping(to, &from->mappings[i]);
	to->is_foreign = from->is_foreign;
	to->inner_pid = to->pid;
	to->uid = from->uid;
	return err;
}

/* Does a link or folder of /proc/PID lead to the same thing as ours? */
static bool is_same(pid_t pid, const char *file)
{
	struct buf path = BUF_INIT;
	struct stat theirs, ours;
	bool same = true;

	buf_printf(&path, "/proc/%d/%s", (int)pid, file);
	if (!path.failed && !stat(path.ptr, &theirs)) {
		buf_clear(&path);
		buf_printf(&path, "/proc/self/%s", file);
		same = !path.failed && !stat(path.ptr, &ours) && theirs.st_dev == ours.st_dev &&
		       theirs.st_ino == ours.st_ino;
	}
	buf_free(&path);
	return same;
}

static void read_identity(struct process *p)
{
	struct buf status = BUF_INIT;
	uint64_t number;

	p->is_identified = true;
	if (!process_status(p->pid, &status)) {
		p->is_foreign = !is_same(p->pid, "ns/mnt") || !is_same(p->pid, "root");
		p->inner_pid = p->pid;
		if (process_status_number(buf_as_str(&status), "NSpid", STATUS_LAST, &number))
			p->inner_pid = (pid_t)number;
		if (process_status_number(buf_as_str(&status), "Uid", 0, &number))
			p->uid = (uid_t)number;
	}
	buf_free(&status);
}

int process_renew(struct process *p, struct modules *modules, struct str maps)
{
	/* Of a process that has exited and is not waited for, maps are empty. */
	if (!maps.len)
		return -ESRCH;
	/* Each time: a container's process is seen before it enters the container. */
	read_identity(p);
	return process_read_maps(p, modules, maps);
}

static bool ends_by(const void *mapping, const void *address)
{
	return ((const struct process_mapping *)mapping)->end <= *(const uint64_t *)address;
}

const struct process_mapping *process_mapping_at(const struct process *p, uint64_t address)
{
	size_t i = lower_bound(p->mappings, p->count, sizeof(*p->mappings), ends_by, &address);

	return i < p->count && p->mappings[i].start <= address ? &p->mappings[i] : NULL;
}

static void read_jit(struct process *p, struct modules *modules)
{
	struct buf path = BUF_INIT;
	int err;

	/* Of one whose mappings the kernel reported, nothing was read: it may have taken another
	 * user's id since its fork. */
	if (!p->is_identified)
		read_identity(p);
	buf_printf(&path, "/proc/%d/root/tmp/perf-%d.map", (int)p->pid, (int)p->inner_pid);
	err = path.failed ? -ENOMEM : jit_names_read(path.ptr, p->uid, &modules->pool, &p->jit);
	if (err && !p->is_foreign) {
		buf_clear(&path);
		buf_printf(&path, "/tmp/perf-%d.map", (int)p->inner_pid);
		if (!path.failed)
			jit_names_read(path.ptr, p->uid, &modules->pool, &p->jit);
	}
	if (!path.failed && !p->is_cut_reported && p->jit && jit_names_are_cut(p->jit)) {
		p->is_cut_reported = true;
		diag_warn(&modules->problems, "over-budget",
			  "names of newer code of process %d are skipped: '%s' takes more than "
			  "48 MiB or a million lines, or the files of all processes more than "
			  "512 MiB",
			  (int)p->pid, path.ptr);
	}
	buf_free(&path);
}

bool process_jit_name_at(struct process *p, struct modules *modules, uint64_t address,
			 struct str *name, uint64_t *into)
{
	if (p->jit && jit_names_at(p->jit, address, name, into))
		return true;
	read_jit(p, modules); /* it grows while the process runs */
	return p->jit && jit_names_at(p->jit, address, name, into);
}
