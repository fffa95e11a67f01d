/* Perl: blocks of the context stack (cop.h), from the last to the first. A block of a sub has the
 * sub, and the statement that called it. So a frame is a sub (0: the file) and a statement, which
 * has the line and the file. */
#include "lang/inside.h"

#include <errno.h>

#define ARRAY_AT 16	 /* of a table */
#define LAST_AT	 24	 /* of its body: entries of the array, less 1 */
#define COUNT_AT 28	 /* of the part with the name */
#define NAMED	 0x8000u /* of a sub's flags: it has a name and no glob */

static void add_frame(struct lang_frame *frames, size_t *count, uint64_t sub, uint64_t statement)
{
	frames[(*count)++] = (struct lang_frame){sub ? sub : LANG_MAIN, statement};
}

/* The frames of one stack of blocks; *statement is the one that runs in its innermost. *seen counts
 * blocks. */
static enum lang_note walk_blocks(const struct lang_shape_row *s, const struct lang_memory *m,
				  uint64_t stack, uint64_t *statement, unsigned *seen,
				  struct lang_frame *frames, size_t most, size_t *count)
{
	uint64_t blocks, block, sub;
	uint32_t last;
	unsigned char type;

	if (!read_word(m, stack + s->words, &blocks) || !read_u32(m, stack + s->last, &last))
		return LANG_UNREADABLE;
	for (int32_t i = (int32_t)last; i >= 0; i--) {
		block = blocks + (uint64_t)i * s->size;
		if (++*seen > LANG_BLOCK_MOST || !read_bytes(m, block + s->type, &type, 1))
			return LANG_UNREADABLE;
		type &= 15;
		if (type != LANG_BLOCK_SUB && type != LANG_BLOCK_FORMAT)
			continue;
		if (*count == most)
			return LANG_LIMIT;
		if (!read_word(m, block + s->object, &sub))
			return LANG_UNREADABLE;
		add_frame(frames, count, sub, *statement);
		if (!read_word(m, block + s->position, statement))
			return LANG_UNREADABLE;
	}
	return LANG_ROOT;
}

enum lang_note perl_walk(const struct lang_shape_row *s, const struct lang_memory *m,
			 uint64_t state, struct lang_frame *frames, size_t most, size_t *count)
{
	uint64_t statement, stack;
	unsigned seen = 0;

	if (!read_word(m, state + s->top, &statement) || !read_word(m, state + s->base, &stack))
		return LANG_UNREADABLE;
	while (stack) {
		enum lang_note note;

		if (++seen > LANG_BLOCK_MOST)
			return LANG_UNREADABLE;
		note = walk_blocks(s, m, stack, &statement, &seen, frames, most, count);
		if (note != LANG_ROOT)
			return note;
		if (!read_word(m, stack + s->next, &stack))
			return LANG_UNREADABLE;
	}
	if (!statement)
		return *count ? LANG_ROOT : LANG_NO_THREAD;
	if (*count == most)
		return LANG_LIMIT;
	add_frame(frames, count, 0, statement);
	return LANG_ROOT;
}

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
