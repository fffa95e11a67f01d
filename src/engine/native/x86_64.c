/* The instructions: how each is encoded. Intel SDM volume 2, chapter 2; the bytes that a
 * pattern begins with are beside it. */
#include "engine/native/code.h"

#include <errno.h>
#include <stdlib.h>

/* ---- the code: bytes, labels */

void code_open(struct native_code *c, uint64_t address)
{
	*c = (struct native_code){.address = address};
}

void code_close(struct native_code *c)
{
	buf_free(&c->bytes);
	free(c->labels);
	free(c->fixups);
	code_open(c, 0);
}

void code_reset(struct native_code *c)
{
	buf_clear(&c->bytes);
	c->label_count = c->fixup_count = 0;
	c->written = 0;
}

int x86_label(struct native_code *c)
{
	if (c->failed || array_grow(c->labels, c->label_count, c->label_cap)) {
		c->failed = true;
		return 0;
	}
	c->labels[c->label_count] = UINT32_MAX;
	return (int)c->label_count++;
}

void x86_bind(struct native_code *c, int label)
{
	if (!c->failed)
		c->labels[label] = (uint32_t)c->bytes.len;
}

int x86_here(struct native_code *c)
{
	int label = x86_label(c);

	x86_bind(c, label);
	return label;
}

void x86_bytes(struct native_code *c, const void *bytes, size_t count)
{
	buf_add(&c->bytes, bytes, count);
	c->failed |= c->bytes.failed;
}

static void byte(struct native_code *c, unsigned value)
{
	const uint8_t b = (uint8_t)value;

	x86_bytes(c, &b, 1);
}

static void word32(struct native_code *c, int32_t value)
{
	x86_bytes(c, &value, sizeof(value));
}

/* Four bytes that will be the distance from their end to the label. */
static void distance(struct native_code *c, int label)
{
	if (c->failed || array_grow(c->fixups, c->fixup_count, c->fixup_cap)) {
		c->failed = true;
		return;
	}
	c->fixups[c->fixup_count++] = (struct code_fixup){(uint32_t)c->bytes.len, label};
	word32(c, 0);
}

int code_finish_native(struct native_code *c)
{
	if (c->failed || c->bytes.failed)
		return -ENOMEM;
	if (c->bytes.len > INT32_MAX)
		return -E2BIG;
	for (size_t i = 0; i < c->fixup_count; i++) {
		const struct code_fixup *f = &c->fixups[i];
		int32_t rel = (int32_t)(c->labels[f->label] - (f->at + 4));

		if (c->labels[f->label] == UINT32_MAX)
			return -EINVAL;
		memcpy(c->bytes.ptr + f->at, &rel, sizeof(rel));
	}
	return 0;
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
static void address(struct native_code *c, int reg, struct x86_mem m)
{
	bool needs_sib = m.index != X86_NONE || (m.base & 7) == RSP || m.base == X86_NONE;
	unsigned mod = m.disp == 0 && (m.base & 7) != RBP ? 0 : fits_byte(m.disp) ? 1 : 2;

	if (m.base == X86_RIP) {
		modrm(c, 0, reg, 5);
		distance(c, m.disp);
		return;
	}
	if (m.base == X86_NONE)
		mod = 0;
	modrm(c, mod, reg, needs_sib ? RSP : m.base);
	if (needs_sib)
		byte(c, (unsigned)m.shift << 6 |
				(unsigned)((m.index == X86_NONE ? RSP : m.index) & 7) << 3 |
				(unsigned)((m.base == X86_NONE ? RBP : m.base) & 7));
	if (mod == 1)
		byte(c, (uint8_t)m.disp);
	else if (mod == 2 || m.base == X86_NONE)
		word32(c, m.disp);
}

/* An instruction on a register, or a number that extends the opcode, and memory. */
static void op_mem(struct native_code *c, unsigned prefix, unsigned w, uint32_t op, int reg,
		   struct x86_mem m, bool is_byte)
{
	if (m.fs)
		byte(c, 0x64);
	if (prefix)
		byte(c, prefix);
	rex(c, w, reg, m.index, m.base, is_byte && reg >= RSP);
	opcode(c, op);
	address(c, reg, m);
}

static void writes(struct native_code *c, int reg)
{
	c->written |= X86_BIT(reg);
}

/* ---- moving */

void x86_mov(struct native_code *c, int to, int from)
{
	if (to == from)
		return;
	op_regs(c, W, 0x89, from, to);
	writes(c, to);
}

void x86_const(struct native_code *c, int to, uint64_t value)
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
		x86_bytes(c, &value, sizeof(value));
	}
}

void x86_load(struct native_code *c, unsigned size, bool is_signed, int to, struct x86_mem m)
{
	writes(c, to);
	switch (size) {
	case 1: op_mem(c, 0, is_signed ? W : 0, is_signed ? 0x0fbe : 0x0fb6, to, m, false); break;
	case 2: op_mem(c, 0, is_signed ? W : 0, is_signed ? 0x0fbf : 0x0fb7, to, m, false); break;
	case 4: op_mem(c, 0, is_signed ? W : 0, is_signed ? 0x63 : 0x8b, to, m, false); break;
	default: op_mem(c, 0, W, 0x8b, to, m, false);
	}
}

void x86_store(struct native_code *c, unsigned size, struct x86_mem m, int from)
{
	op_mem(c, size == 2 ? 0x66 : 0, size == 8 ? W : 0, size == 1 ? 0x88 : 0x89, from, m,
	       size == 1);
}

void x86_store_imm(struct native_code *c, unsigned size, struct x86_mem m, int32_t value)
{
	op_mem(c, size == 2 ? 0x66 : 0, size == 8 ? W : 0, size == 1 ? 0xc6 : 0xc7, 0, m, false);
	x86_bytes(c, &value, size < 4 ? size : 4);
}

void x86_lea(struct native_code *c, int to, struct x86_mem m)
{
	op_mem(c, 0, W, 0x8d, to, m, false);
	writes(c, to);
}

void x86_extend(struct native_code *c, unsigned size, bool is_signed, int to, int from)
{
	writes(c, to);
	if (size == 8) {
		x86_mov(c, to, from);
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

void x86_alu(struct native_code *c, enum x86_alu op, int to, int from)
{
	op_regs(c, W, (uint32_t)op << 3 | 1, from, to);
	if (op != ALU_CMP)
		writes(c, to);
}

void x86_alu_imm(struct native_code *c, enum x86_alu op, int to, int32_t value)
{
	op_regs(c, W, fits_byte(value) ? 0x83 : 0x81, (int)op, to);
	if (fits_byte(value))
		byte(c, (uint8_t)value);
	else
		word32(c, value);
	if (op != ALU_CMP)
		writes(c, to);
}

void x86_alu_load(struct native_code *c, enum x86_alu op, int to, struct x86_mem m)
{
	op_mem(c, 0, W, (uint32_t)op << 3 | 3, to, m, false);
	if (op != ALU_CMP)
		writes(c, to);
}

void x86_alu_mem_imm(struct native_code *c, enum x86_alu op, unsigned size, struct x86_mem m,
		     int32_t value)
{
	op_mem(c, 0, size == 8 ? W : 0, fits_byte(value) ? 0x83 : 0x81, (int)op, m, false);
	if (fits_byte(value))
		byte(c, (uint8_t)value);
	else
		word32(c, value);
}

void x86_test(struct native_code *c, int a, int b)
{
	op_regs(c, W, 0x85, b, a);
}

void x86_test_imm(struct native_code *c, int reg, int32_t mask)
{
	op_regs(c, 0, 0xf7, 0, reg);
	word32(c, mask);
}

void x86_add_to(struct native_code *c, struct x86_mem m, int from)
{
	op_mem(c, 0, W, 0x01, from, m, false);
}

void x86_imul(struct native_code *c, int to, int from)
{
	op_regs(c, W, 0x0faf, to, from);
	writes(c, to);
}

void x86_imul_imm(struct native_code *c, int to, int from, int32_t value)
{
	op_regs(c, W, 0x69, to, from);
	word32(c, value);
	writes(c, to);
}

void x86_shift(struct native_code *c, enum x86_shift op, int to)
{
	op_regs(c, W, 0xd3, (int)op, to);
	writes(c, to);
}

void x86_shift_imm(struct native_code *c, enum x86_shift op, int to, uint8_t count)
{
	op_regs(c, W, 0xc1, (int)op, to);
	byte(c, count);
	writes(c, to);
}

void x86_unary(struct native_code *c, enum x86_unary op, int reg)
{
	op_regs(c, W, 0xf7, (int)op, reg);
	if (op >= UNARY_MUL)
		c->written |= X86_BIT(RAX) | X86_BIT(RDX);
	else
		writes(c, reg);
}

void x86_shift_pair(struct native_code *c, int to, int high, uint8_t count)
{
	op_regs(c, W, 0x0fac, high, to);
	byte(c, count);
	writes(c, to);
}

void x86_bsr(struct native_code *c, int to, int from)
{
	op_regs(c, W, 0x0fbd, to, from);
	writes(c, to);
}

void x86_set(struct native_code *c, enum x86_cond cond, int to)
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

void x86_lock_add(struct native_code *c, unsigned size, struct x86_mem m, int from)
{
	op_mem(c, LOCK, size == 8 ? W : 0, 0x01, from, m, false);
}

void x86_lock_inc(struct native_code *c, struct x86_mem m)
{
	op_mem(c, LOCK, W, 0xff, 0, m, false);
}

void x86_lock_xadd(struct native_code *c, unsigned size, struct x86_mem m, int from)
{
	op_mem(c, LOCK, size == 8 ? W : 0, 0x0fc1, from, m, false);
	writes(c, from);
}

void x86_lock_cmpxchg(struct native_code *c, unsigned size, struct x86_mem m, int from)
{
	op_mem(c, LOCK, size == 8 ? W : 0, 0x0fb1, from, m, false);
	writes(c, RAX);
}

void x86_xchg(struct native_code *c, struct x86_mem m, int reg)
{
	op_mem(c, 0, W, 0x87, reg, m, false);
	writes(c, reg);
}

/* ---- going elsewhere */

void x86_jump(struct native_code *c, int label)
{
	byte(c, 0xe9);
	distance(c, label);
}

void x86_jump_if(struct native_code *c, enum x86_cond cond, int label)
{
	opcode(c, 0x0f80u + cond);
	distance(c, label);
}

bool x86_jump_to(struct native_code *c, uint64_t to)
{
	int64_t rel = (int64_t)(to - (c->address + c->bytes.len + 5));

	if (rel < INT32_MIN || rel > INT32_MAX)
		return false;
	byte(c, 0xe9);
	word32(c, (int32_t)rel);
	return true;
}

void x86_jump_through(struct native_code *c, int label)
{
	opcode(c, 0xff25); /* jmp *label(%rip) */
	distance(c, label);
}

void x86_call_reg(struct native_code *c, int reg)
{
	op_regs(c, 0, 0xff, 2, reg);
	c->written |= X86_CALL_CHANGES;
}

void x86_push(struct native_code *c, int reg)
{
	rex(c, 0, 0, 0, reg, false);
	byte(c, 0x50u + (unsigned)(reg & 7));
}

void x86_pop(struct native_code *c, int reg)
{
	rex(c, 0, 0, 0, reg, false);
	byte(c, 0x58u + (unsigned)(reg & 7));
}

/* ---- state that C does not have */

void x86_from_xmm(struct native_code *c, unsigned size, int to, unsigned xmm)
{
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

void x86_rdfsbase(struct native_code *c, int to)
{
	byte(c, 0xf3); /* f3 REX.W 0f ae /0 */
	op_regs(c, W, 0x0fae, 0, to);
	writes(c, to);
}

void x86_rdtsc(struct native_code *c)
{
	x86_bytes(c, "\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0", 9); /* rdtsc; shl $32, %rdx; or */
	c->written |= X86_BIT(RAX) | X86_BIT(RDX);
}

void x86_flags_get(struct native_code *c)
{
	x86_bytes(c, "\x9f\x0f\x90\xc0", 4); /* lahf; seto %al */
	writes(c, RAX);
}

/* al + 127 overflows when it is 1; sahf leaves OF alone. */
void x86_flags_set(struct native_code *c)
{
	x86_bytes(c, "\x04\x7f\x9e", 3); /* add $127, %al; sahf */
	writes(c, RAX);
}
