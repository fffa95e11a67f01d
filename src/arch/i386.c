/* i386: AT&T syntax (x86.c). On an x86_64 host the kernel shows a 32-bit program's registers in its
 * 64-bit struct pt_regs. A 64-bit value in a pair of registers is named by its low half only. */
#include "arch/cpu.h"

enum { EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI, EIP, GS_BASE, XMM0 = 32, ST0 = 40, MM0 = 48 };

/* clang-format off */
#define WIDE(id, d, w, at)     {d, id, 4, 0, ON_X86_64(at)}, {w, id, 2, 0, ON_X86_64(at)},
#define BYTE(id, b, shift, at) {b, id, 1, shift, ON_X86_64(at)},
#define VECTOR(n) \
	{"xmm" #n, XMM0 + n, 16, 0, REG_NOT_SAVED}, {"ymm" #n, XMM0 + n, 32, 0, REG_NOT_SAVED}, \
	{"zmm" #n, XMM0 + n, 64, 0, REG_NOT_SAVED}, {"mm" #n,  MM0 + n,   8, 0, REG_NOT_SAVED},

static const struct arch_reg regs[] = {
	WIDE(EAX, "eax", "ax", PT_RAX)  BYTE(EAX, "al", 0, PT_RAX)  BYTE(EAX, "ah", 8, PT_RAX)
	WIDE(ECX, "ecx", "cx", PT_RCX)  BYTE(ECX, "cl", 0, PT_RCX)  BYTE(ECX, "ch", 8, PT_RCX)
	WIDE(EDX, "edx", "dx", PT_RDX)  BYTE(EDX, "dl", 0, PT_RDX)  BYTE(EDX, "dh", 8, PT_RDX)
	WIDE(EBX, "ebx", "bx", PT_RBX)  BYTE(EBX, "bl", 0, PT_RBX)  BYTE(EBX, "bh", 8, PT_RBX)
	WIDE(ESP, "esp", "sp", PT_RSP)  WIDE(EBP, "ebp", "bp", PT_RBP)
	WIDE(ESI, "esi", "si", PT_RSI)  WIDE(EDI, "edi", "di", PT_RDI)
	BYTE(ESI, "sil", 0, PT_RSI)     BYTE(EDI, "dil", 0, PT_RDI)
	BYTE(EBP, "bpl", 0, PT_RBP)     BYTE(ESP, "spl", 0, PT_RSP)
	{"eip", EIP, 4, 0, ON_X86_64(PT_RIP)},
	ROWS_0_7(VECTOR)
	{"st", ST0, 10, 0, REG_NOT_SAVED},
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
	.parse_operand = x86_parse, .modifiers = modifiers,
	.call_ret = EAX, .call_stack = 4,
	.nops = x86_nops, .length = i386_length,
#ifdef __i386__
	.is_host = true,
#endif
};
/* clang-format on */
