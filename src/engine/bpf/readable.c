/* What the kernel can read of an operand; see readable.h. */
#include "engine/bpf/readable.h"

int saved_at(const struct arch *arch, int64_t id)
{
	for (size_t i = 0; arch && i < arch->reg_count; i++)
		if (arch->regs[i].id == id)
			return arch->regs[i].saved_at;
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
	return "vector and floating-point registers are not readable in kernel mode";
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
