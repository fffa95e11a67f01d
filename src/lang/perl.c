/* Perl: blocks of the context stack (cop.h), from the last to the first. A block of a sub has the
 * sub, and the statement that called it. So a frame is a sub (0: the file) and a statement, which
 * has the line and the file. */
#include "lang/inside.h"

#include <errno.h>

#define STACKS_MOST 64 /* of a sort block within a tied variable's sub within ... */
#define BLOCKS_MOST 65536
#define MAIN	    1u /* object of the frame that is in no sub; no address */

enum { BLOCK_SUB = 9, BLOCK_FORMAT = 10 };

#define NAMED 0x8000u /* of a sub's flags: it has a name and no glob */

/* The frames of one stack of blocks; *statement is the one that runs in its innermost. */
static enum lang_note walk_blocks(const struct perl_code *p, const struct lang_memory *m,
				  uint64_t stack, uint64_t *statement, struct lang_frame *frames,
				  size_t most, size_t *count)
{
	uint64_t blocks, block, sub;
	uint32_t last;
	unsigned char type;

	if (!read_word(m, stack + p->blocks, &blocks) || !read_u32(m, stack + p->last, &last))
		return LANG_UNREADABLE;
	if ((int32_t)last > BLOCKS_MOST)
		return LANG_UNREADABLE;
	for (int32_t i = (int32_t)last; i >= 0; i--) {
		block = blocks + (uint64_t)i * p->size;
		if (!read_bytes(m, block + p->type, &type, 1))
			return LANG_UNREADABLE;
		type &= 15;
		if (type != BLOCK_SUB && type != BLOCK_FORMAT)
			continue;
		if (*count == most)
			return LANG_LIMIT;
		if (!read_word(m, block + p->function, &sub))
			return LANG_UNREADABLE;
		frames[(*count)++] = (struct lang_frame){sub ? sub : MAIN, *statement};
		if (!read_word(m, block + p->statement, statement))
			return LANG_UNREADABLE;
	}
	return LANG_ROOT;
}

enum lang_note perl_walk(const struct lang_layout *l, const struct lang_memory *m, uint64_t state,
			 struct lang_frame *frames, size_t most, size_t *count)
{
	const struct perl_code *p = &l->perl;
	uint64_t statement, stack;
	enum lang_note note;

	if (!read_word(m, state + p->current, &statement) ||
	    !read_word(m, state + p->stack_info, &stack))
		return LANG_UNREADABLE;
	for (unsigned i = 0; stack; i++) {
		if (i == STACKS_MOST)
			return LANG_UNREADABLE;
		note = walk_blocks(p, m, stack, &statement, frames, most, count);
		if (note != LANG_ROOT)
			return note;
		if (!read_word(m, stack + p->previous, &stack))
			return LANG_UNREADABLE;
	}
	if (!statement)
		return *count ? LANG_ROOT : LANG_NO_THREAD;
	if (*count == most)
		return LANG_LIMIT;
	frames[(*count)++] = (struct lang_frame){MAIN, statement};
	return LANG_ROOT;
}

/* A name that Perl shares: { u32 hash, s32 length, bytes } */
static bool read_shared(const struct lang_memory *m, uint64_t at, struct buf *out)
{
	uint32_t len;

	return at && read_u32(m, at + 4, &len) && len <= INT32_MAX &&
	       read_text(m, at + 8, len, out);
}

/* The package that a symbol table is of, and "::". Its name is in the part of the body that only
 * named tables have; with aliases there is an array of names. */
static bool read_package(const struct perl_code *p, const struct lang_memory *m, uint64_t stash,
			 struct buf *out)
{
	uint64_t body, name;
	uint32_t count;

	if (!stash || !read_word(m, stash, &body) || !read_word(m, body + p->hash_aux, &name) ||
	    !read_u32(m, body + p->hash_aux + 28, &count) ||
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

	if (frame.object == MAIN)
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
