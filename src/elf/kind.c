/* Read from the file's headers: a program is linked for a fixed address, is marked as a program
 * that may be anywhere (DF_1_PIE), or names the dynamic loader that begins it. */
#include "elf/kind.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/file.h"

#define SEGMENTS_MOST 64
#define DYNAMIC_MOST  256

static bool read_at(const struct file *f, void *out, size_t size, uint64_t at)
{
	return pread(f->fd, out, size, (off_t)at) == (ssize_t)size;
}

static bool is_pie(const struct file *f, const Elf64_Phdr *dynamic)
{
	uint64_t count = dynamic->p_filesz / sizeof(Elf64_Dyn);
	Elf64_Dyn entries[DYNAMIC_MOST];

	count = count < DYNAMIC_MOST ? count : DYNAMIC_MOST;
	if (!read_at(f, entries, count * sizeof(*entries), dynamic->p_offset))
		return false;
	for (uint64_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++)
		if (entries[i].d_tag == DT_FLAGS_1)
			return entries[i].d_un.d_val & DF_1_PIE;
	return false;
}

/* The loader ignores LD_PRELOAD where a program has other privileges than who runs it. */
static bool has_privileges(const struct file *f)
{
	return f->mode & (S_ISUID | S_ISGID) ||
	       fgetxattr(f->fd, "security.capability", NULL, 0) > 0;
}

struct file_kind file_kind(const struct file *f)
{
	struct file_kind kind = {0};
	Elf64_Phdr segments[SEGMENTS_MOST];
	bool has_loader = false;
	Elf64_Ehdr head;

	if (!read_at(f, &head, sizeof(head), 0) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phnum > SEGMENTS_MOST ||
	    !read_at(f, segments, head.e_phnum * sizeof(*segments), head.e_phoff))
		return kind;
	kind.is_program = head.e_type == ET_EXEC;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		has_loader |= segments[i].p_type == PT_INTERP;
		if (segments[i].p_type == PT_DYNAMIC)
			kind.is_program |= is_pie(f, &segments[i]);
	}
	kind.is_program |= has_loader;
	kind.is_library = head.e_type == ET_DYN && !kind.is_program;
	kind.preloads = has_loader && !has_privileges(f);
	return kind;
}
