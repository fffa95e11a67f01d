/* The list of CPUs, and looking things up in their tables. */
#include "arch/arch.h"

#include "arch/cpu.h"

#define ADDRESS_OF(name) &arch_##name,
static const struct arch *const arches[] = {CPUS(ADDRESS_OF)};

const struct arch *arch_for(uint16_t machine, unsigned word)
{
	for (size_t i = 0; i < COUNT(arches); i++)
		if (arches[i]->machine == machine && arches[i]->word == word)
			return arches[i];
	return NULL;
}

const struct arch *arch_by_name(struct str name)
{
	for (size_t i = 0; i < COUNT(arches); i++)
		if (str_eq_text(name, arches[i]->name))
			return arches[i];
	return NULL;
}

const struct arch *arch_host(void)
{
	for (size_t i = 0; i < COUNT(arches); i++)
		if (arches[i]->is_host)
			return arches[i];
	return NULL;
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
