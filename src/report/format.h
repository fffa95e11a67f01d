/* Records of printf formats as text. */
#ifndef NOPAL_REPORT_FORMAT_H
#define NOPAL_REPORT_FORMAT_H

#include "report/render.h"
#include "report/command.h"

/* Write the record's fields as the pieces of `f` say. -EPROTO: the record ended early; `out` then
 * holds a part that the caller takes back. */
int format_render(const struct format *f, const struct renderer *r, struct record *record,
		  struct buf *out);
/* The same for a shell: numbers become text of the line, all else its values. */
int format_render_shell(const struct format *f, const struct renderer *r, struct record *record,
			struct shell_line *out);

#endif
