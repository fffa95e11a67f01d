/* The list of CPUs, and looking things up in their tables. */
#include "arch/arch.h"

#include "arch/parse.h"

static const struct arch *const arches[] = {
	&arch_x86_64,  &arch_i386,  &arch_aarch64, &arch_arm,	      &arch_riscv64,
	&arch_ppc64le, &arch_s390x, &arch_mips64,  &arch_loongarch64,
};
#define ARCH_COUNT (sizeof(arches) / sizeof(arches[0]))

const struct arch *arch_for(uint16_t machine, unsigned word)
{
	for (size_t i = 0; i < ARCH_COUNT; i++)
		if (arches[i]->machine == machine && arches[i]->word == word)
			return arches[i];
	return NULL;
}

const struct arch *arch_by_name(struct str name)
{
	for (size_t i = 0; i < ARCH_COUNT; i++)
		if (str_eq_text(name, arches[i]->name))
			return arches[i];
	return NULL;
}

const struct arch *arch_host(void)
{
#if defined(__x86_64__)
	return &arch_x86_64;
#elif defined(__i386__)
	return &arch_i386;
#elif defined(__aarch64__)
	return &arch_aarch64;
#elif defined(__arm__)
	return &arch_arm;
#elif defined(__riscv) && __riscv_xlen == 64
	return &arch_riscv64;
#elif defined(__powerpc64__)
	return &arch_ppc64le;
#elif defined(__s390x__)
	return &arch_s390x;
#elif defined(__mips64)
	return &arch_mips64;
#elif defined(__loongarch__) && __loongarch_grlen == 64
	return &arch_loongarch64;
#else
	return NULL;
#endif
}

const struct arch_reg *arch_find_reg(const struct arch *arch, struct str name)
{
	if (!name.len)
		return NULL;
	for (size_t i = 0; i < arch->reg_count; i++) {
		const struct arch_reg *reg = &arch->regs[i];

		/* The first letter alone tells most names apart; files have 40,000 sites. */
		if (reg->name[0] == name.ptr[0] && str_eq_text(name, reg->name))
			return reg;
	}
	return NULL;
}

const char *arch_reg_name(const struct arch *arch, uint8_t id)
{
	const struct arch_reg *widest = NULL;

	for (size_t i = 0; i < arch->reg_count; i++) {
		const struct arch_reg *reg = &arch->regs[i];

		if (reg->id == id && (!widest || reg->size > widest->size))
			widest = reg;
	}
	return widest ? widest->name : "?";
}
