/* Fuzz the lengths of instructions. The first byte chooses the CPU, the rest is code. What must
 * hold: nothing is read outside the bytes, no length goes past them, and a shorter piece of the
 * same code gives the same length or none. */
#include <stdlib.h>

#include "arch/arch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const cpus[] = {"x86_64",  "i386",	 "aarch64", "arm",    "riscv64",
				   "ppc64le", "powerpc", "s390x",   "mips64", "loongarch64"};

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* A copy of its own, so that a byte read behind its end is noticed. */
static unsigned length_of(const struct arch *arch, const char *code, size_t len)
{
	char *copy = malloc(len ? len : 1);
	unsigned length;

	require(copy != NULL);
	memcpy(copy, code, len);
	length = instruction_length(arch, str_of(copy, len));
	require(length <= len && length <= INSTRUCTION_LONGEST);
	require(instruction_nop(arch, str_of(copy, len)) <= len);
	free(copy);
	return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *code = (const char *)data + 1;
	const struct arch *arch;
	unsigned length;
	size_t start;

	if (size < 1)
		return 0;
	arch = arch_by_name(str_from(cpus[data[0] % 8]));
	length = length_of(arch, code, size - 1);
	for (size_t len = 0; len < size - 1 && len <= INSTRUCTION_LONGEST; len++)
		require(length_of(arch, code, len) == (len < length ? 0 : length));
	if (!instruction_walk(arch, str_of(code, size - 1), size - 1, &start))
		require(start <= size - 1);
	return 0;
}
