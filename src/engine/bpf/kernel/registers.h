/* What the kernel can read of a probe's argument: registers are in a struct pt_regs. */
#ifndef NOPAL_ENGINE_BPF_KERNEL_REGISTERS_H
#define NOPAL_ENGINE_BPF_KERNEL_REGISTERS_H

#include "arch/operand.h"

#define REG_NOT_SAVED (-1)
/* Byte offset of a register in this machine's struct pt_regs, by its id; REG_NOT_SAVED: it is not
 * there, as xmm0 is not. */
int saved_at(const struct arch *arch, int64_t id);
/* engine_ops.unreadable: why the kernel cannot read this operand; NULL: it can. */
const char *bpf_unreadable(const struct arch *arch, const struct operand *o);

#endif
