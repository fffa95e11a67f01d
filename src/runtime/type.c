/* The types of <nopal/runtime.h>, as notes have them. */
#include "runtime/runtime.h"

#define INTEGER(size, is_signed, c_type)                                                      \
	{                                                                                     \
		{{size, is_signed, is_signed ? VALUE_SIGNED : VALUE_UNSIGNED, c_type, ""}}, 1 \
	}
#define OTHER(size, type_class, c_type)                    \
	{                                                  \
		{{size, false, type_class, c_type, ""}}, 1 \
	}

static const struct {
	struct value_type values[2];
	unsigned count;
} types[] = {
	[NOPAL_INT8] = INTEGER(1, true, "int8_t"),
	[NOPAL_UINT8] = INTEGER(1, false, "uint8_t"),
	[NOPAL_INT16] = INTEGER(2, true, "int16_t"),
	[NOPAL_UINT16] = INTEGER(2, false, "uint16_t"),
	[NOPAL_INT32] = INTEGER(4, true, "int32_t"),
	[NOPAL_UINT32] = INTEGER(4, false, "uint32_t"),
	[NOPAL_INT64] = INTEGER(8, true, "int64_t"),
	[NOPAL_UINT64] = INTEGER(8, false, "uint64_t"),
	[NOPAL_BOOL] = OTHER(1, VALUE_BOOL, "bool"),
	[NOPAL_POINTER] = OTHER(8, VALUE_POINTER, "const void *"),
	[NOPAL_STRING] = OTHER(8, VALUE_STRING, "const char *"),
	[NOPAL_COUNTED] = {{{8, false, VALUE_POINTER, "const char *", ""},
			    {8, false, VALUE_UNSIGNED, "size_t", "_len"}},
			   2},
	[NOPAL_FLOAT] = OTHER(4, VALUE_FLOAT, "float"),
	[NOPAL_DOUBLE] = OTHER(8, VALUE_FLOAT, "double"),
};

unsigned runtime_value_types(enum nopal_type type, const struct value_type *out[2])
{
	if ((unsigned)type >= sizeof(types) / sizeof(types[0]))
		return 0;
	for (unsigned i = 0; i < types[type].count; i++)
		out[i] = &types[type].values[i];
	return types[type].count;
}
