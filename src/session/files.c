/* Files that changed while their probes were armed. A uprobe holds for an inode and an offset: when
 * the file is overwritten in place, it is where other code may be by now, and when another file
 * gets its name, programs that start after that run the other one. */
#include <sys/stat.h>

#include "session/session.h"

#define FILES_SHOWN 5

static bool is_overwritten(const struct file *f)
{
	struct stat st;

	return !fstat(f->fd, &st) &&
	       (st.st_size != f->size || st.st_mtim.tv_sec != f->changed.tv_sec ||
		st.st_mtim.tv_nsec != f->changed.tv_nsec);
}

static bool is_replaced(const struct file *f, struct arena *a)
{
	struct str path = arena_printf(a, "%.*s", STR_FMT(f->path));
	struct stat st;

	return path.ptr && !stat(path.ptr, &st) && S_ISREG(st.st_mode) && !file_is(f, &st);
}

static bool was_before(const struct script_armed *armed, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (armed->files[i]->inode == armed->files[at]->inode &&
		    armed->files[i]->device == armed->files[at]->device)
			return true;
	return false;
}

void session_tell_files(struct nopal_trace *t, struct diag *d)
{
	/* Else the other file is found when it is mapped, or would not be traced anyway. */
	bool names_matter = !t->facts.needs_images && (!t->pid || t->options.follow);
	struct script_armed armed;
	unsigned shown = 0;

	script_armed(t->script, &armed);
	for (size_t i = 0; t->was_attached && i < armed.file_count && shown < FILES_SHOWN; i++) {
		const struct file *f = armed.files[i];
		bool overwritten = is_overwritten(f);

		if (overwritten && was_before(&armed, i))
			continue;
		if (overwritten)
			diag_warn(d, "file-overwritten",
				  "'%.*s' was written to while its probes were armed: they were "
				  "where its old code was, and may have damaged the new code",
				  STR_FMT(f->path));
		if (overwritten)
			diag_hint(d, "restart the programs that run it; replace files by rename, "
				     "as 'install' does, not by writing into them");
		else if (names_matter && is_replaced(f, &t->arena) && !was_before(&armed, i))
			diag_warn(d, "file-replaced",
				  "'%.*s' was replaced while its probes were armed: programs that "
				  "started after that run the new file, which was not traced",
				  STR_FMT(f->path));
		else
			continue;
		shown++;
	}
}
