/* Stubs as data: a row for each CPU. */
#include "runtime/runtime.h"

#include <elf.h>

/* System V ABI, AMD64 supplement, 3.2.3: six registers, then the stack above the return address.
 * The names are those of whole registers, and the size says which part is meant: gdb does not know
 * %r8b. */
static void x86_64_operand(unsigned i, struct buf *out)
{
	static const char *const names[] = {"%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9"};

	if (i < 6)
		buf_text(out, names[i]);
	else
		buf_printf(out, "%u(%%rsp)", 8 + 8 * (i - 6));
}

/* Procedure Call Standard for the Arm 64-bit Architecture, 6.4: eight registers, then the stack. */
static void aarch64_operand(unsigned i, struct buf *out)
{
	if (i < 8)
		buf_printf(out, "x%u", i);
	else if (i == 8)
		buf_text(out, "[sp]");
	else
		buf_printf(out, "[sp, %u]", 8 * (i - 8));
}

/* RISC-V ELF psABI, integer calling convention: like Arm. */
static void riscv64_operand(unsigned i, struct buf *out)
{
	if (i < 8)
		buf_printf(out, "a%u", i);
	else
		buf_printf(out, "%u(sp)", 8 * (i - 8));
}

const struct stub_cpu stub_cpus[] = {
	{
		.name = "x86_64",
		.machine = EM_X86_64,
		.page = 4096,
		.code_size = 6,
		.code = "\x0f\x1f\x44\x00\x00" /* nopl 0(%rax,%rax,1) */
			"\xc3"		       /* ret */
			"\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc",
		.operand = x86_64_operand,
	},
	{
		.name = "aarch64",
		.machine = EM_AARCH64,
		.page = 65536,
		.code_size = 8,
		.code = "\x1f\x20\x03\xd5"  /* nop */
			"\xc0\x03\x5f\xd6", /* ret */
		.operand = aarch64_operand,
	},
	{
		.name = "riscv64",
		.machine = EM_RISCV,
		.flags =
			5, /* EF_RISCV_RVC | EF_RISCV_FLOAT_ABI_DOUBLE, which not every elf.h has */
		.page = 4096,
		.code_size = 8,
		.code = "\x13\x00\x00\x00"  /* nop */
			"\x67\x80\x00\x00", /* ret */
		.operand = riscv64_operand,
	},
	{
		.name = "x86_64, with a 1-byte nop",
		.machine = EM_X86_64,
		.page = 4096,
		.code_size = 2,
		.code = "\x90" /* nop */
			"\xc3" /* ret */
			"\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc",
		.operand = x86_64_operand,
	},
};
const unsigned stub_cpu_count = sizeof(stub_cpus) / sizeof(stub_cpus[0]);

const struct stub_cpu *stub_host(bool one_byte_nop)
{
#if defined __x86_64__ && defined __LP64__
	return &stub_cpus[one_byte_nop ? 3 : 0];
#elif defined __aarch64__ && defined __LP64__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	(void)one_byte_nop;
	return &stub_cpus[1];
#elif defined __riscv && __riscv_xlen == 64
	(void)one_byte_nop;
	return &stub_cpus[2];
#else
	(void)one_byte_nop;
	return NULL;
#endif
}
