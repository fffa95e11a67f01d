/* i386: AT&T and Intel syntax (x86.c, intel.c). A 64-bit value in a pair of registers is named by
 * its low half only.
 */
#include "arch/cpu.h"

enum { EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI, EIP, GS_BASE, XMM0 = 32, ST0 = 40, MM0 = 48 };

/* clang-format off */
#define WIDE(id, d, w)     {d, id, 4, 0, true}, {w, id, 2, 0, true},
#define BYTE(id, b, shift) {b, id, 1, shift, true},
#define VECTOR(n) \
	{"xmm" #n, XMM0 + n, 16, 0, false}, {"ymm" #n, XMM0 + n, 32, 0, false}, \
	{"zmm" #n, XMM0 + n, 64, 0, false}, {"mm" #n,  MM0 + n,   8, 0, false},

static const struct arch_reg regs[] = {
	WIDE(EAX, "eax", "ax")  BYTE(EAX, "al", 0)  BYTE(EAX, "ah", 8)
	WIDE(ECX, "ecx", "cx")  BYTE(ECX, "cl", 0)  BYTE(ECX, "ch", 8)
	WIDE(EDX, "edx", "dx")  BYTE(EDX, "dl", 0)  BYTE(EDX, "dh", 8)
	WIDE(EBX, "ebx", "bx")  BYTE(EBX, "bl", 0)  BYTE(EBX, "bh", 8)
	WIDE(ESP, "esp", "sp")  WIDE(EBP, "ebp", "bp")
	WIDE(ESI, "esi", "si")  WIDE(EDI, "edi", "di")
	BYTE(ESI, "sil", 0)     BYTE(EDI, "dil", 0)
	BYTE(EBP, "bpl", 0)     BYTE(ESP, "spl", 0)
	{"eip", EIP, 4, 0, true},
	ROWS_0_7(VECTOR)
	{"st", ST0, 10, 0, false},
};

/* @ntpoff counts from the thread pointer; @tpoff is its negative and not understood. */
static const struct modifier modifiers[] = {
	{"gotoff", SYMBOL_GOT,  0},
	{"ntpoff", SYMBOL_TLS,  0},
	{NULL,     SYMBOL_NONE, 0},
};

/* System V ABI, Intel386 supplement: all arguments are on the stack, above the return address. */
const struct arch arch_i386 = {
	.name = "i386", .machine = EM_386, .word = 4,
	.pc = EIP, .sp = ESP, .tls = GS_BASE, .zero = REG_NONE, .zero_base = REG_NONE,
	.regs = regs, .reg_count = COUNT(regs),
	.parse_operand = x86_parse, .parse_other = intel_parse, .is_other = intel_is_used,
	.modifiers = modifiers,
	.call_ret = EAX, .call_stack = 4,
	.nops = x86_nops, .length = i386_length,
#ifdef __i386__
	.is_host = true,
#endif
};
/* clang-format on */
