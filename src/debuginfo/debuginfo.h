/* What the compiler wrote down of a program, in DWARF, read with libdw: C types by name, functions
 * with their parameters, inlined copies, and the addresses of lines. From the file itself, or from
 * its separate debug file (elf/debugfile.h).
 *
 * A large program has hundreds of megabytes of it, of which a script needs a few kilobytes. So
 * names are searched for as bytes first; only the units that have them are decoded; and what was
 * decoded is forgotten again when it grows. */
#ifndef NOPAL_DEBUGINFO_DEBUGINFO_H
#define NOPAL_DEBUGINFO_DEBUGINFO_H

#include "ctype/ctype.h"
#include "elf/image.h"

struct debuginfo;

/* `path` and `root`: as for debugfile_open(). The image's bytes must outlive a debuginfo of an
 * image in memory; other images may be closed. -ENOENT, without a message: there is none; -EBADMSG:
 * it is damaged; -E2BIG: more than the memory of the image's budget; -ENOMEM. */
int debuginfo_open(const struct image *image, struct str path, struct str root,
		   struct debuginfo **out, struct diag *d);
void debuginfo_close(struct debuginfo *di); /* with all types it made; NULL is fine */
/* Where it was found, for messages: the file itself, or its debug file. */
struct str debuginfo_path(const struct debuginfo *di);

/* A definition by name. `kind`: CTYPE_STRUCT (also a class of C++), UNION or ENUM by tag;
 * CTYPE_NAMED: a typedef, or a basic type by its name in C. Units that were used before come first,
 * then all in the order of the file. -ENOENT: there is none; -EBADMSG, -ENOMEM. */
int debuginfo_type(struct debuginfo *di, enum ctype_kind kind, struct str name,
		   const struct ctype **out);
/* A constant of any enum, of which *out becomes the type. */
int debuginfo_constant(struct debuginfo *di, struct str name, const struct ctype **out,
		       int64_t *value);

/* A function, as its definition has it. */
struct debug_function {
	struct str name;	  /* as in the source */
	const struct ctype *type; /* CTYPE_FUNCTION, with the names of parameters */
	const int16_t *registers; /* of each parameter: DWARF's number of the register that has
				     it at the first instruction; -1: not said */
	bool is_c;		  /* values are passed as C does, and not as C++ may */
	struct str file;	  /* "src/tick.c"; empty: not known */
	unsigned line;
};

/* The function that begins at a link-time address. -ENOENT. */
int debuginfo_function(struct debuginfo *di, uint64_t address, struct debug_function *out);

/* A function that an address belongs to, and where it is in that. */
struct debug_frame {
	struct str function; /* as linkers know it ("_Z3addi"), or as in the source; empty: not
				known */
	struct str file;     /* "/build/src/tick.c", "src/tick.c"; empty: not known */
	struct str folder;   /* "/build", where it was compiled; empty: not known */
	unsigned line;	     /* 0: not known */
};

#define DEBUG_FRAMES_MOST 64

/* What has the instruction at a link-time address: the innermost inlined copy first, then what each
 * is inlined in, the function itself last. Texts are valid until the next call for this file.
 * -ENOENT: nothing is known; -EBADMSG, -ENOMEM, -E2BIG. */
int debuginfo_frames(struct debuginfo *di, uint64_t address,
		     struct debug_frame frames[DEBUG_FRAMES_MOST], unsigned *count);

/* Finding frames takes its work from `b`, which outlives `di`; NULL: there is no limit. Used up:
 * less is known, and debuginfo_frames_are_cut(). */
void debuginfo_set_budget(struct debuginfo *di, struct budget *b);
/* Was something left out because a unit, or all that was asked for, is too large? */
bool debuginfo_frames_are_cut(const struct debuginfo *di);

/* Each place where the body of function `name` was put into another: its link-time address, and of
 * the function around it the first instruction, 0 where that is not known. Number of them, or
 * -errno; what `fn` returns. */
typedef int debug_place_fn(void *arg, uint64_t address, uint64_t function);
int debuginfo_inlined(struct debuginfo *di, struct str name, debug_place_fn *fn, void *arg);

/* Where a statement of line `line` of a source file begins, or of the next line that has one;
 * *found becomes that line, before the first call of `fn`. Of each block, and each inlined copy,
 * the first. `file`: a path, of which the last parts suffice ("main.c", "src/main.c"). -ENOENT: no
 * such file; *found 0: no line of it from there on has code. Otherwise as debuginfo_inlined(). */
int debuginfo_lines(struct debuginfo *di, struct str file, unsigned line, unsigned column,
		    unsigned *found, debug_place_fn *fn, void *arg);

#endif
