/* What programs refer to by number: texts, and pieces of the script. */
#include "script/parse/script_state.h"

#include <errno.h>

#include "script/parse/lex.h"

struct span script_span(const struct script *s, struct mark m)
{
	const struct lexer l = {.text = s->text, .path = s->path, .options = &s->options};

	return lex_span(&l, m);
}

int text_intern(struct script *s, struct text_list *list, struct str text, uint32_t *out)
{
	struct str copy;

	for (size_t i = 0; i < list->count; i++) {
		if (str_eq(list->items[i], text)) {
			*out = (uint32_t)i;
			return 0;
		}
	}
	copy = arena_str(&s->arena, text);
	if (!copy.ptr || arena_grow(&s->arena, (void **)&list->items, list->count, &list->cap,
				    sizeof(*list->items)))
		return -ENOMEM;
	*out = (uint32_t)list->count;
	list->items[list->count++] = copy;
	return 0;
}

int span_intern(struct script *s, struct mark m, uint32_t *span)
{
	struct span_list *list = &s->spans;

	if (*span)
		return 0;
	if (arena_grow(&s->arena, (void **)&list->items, list->count, &list->cap,
		       sizeof(*list->items)))
		return -ENOMEM;
	list->items[list->count++] = script_span(s, m);
	*span = (uint32_t)list->count;
	return 0;
}
