/* The types of a program's functions (BTF): without them the kernel lets no helper call one, and
 * would follow one that the program calls itself at each of its calls. */
#ifndef NOPAL_ENGINE_BPF_KERNEL_FUNCTION_TYPES_H
#define NOPAL_ENGINE_BPF_KERNEL_FUNCTION_TYPES_H

#include "engine/bpf/kernel/insn.h"

/* A descriptor of the types, or -errno. *info says which function has which, the program itself
 * first: count + 1 of them, which the caller frees. */
int function_types_load(const struct code_function *functions, size_t count,
			struct bpf_func_info **info);

#endif
