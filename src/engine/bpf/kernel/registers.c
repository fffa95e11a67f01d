/* Which registers of the traced program the kernel keeps, and where: struct pt_regs of this
 * machine, which is the context of programs on uprobes. A 32-bit program's are in the fields of the
 * 64-bit ones. */
#include "engine/bpf/kernel/registers.h"

#include "base/array.h"

#if defined(__x86_64__) || defined(__aarch64__)
#include <asm/ptrace.h>
#endif

#if defined(__x86_64__)
/* The fields of struct pt_regs have the names of the registers. */
/* clang-format off */
#define ROW(wide, narrow) {#wide, narrow, offsetof(struct pt_regs, wide)}
static const struct {
	const char *wide, *narrow;
	size_t at;
} saved[] = {
	ROW(rax, "eax"), ROW(rbx, "ebx"), ROW(rcx, "ecx"), ROW(rdx, "edx"), ROW(rsi, "esi"),
	ROW(rdi, "edi"), ROW(rbp, "ebp"), ROW(rsp, "esp"), ROW(rip, "eip"),
	ROW(r8, ""),     ROW(r9, ""),     ROW(r10, ""),    ROW(r11, ""),
	ROW(r12, ""),    ROW(r13, ""),    ROW(r14, ""),    ROW(r15, ""),
};
#undef ROW
/* clang-format on */

static int offset_of(const struct arch *arch, uint8_t id)
{
	const char *name = arch_reg_name(arch, id);

	for (size_t i = 0; i < COUNT(saved); i++)
		if (!strcmp(name, arch->word == 8 ? saved[i].wide : saved[i].narrow))
			return (int)saved[i].at;
	return REG_NOT_SAVED;
}
#elif defined(__aarch64__)
/* struct user_pt_regs: regs[31], sp, pc. Ids are these numbers; of 32-bit programs r0 to r14. */
static int offset_of(const struct arch *arch, uint8_t id)
{
	return id == arch->pc ? (int)offsetof(struct user_pt_regs, pc) : 8 * id;
}
#elif defined(__riscv) && __riscv_xlen == 64
/* struct user_regs_struct: pc, then x1 to x31. Ids are these numbers. */
static int offset_of(const struct arch *arch, uint8_t id)
{
	return id == arch->pc ? 0 : 8 * id;
}
#else
static int offset_of(const struct arch *arch, uint8_t id)
{
	(void)arch, (void)id;
	return REG_NOT_SAVED;
}
#endif

int saved_at(const struct arch *arch, int64_t id)
{
	for (size_t i = 0; arch && arch_runs_here(arch) && i < arch->reg_count; i++)
		if (arch->regs[i].id == id)
			return arch->regs[i].is_general ? offset_of(arch, (uint8_t)id)
							: REG_NOT_SAVED;
	return REG_NOT_SAVED;
}

static const char *reg_refusal(const struct arch *arch, uint8_t id)
{
	if (id == REG_NONE || saved_at(arch, id) >= 0)
		return NULL;
	if (!arch || saved_at(arch, arch->sp) < 0)
		return "registers of this CPU are not readable on this machine";
	if (id == arch->tls)
		return "the thread pointer is not readable in kernel mode";
	return "the kernel does not show vector registers to tracers; user mode (--user) does";
}

const char *bpf_unreadable(const struct arch *arch, const struct operand *o)
{
	const char *why;

	if (o->kind == OPERAND_REG)
		return reg_refusal(arch, o->reg);
	if (o->kind != OPERAND_MEM && o->kind != OPERAND_ADDRESS)
		return NULL;
	why = reg_refusal(arch, o->base);
	return why ? why : reg_refusal(arch, o->index);
}
