/* Types as .note.nopal has them. */
#include "probe/type_class.h"

#include "probe/describe.h"

#define SIGNED_BIT 0x80

static enum arg_class class_of(const struct ctype *t, bool is_signed)
{
	const struct ctype_standard *standard;

	t = ctype_resolve(t);
	standard = t->kind == CTYPE_NAMED ? ctype_standard(t->name) : NULL;
	switch (standard ? standard->kind : t->kind) {
	case CTYPE_BOOL: return ARG_BOOL;
	case CTYPE_CHAR: return ARG_CHAR;
	case CTYPE_INTEGER: return is_signed ? ARG_SIGNED : ARG_UNSIGNED;
	case CTYPE_FLOAT: return ARG_FLOAT;
	case CTYPE_ENUM: return ARG_ENUM;
	case CTYPE_STRING:
	case CTYPE_POINTER:
	case CTYPE_ARRAY:
	case CTYPE_FUNCTION: return ctype_is_text(t) ? ARG_STRING : ARG_POINTER;
	default: return ARG_BYTES;
	}
}

struct type_class type_class_of(const struct ctype *t, const struct ctype_machine *m)
{
	struct ctype_layout is = ctype_layout_passed(t, m);
	enum arg_class type_class = is.size ? class_of(t, is.is_signed) : ARG_BYTES;

	return (struct type_class){.type_class =
					   (uint8_t)(type_class | (is.is_signed ? SIGNED_BIT : 0)),
				   .size = is.size < 100 ? (uint8_t)is.size : 0};
}
