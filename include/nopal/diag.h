/* Messages of libnopal: what was tried, on what, why it failed, what to do. Every call that can
 * fail takes a struct nopal_diag (or NULL) and adds to it; the calls below take NULL for an empty
 * one. */
#ifndef NOPAL_DIAG_H
#define NOPAL_DIAG_H

#ifdef __cplusplus
extern "C" {
#endif

struct nopal_diag;

struct nopal_diag *nopal_diag_new(void);    /* NULL: out of memory */
void nopal_diag_free(struct nopal_diag *d); /* NULL is fine */
void nopal_diag_clear(struct nopal_diag *d);
/* All messages, as a person reads them, with source lines and hints; "" when there are none. Valid
 * until the next call with `d`. */
const char *nopal_diag_text(struct nopal_diag *d);
unsigned nopal_diag_errors(const struct nopal_diag *d);	  /* number of errors */
unsigned nopal_diag_warnings(const struct nopal_diag *d); /* number of warnings */
/* The stable word for the first error ("unknown-probe"); "" when there is none. */
const char *nopal_diag_tag(const struct nopal_diag *d);
/* A text of somebody else's (a file's name, a symbol) as a terminal may show it: control
 * characters, marks that reorder what is shown, and bytes that are not UTF-8 as \xNN; newlines and
 * tabs stay. Free it; NULL: out of memory. */
char *nopal_escaped(const char *text);

#ifdef __cplusplus
}
#endif

#endif
