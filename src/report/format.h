/* printf formats, compiled once into a list of pieces so that an event costs one walk over them.
 * Comes in: the text of a format and the types of its fields. Goes out: text. */
#ifndef NOPAL_REPORT_FORMAT_H
#define NOPAL_REPORT_FORMAT_H

#include "report/render.h"
#include "report/command.h"

struct piece;

/* A compiled format; its pieces live in the arena, its literals borrow from the format's text. */
struct pieces {
	const struct piece *first;
	size_t count;
};

int pieces_compile(const struct format *f, struct arena *a, struct pieces *out);
/* Write the record's fields as the pieces say. -EPROTO: the record ended early; `out` then holds
 * a part that the caller takes back. */
int pieces_render(const struct pieces *pieces, const struct renderer *r, struct record *record,
		  struct buf *out);
/* The same for a shell: numbers become text of the line, all else its values. */
int pieces_render_shell(const struct pieces *pieces, const struct renderer *r,
			struct record *record, struct shell_line *out);

#endif
