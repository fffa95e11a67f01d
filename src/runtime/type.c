/* The types of <nopal/runtime.h> as notes describe them. */
#include "runtime/runtime.h"

/* clang-format off */
static const struct {
	unsigned count;
	struct value_type values[2];
} types[] = {
	/*		values size  signed  class	     C type	    suffix of the name */
	[NOPAL_INT8]    = {1, {{1, true,  VALUE_SIGNED,   "int8_t",       ""}}},
	[NOPAL_UINT8]   = {1, {{1, false, VALUE_UNSIGNED, "uint8_t",      ""}}},
	[NOPAL_INT16]   = {1, {{2, true,  VALUE_SIGNED,   "int16_t",      ""}}},
	[NOPAL_UINT16]  = {1, {{2, false, VALUE_UNSIGNED, "uint16_t",     ""}}},
	[NOPAL_INT32]   = {1, {{4, true,  VALUE_SIGNED,   "int32_t",      ""}}},
	[NOPAL_UINT32]  = {1, {{4, false, VALUE_UNSIGNED, "uint32_t",     ""}}},
	[NOPAL_INT64]   = {1, {{8, true,  VALUE_SIGNED,   "int64_t",      ""}}},
	[NOPAL_UINT64]  = {1, {{8, false, VALUE_UNSIGNED, "uint64_t",     ""}}},
	[NOPAL_BOOL]    = {1, {{1, false, VALUE_BOOL,     "bool",         ""}}},
	[NOPAL_POINTER] = {1, {{8, false, VALUE_POINTER,  "const void *", ""}}},
	[NOPAL_STRING]  = {1, {{8, false, VALUE_STRING,   "const char *", ""}}},
	[NOPAL_COUNTED] = {2, {{8, false, VALUE_POINTER,  "const char *", ""},
			       {8, false, VALUE_UNSIGNED, "size_t",       "_len"}}},
	[NOPAL_FLOAT]   = {1, {{4, false, VALUE_FLOAT,    "float",        ""}}},
	[NOPAL_DOUBLE]  = {1, {{8, false, VALUE_FLOAT,    "double",       ""}}},
};
/* clang-format on */

unsigned runtime_value_types(enum nopal_type type, const struct value_type *out[2])
{
	if ((unsigned)type >= sizeof(types) / sizeof(types[0]))
		return 0;
	for (unsigned i = 0; i < types[type].count; i++)
		out[i] = &types[type].values[i];
	return types[type].count;
}
