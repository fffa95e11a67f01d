/* What is asked of attachments. */
#include "script/resolve/attachment.h"

#include "script/parse/script_state.h"
#include "script/resolve/script_source.h"

const char *attachment_unreadable(const struct attachment *p, unsigned n, bool by_some)
{
	return source_unreadable(p->script->source, p->attach.arch, &p->attach.args[n].operand,
				 by_some);
}

const struct trace_field *event_field(const struct trace_event *event, struct str name)
{
	for (unsigned i = 0; event && i < event->field_count; i++)
		if (str_eq(event->fields[i].name, name))
			return &event->fields[i];
	return NULL;
}
