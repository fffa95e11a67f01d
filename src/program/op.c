/* What is known of each operation, builtin and kind of site: constant tables. */
#include "program/op.h"

#define KIND(kind) (1u << (kind))
#define TEXT	   KIND(TYPE_STR)
#define WORDS	   (KIND(TYPE_INT) | KIND(TYPE_FLOAT) | KIND(TYPE_NAME))
#define SCALARS \
	(KIND(TYPE_COUNT) | KIND(TYPE_SUM) | KIND(TYPE_MIN) | KIND(TYPE_MAX) | KIND(TYPE_AVG))
#define AGGREGATES (SCALARS | KIND(TYPE_STATS) | KIND(TYPE_HIST) | KIND(TYPE_LHIST))
#define MEMORY                                                                    \
	(KIND(TYPE_STR) | KIND(TYPE_BUF) | KIND(TYPE_TUPLE) | KIND(TYPE_USTACK) | \
	 KIND(TYPE_KSTACK) | KIND(TYPE_DISPLAY))

/*                    name          results operands  slots               map values */
static const struct op_info ops[OP_COUNT_] = {
	[OP_CONST] = {"const", "d", "i", 0, 0},
	[OP_MOV] = {"mov", "d", "a", 0, 0},
	[OP_ADD] = {"add", "d", "ab", 0, 0},
	[OP_SUB] = {"sub", "d", "ab", 0, 0},
	[OP_MUL] = {"mul", "d", "ab", 0, 0},
	[OP_UDIV] = {"udiv", "d", "ab", 0, 0},
	[OP_SDIV] = {"sdiv", "d", "ab", 0, 0},
	[OP_UMOD] = {"umod", "d", "ab", 0, 0},
	[OP_SMOD] = {"smod", "d", "ab", 0, 0},
	[OP_AND] = {"and", "d", "ab", 0, 0},
	[OP_OR] = {"or", "d", "ab", 0, 0},
	[OP_XOR] = {"xor", "d", "ab", 0, 0},
	[OP_SHL] = {"shl", "d", "ab", 0, 0},
	[OP_SHR] = {"shr", "d", "ab", 0, 0},
	[OP_SAR] = {"sar", "d", "ab", 0, 0},
	[OP_NEG] = {"neg", "d", "a", 0, 0},
	[OP_NOT] = {"not", "d", "a", 0, 0},
	[OP_EQ] = {"eq", "d", "ab", 0, 0},
	[OP_NE] = {"ne", "d", "ab", 0, 0},
	[OP_ULT] = {"ult", "d", "ab", 0, 0},
	[OP_ULE] = {"ule", "d", "ab", 0, 0},
	[OP_SLT] = {"slt", "d", "ab", 0, 0},
	[OP_SLE] = {"sle", "d", "ab", 0, 0},
	[OP_ZEXT] = {"zext", "d", "aw", 0, 0},
	[OP_SEXT] = {"sext", "d", "aw", 0, 0},
	[OP_F2I] = {"f2i", "d", "af", 0, 0},
	[OP_JUMP] = {"jump", "", "j", 0, 0},
	[OP_JUMP_IF] = {"jump_if", "", "aj", 0, 0},
	[OP_JUMP_NOT] = {"jump_not", "", "aj", 0, 0},
	[OP_LOOP] = {"loop", "", "nl", 0, 0},
	[OP_NEXT] = {"next", "", "l", 0, 0},
	[OP_RETURN] = {"return", "", "", 0, 0},
	[OP_ARG] = {"arg", "d", "u", 0, 0},
	[OP_REG] = {"reg", "d", "r", 0, 0},
	[OP_FIELD] = {"field", "d", "cx", 0, 0},
	[OP_BUILTIN] = {"builtin", "d", "o", 0, 0},
	[OP_LOAD] = {"load", "d", "ax", 0, 0},
	[OP_PUT] = {"put", "p", "a", 0, 0},
	[OP_GET] = {"get", "d", "g", 0, 0},
	[OP_ZERO] = {"zero", "s", "", 0, 0},
	[OP_COPY] = {"copy", "p", "t", 0, 0},
	[OP_PART] = {"part", "s", "q", 0, 0},
	[OP_TEXT] = {"text", "s", "v", TEXT, 0},
	[OP_STR] = {"str", "s", "aBm", TEXT, 0},
	[OP_BUF] = {"buf", "s", "abm", KIND(TYPE_BUF), 0},
	[OP_COMM] = {"comm", "s", "", TEXT, 0},
	[OP_USTACK] = {"ustack", "s", "", KIND(TYPE_USTACK), 0},
	[OP_KSTACK] = {"kstack", "s", "", KIND(TYPE_KSTACK), 0},
	[OP_FIELD_STR] = {"field_str", "s", "ch", TEXT, 0},
	[OP_STRCMP] = {"strcmp", "d", "sti", TEXT, 0},
	[OP_MAP_GET] = {"map_get", "d", "k", 0, WORDS | SCALARS},
	[OP_MAP_COPY] = {"map_copy", "t", "k", 0, MEMORY},
	[OP_MAP_SET] = {"map_set", "", "ka", 0, WORDS},
	[OP_MAP_PUT] = {"map_put", "", "kt", 0, MEMORY},
	[OP_MAP_ADD] = {"map_add", "D", "ka", 0, KIND(TYPE_INT)},
	[OP_MAP_DEL] = {"map_del", "", "k", 0, 0},
	[OP_MAP_HAS] = {"map_has", "d", "k", 0, 0},
	[OP_AGGREGATE] = {"aggregate", "", "kA", 0, AGGREGATES},
	[OP_EMIT] = {"emit", "", "e", 0, 0},
};

static const char *const builtins[BUILTIN_COUNT_] = {
	[BUILTIN_PID] = "pid",	       [BUILTIN_TID] = "tid",	    [BUILTIN_UID] = "uid",
	[BUILTIN_GID] = "gid",	       [BUILTIN_CPU] = "cpu",	    [BUILTIN_NSECS] = "nsecs",
	[BUILTIN_ELAPSED] = "elapsed", [BUILTIN_CGROUP] = "cgroup", [BUILTIN_RAND] = "rand",
	[BUILTIN_PROBE] = "probe",     [BUILTIN_FUNC] = "func",	    [BUILTIN_IP] = "ip",
	[BUILTIN_NCPUS] = "ncpus",
};

static const char *const attaches[] = {
	[ATTACH_BEGIN] = "begin",	    [ATTACH_END] = "end",
	[ATTACH_INTERVAL] = "interval",	    [ATTACH_PROFILE] = "profile",
	[ATTACH_UPROBE] = "uprobe",	    [ATTACH_URETPROBE] = "uretprobe",
	[ATTACH_TRACEPOINT] = "tracepoint",
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

const struct op_info *op_info(unsigned op)
{
	return op < OP_COUNT_ ? &ops[op] : NULL;
}

bool op_uses_map(unsigned op)
{
	return op < OP_COUNT_ && strchr(ops[op].operands, 'k');
}

const char *builtin_name(unsigned builtin)
{
	return builtin < BUILTIN_COUNT_ ? builtins[builtin] : NULL;
}

const char *attach_name(enum attach_kind kind)
{
	return (unsigned)kind < COUNT(attaches) ? attaches[kind] : NULL;
}

bool clause_uses_map(const struct clause *c, uint32_t map)
{
	for (uint32_t i = 0; i < c->insn_count; i++)
		if (op_uses_map(c->code[i].op) && c->code[i].map == map)
			return true;
	return false;
}
