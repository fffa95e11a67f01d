/* Real headers of C, as #include names them: read by libclang, which is loaded where it is
 * installed and needed. Comes in: lines of #include and #define. Goes out: the declarations of
 * types that they lead to, each as a text of C without macros, and values of constants. */
#ifndef NOPAL_HEADERS_HEADERS_H
#define NOPAL_HEADERS_HEADERS_H

#include <stdbool.h>

#include "base/buf.h"

struct headers;

/* Read what `lines` include; paths are relative to the working directory, or to one of the folders
 * `dirs`, one a line. 0; -ENOENT: libclang is
 * not installed; -EINVAL: a header is missing or wrong, and `problem` has the first message;
 * -ENOMEM.
 */
int headers_open(struct str lines, struct str dirs, struct headers **out, struct buf *problem);
void headers_close(struct headers *h); /* NULL is fine */

/* Each struct, union, enum and typedef at the top of a header, in their order: "struct point { int
 * x; int y; };". Non-zero from `fn` ends it and is returned. */
typedef int header_declaration_fn(void *arg, struct str text);
int headers_each(struct headers *h, header_declaration_fn *fn, void *arg);

/* The value of a constant expression, such as the name of a macro. False: it is none. */
bool headers_constant(struct headers *h, struct str name, int64_t *value);

#endif
