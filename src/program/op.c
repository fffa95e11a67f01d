/* What is known of each operation, builtin and kind of site: constant tables. */
#include "program/op.h"

#include "base/array.h"

/* Short names, for the columns of ops.h. */
#define KIND(kind) TYPE_BIT(kind)
#define TEXT	   KIND(TYPE_STR)
#define BYTES	   (KIND(TYPE_STR) | KIND(TYPE_BUF))
#define STACK	   (KIND(TYPE_USTACK) | KIND(TYPE_KSTACK))
#define WORDS	   TYPE_WORDS
#define WRITABLE   (BYTES | KIND(TYPE_TUPLE))
#define BUCKETS	   TYPE_BUCKETS
#define MEMORY                                                                    \
	(KIND(TYPE_STR) | KIND(TYPE_BUF) | KIND(TYPE_TUPLE) | KIND(TYPE_USTACK) | \
	 KIND(TYPE_KSTACK) | KIND(TYPE_LSTACK) | KIND(TYPE_DISPLAY))

/* Aggregates, and those of them that scripts can read. */
enum {
	AGGREGATES = 0
#define AGGREGATE(kind, ...) | KIND(TYPE_##kind)
#include "program/aggregates.h"
#undef AGGREGATE
	,
	SCALARS = 0
#define AGGREGATE(kind, name, suffix, words, is_scalar, ...) | (is_scalar ? KIND(TYPE_##kind) : 0)
#include "program/aggregates.h"
#undef AGGREGATE
};

static const struct op_info ops[OP_COUNT_] = {
#define OP(op, ...) [OP_##op] = {__VA_ARGS__},
#include "program/ops.h"
#undef OP
};

/* clang-format off */
static const char *const builtins[BUILTIN_COUNT_] = {
	[BUILTIN_PID]     = "pid",     [BUILTIN_TID]     = "tid",    [BUILTIN_UID]     = "uid",
	[BUILTIN_GID]     = "gid",     [BUILTIN_CPU]     = "cpu",    [BUILTIN_NSECS]   = "nsecs",
	[BUILTIN_ELAPSED] = "elapsed", [BUILTIN_CGROUP]  = "cgroup", [BUILTIN_RAND]    = "rand",
	[BUILTIN_PROBE]   = "probe",   [BUILTIN_FUNC]    = "func",   [BUILTIN_IP]      = "ip",
	[BUILTIN_NCPUS]   = "ncpus",   [BUILTIN_TASK]    = "curtask",
	[BUILTIN_BOOT]    = "boot",    [BUILTIN_TAI]     = "tai",
	[BUILTIN_JIFFIES] = "jiffies", [BUILTIN_NUMA]    = "numa",
	[BUILTIN_INIT_PID] = "init_pid", [BUILTIN_INIT_TID] = "init_tid",
};

static const struct {
	const char *name;
	unsigned parts; /* enum attach_part */
} attaches[ATTACH_KINDS] = {
#define ATTACH(kind, name, unit, parts) [ATTACH_##kind] = {name, parts},
#include "program/attach_kinds.h"
#undef ATTACH
};
/* clang-format on */

const struct op_info *op_info(unsigned op)
{
	return op < OP_COUNT_ ? &ops[op] : NULL;
}

bool op_uses_map(unsigned op)
{
	return op < OP_COUNT_ && strpbrk(ops[op].operands, "kE");
}

bool op_is_loop(unsigned op)
{
	return op == OP_LOOP || op_is_each(op);
}

bool op_is_each(unsigned op)
{
	return op == OP_EACH || op == OP_EACH_COPY;
}

const char *builtin_name(unsigned builtin)
{
	return builtin < BUILTIN_COUNT_ ? builtins[builtin] : NULL;
}

const char *attach_name(enum attach_kind kind)
{
	return (unsigned)kind < ATTACH_KINDS ? attaches[kind].name : NULL;
}

bool attach_has(enum attach_kind kind, unsigned parts)
{
	return (unsigned)kind < ATTACH_KINDS && attaches[kind].parts & parts;
}

bool attach_is_tracers(const struct attach *at)
{
	return at->kind == ATTACH_BEGIN || at->kind == ATTACH_END || at->kind == ATTACH_INTERVAL ||
	       at->kind == ATTACH_SIGNAL;
}

bool clause_uses_map(const struct clause *c, uint32_t map)
{
	for (uint32_t i = 0; i < c->insn_count; i++)
		if (op_uses_map(c->code[i].op) && c->code[i].map == map)
			return true;
	return false;
}

bool clause_is_at(const struct clause *c, enum attach_kind kind)
{
	for (uint32_t i = 0; i < c->attach_count; i++)
		if (c->attaches[i].kind == kind)
			return true;
	return false;
}

bool program_uses(const struct program *p, unsigned op)
{
	for (uint32_t i = 0; i < p->clause_count; i++)
		for (uint32_t k = 0; k < p->clauses[i].insn_count; k++)
			if (p->clauses[i].code[k].op == op)
				return true;
	return false;
}
