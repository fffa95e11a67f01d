/* Reads /proc/PID/maps, and of an image its program headers, which say how far its uninitialised
 * data go: in the maps these look like any other memory. What a process has in its memory is not
 * believed further than to what is mapped next to the image. */
#include "user/run/stable_memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/buf.h"
#include "symbols/maps.h"
#include "user/patch/eh_frame.h"
#include "user/ptrace/tracee.h"

#define NO_ADDRESS UINT64_MAX

static bool is_readable(const struct mapped_file *m)
{
	return m->access[0] == 'r' && m->access[3] == 'p';
}

/* ---- how far an image goes */

/* Where its segments end, by the headers at the start of its file; 0: not known. */
static uint64_t end_of_segments(struct inject *x, uint64_t start)
{
	Elf64_Phdr segments[INJECT_SEGMENTS];
	uint64_t first = NO_ADDRESS, end = 0;
	unsigned count = inject_segments(x, start, segments);

	for (unsigned i = 0; i < count; i++) {
		const Elf64_Phdr *s = &segments[i];

		if (s->p_type != PT_LOAD)
			continue;
		if (first == NO_ADDRESS)
			first = s->p_vaddr & -(uint64_t)LAYOUT_PAGE;
		if (s->p_vaddr + s->p_memsz > end)
			end = s->p_vaddr + s->p_memsz;
	}
	return end ? start + (end - first + LAYOUT_PAGE - 1) / LAYOUT_PAGE * LAYOUT_PAGE : 0;
}

/* The mappings of one image, one after the other without a gap. */
struct stable_run {
	struct inject *x;
	uint64_t pc;		    /* must be in it */
	uint64_t device, inode;	    /* or it is of this file, if pc is 0 */
	uint64_t file, file_device; /* of the mappings so far */
	uint64_t start, end, head;  /* head: of offset 0 of the file; NO_ADDRESS */
	uint64_t limit;		    /* where its segments end */
	bool is_wanted;
};

static void begin_run(struct stable_run *r, const struct mapped_file *m)
{
	if (m->inode != r->file || m->device != r->file_device || m->offset == 0) {
		r->head = m->offset ? NO_ADDRESS : m->start;
		r->limit = 0;
	}
	r->file = m->inode;
	r->file_device = m->device;
	r->start = m->start;
	r->is_wanted = false;
}

/* Is it memory without a file that the image's segments reach into? `*end`: how far. */
static bool is_tail(struct stable_run *r, const struct mapped_file *m, uint64_t *end)
{
	if (m->inode || m->path.len || m->start != r->end || r->head == NO_ADDRESS)
		return false;
	if (!r->limit)
		r->limit = end_of_segments(r->x, r->head);
	if (r->limit <= m->start)
		return false;
	*end = r->limit < m->end ? r->limit : m->end;
	return true;
}

/* 1: the run that was looked for has ended. */
static int take_mapping(void *arg, const struct mapped_file *m)
{
	struct stable_run *r = arg;
	uint64_t end = m->end;
	bool is_same = m->inode && m->offset && m->inode == r->file && m->device == r->file_device;
	bool goes_on = r->end == m->start && is_readable(m) && (is_same || is_tail(r, m, &end));

	if (!goes_on && r->is_wanted)
		return 1;
	if (!goes_on && (!m->inode || !is_readable(m))) {
		r->end = 0;
		return 0;
	}
	if (!goes_on)
		begin_run(r, m);
	r->end = end;
	r->is_wanted |= r->pc ? r->pc >= m->start && r->pc < end && m->inode
			      : m->inode == r->inode && m->device == r->device;
	return 0;
}

static struct memory_range find_run(struct stable_run *r, struct str maps)
{
	r->head = NO_ADDRESS;
	if (maps_parse_all(maps, inject_pid(r->x), take_mapping, r) >= 0 && r->is_wanted)
		return (struct memory_range){r->start, r->end};
	return (struct memory_range){0, 0};
}

struct memory_range stable_image(struct inject *x, uint64_t pc)
{
	struct stable_run r = {.x = x, .pc = pc};
	struct memory_range out = {0, 0};
	struct buf maps = BUF_INIT;

	if (!maps_read(inject_pid(x), &maps))
		out = find_run(&r, buf_as_str(&maps));
	buf_free(&maps);
	return out;
}

/* ---- the program, and the main thread's stack */

static struct memory_range find_program(struct inject *x, struct str maps)
{
	struct stable_run r = {.x = x};
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)inject_pid(x));
	if (stat(path, &st))
		return (struct memory_range){0, 0};
	r.inode = st.st_ino;
	r.device = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev);
	return find_run(&r, maps);
}

static int take_stack(void *arg, const struct mapped_file *m)
{
	struct memory_range *out = arg;

	if (str_eq_text(m->path, "[stack]"))
		*out = (struct memory_range){m->start, m->end};
	return 0;
}

/* The stack is above all images. */
int stable_ranges(struct inject *x, struct process_page *out)
{
	struct memory_range stack = {0, 0}, program = {0, 0};
	struct buf maps = BUF_INIT;
	int err = maps_read(inject_pid(x), &maps);

	if (!err) {
		program = find_program(x, buf_as_str(&maps));
		err = maps_parse_all(buf_as_str(&maps), inject_pid(x), take_stack, &stack);
	}
	buf_free(&maps);
	out->range_count = 0;
	if (program.start)
		out->ranges[out->range_count++] = program;
	if (!err && stack.start)
		out->ranges[out->range_count++] = stack;
	return err;
}
