/* Fuzz the argument strings of notes. The first byte chooses the CPU, the rest is the string. What
 * must hold: no crash, every operand is either refused with a reason or wholly within its bounds,
 * and describing it is always possible. */
#include <stdlib.h>

#include "arch/operand.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const cpus[] = {"x86_64",  "i386",	 "aarch64", "arm",    "riscv64",
				   "ppc64le", "powerpc", "s390x",   "mips64", "loongarch64"};

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool is_size(unsigned size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* A register id that the CPU has, or the thread pointer's. */
static bool is_reg(const struct arch *arch, uint8_t id)
{
	return id == arch->tls || strcmp(arch_reg_name(arch, id), "?") != 0;
}

static void check(const struct arch *arch, const struct operand *o)
{
	struct buf words = BUF_INIT;

	if (o->kind == OPERAND_BAD)
		require(o->why != NULL && operand_problem(o));
	else
		require(is_size(o->size));
	if (o->kind == OPERAND_REG)
		require(is_reg(arch, o->reg) && (o->reg_shift == 0 || o->reg_shift == 8));
	if (o->kind == OPERAND_MEM) {
		require(o->base == REG_NONE || is_reg(arch, o->base));
		require(o->index == REG_NONE || is_reg(arch, o->index));
		require(o->scale_shift <= 31);
	}
	require((o->symbol.len == 0) == (o->symbol_rule == SYMBOL_NONE) || o->kind == OPERAND_BAD);
	operand_describe(o, arch, &words);
	require(words.len > 0 && !words.failed);
	buf_free(&words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct operand operands[OPERANDS_MAX];
	const struct arch *arch;
	unsigned count;

	if (size < 1)
		return 0;
	arch = arch_by_name(str_from(cpus[data[0] % 8]));
	count = operands_parse(arch, str_of((const char *)data + 1, size - 1), operands);
	require(count <= OPERANDS_MAX);
	for (unsigned i = 0; i < count; i++) {
		check(arch, &operands[i]);
		require(operand_equal(&operands[i], &operands[i]));
		operand_resolve(&operands[i], 0x123456789abcdef0);
	}
	return 0;
}
