/* Types by name: of the kernel (BTF), and of a program (DWARF). They live as long as the finder. */
#ifndef NOPAL_FIND_TYPES_H
#define NOPAL_FIND_TYPES_H

#include "ctype/ctype.h"
#include "find/find.h"

/* A definition by name, of the program in `file`, or of the kernel and its modules when `file` is
 * NULL. `kind`: CTYPE_STRUCT, UNION or ENUM by tag, CTYPE_NAMED for a typedef or basic type,
 * CTYPE_FUNCTION of the kernel only. What is inside a struct is read later: ctype_complete(), or
 * any function of ctype.h. 0; -ENOENT without a message: there is none by that name, or nothing is
 * known of any type; -errno with a message. */
int finder_type(struct finder *f, struct file *file, enum ctype_kind kind, struct str name,
		const struct ctype **out, struct diag *d);
/* A constant of any enum; *out becomes the type of that. */
int finder_constant(struct finder *f, struct file *file, struct str name, const struct ctype **out,
		    int64_t *value, struct diag *d);

/* Each struct, union, enum and typedef of the kernel and its modules whose name matches a pattern,
 * in the order of their names; those of one kind only unless `kind` is CTYPE_VOID. Non-zero from
 * `fn` ends it and is returned. 0, also without types. */
typedef int finder_type_fn(void *arg, enum ctype_kind kind, struct str name);
int finder_types_each(struct finder *f, enum ctype_kind kind, struct str pattern,
		      finder_type_fn *fn, void *arg, struct diag *d);

/* Each raw tracepoint of the kernel and its modules whose name matches, in the order of their
 * names, and the function of the kernel that calls what is attached to it: its parameters after the
 * first are those of the tracepoint. Without types of the kernel, and for a name without a pattern,
 * that name once, and NULL. 0, -errno, or what `fn` returns. */
typedef int finder_raw_fn(void *arg, struct str name, const struct ctype *function);
int finder_raw_events(struct finder *f, struct str pattern, finder_raw_fn *fn, void *arg,
		      struct diag *d);

/* A function of the kernel. */
struct kernel_function {
	struct str name;
	const struct ctype *type; /* NULL: not known */
	uint32_t id; /* its number in the kernel's BTF; 0: it has none, or is in a module */
};

/* Each function that matches, in the order of their names: those that the kernel lets tracers
 * attach to, or, if it does not show that list, those that it has types of. A name without a
 * pattern is given in any case. 0, -errno, or what `fn` returns. */
typedef int kernel_function_fn(void *arg, const struct kernel_function *function);
int finder_kernel_functions(struct finder *f, struct str pattern, kernel_function_fn *fn, void *arg,
			    struct diag *d);

/* The number of a definition in the kernel's BTF; -ENOENT. */
int finder_kernel_id(struct finder *f, enum ctype_kind kind, struct str name, uint32_t *id,
		     struct diag *d);

/* What debug information says of the function that begins at found->address. -ENOENT without a
 * message: nothing. */
struct function_types {
	struct function_params params;
	struct str file; /* "src/tick.c"; empty: not known */
	unsigned line;
};
int finder_function_types(struct finder *f, const struct found_function *found,
			  struct function_types *out, struct diag *d);

#endif
