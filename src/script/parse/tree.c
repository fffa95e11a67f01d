/* The tables that belong to the tree: operators, names of integer types. */
#include "script/parse/tree.h"

#include <errno.h>

#include "arch/arch.h"
#include "base/array.h"

/* clang-format off */
static const char *const operator_texts[] = {
	[OPERATOR_NONE] = "",   [OPERATOR_OR]   = "||", [OPERATOR_AND]  = "&&", [OPERATOR_BOR]  = "|",
	[OPERATOR_XOR]  = "^",  [OPERATOR_BAND] = "&",  [OPERATOR_EQ]   = "==", [OPERATOR_NE]   = "!=",
	[OPERATOR_LT]   = "<",  [OPERATOR_LE]   = "<=", [OPERATOR_GT]   = ">",  [OPERATOR_GE]   = ">=",
	[OPERATOR_SHL]  = "<<", [OPERATOR_SHR]  = ">>", [OPERATOR_ADD]  = "+",  [OPERATOR_SUB]  = "-",
	[OPERATOR_MUL]  = "*",  [OPERATOR_DIV]  = "/",  [OPERATOR_MOD]  = "%",  [OPERATOR_NOT]  = "!",
	[OPERATOR_BNOT] = "~",  [OPERATOR_NEG]  = "-",  [OPERATOR_LOAD] = "*", [OPERATOR_ADDRESS] = "&",  [OPERATOR_INC]  = "++",
	[OPERATOR_DEC]  = "--",
};
/* clang-format on */

struct name_row {
	const char *name;
	const char *standard; /* ctype_standard() */
};

/* Of bpftrace, of the kernel, and of common headers. */
/* clang-format off */
static const struct name_row name_rows[] = {
	{ "int8",   "int8_t"   }, { "int16",  "int16_t"  }, { "int32",  "int32_t"  }, { "int64",  "int64_t"  },
	{ "uint8",  "uint8_t"  }, { "uint16", "uint16_t" }, { "uint32", "uint32_t" }, { "uint64", "uint64_t" },
	{ "s8",     "int8_t"   }, { "s16",    "int16_t"  }, { "s32",    "int32_t"  }, { "s64",    "int64_t"  },
	{ "u8",     "uint8_t"  }, { "u16",    "uint16_t" }, { "u32",    "uint32_t" }, { "u64",    "uint64_t" },
	{ "__s8",   "int8_t"   }, { "__s16",  "int16_t"  }, { "__s32",  "int32_t"  }, { "__s64",  "int64_t"  },
	{ "__u8",   "uint8_t"  }, { "__u16",  "uint16_t" }, { "__u32",  "uint32_t" }, { "__u64",  "uint64_t" },
	{ "__be16", "uint16_t" }, { "__be32", "uint32_t" }, { "__be64", "uint64_t" }, { "__le16", "uint16_t" },
	{ "__le32", "uint32_t" }, { "__le64", "uint64_t" },
	{ "pid_t",  "int32_t"  }, { "uid_t",  "uint32_t" }, { "gid_t",  "uint32_t" }, { "off_t",  "int64_t"  },
	{ "uint",   "unsigned int" }, { "ulong", "unsigned long" }, { "ushort", "unsigned short" },
};
/* clang-format on */

int tree_open(struct tree *t, struct arena *a)
{
	const struct arch *host = arch_host();

	t->types.arena = a;
	t->types.machine = ctype_machine_of(host ? host->machine : 0, host ? host->word : 8);
	for (size_t i = 0; i < COUNT(name_rows); i++) {
		struct ctype *type = arena_new(a, struct ctype);

		if (!type)
			return -ENOMEM;
		*type = (struct ctype){.kind = CTYPE_NAMED,
				       .name = str_from(name_rows[i].standard)};
		if (c_scope_typedef(&t->types, str_from(name_rows[i].name), type))
			return -ENOMEM;
	}
	return 0;
}

bool expr_refers(const struct expr *e)
{
	return e->kind == EXPR_UNARY && e->op == OPERATOR_ADDRESS &&
	       (e->args[0]->kind == EXPR_VARIABLE || e->args[0]->kind == EXPR_MAP);
}

const char *operator_text(enum operator op)
{
	return operator_texts[op];
}

struct type type_int(unsigned size, bool is_signed)
{
	return (struct type){.kind = TYPE_INT, .size = size, .is_signed = is_signed};
}
