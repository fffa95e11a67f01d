/* x86_64: AT&T syntax (x86.c), 16 general registers with up to five names each. */
#include "arch/cpu.h"

enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R9, RIP = 16, FS_BASE = 17, XMM0 = 32 };
enum { ST0 = 64, MM0 = 72, K0 = 80 };

/* clang-format off */
#define WIDE(id, q, d, w, at) \
	{q, id, 8, 0, ON_X86_64(at)}, {d, id, 4, 0, ON_X86_64(at)}, {w, id, 2, 0, ON_X86_64(at)},
#define BYTE(id, b, shift, at) {b, id, 1, shift, ON_X86_64(at)},
#define NUMBERED(n) \
	WIDE(n, "r" #n, "r" #n "d", "r" #n "w", PT_R##n) BYTE(n, "r" #n "b", 0, PT_R##n)
#define VECTOR(n) \
	{"xmm" #n, XMM0 + n, 16, 0, REG_NOT_SAVED}, {"ymm" #n, XMM0 + n, 32, 0, REG_NOT_SAVED}, \
	{"zmm" #n, XMM0 + n, 64, 0, REG_NOT_SAVED},
#define SMALL(n) {"mm" #n, MM0 + n, 8, 0, REG_NOT_SAVED}, {"k" #n, K0 + n, 8, 0, REG_NOT_SAVED},

static const struct arch_reg regs[] = {
	WIDE(RAX, "rax", "eax", "ax", PT_RAX)  BYTE(RAX, "al",  0, PT_RAX)  BYTE(RAX, "ah", 8, PT_RAX)
	WIDE(RDX, "rdx", "edx", "dx", PT_RDX)  BYTE(RDX, "dl",  0, PT_RDX)  BYTE(RDX, "dh", 8, PT_RDX)
	WIDE(RCX, "rcx", "ecx", "cx", PT_RCX)  BYTE(RCX, "cl",  0, PT_RCX)  BYTE(RCX, "ch", 8, PT_RCX)
	WIDE(RBX, "rbx", "ebx", "bx", PT_RBX)  BYTE(RBX, "bl",  0, PT_RBX)  BYTE(RBX, "bh", 8, PT_RBX)
	WIDE(RSI, "rsi", "esi", "si", PT_RSI)  BYTE(RSI, "sil", 0, PT_RSI)
	WIDE(RDI, "rdi", "edi", "di", PT_RDI)  BYTE(RDI, "dil", 0, PT_RDI)
	WIDE(RBP, "rbp", "ebp", "bp", PT_RBP)  BYTE(RBP, "bpl", 0, PT_RBP)
	WIDE(RSP, "rsp", "esp", "sp", PT_RSP)  BYTE(RSP, "spl", 0, PT_RSP)
	ROWS_8_15(NUMBERED)
	{"rip", RIP, 8, 0, ON_X86_64(PT_RIP)},
	{"eip", RIP, 4, 0, ON_X86_64(PT_RIP)},
	ROWS_32(VECTOR) ROWS_0_7(SMALL)
	{"st", ST0, 10, 0, REG_NOT_SAVED},
};

/* @tpoff counts from the thread pointer. */
static const struct modifier modifiers[] = {{"tpoff", SYMBOL_TLS, 0}, {NULL, SYMBOL_NONE, 0}};

/* System V ABI, AMD64 supplement, 3.2.3. */
static const uint8_t call_regs[] = {RDI, RSI, RDX, RCX, R8, R9};

const struct arch arch_x86_64 = {
	.name = "x86_64", .machine = EM_X86_64, .word = 8,
	.pc = RIP, .sp = RSP, .tls = FS_BASE, .zero = REG_NONE, .zero_base = REG_NONE,
	.regs = regs, .reg_count = COUNT(regs),
	.parse_operand = x86_parse, .modifiers = modifiers,
	.call_regs = call_regs, .call_reg_count = COUNT(call_regs), .call_ret = RAX, .call_stack = 8,
	.nops = x86_nops, .length = x86_64_length,
#ifdef __x86_64__
	.is_host = true,
#endif
};
/* clang-format on */
