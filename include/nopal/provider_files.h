/* Provider files (.d) with libnopal: from the probes that a program declares to the header that it
 * includes and the object file that it links, as the commands `dtrace -h` and `dtrace -G` do:
 *
 *	struct nopal_provider_files *p = nopal_provider_files_new();
 *
 *	if (nopal_provider_files_add(p, "tick.d", text, len, d) || nopal_provider_files_check(p, d))
 *		...nopal_diag_text(d)...
 *	nopal_provider_files_header(p, "tick.h", &header, &header_len, d);
 *	nopal_provider_files_object(p, "x86_64-linux-gnu", &object, &object_len, d);
 *	nopal_provider_files_free(p);
 *
 * Calls return 0 on success and -errno on failure, with a message in the struct nopal_diag, which
 * may be NULL. */
#ifndef NOPAL_PROVIDER_FILES_H
#define NOPAL_PROVIDER_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "nopal/diag.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nopal_provider_files;

struct nopal_provider_files *nopal_provider_files_new(void);	/* NULL: out of memory */
void nopal_provider_files_free(struct nopal_provider_files *p); /* NULL is fine */

/* Parse the text of one file, of `len` bytes; `path` is for messages. Both are copied. -EINVAL: the
 * text has errors. */
int nopal_provider_files_add(struct nopal_provider_files *p, const char *path, const char *text,
			     size_t len, struct nopal_diag *d);

/* Check all files together. Call it once, after the last nopal_provider_files_add(). -EINVAL: there
 * is no provider, or two probes need the same name. */
int nopal_provider_files_check(struct nopal_provider_files *p, struct nopal_diag *d);

/* Set whether arguments are checked by default. If `unchecked`, C compilers warn about arguments of
 * other types only if the program defines NOPAL_PROVIDER_CHECKED before the header; if not, they
 * warn unless it defines NOPAL_PROVIDER_UNCHECKED. */
void nopal_provider_files_leave_unchecked(struct nopal_provider_files *p, bool unchecked);

/* Make the C and C++ header. `name` is the name of its file. *text has `len` bytes and a NUL; the
 * caller frees it. */
int nopal_provider_files_header(struct nopal_provider_files *p, const char *name, char **text,
				size_t *len, struct nopal_diag *d);

/* Set whether semaphores are visible outside of the program or library that they are linked into,
 * for its plug-ins. By default they are not. */
void nopal_provider_files_share(struct nopal_provider_files *p, bool shared);

/* Make the relocatable object file that defines the semaphores, for a GNU triple; NULL: for this
 * machine. The same input gives the same bytes. The caller frees *bytes. -EINVAL: an unknown
 * machine. */
int nopal_provider_files_object(struct nopal_provider_files *p, const char *target, void **bytes,
				size_t *len, struct nopal_diag *d);

/* The triple of the same machine in another mode, "32", "64" or "x32", as the compiler's options
 * -m32, -m64 and -mx32 select it: "i386" for "x86_64-linux-gnu" and "32". `target` itself if that
 * is its mode. NULL: the machine does not have this mode, or is unknown. */
const char *nopal_provider_files_variant(const char *target, const char *mode);

#ifdef __cplusplus
}
#endif

#endif
