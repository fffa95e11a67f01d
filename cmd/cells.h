/* The cells of a table while it is put together, row by row. */
#ifndef NOPAL_CMD_CELLS_H
#define NOPAL_CMD_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "nopal/show.h"

struct cells {
	char **list; /* texts and list are owned */
	size_t count, cap;
	bool failed; /* out of memory */
};

/* Takes the text. NULL: it could not be made. */
void cells_add(struct cells *c, char *text);
/* Print rows of `count` cells each, unless a cell is missing, and free them. */
void cells_print(struct cells *c, const struct nopal_column *columns, unsigned count,
		 const struct nopal_look *look, FILE *out);

#endif
