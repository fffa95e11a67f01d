/* Messages of libnopal: what was tried, on what, why it failed, what to do. Every call that can
 * fail adds its messages to a struct nopal_diag, or drops them if that is NULL. The calls below
 * treat NULL as an empty one. */
#ifndef NOPAL_DIAG_H
#define NOPAL_DIAG_H

#ifdef __cplusplus
extern "C" {
#endif

struct nopal_diag;

struct nopal_diag *nopal_diag_new(void);    /* NULL: out of memory */
void nopal_diag_free(struct nopal_diag *d); /* NULL is fine */
void nopal_diag_clear(struct nopal_diag *d);
/* All messages as text, with source lines and hints; "" if there are none. Valid until the next
 * call with `d`. */
const char *nopal_diag_text(struct nopal_diag *d);
unsigned nopal_diag_errors(const struct nopal_diag *d);	  /* number of errors */
unsigned nopal_diag_warnings(const struct nopal_diag *d); /* number of warnings */
/* The tag of the first error ("unknown-probe"), which stays the same in later versions; "" if there
 * is no error. */
const char *nopal_diag_tag(const struct nopal_diag *d);
/* Make an untrusted text (a file name, a symbol) safe for a terminal: control characters, marks
 * that reorder text, and bytes that are not UTF-8 become \xNN; newlines and tabs stay. Free the
 * result; NULL: out of memory. */
char *nopal_escaped(const char *text);

#ifdef __cplusplus
}
#endif

#endif
