/* What a kernel program can read at a site: the registers that the kernel saves in struct pt_regs,
 * and memory through them. */
#ifndef NOPAL_ENGINE_BPF_READABLE_H
#define NOPAL_ENGINE_BPF_READABLE_H

#include "arch/operand.h"

/* Byte offset of a register in the host's struct pt_regs, by its id; < 0: not saved. */
int saved_at(const struct arch *arch, int64_t id);
/* engine_ops.unreadable: why the kernel cannot read this operand; NULL: it can. */
const char *bpf_unreadable(const struct arch *arch, const struct operand *o);

#endif
