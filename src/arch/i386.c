/* i386: AT&T syntax (x86.c). On an x86_64 host the kernel shows a 32-bit program's registers in its
 * 64-bit struct pt_regs. A 64-bit value in a pair of registers is named by its low half only. */
#include "arch/instruction.h"
#include "arch/parse.h"
#include "arch/regs.h"

#include <elf.h>

enum {
	EAX,
	ECX,
	EDX,
	EBX,
	ESP,
	EBP,
	ESI,
	EDI,
	EIP = 8,
	GS_BASE = 9,
	XMM0 = 32,
	ST0 = 40,
	MM0 = 48
};

#define LETTERED(id, d, w, at)             \
	{d, id, 4, 0, ON_X86_64(at)},      \
	{                                  \
		w, id, 2, 0, ON_X86_64(at) \
	}
#define BYTES(id, low, high, at)              \
	{low, id, 1, 0, ON_X86_64(at)},       \
	{                                     \
		high, id, 1, 8, ON_X86_64(at) \
	}
#define VECTOR(n)                                                                               \
	{"xmm" #n, XMM0 + n, 16, 0, REG_NOT_SAVED}, {"ymm" #n, XMM0 + n, 32, 0, REG_NOT_SAVED}, \
		{"zmm" #n, XMM0 + n, 64, 0, REG_NOT_SAVED},                                     \
		{"mm" #n, MM0 + n, 8, 0, REG_NOT_SAVED},

static const struct arch_reg regs[] = {
	LETTERED(EAX, "eax", "ax", PT_RAX),    BYTES(EAX, "al", "ah", PT_RAX),
	LETTERED(ECX, "ecx", "cx", PT_RCX),    BYTES(ECX, "cl", "ch", PT_RCX),
	LETTERED(EDX, "edx", "dx", PT_RDX),    BYTES(EDX, "dl", "dh", PT_RDX),
	LETTERED(EBX, "ebx", "bx", PT_RBX),    BYTES(EBX, "bl", "bh", PT_RBX),
	LETTERED(ESP, "esp", "sp", PT_RSP),    LETTERED(EBP, "ebp", "bp", PT_RBP),
	LETTERED(ESI, "esi", "si", PT_RSI),    LETTERED(EDI, "edi", "di", PT_RDI),
	{"sil", ESI, 1, 0, ON_X86_64(PT_RSI)}, {"dil", EDI, 1, 0, ON_X86_64(PT_RDI)},
	{"bpl", EBP, 1, 0, ON_X86_64(PT_RBP)}, {"spl", ESP, 1, 0, ON_X86_64(PT_RSP)},
	{"eip", EIP, 4, 0, ON_X86_64(PT_RIP)}, ROWS_0_7(VECTOR){"st", ST0, 10, 0, REG_NOT_SAVED},
};

/* @ntpoff counts from the thread pointer; @tpoff is its negative and not understood. */
static const struct modifier modifiers[] = {
	{"gotoff", SYMBOL_GOT, 0},
	{"ntpoff", SYMBOL_TLS, 0},
	{NULL, SYMBOL_NONE, 0},
};

/* System V ABI, Intel386 supplement: all arguments are on the stack, above the return address. */
const struct arch arch_i386 = {
	.name = "i386",
	.machine = EM_386,
	.word = 4,
	.pc = EIP,
	.sp = ESP,
	.tls = GS_BASE,
	.zero = REG_NONE,
	.zero_base = REG_NONE,
	.regs = regs,
	.reg_count = sizeof(regs) / sizeof(regs[0]),
	.parse_operand = x86_parse,
	.modifiers = modifiers,
	.call_ret = EAX,
	.call_stack = 4,
	.nops = x86_nops,
	.length = i386_length,
};
