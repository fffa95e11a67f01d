/* The list of CPUs, looking things up in their tables, and walking over their code. */
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

bool arch_runs_here(const struct arch *arch)
{
	static const char *const narrow[][2] = {
		{"x86_64", "i386"}, {"aarch64", "arm"}, {"powerpc64", "powerpc"}};
	const struct arch *host = arch_host();

	if (!host || arch->is_host)
		return true;
	for (size_t i = 0; i < COUNT(narrow); i++)
		if (!strcmp(host->name, narrow[i][0]) && !strcmp(arch->name, narrow[i][1]))
			return true;
	return false;
}

/* ---- instructions */

unsigned length_within(struct str code, unsigned length)
{
	return length <= code.len ? length : 0;
}

unsigned word_length(struct str code)
{
	return length_within(code, 4);
}

unsigned instruction_length(const struct arch *arch, struct str code)
{
	return arch->length(code);
}

unsigned instruction_nop(const struct arch *arch, struct str code)
{
	for (const struct str *nop = arch->nops; nop->len; nop++)
		if (str_starts(code, *nop))
			return (unsigned)nop->len;
	return 0;
}

int instruction_walk(const struct arch *arch, struct str code, size_t target, size_t *start)
{
	size_t at = 0, last = 0;

	while (at < target) {
		unsigned length = instruction_length(arch, str_of(code.ptr + at, code.len - at));

		last = at;
		if (!length) {
			*start = at;
			return -EILSEQ;
		}
		at += length;
	}
	*start = at == target ? at : last;
	return 0;
}
