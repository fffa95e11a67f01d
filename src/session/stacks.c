/* What the traced processes map, for walks over their stacks: the rows of each file once, read
 * before anything is attached; and of files that are mapped later, as the kernel reports them.
 *
 * A process matters when it is traced: the one of -p or -c and its children, or else each that maps
 * a file with a probe of the script. */
#include "session/session.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/proc.h"
#include "symbols/maps.h"

#define DEVICE_MINOR_BITS 20 /* of a device number in the kernel */

/* ---- which processes matter */

static bool has_inode(const struct stack_watch *s, uint64_t inode)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->inodes[i] == inode)
			return true;
	return false;
}

static bool keeps_stacks(const struct clause *c)
{
	for (uint32_t k = 0; k < c->insn_count; k++)
		if (c->code[k].op == OP_USTACK)
			return true;
	return false;
}

/* Profiles and tracepoints happen in any process. */
static bool is_of_any_process(const struct clause *c)
{
	for (uint32_t k = 0; k < c->attach_count; k++)
		if (!c->attaches[k].file && c->attaches[k].kind != ATTACH_BEGIN &&
		    c->attaches[k].kind != ATTACH_END && c->attaches[k].kind != ATTACH_INTERVAL)
			return true;
	return false;
}

static bool wants_stacks(struct nopal_trace *t)
{
	bool wanted = t->facts.needs_images && t->facts.uses_stacks;

	for (uint32_t i = 0; i < t->program->clause_count; i++) {
		const struct clause *c = &t->program->clauses[i];

		t->stacks.names_of_all |= is_of_any_process(c);
		if (!keeps_stacks(c))
			continue;
		wanted = true;
		t->stacks.of_all |= is_of_any_process(c);
	}
	return wanted;
}

/* ---- reading what a process maps */

struct code_reading {
	struct nopal_trace *t;
	struct unwind_code *code;
	size_t count, cap;
	bool has_jvm;
};

/* The image of the kernel's own that every process of this word size has. */
static int open_vdso(struct image **out)
{
	const void *bytes = (const void *)getauxval(AT_SYSINFO_EHDR);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	/* Two pages on every CPU that rows are known for; its section headers are at the end. */
	return bytes ? image_open_memory(bytes, 2 * page, STR("[vdso]"), out, NULL) : -ENOENT;
}

static int add_image(struct nopal_trace *t, const struct mapped_file *file, uint32_t number,
		     struct image *image)
{
	const struct unwind_file_key key = {file->inode, file->device >> 32 << DEVICE_MINOR_BITS |
								 (uint32_t)file->device};
	struct budget b = budget_for_file(t->stop_fd);
	struct buf root = BUF_INIT;
	int err;

	if (image)
		image_set_budget(image, &b);
	/* Debug files are looked for where the process sees them. */
	if (file->pid)
		buf_printf(&root, "/proc/%d/root", (int)file->pid);
	err = unwind_tables_add(t->unwind, number, key,
				&(struct unwind_source){image, file->path, buf_as_str(&root)});
	buf_free(&root);
	return err;
}

static int read_file(struct nopal_trace *t, const struct mapped_file *file, uint32_t number)
{
	struct image *image = NULL;
	int fd, err;

	if (!file->inode) {
		err = open_vdso(&image);
	} else {
		fd = mapped_file_open(file);
		err = fd < 0 ? fd : image_open_fd(fd, file->path, &image, NULL);
	}
	/* A file that is not an image is memory of a run-time compiler. */
	err = err == -ENOEXEC ? unwind_tables_add_code(t->unwind, number)
			      : add_image(t, file, number, image);
	image_close(image);
	return err;
}

static int take_code(void *arg, const struct mapped_file *file)
{
	struct code_reading *r = arg;
	bool is_vdso = str_eq_text(file->path, "[vdso]") && file->start > UINT32_MAX;
	uint32_t number = file->inode || is_vdso ? symbols_file(r->t->symbols, file) : 0;
	int err = 0;

	r->has_jvm |= str_starts(str_after_last(file->path, '/'), STR("libjvm"));
	if (number && !unwind_tables_has(r->t->unwind, number))
		err = read_file(r->t, file, number);
	if (!err)
		err = array_grow(r->code, r->count, r->cap);
	if (!err)
		r->code[r->count++] =
			(struct unwind_code){file->start, file->end, file->offset, number};
	return err;
}

/* Programs that start while the run goes on have the files with the probes, and mostly libraries
 * that the tracer has, too. */
static int read_probed(struct nopal_trace *t, struct file *file)
{
	char link[FILE_LINK_SIZE], path[PATH_MAX];
	struct mapped_file mapped = {
		.inode = file->inode,
		.device = (uint64_t)major(file->device) << 32 | minor(file->device),
	};
	struct image *image = NULL;
	uint32_t number;
	ssize_t len;
	int err;

	file_link(file, link);
	len = readlink(link, path, sizeof(path));
	if (len <= 0)
		return 0;
	mapped.path = str_of(path, (size_t)len);
	number = symbols_file(t->symbols, &mapped);
	if (!number || unwind_tables_has(t->unwind, number) || image_open_file(file, &image, NULL))
		return 0;
	err = add_image(t, &mapped, number, image);
	image_close(image);
	return err;
}

int session_stack_files(struct nopal_trace *t, const struct program *p)
{
	struct stack_watch *s = &t->stacks;
	int err = 0;

	for (uint32_t i = 0; t->unwind && i < p->clause_count; i++)
		for (uint32_t k = 0; k < p->clauses[i].attach_count && !err; k++) {
			struct file *file = p->clauses[i].attaches[k].file;

			if (!file || has_inode(s, file->inode))
				continue;
			if (array_grow(s->inodes, s->count, s->cap))
				return -ENOMEM;
			s->inodes[s->count++] = file->inode;
			err = read_probed(t, file);
		}
	return err;
}

static int look_for_inode(void *arg, const struct mapped_file *file)
{
	return file->inode && has_inode(arg, file->inode);
}

/* Most processes do not matter. Kernels that cannot say so leave it to the text of the maps. */
static bool may_matter(struct nopal_trace *t, pid_t pid)
{
	int found;

	if (t->pid || t->stacks.of_all)
		return true;
	found = maps_each_code(pid, look_for_inode, &t->stacks);
	if (found == -ESRCH)
		unwind_tables_end(t->unwind, pid);
	return found && found != -ESRCH;
}

void session_see_stacks(struct nopal_trace *t, pid_t pid)
{
	struct code_reading r = {.t = t};
	struct buf text = BUF_INIT;

	if (!t->unwind || !may_matter(t, pid))
		return;
	if (maps_read(pid, &text) || !text.len) {
		unwind_tables_end(t->unwind, pid);
	} else if (t->pid || t->stacks.of_all ||
		   maps_parse(buf_as_str(&text), pid, look_for_inode, &t->stacks)) {
		if (!unwind_tables_knows(t->unwind, pid))
			symbols_see_maps(t->symbols, pid, buf_as_str(&text));
		if (!maps_parse(buf_as_str(&text), pid, take_code, &r))
			unwind_tables_process(t->unwind, pid, r.code, r.count,
					      r.has_jvm &&
						      !lang_keeps_frames(pid, buf_as_str(&text),
									 &t->stacks.jvms));
	}
	free(r.code);
	buf_free(&text);
}

/* Nobody else maps the file that this is in. */
static int take_library(void *arg, const struct mapped_file *file)
{
	uintptr_t here = (uintptr_t)session_open_stacks;

	return here >= file->start && here < file->end ? 0 : take_code(arg, file);
}

static void read_own(struct nopal_trace *t)
{
	struct code_reading r = {.t = t};
	struct buf text = BUF_INIT;

	if (!maps_read(getpid(), &text))
		maps_parse(buf_as_str(&text), getpid(), take_library, &r);
	free(r.code);
	buf_free(&text);
}

void session_see_followed(struct nopal_trace *t, size_t i)
{
	if (watch_is_followed(&t->watch.all[i]))
		session_see_stacks(t, t->watch.all[i].pid);
}

static int see_one(void *t, pid_t pid)
{
	session_see_stacks(t, pid);
	return 0;
}

static void see_all(struct nopal_trace *t)
{
	/* A command that has not called exec yet maps what we map. */
	bool before_exec = t->options.command && t->child.report >= 0;

	if (!t->pid)
		processes_each(see_one, t);
	for (size_t i = 0; t->pid && !before_exec && i < t->watch.count; i++)
		session_see_followed(t, i);
}

/* Rows take half of the time until all is attached, and the engine need not wait for them before it
 * makes its maps. */
static void *read_mapped(void *trace)
{
	struct nopal_trace *t = trace;

	if (!t->stacks.of_all && (!t->pid || t->options.follow))
		read_own(t);
	see_all(t);
	return NULL;
}

static void start_reading(struct nopal_trace *t)
{
	struct stack_watch *s = &t->stacks;
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are not for a thread of ours */
	s->is_reading = !pthread_create(&s->reader, NULL, read_mapped, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!s->is_reading)
		read_mapped(t);
}

void session_await_stacks(void *trace)
{
	struct stack_watch *s = &((struct nopal_trace *)trace)->stacks;

	if (s->is_reading)
		pthread_join(s->reader, NULL);
	s->is_reading = false;
}

int session_open_stacks(struct nopal_trace *t)
{
	int err;

	if (!wants_stacks(t))
		return 0;
	err = unwind_tables_new(&t->unwind) ?: session_stack_files(t, t->program);
	if (!err)
		start_reading(t);
	return err;
}

/* Were the mappings of all processes read whose addresses may want a name? What they map later the
 * kernel reports. */
bool session_saw_names(const struct nopal_trace *t)
{
	return t->unwind && t->watch.reports && (t->stacks.of_all || !t->stacks.names_of_all);
}

void session_close_stacks(struct nopal_trace *t)
{
	session_await_stacks(t);
	unwind_tables_free(t->unwind);
	lang_images_free(&t->stacks.jvms);
	free(t->stacks.inodes);
	free(t->stacks.stale);
	t->unwind = NULL;
	t->stacks = (struct stack_watch){0};
}

/* ---- news */

static void note_stale(struct stack_watch *s, pid_t pid)
{
	for (size_t i = 0; i < s->stale_count; i++)
		if (s->stale[i] == pid)
			return;
	if (!array_grow(s->stale, s->stale_count, s->stale_cap))
		s->stale[s->stale_count++] = pid;
}

void session_note_stacks(struct nopal_trace *t, const struct watch_event *event)
{
	bool matters;

	if (!t->unwind)
		return;
	matters = unwind_tables_knows(t->unwind, event->pid) ||
		  (t->pid ? watch_follows(&t->watch, event->pid)
			  : event->kind == PROCESS_MAPPED &&
				    (t->stacks.of_all || has_inode(&t->stacks, event->inode)));
	if (event->kind == PROCESS_FORKED)
		unwind_tables_fork(t->unwind, event->parent, event->pid);
	else if (matters) /* of one that has ended nothing will be read */
		note_stale(&t->stacks, event->pid);
}

void session_renew_stacks(struct nopal_trace *t, bool lost)
{
	struct stack_watch *s = &t->stacks;

	if (lost && t->unwind)
		see_all(t);
	for (size_t i = 0; i < s->stale_count; i++)
		session_see_stacks(t, s->stale[i]);
	s->stale_count = 0;
}
