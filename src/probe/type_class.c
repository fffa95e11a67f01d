/* Types to classes and back. */
#include "probe/type_class.h"

#include <errno.h>

#define SIGNED_BIT 0x80
#define MOST_SIZE  99 /* bytes that the note can say */

/* The classes of doc/describe-note.md. */
enum arg_class {
	ARG_BYTES,    /* a struct, or something else without a better name */
	ARG_UNSIGNED, /* unsigned int */
	ARG_SIGNED,   /* int */
	ARG_BOOL,     /* bool */
	ARG_FLOAT,    /* double */
	ARG_POINTER,  /* void * */
	ARG_STRING,   /* char *, NUL-terminated */
	ARG_ENUM,     /* enum color; C sites show an integer, unless declared */
	ARG_CHAR,     /* char */
	ARG_COUNT_,
};

static const struct ctype any = {.kind = CTYPE_VOID};
static const struct ctype character = {.kind = CTYPE_CHAR, .size = 1};

/* clang-format off */
static const struct {
	const char *name;
	enum ctype_kind kind;
	const struct ctype *to;
} classes[ARG_COUNT_] = {
	[ARG_BYTES]    = { "bytes",    CTYPE_BYTES,   NULL       },
	[ARG_UNSIGNED] = { "unsigned", CTYPE_INTEGER, NULL       },
	[ARG_SIGNED]   = { "signed",   CTYPE_INTEGER, NULL       },
	[ARG_BOOL]     = { "bool",     CTYPE_BOOL,    NULL       },
	[ARG_FLOAT]    = { "float",    CTYPE_FLOAT,   NULL       },
	[ARG_POINTER]  = { "pointer",  CTYPE_POINTER, &any       },
	[ARG_STRING]   = { "string",   CTYPE_POINTER, &character },
	[ARG_ENUM]     = { "enum",     CTYPE_ENUM,    NULL       },
	[ARG_CHAR]     = { "char",     CTYPE_CHAR,    NULL       },
};
/* clang-format on */

static enum arg_class class_of(const struct ctype *t, bool is_signed)
{
	if (ctype_is_address(t))
		return ctype_is_text(t) ? ARG_STRING : ARG_POINTER;
	switch (ctype_kind(t)) {
	case CTYPE_BOOL: return ARG_BOOL;
	case CTYPE_CHAR: return ARG_CHAR;
	case CTYPE_INTEGER: return is_signed ? ARG_SIGNED : ARG_UNSIGNED;
	case CTYPE_FLOAT: return ARG_FLOAT;
	case CTYPE_ENUM: return ARG_ENUM;
	default: return ARG_BYTES;
	}
}

struct type_class type_class_of(const struct ctype *t, const struct ctype_machine *m)
{
	struct ctype_layout is = ctype_layout_passed(t, m);
	unsigned type_class = is.size ? class_of(t, is.is_signed) : ARG_BYTES;

	return (struct type_class){(uint8_t)(type_class | (is.is_signed ? SIGNED_BIT : 0)),
				   is.size <= MOST_SIZE ? (uint8_t)is.size : 0};
}

const char *type_class_name(struct type_class c)
{
	unsigned type_class = c.type_class & ~SIGNED_BIT;

	return type_class < ARG_COUNT_ ? classes[type_class].name : NULL;
}

int class_type(struct class_types *types, struct type_class c, const struct ctype **out)
{
	const struct ctype ***row = &types->rows[c.type_class];
	unsigned type_class = c.type_class & ~SIGNED_BIT;
	struct ctype *t;

	*out = NULL;
	if (type_class >= ARG_COUNT_ || (type_class == ARG_BYTES && !c.size))
		return 0;
	if (!*row && !(*row = arena_array(types->arena, const struct ctype *, 256)))
		return -ENOMEM;
	if (!(*row)[c.size]) {
		t = arena_new(types->kept, struct ctype);
		if (!t)
			return -ENOMEM;
		*t = (struct ctype){.kind = classes[type_class].kind,
				    .size = c.size,
				    .is_signed = c.type_class & SIGNED_BIT,
				    .to = classes[type_class].to};
		(*row)[c.size] = t;
	}
	*out = (*row)[c.size];
	return 0;
}
