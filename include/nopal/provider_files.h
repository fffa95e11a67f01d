/* Provider files (.d) with libnopal: from the probes a program declares to the header it includes
 * and the object file it links. What the commands `dtrace -h` and `dtrace -G` do:
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

/* Read one file's text, of `len` bytes; `path` is for messages. Both are copied. -EINVAL: the text
 * is wrong. */
int nopal_provider_files_add(struct nopal_provider_files *p, const char *path, const char *text,
			     size_t len, struct nopal_diag *d);

/* Check what all files say together; call it once, behind the last nopal_provider_files_add().
 * -EINVAL: there is no provider, or two probes need the same name. */
int nopal_provider_files_check(struct nopal_provider_files *p, struct nopal_diag *d);

/* Shall the header leave it to the program to ask for the check of arguments, by defining
 * NOPAL_PROVIDER_CHECKED? Else C compilers warn of arguments of other types unless it defines
 * NOPAL_PROVIDER_UNCHECKED. */
void nopal_provider_files_leave_unchecked(struct nopal_provider_files *p, bool unchecked);

/* The C and C++ header. `name` is the name of the file it will be; *text ends in a NUL behind its
 * `len` bytes and is the caller's to free(). */
int nopal_provider_files_header(struct nopal_provider_files *p, const char *name, char **text,
				size_t *len, struct nopal_diag *d);

/* Shall semaphores be visible outside of the program or library that they are linked into, for its
 * plug-ins? They are not by default. */
void nopal_provider_files_share(struct nopal_provider_files *p, bool shared);

/* The relocatable object file that defines the semaphores, for a GNU triple; NULL: for the machine
 * that runs this. The same input gives the same bytes. *bytes is the caller's to free(). -EINVAL: a
 * machine that nobody here knows. */
int nopal_provider_files_object(struct nopal_provider_files *p, const char *target, void **bytes,
				size_t *len, struct nopal_diag *d);

/* The same machine in another mode, "32", "64" or "x32", as the compiler's options -m32, -m64 and
 * -mx32 choose it: "i386" for "x86_64-linux-gnu" and "32". `target` itself when that is its mode.
 * NULL: there is no such mode, or nobody here knows the machine. */
const char *nopal_provider_files_variant(const char *target, const char *mode);

#ifdef __cplusplus
}
#endif

#endif
