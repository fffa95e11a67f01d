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
/* Add all lines of a text; how many of them are not stacks. */
size_t flame_read(struct flame *f, const char *text, size_t len);
/* Write the page. Names may hold any byte: they stay text. */
void flame_write(const struct flame *f, const char *title, const char *unit, FILE *out);
/* Write it to a file; NULL: standard output. An exit code, after a message. */
int flame_save(const struct flame *f, const char *title, const char *unit, const char *path);

#endif
