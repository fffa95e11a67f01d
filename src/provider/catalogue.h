/* The catalogue: what the arguments of well-known probes are called and of which C type they are.
 * It is a list of provider files. Those of the user come first, so that they override:
 *
 *   1. $NOPAL_PROVIDERS, files and directories with ':' between them
 *   2. $XDG_CONFIG_HOME/nopal/providers, or ~/.config/nopal/providers
 *   3. /etc/nopal/providers
 *   4. data/providers of our sources, which are compiled in
 *
 * In a directory, every file *.d counts, in the order of their names. A declaration is found by
 * provider, name and number of arguments: versions of a program may differ in the
 * number. Nothing is read before the first question. */
#ifndef NOPAL_PROVIDER_CATALOGUE_H
#define NOPAL_PROVIDER_CATALOGUE_H

#include "provider/provider.h"

struct catalogue;

int catalogue_new(struct catalogue **out); /* -ENOMEM */
void catalogue_free(struct catalogue *c);  /* NULL is fine */
/* NULL: there is none. Lives as long as the catalogue. */
const struct provider_probe *catalogue_find(struct catalogue *c, struct str provider,
					    struct str name, unsigned arg_count);
/* Which of the files asked so far cannot be read, as warnings; each is reported once. */
void catalogue_problems(struct catalogue *c, struct diag *d);

/* A file that is compiled in. */
struct shipped_file {
	const char *name, *text;
	size_t len;
};

/* What scripts/embed makes of data/providers. */
extern const struct shipped_file shipped_files[];
extern const size_t shipped_file_count;

#endif
