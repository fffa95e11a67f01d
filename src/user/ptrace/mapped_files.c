/* Where a process has files mapped: the bytes of a file as addresses. */
#include "user/ptrace/tracee_state.h"

int inject_reread(struct inject *x)
{
	return space_read(&x->space, x->pid);
}

bool inject_has_files(const struct inject *x)
{
	return x->space.file_count > 0;
}

static uint64_t address_in(const struct range *r, uint64_t inode, uint64_t offset)
{
	if (r->inode != inode || offset < r->offset || offset - r->offset >= r->end - r->start)
		return 0;
	return r->start + (offset - r->offset);
}

unsigned inject_find(struct inject *x, uint64_t inode, uint64_t offset, uint64_t *out,
		     unsigned most)
{
	const struct space *s = &x->space;
	unsigned count = 0;

	for (size_t i = 0; i < s->file_count && count < most; i++) {
		uint64_t address = address_in(&s->files[i], inode, offset);

		if (address && s->files[i].is_code)
			out[count++] = address;
	}
	return count;
}

/* The file may be mapped several times: the data of an image come after its code, and before the
 * next image. */
uint64_t inject_find_data(struct inject *x, uint64_t inode, uint64_t offset, uint64_t pc)
{
	const struct space *s = &x->space;
	uint64_t found = 0;

	for (size_t i = 0; i < s->file_count; i++) {
		uint64_t address = address_in(&s->files[i], inode, offset);

		if (address && s->files[i].is_writable &&
		    (!found || (address > pc && (found < pc || address < found))))
			found = address;
	}
	return found;
}

uint64_t inject_file_at(const struct inject *x, uint64_t address)
{
	const struct space *s = &x->space;

	for (size_t i = 0; i < s->file_count; i++)
		if (s->files[i].is_code && address >= s->files[i].start &&
		    address < s->files[i].end)
			return s->files[i].inode;
	return 0;
}
