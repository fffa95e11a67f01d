/* What is known of a site beyond where its arguments are: their names and types, and the line of
 * source that fires it. From the program itself where it describes its probes
 * (doc/describe-note.md), else from the catalogue of well-known probes (provider/catalogue.h). */
#ifndef NOPAL_FIND_KNOW_H
#define NOPAL_FIND_KNOW_H

#include "find/find.h"

/* Complete site->args, which then has an entry for each operand. Done once for a site; lives as
 * long as the finder. A site about which nothing is known is not an error. 0 or -ENOMEM. */
int finder_know(struct finder *f, const struct found_image *image, struct site *site);
/* Does the site's probe fire for each call, line, object or lock of the program? */
bool site_is_hot(const struct site *site);
/* Under which condition the site fires at all: "fires only while ..."; empty: none is known. */
struct str site_note(const struct site *site);
/* Provider files that could not be read so far, as warnings; each is reported once. */
void finder_know_problems(struct finder *f, struct diag *d);
/* "tick:word(const char *word, int n)  tick.c:41". Nothing when nothing is known. */
void site_declaration_show(const struct site *site, struct buf *out);

/* Why a program without probes has none: "Python has probes when it is built with --with-dtrace",
 * by the name of its file; empty: nothing is known. Static, and ends in a NUL. */
struct str know_program(struct str path);
/* The same, by the provider of its probes. */
struct str know_provider(struct str provider);

#endif
