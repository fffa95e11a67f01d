/* Flame graphs: folded stacks -> one HTML file that needs nothing else. */
#ifndef NOPAL_CMD_FLAME_H
#define NOPAL_CMD_FLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct flame;

/* NULL: out of memory, which main() reports. */
struct flame *flame_new(void);
void flame_free(struct flame *f); /* NULL is fine */
/* Add one line of folded stacks: "outermost;...;innermost COUNT". False: it is not one; nothing was
 * added. */
bool flame_add(struct flame *f, const char *line, size_t len);
/* Write the page. Names may hold any byte: they stay text. */
void flame_write(const struct flame *f, const char *title, const char *unit, FILE *out);

#endif
