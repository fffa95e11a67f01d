/* The assembler for x86-64: how each verb is encoded. Intel SDM volume 2, chapter 2; the bytes that
 * a pattern begins with are beside it. */
#include "user/asm/code.h"

/* The assembler is also built for CPUs that the engine is not offered on. */
#if !defined(__aarch64__)

static void byte(struct native_code *c, unsigned value)
{
	const uint8_t b = (uint8_t)value;

	asm_bytes(c, &b, 1);
}

static void word32(struct native_code *c, int32_t value)
{
	asm_bytes(c, &value, sizeof(value));
}

/* Four bytes that will be the distance from their end to the label. */
static void distance(struct native_code *c, int label)
{
	asm_fixup(c, label);
	word32(c, 0);
}

bool asm_resolve(struct native_code *c, uint32_t at, uint32_t target)
{
	int32_t rel = (int32_t)(target - (at + sizeof(rel)));

	memcpy(c->bytes.ptr + at, &rel, sizeof(rel));
	return true;
}

/* ---- operands
 *
 *	legacy prefix | REX 0100WRXB | opcode, of one to three bytes | ModRM | SIB | displacement
 */

#define LOCK 0xf0
#define W    8 /* REX.W: 64 bits */

static void opcode(struct native_code *c, uint32_t op)
{
	if (op >> 16)
		byte(c, op >> 16);
	if (op >> 8)
		byte(c, op >> 8 & 0xff);
	byte(c, op & 0xff);
}

/* `always`: spl, bpl, sil and dil, as a byte, need a REX even if it is empty. */
static void rex(struct native_code *c, unsigned w, int reg, int index, int base, bool always)
{
	unsigned bits = w | (reg > 7 ? 4u : 0) | (index > 7 ? 2u : 0) | (base > 7 ? 1u : 0);

	if (bits || always)
		byte(c, 0x40 | bits);
}

static void modrm(struct native_code *c, unsigned mod, int reg, int rm)
{
	byte(c, mod << 6 | (unsigned)(reg & 7) << 3 | (unsigned)(rm & 7));
}

static void op_regs(struct native_code *c, unsigned w, uint32_t op, int reg, int rm)
{
	rex(c, w, reg, 0, rm, false);
	opcode(c, op);
	modrm(c, 3, reg, rm);
}

static bool fits_byte(int64_t value)
{
	return value >= INT8_MIN && value <= INT8_MAX;
}

/* ModRM and what follows it, for memory. */
static void address(struct native_code *c, int reg, struct asm_mem m)
{
	bool needs_sib = m.index != ASM_NONE || (m.base & 7) == RSP || m.base == ASM_NONE;
	unsigned mod = m.disp == 0 && (m.base & 7) != RBP ? 0 : fits_byte(m.disp) ? 1 : 2;

	if (m.base == ASM_LABEL) {
		modrm(c, 0, reg, 5);
		distance(c, m.disp);
		return;
	}
	if (m.base == ASM_NONE)
		mod = 0;
	modrm(c, mod, reg, needs_sib ? RSP : m.base);
	if (needs_sib)
		byte(c, (unsigned)m.shift << 6 |
				(unsigned)((m.index == ASM_NONE ? RSP : m.index) & 7) << 3 |
				(unsigned)((m.base == ASM_NONE ? RBP : m.base) & 7));
	if (mod == 1)
		byte(c, (uint8_t)m.disp);
	else if (mod == 2 || m.base == ASM_NONE)
		word32(c, m.disp);
}

/* An instruction on a register, or a number that extends the opcode, and memory. */
static void op_mem(struct native_code *c, unsigned prefix, unsigned w, uint32_t op, int reg,
		   struct asm_mem m, bool is_byte)
{
	if (m.thread)
		byte(c, 0x64);
	if (prefix)
		byte(c, prefix);
	rex(c, w, reg, m.index, m.base, is_byte && reg >= RSP);
	opcode(c, op);
	address(c, reg, m);
}

static void writes(struct native_code *c, int reg)
{
	c->written |= ASM_BIT(reg);
}

/* ---- moving */

void asm_mov(struct native_code *c, int to, int from)
{
	if (to == from)
		return;
	op_regs(c, W, 0x89, from, to);
	writes(c, to);
}

void asm_const(struct native_code *c, int to, uint64_t value)
{
	writes(c, to);
	if (value <= UINT32_MAX) { /* b8+r imm32: mov $imm32, %r32 */
		rex(c, 0, 0, 0, to, false);
		byte(c, 0xb8u + (unsigned)(to & 7));
		word32(c, (int32_t)value);
	} else if ((int64_t)value >= INT32_MIN &&
		   (int64_t)value < 0) { /* c7 /0: mov $simm32, %r64 */
		op_regs(c, W, 0xc7, 0, to);
		word32(c, (int32_t)value);
	} else { /* b8+r imm64 */
		rex(c, W, 0, 0, to, false);
		byte(c, 0xb8u + (unsigned)(to & 7));
		asm_bytes(c, &value, sizeof(value));
	}
}

void asm_load(struct native_code *c, unsigned size, bool is_signed, int to, struct asm_mem m)
{
	writes(c, to);
	switch (size) {
	case 1: op_mem(c, 0, is_signed ? W : 0, is_signed ? 0x0fbe : 0x0fb6, to, m, false); break;
	case 2: op_mem(c, 0, is_signed ? W : 0, is_signed ? 0x0fbf : 0x0fb7, to, m, false); break;
	case 4: op_mem(c, 0, is_signed ? W : 0, is_signed ? 0x63 : 0x8b, to, m, false); break;
	default: op_mem(c, 0, W, 0x8b, to, m, false);
	}
}

void asm_store(struct native_code *c, unsigned size, struct asm_mem m, int from)
{
	op_mem(c, size == 2 ? 0x66 : 0, size == 8 ? W : 0, size == 1 ? 0x88 : 0x89, from, m,
	       size == 1);
}

/* x86-64 stores in order. */
void asm_store_last(struct native_code *c, struct asm_mem m, int from)
{
	asm_store(c, 8, m, from);
}

void asm_store_imm(struct native_code *c, unsigned size, struct asm_mem m, int32_t value)
{
	op_mem(c, size == 2 ? 0x66 : 0, size == 8 ? W : 0, size == 1 ? 0xc6 : 0xc7, 0, m, false);
	asm_bytes(c, &value, size < 4 ? size : 4);
}

void asm_lea(struct native_code *c, int to, struct asm_mem m)
{
	op_mem(c, 0, W, 0x8d, to, m, false);
	writes(c, to);
}

void asm_expect_store(struct native_code *c, struct asm_mem m)
{
	op_mem(c, 0, 0, 0x0f0d, 1, m, false); /* prefetchw */
}

void asm_extend(struct native_code *c, unsigned size, bool is_signed, int to, int from)
{
	writes(c, to);
	if (size == 8) {
		asm_mov(c, to, from);
	} else if (size == 4 && !is_signed) {
		op_regs(c, 0, 0x89, from, to); /* mov %r32, %r32 clears the upper half */
	} else if (size == 4) {
		op_regs(c, W, 0x63, to, from);
	} else {
		rex(c, is_signed ? W : 0, to, 0, from, size == 1 && from >= RSP);
		opcode(c, (is_signed ? 0x0fbeu : 0x0fb6u) + (size == 2));
		modrm(c, 3, to, from);
	}
}

/* ---- computing */

void asm_alu(struct native_code *c, enum asm_alu op, int to, int from)
{
	op_regs(c, W, (uint32_t)op << 3 | 1, from, to);
	if (op != ALU_CMP)
		writes(c, to);
}

void asm_alu_imm(struct native_code *c, enum asm_alu op, int to, int32_t value)
{
	op_regs(c, W, fits_byte(value) ? 0x83 : 0x81, (int)op, to);
	if (fits_byte(value))
		byte(c, (uint8_t)value);
	else
		word32(c, value);
	if (op != ALU_CMP)
		writes(c, to);
}

void asm_alu_load(struct native_code *c, enum asm_alu op, int to, struct asm_mem m)
{
	op_mem(c, 0, W, (uint32_t)op << 3 | 3, to, m, false);
	if (op != ALU_CMP)
		writes(c, to);
}

void asm_alu_mem_imm(struct native_code *c, enum asm_alu op, unsigned size, struct asm_mem m,
		     int32_t value)
{
	op_mem(c, 0, size == 8 ? W : 0, fits_byte(value) ? 0x83 : 0x81, (int)op, m, false);
	if (fits_byte(value))
		byte(c, (uint8_t)value);
	else
		word32(c, value);
}

void asm_test(struct native_code *c, int a, int b)
{
	op_regs(c, W, 0x85, b, a);
}

void asm_test_imm(struct native_code *c, int reg, int32_t mask)
{
	op_regs(c, 0, 0xf7, 0, reg);
	word32(c, mask);
}

void asm_add_to(struct native_code *c, struct asm_mem m, int from)
{
	op_mem(c, 0, W, 0x01, from, m, false);
}

void asm_mul(struct native_code *c, int to, int from)
{
	op_regs(c, W, 0x0faf, to, from);
	writes(c, to);
}

void asm_mul_imm(struct native_code *c, int to, int from, int32_t value)
{
	op_regs(c, W, 0x69, to, from);
	word32(c, value);
	writes(c, to);
}

void asm_shift(struct native_code *c, enum asm_shift op, int to)
{
	op_regs(c, W, 0xd3, (int)op, to);
	writes(c, to);
}

void asm_shift_imm(struct native_code *c, enum asm_shift op, int to, uint8_t count)
{
	op_regs(c, W, 0xc1, (int)op, to);
	byte(c, count);
	writes(c, to);
}

enum { UNARY_IMUL = 5, UNARY_DIV = 6, UNARY_IDIV = 7 };

static void unary(struct native_code *c, int op, int reg)
{
	op_regs(c, W, 0xf7, op, reg);
}

void asm_unary(struct native_code *c, enum asm_unary op, int reg)
{
	unary(c, (int)op, reg);
	writes(c, reg);
}

/* idiv and div divide rdx:rax. */
void asm_divide(struct native_code *c, bool is_signed)
{
	if (is_signed) {
		asm_mov(c, RDX, RAX);
		asm_shift_imm(c, SHIFT_SIGNED, RDX, 63);
	} else {
		asm_const(c, RDX, 0);
	}
	unary(c, is_signed ? UNARY_IDIV : UNARY_DIV, RCX);
	writes(c, RAX);
}

void asm_scale(struct native_code *c)
{
	unary(c, UNARY_IMUL, RDX);
	op_regs(c, W, 0x0fac, RDX, RAX); /* shrd $32, %rdx, %rax */
	byte(c, 32);
	c->written |= ASM_BIT(RAX) | ASM_BIT(RDX);
}

void asm_log2(struct native_code *c, int to, int from)
{
	op_regs(c, W, 0x0fbd, to, from); /* bsr */
	writes(c, to);
}

void asm_set(struct native_code *c, enum asm_cond cond, int to)
{
	rex(c, 0, 0, 0, to, to >= RSP);
	opcode(c, 0x0f90u + cond);
	modrm(c, 3, 0, to);
	rex(c, 0, to, 0, to, to >= RSP); /* movzbl */
	opcode(c, 0x0fb6);
	modrm(c, 3, to, to);
	writes(c, to);
}

/* ---- atomically */

void asm_atomic_inc(struct native_code *c, int base)
{
	op_mem(c, LOCK, W, 0xff, 0, MEM(base, 0), false);
}

/* ---- going elsewhere */

void asm_jump(struct native_code *c, int label)
{
	byte(c, 0xe9);
	distance(c, label);
}

void asm_jump_if(struct native_code *c, enum asm_cond cond, int label)
{
	opcode(c, 0x0f80u + cond);
	distance(c, label);
}

bool asm_jump_to(struct native_code *c, uint64_t to)
{
	int64_t rel = (int64_t)(to - (c->address + c->bytes.len + 5));

	if (rel < INT32_MIN || rel > INT32_MAX)
		return false;
	byte(c, 0xe9);
	word32(c, (int32_t)rel);
	return true;
}

bool asm_jump_through(struct native_code *c, int label)
{
	opcode(c, 0xff25); /* jmp *label(%rip) */
	distance(c, label);
	return true;
}

void asm_call(struct native_code *c, uint64_t address)
{
	asm_const(c, RAX, address);
	op_regs(c, 0, 0xff, 2, RAX);
	c->written |= ASM_CALL_CHANGES;
}

void asm_return(struct native_code *c)
{
	byte(c, 0xc3);
}

/* int3 */
void asm_traps(struct native_code *c, size_t count)
{
	while (count--)
		byte(c, 0xcc);
}

/* ---- the thread */

static void push(struct native_code *c, int reg)
{
	rex(c, 0, 0, 0, reg, false);
	byte(c, 0x50u + (unsigned)(reg & 7));
}

static void pop(struct native_code *c, int reg)
{
	rex(c, 0, 0, 0, reg, false);
	byte(c, 0x58u + (unsigned)(reg & 7));
}

void asm_save_flags(struct native_code *c)
{
	push(c, RAX);
	asm_bytes(c, "\x9f\x0f\x90\xc0", 4); /* lahf; seto %al */
	push(c, RAX);
	writes(c, RAX);
}

/* al + 127 overflows when it is 1; sahf leaves OF alone. */
void asm_restore_flags(struct native_code *c)
{
	pop(c, RAX);
	asm_bytes(c, "\x04\x7f\x9e", 3); /* add $127, %al; sahf */
	pop(c, RAX);
	writes(c, RAX);
}

uint32_t asm_pushed(uint32_t set)
{
	return 8 * (uint32_t)__builtin_popcount(set);
}

void asm_push(struct native_code *c, uint32_t set)
{
	for (int reg = 0; reg < ASM_REGS; reg++)
		if (set & ASM_BIT(reg))
			push(c, reg);
}

void asm_pop(struct native_code *c, uint32_t set)
{
	for (int reg = ASM_REGS - 1; reg >= 0; reg--)
		if (set & ASM_BIT(reg))
			pop(c, reg);
}

/* Ids are in the order of DWARF, then vector registers. */
int asm_general(uint8_t id)
{
	static const int8_t regs[16] = {RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP,
					R8,  R9,  R10, R11, R12, R13, R14, R15};

	return id < COUNT(regs) ? regs[id] : ASM_NONE;
}

int asm_vector(uint8_t id)
{
	enum { ID_XMM0 = 32, ID_ST0 = 64 };

	return id >= ID_XMM0 && id < ID_ST0 ? id - ID_XMM0 : ASM_NONE;
}

/* xmm16 to xmm31 are there with AVX-512 only, as is any program that uses them. */
void asm_from_vector(struct native_code *c, unsigned size, int to, int vector)
{
	unsigned xmm = (unsigned)vector;

	writes(c, to);
	if (xmm < 16) { /* 66 REX 0f 7e /r: movd, movq %xmm, %r */
		byte(c, 0x66);
		rex(c, size == 8 ? W : 0, (int)xmm, 0, to, false);
		opcode(c, 0x0f7e);
	} else { /* EVEX.128.66.0F.W 7E /r: 62 | ~R X ~B ~R' 0 0 mm | W 1111 1 pp | 0 00 0 1 000 */
		byte(c, 0x62);
		byte(c, (xmm & 8 ? 0 : 0x80u) | 0x40u | (to > 7 ? 0 : 0x20u) |
				(xmm & 16 ? 0 : 0x10u) | 1);
		byte(c, (size == 8 ? 0x80u : 0) | 0x7du);
		byte(c, 0x08);
		byte(c, 0x7e);
	}
	modrm(c, 3, (int)xmm, to);
}

/* The ABI has it at its own address, too. */
void asm_thread_pointer(struct native_code *c, int to, bool has_fsgsbase)
{
	if (!has_fsgsbase) {
		asm_load(c, 8, false, to, MEM_THREAD(0));
		return;
	}
	byte(c, 0xf3); /* f3 REX.W 0f ae /0: rdfsbase */
	op_regs(c, W, 0x0fae, 0, to);
	writes(c, to);
}

void asm_clock(struct native_code *c)
{
	asm_bytes(c, "\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0", 9); /* rdtsc; shl $32, %rdx; or */
	c->written |= ASM_BIT(RAX) | ASM_BIT(RDX);
}

void asm_rseq_signature(struct native_code *c)
{
	asm_bytes(c, "\x0f\xb9\x3d\x53\x30\x05\x53", 7); /* ud1 0x53053053(%rip), %edi */
}

#endif
