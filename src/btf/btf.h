/* BTF: the C types of the running kernel and its modules, as the kernel shows them in
 * /sys/kernel/btf, in the format of Documentation/bpf/btf.rst. Comes in: a file or bytes,
 * untrusted. Goes out: types by name.
 *
 * A kernel has more than 100,000 types, of which a script uses a few. So opening only finds where
 * each type begins; names are indexed at the first look-up, in a few milliseconds; and a type is
 * made when it is asked for, the members of a struct later still (ctype_complete). */
#ifndef NOPAL_BTF_BTF_H
#define NOPAL_BTF_BTF_H

#include "base/diag.h"
#include "ctype/ctype.h"

#define BTF_KERNEL   "/sys/kernel/btf/vmlinux"
#define BTF_MAX_SIZE (256u << 20) /* bytes of a file */

struct btf;

/* `base`: whose types a module's go on from; NULL: none. It must live longer. A file of sysfs is
 * mapped, others are read. Errors: of open(2); -EBADMSG: damaged; -E2BIG; -ENOMEM. */
int btf_open(const char *path, struct btf *base, struct btf **out, struct diag *d);
/* The same of bytes, which must outlive it; `name` is for messages. */
int btf_open_memory(const void *bytes, size_t len, struct str name, struct btf *base,
		    struct btf **out, struct diag *d);
void btf_close(struct btf *b); /* with all types it made; NULL is fine */

/* A definition by name. `kind`: CTYPE_STRUCT, UNION or ENUM by tag; CTYPE_NAMED: a typedef, or a
 * basic type by its name in C or in BTF ("unsigned long", "long unsigned int"); CTYPE_FUNCTION.
 * Of a module its own count first, then those of its base. -ENOENT: there is none; -EBADMSG: it is
 * damaged; -ENOMEM. */
int btf_find(struct btf *b, enum ctype_kind kind, struct str name, const struct ctype **out);
/* The number of a definition, as the kernel counts them; errors as above. */
int btf_find_id(struct btf *b, enum ctype_kind kind, struct str name, uint32_t *id);
/* A constant of any enum, of which *out becomes the type. Errors as above. */
int btf_find_constant(struct btf *b, struct str name, const struct ctype **out, int64_t *value);

/* Each definition with a name, in the order of the file, those of the base not included. Non-zero
 * from `fn` ends it and is returned. */
typedef int btf_fn(void *arg, enum ctype_kind kind, struct str name);
int btf_each(const struct btf *b, btf_fn *fn, void *arg);

#endif
