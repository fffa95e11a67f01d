/* Names of Perl's frames. A frame is a sub, or LANG_MAIN, and a statement (struct cop), which has
 * the line and the file. */
#include "lang/inside.h"

#include <errno.h>

#define ARRAY_AT 16	 /* of a table */
#define LAST_AT	 24	 /* of its body: entries of the array, less 1 */
#define COUNT_AT 28	 /* of the part with the name */
#define NAMED	 0x8000u /* of a sub's flags: it has a name and no glob */

/* A name that Perl shares: { u32 hash, s32 length, bytes } */
static bool read_shared(const struct lang_memory *m, uint64_t at, struct buf *out)
{
	uint32_t len;

	return at && read_u32(m, at + 4, &len) && len <= INT32_MAX &&
	       read_text(m, at + 8, len, out);
}

/* The package that a symbol table is of, and "::". Its name is in a part that only named tables
 * have: at the end of the body, before 5.36 after the array. With aliases there is an array of
 * names. */
static bool read_package(const struct perl_code *p, const struct lang_memory *m, uint64_t stash,
			 struct buf *out)
{
	uint64_t body, name, array, last, at;
	uint32_t count;

	if (!stash || !read_word(m, stash, &body))
		return false;
	at = body + p->hash_aux;
	if (p->hash_aux == LANG_NOTHING) {
		if (!read_word(m, stash + ARRAY_AT, &array) || !read_word(m, body + LAST_AT, &last))
			return false;
		at = array + 8 * last + 8;
	}
	if (!read_word(m, at, &name) || !read_u32(m, at + COUNT_AT, &count) ||
	    (count && !read_word(m, name, &name)) || !read_shared(m, name, out))
		return false;
	buf_text(out, "::");
	return true;
}

/* sub -> body -> name and package, or glob -> its own glob -> body -> name and package */
static bool read_sub(const struct perl_code *p, const struct lang_memory *m, uint64_t sub,
		     struct buf *out)
{
	uint64_t body, glob, stash, name, parts, own;
	uint32_t flags;

	if (!read_word(m, sub, &body) || !read_u32(m, body + p->flags, &flags) ||
	    !read_word(m, body + p->glob, &glob))
		return false;
	if (flags & NAMED)
		return read_word(m, body + p->stash, &stash) &&
		       (read_package(p, m, stash, out), true) && read_shared(m, glob, out);
	if (!glob || !read_word(m, glob + 16, &parts))
		return false;
	if (read_word(m, parts + p->effective, &own) && own)
		glob = own;
	return read_word(m, glob, &body) && read_word(m, body + p->glob_stash, &stash) &&
	       (read_package(p, m, stash, out), true) && read_word(m, body + p->name, &name) &&
	       read_shared(m, name, out);
}

int perl_name(const struct lang_runtime *r, const struct lang_memory *m, struct lang_frame frame,
	      struct lang_name *out)
{
	const struct perl_code *p = &r->layout->perl;
	uint64_t file;
	uint32_t line;

	if (frame.object == LANG_MAIN)
		buf_text(&out->function, "main");
	else if (!read_sub(p, m, frame.object, &out->function))
		return -EFAULT;
	if (!read_u32(m, frame.position + p->line, &line) ||
	    !read_word(m, frame.position + p->file, &file) || !file ||
	    !read_c_text(m, file, &out->file))
		return -EFAULT;
	out->line = line;
	return 0;
}
