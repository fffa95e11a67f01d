/* What was found in the code of a file, so that the next process that has it mapped is not searched
 * again: a C library is a megabyte and a half of code. The file itself is searched, since in a
 * process a debugger may have changed it. */
#include "user/patch/known.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbols/maps.h"
#include "user/ptrace/tracee_state.h"

#define FILES_MOST   16
#define MATCHES_MOST 32 /* glibc has 6 */

struct known_code {
	uint64_t device, inode, offset, size;
	struct code_match all[MATCHES_MOST];
	unsigned count;
};

/* The oldest is replaced. */
struct inject_known {
	struct known_code files[FILES_MOST];
	unsigned next;
};

struct inject_known *inject_known_new(void)
{
	return calloc(1, sizeof(struct inject_known));
}

void inject_known_free(struct inject_known *known)
{
	free(known);
}

void inject_use_known(struct inject *x, struct inject_known *known)
{
	x->known = known;
}

static const struct known_code *find_known(const struct inject_known *known,
					   const struct mapped_file *m)
{
	for (unsigned i = 0; i < FILES_MOST; i++) {
		const struct known_code *f = &known->files[i];

		if (f->inode == m->inode && f->device == m->device && f->offset == m->offset &&
		    f->size == m->end - m->start)
			return f;
	}
	return NULL;
}

static int search(struct known_code *f, int fd, search_code_fn *fn)
{
	uint8_t *code = malloc(f->size);
	ssize_t len = code ? pread(fd, code, f->size, (off_t)f->offset) : 0;
	int count = code && len > 0 ? fn(code, (size_t)len, f->all, MATCHES_MOST) : -ENOENT;

	free(code);
	f->count = count > 0 ? (unsigned)count : 0;
	return count > 0 ? 0 : -ENOENT;
}

int known_matches(struct inject *x, const struct mapped_file *m, search_code_fn *fn,
		  const struct code_match **out)
{
	const struct known_code *f = x->known ? find_known(x->known, m) : NULL;
	struct known_code found = {.device = m->device,
				   .inode = m->inode,
				   .offset = m->offset,
				   .size = m->end - m->start};
	int fd = f || !x->known ? -1 : mapped_file_open(m);

	if (fd >= 0) {
		if (!search(&found, fd, fn)) {
			f = &x->known->files[x->known->next];
			x->known->files[x->known->next] = found;
			x->known->next = (x->known->next + 1) % FILES_MOST;
		}
		close(fd);
	}
	if (!f)
		return -ENOENT;
	*out = f->all;
	return (int)f->count;
}
