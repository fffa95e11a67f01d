/* x86_64: AT&T and Intel syntax (x86.c, intel.c), 16 general registers with up to five names each.
 */
#include "arch/cpu.h"

enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R9, RIP = 16, FS_BASE = 17, XMM0 = 32 };
enum { ST0 = 64, MM0 = 72, K0 = 80 };

/* clang-format off */
#define WIDE(id, q, d, w) \
	{q, id, 8, 0, true}, {d, id, 4, 0, true}, {w, id, 2, 0, true},
#define BYTE(id, b, shift) {b, id, 1, shift, true},
#define NUMBERED(n) \
	WIDE(n, "r" #n, "r" #n "d", "r" #n "w") BYTE(n, "r" #n "b", 0)
#define VECTOR(n) \
	{"xmm" #n, XMM0 + n, 16, 0, false}, {"ymm" #n, XMM0 + n, 32, 0, false}, \
	{"zmm" #n, XMM0 + n, 64, 0, false},
#define SMALL(n) {"mm" #n, MM0 + n, 8, 0, false}, {"k" #n, K0 + n, 8, 0, false},

static const struct arch_reg regs[] = {
	WIDE(RAX, "rax", "eax", "ax")  BYTE(RAX, "al",  0)  BYTE(RAX, "ah", 8)
	WIDE(RDX, "rdx", "edx", "dx")  BYTE(RDX, "dl",  0)  BYTE(RDX, "dh", 8)
	WIDE(RCX, "rcx", "ecx", "cx")  BYTE(RCX, "cl",  0)  BYTE(RCX, "ch", 8)
	WIDE(RBX, "rbx", "ebx", "bx")  BYTE(RBX, "bl",  0)  BYTE(RBX, "bh", 8)
	WIDE(RSI, "rsi", "esi", "si")  BYTE(RSI, "sil", 0)
	WIDE(RDI, "rdi", "edi", "di")  BYTE(RDI, "dil", 0)
	WIDE(RBP, "rbp", "ebp", "bp")  BYTE(RBP, "bpl", 0)
	WIDE(RSP, "rsp", "esp", "sp")  BYTE(RSP, "spl", 0)
	ROWS_8_15(NUMBERED)
	{"rip", RIP, 8, 0, true},
	{"eip", RIP, 4, 0, true},
	ROWS_32(VECTOR) ROWS_0_7(SMALL)
	{"st", ST0, 10, 0, false},
};

/* @tpoff counts from the thread pointer. */
static const struct modifier modifiers[] = {{"tpoff", SYMBOL_TLS, 0}, {NULL, SYMBOL_NONE, 0}};

/* System V ABI, AMD64 supplement, 3.2.3. */
static const uint8_t call_regs[] = {RDI, RSI, RDX, RCX, R8, R9};

const struct arch arch_x86_64 = {
	.name = "x86_64", .machine = EM_X86_64, .word = 8,
	.pc = RIP, .sp = RSP, .tls = FS_BASE, .zero = REG_NONE, .zero_base = REG_NONE,
	.regs = regs, .reg_count = COUNT(regs),
	.parse_operand = x86_parse, .parse_other = intel_parse, .is_other = intel_is_used,
	.modifiers = modifiers,
	.call_regs = call_regs, .call_reg_count = COUNT(call_regs), .call_ret = RAX, .call_stack = 8,
	.nops = x86_nops, .length = x86_64_length,
#ifdef __x86_64__
	.is_host = true,
#endif
};
/* clang-format on */
