/* Cells of tables. */
#include "cells.h"

#include <stdlib.h>

#include "command.h"

void cells_add(struct cells *c, char *text)
{
	if (c->count == c->cap) {
		size_t cap = c->cap ? 2 * c->cap : 64;
		char **bigger = realloc(c->list, cap * sizeof(*bigger));

		if (!bigger) {
			c->failed = true;
			free(text);
			return;
		}
		c->list = bigger;
		c->cap = cap;
	}
	c->failed |= !text;
	c->list[c->count++] = text;
}

void cells_print(struct cells *c, const struct nopal_column *columns, unsigned count,
		 const struct nopal_look *look, FILE *out)
{
	if (!c->failed)
		nopal_show_table(columns, count, (const char *const *)c->list, c->count / count,
				 look, write_text, out);
	for (size_t i = 0; i < c->count; i++)
		free(c->list[i]);
	free(c->list);
	*c = (struct cells){.list = NULL};
}
