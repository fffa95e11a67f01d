/* Builtins that are macros of the language itself. The parser puts the block in place of the use,
 * so nothing after it needs them. A script may define a macro of the same name. */
#include "script/builtins/function.h"

/* clang-format off */

/* Of a task; without one, of the thread. */
#define OF_TASK(name, members)                                    \
	{ name, "() { curtask->" members " }" },                  \
	{ name, "(t) { ((struct task_struct *)t)->" members " }" }

/* name, parameters and block; several of one name differ in their parameters */
const struct builtin_macro standard_macros[] = {
	OF_TASK("ppid",        "real_parent->tgid"),
	OF_TASK("pcomm",       "real_parent->comm"),
	OF_TASK("leader_tid",  "group_leader->pid"),
	OF_TASK("leader_comm", "group_leader->comm"),
	{ "percpu_kaddr", "(name) { kptr(*kptr((uint64 *)(kaddr(\"__per_cpu_offset\") + 8 * cpu)) + kaddr(name)) }" },
	{ "percpu_kaddr", "(name, c) { c < ncpus ? kptr(*kptr((uint64 *)(kaddr(\"__per_cpu_offset\") + 8 * c)) + kaddr(name)) : kptr((uint64)0) }" },
	{ "is_err", "(p) { (uint64)p >= 0xfffffffffffff001 }" },
	{ .name = NULL },
};

#define MACRO_ROW(name, group, help, example) \
	{ name, "", group, 0, 0, NO_RESULT, NULL, NULL, 0, help, example }

const struct function standard_rows[] = {
	MACRO_ROW("ppid",        GROUP_VALUE,    "the parent process",                          "@[ppid] = count();"),
	MACRO_ROW("pcomm",       GROUP_VALUE,    "name of the parent process",                  "@[pcomm] = count();"),
	MACRO_ROW("leader_tid",  GROUP_VALUE,    "the first thread of the process",             "print(leader_tid);"),
	MACRO_ROW("leader_comm", GROUP_VALUE,    "name of the first thread of the process",     "@[leader_comm] = count();"),
	MACRO_ROW("percpu_kaddr", GROUP_FUNCTION, "the address of a CPU's own symbol",         "print(percpu_kaddr(\"runqueues\", 0));"),
	MACRO_ROW("is_err",      GROUP_FUNCTION, "is a pointer an error number of the kernel?", "print(is_err(curtask));"),
	{ .name = NULL },
};
/* clang-format on */
