/* Messages for users of the library: nopal/diag.h. */
#include <stdlib.h>

#include "base/export.h"
#include "base/public.h"

NOPAL_EXPORT struct nopal_diag *nopal_diag_new(void)
{
	return calloc(1, sizeof(struct nopal_diag));
}

NOPAL_EXPORT void nopal_diag_free(struct nopal_diag *d)
{
	if (!d)
		return;
	diag_free(&d->diag);
	buf_free(&d->text);
	free(d);
}

NOPAL_EXPORT void nopal_diag_clear(struct nopal_diag *d)
{
	if (d)
		diag_free(&d->diag);
}

NOPAL_EXPORT const char *nopal_diag_text(struct nopal_diag *d)
{
	if (!d)
		return "";
	buf_clear(&d->text);
	buf_text(&d->text, "");
	diag_render(&d->diag, &d->text);
	return d->text.ptr ? d->text.ptr : "";
}

NOPAL_EXPORT unsigned nopal_diag_errors(const struct nopal_diag *d)
{
	return d ? d->diag.errors : 0;
}

NOPAL_EXPORT unsigned nopal_diag_warnings(const struct nopal_diag *d)
{
	return d ? d->diag.warnings : 0;
}

NOPAL_EXPORT const char *nopal_diag_tag(const struct nopal_diag *d)
{
	for (const struct message *m = d ? d->diag.first : NULL; m; m = m->next)
		if (m->level == DIAG_ERROR)
			return m->tag;
	return "";
}

NOPAL_EXPORT char *nopal_escaped(const char *text)
{
	struct buf out = BUF_INIT;

	buf_text(&out, ""); /* so that the result of an empty text is not NULL */
	buf_escaped_lines(&out, str_from(text));
	if (out.failed)
		buf_free(&out);
	return out.ptr;
}
