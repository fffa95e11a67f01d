/* The assembler for aarch64: how each verb is encoded. Arm ARM (DDI 0487), chapter C6; beside each
 * number is the instruction with its registers and immediates 0.
 *
 * x16 and x17 are the assembler's own: numbers that do not fit an instruction are made in x16, and
 * addresses in x17. Trampolines save them as any other register that was written. */
#include "user/asm/code.h"

#if defined(__aarch64__)

#include "user/inside/words.h"

enum { NUMBER = 16, ADDRESS = 17, ZERO = 31 };

static void word32(struct native_code *c, uint32_t value)
{
	asm_bytes(c, &value, sizeof(value));
}

static void writes(struct native_code *c, int reg)
{
	if (reg < ASM_REGS)
		c->written |= ASM_BIT(reg);
}

/* An instruction with up to three registers: the result, and what it is made of. */
static void op(struct native_code *c, uint32_t code, int d, int n, int m)
{
	word32(c, code | (uint32_t)m << 16 | (uint32_t)n << 5 | (uint32_t)d);
}

static void op_to(struct native_code *c, uint32_t code, int d, int n, int m)
{
	op(c, code, d, n, m);
	writes(c, d);
}

static bool fits_12(int64_t value)
{
	return value >= 0 && value < 4096;
}

/* ---- distances */

static bool resolve_bits(uint32_t *word, int64_t distance, unsigned bits, unsigned shift)
{
	int64_t number = distance / 4, limit = INT64_C(1) << (bits - 1);

	*word |= ((uint32_t)number & ((1u << bits) - 1)) << shift;
	return number >= -limit && number < limit && distance % 4 == 0;
}

/* b has 26 bits, b.cond 19, adr 21 and of single bytes. */
bool asm_resolve(struct native_code *c, uint32_t at, uint32_t target)
{
	int64_t distance = (int64_t)target - (int64_t)at;
	uint32_t word;
	bool fits;

	memcpy(&word, c->bytes.ptr + at, sizeof(word));
	if (word >> 26 == 5) {
		fits = resolve_bits(&word, distance, 26, 0);
	} else if (word >> 24 == 0x54) {
		fits = resolve_bits(&word, distance, 19, 5);
	} else {
		fits = distance >= -(1 << 20) && distance < 1 << 20;
		word |= ((uint32_t)distance & 3) << 29 | ((uint32_t)(distance >> 2) & 0x7ffff) << 5;
	}
	memcpy(c->bytes.ptr + at, &word, sizeof(word));
	return fits;
}

static void to_label(struct native_code *c, uint32_t code, int label)
{
	asm_fixup(c, label);
	word32(c, code);
}

/* ---- numbers, addresses */

void asm_mov(struct native_code *c, int to, int from)
{
	if (to == from)
		return;
	if (to == STACK || from == STACK)
		op_to(c, 0x91000000, to, from, 0); /* add */
	else
		op_to(c, 0xaa000000, to, ZERO, from); /* orr */
}

/* 16 bits at a time, beginning from all zeros or all ones. */
void asm_const(struct native_code *c, int to, uint64_t value)
{
	uint64_t rest = (int64_t)value < 0 ? ~value : value;
	bool first = true;

	for (uint32_t part = 0; part < 4; part++) {
		uint32_t bits = (uint32_t)(rest >> 16 * part) & 0xffff;

		if (!bits && (rest || part))
			continue;
		if (first && rest != value)
			word32(c, 0x92800000 | part << 21 | bits << 5 | (uint32_t)to); /* movn */
		else if (first)
			word32(c, 0xd2800000 | part << 21 | bits << 5 | (uint32_t)to); /* movz */
		else
			word32(c, 0xf2800000 | part << 21 | /* movk */
					  ((uint32_t)(value >> 16 * part) & 0xffff) << 5 |
					  (uint32_t)to);
		first = false;
	}
	writes(c, to);
}

/* to = from + value, either of which may be the stack pointer. No flags change. */
static void add_number(struct native_code *c, int to, int from, int32_t value)
{
	uint32_t code = value < 0 ? 0xd1000000 : 0x91000000; /* sub, add: immediate */
	uint32_t size = value < 0 ? -(uint32_t)value : (uint32_t)value;

	if (size >= 1 << 24) {
		asm_const(c, NUMBER, (uint64_t)value);
		op_to(c, 0x8b206000, to, from, NUMBER); /* add, extended register */
		return;
	}
	if (size >> 12) {
		op_to(c, code | 1 << 22 | size >> 12 << 10, to, from, 0);
		from = to;
	}
	if (size & 4095 || (!size && to != from))
		op_to(c, code | (size & 4095) << 10, to, from, 0);
}

/* A register with the address of memory, to which the displacement is added. */
static int base_of(struct native_code *c, struct asm_mem m)
{
	int base = m.base;

	if (m.thread) {
		asm_thread_pointer(c, ADDRESS, false);
		base = ADDRESS;
	} else if (base == ASM_NONE) {
		asm_const(c, ADDRESS, 0);
		base = ADDRESS;
	}
	if (m.index == ASM_NONE)
		return base;
	op_to(c, 0x8b206000 | (uint32_t)m.shift << 10, ADDRESS, base, m.index); /* add, extended */
	return ADDRESS;
}

void asm_lea(struct native_code *c, int to, struct asm_mem m)
{
	if (m.base == ASM_LABEL) {
		to_label(c, 0x10000000 | (uint32_t)to, m.disp); /* adr */
		writes(c, to);
		return;
	}
	add_number(c, to, base_of(c, m), m.disp);
}

/* ---- loads, stores: what is in bits 22 and 23 */

enum { STORE = 0, LOAD = 1, LOAD_SIGNED = 2 };

static void access_mem(struct native_code *c, unsigned how, unsigned size, int reg,
		       struct asm_mem m)
{
	uint32_t scale = (uint32_t)__builtin_ctz(size), code = scale << 30 | how << 22;
	int base;

	if (m.base == ASM_LABEL) {
		asm_lea(c, ADDRESS, m);
		m = MEM(ADDRESS, 0);
	}
	base = base_of(c, m);
	if (m.disp >= 0 && m.disp % (int32_t)size == 0 && fits_12(m.disp >> scale)) {
		code |= 0x39000000 | (uint32_t)m.disp >> scale << 10; /* unsigned offset */
	} else if (m.disp >= -256 && m.disp < 256) {
		code |= 0x38000000 | ((uint32_t)m.disp & 511) << 12; /* unscaled offset */
	} else {
		add_number(c, ADDRESS, base, m.disp);
		base = ADDRESS;
		code |= 0x39000000;
	}
	op(c, code, reg, base, 0);
	if (how != STORE)
		writes(c, reg);
}

void asm_load(struct native_code *c, unsigned size, bool is_signed, int to, struct asm_mem m)
{
	access_mem(c, is_signed && size < 8 ? LOAD_SIGNED : LOAD, size, to, m);
}

void asm_store(struct native_code *c, unsigned size, struct asm_mem m, int from)
{
	access_mem(c, STORE, size, from, m);
}

void asm_store_last(struct native_code *c, struct asm_mem m, int from)
{
	asm_lea(c, ADDRESS, m);
	op(c, 0xc89ffc00, from, ADDRESS, 0); /* stlr */
}

void asm_expect_store(struct native_code *c, struct asm_mem m)
{
	asm_lea(c, ADDRESS, m);
	op(c, 0xf9800010, 0, ADDRESS, 0); /* prfm pstl1keep */
}

void asm_store_imm(struct native_code *c, unsigned size, struct asm_mem m, int32_t value)
{
	int base = base_of(c, m);

	/* The address first: a large displacement needs the register, too. */
	if (value && (m.disp < -256 || m.disp >= 4096)) {
		add_number(c, ADDRESS, base, m.disp);
		m = MEM(ADDRESS, 0);
	} else {
		m = MEM(base, m.disp);
	}
	if (value)
		asm_const(c, NUMBER, (uint64_t)(int64_t)value);
	access_mem(c, STORE, size, value ? NUMBER : ZERO, m);
}

/* Bits 0 to 8 * size - 1: ubfm, sbfm. */
void asm_extend(struct native_code *c, unsigned size, bool is_signed, int to, int from)
{
	if (size == 8)
		asm_mov(c, to, from);
	else
		op_to(c, (is_signed ? 0x93400000 : 0xd3400000) | (8 * size - 1) << 10, to, from, 0);
}

/* ---- computing */

/* clang-format off */
static const struct {
	uint32_t regs;        /* all with 64 bits */
	uint32_t imm, negative; /* with 12 bits of a number, and of what is the same with its negative */
} alus[] = {
	[ALU_ADD] = {0x8b000000, 0x91000000, 0xd1000000}, /* add; add, sub */
	[ALU_SUB] = {0xeb000000, 0xf1000000, 0xb1000000}, /* subs; subs, adds */
	[ALU_CMP] = {0xeb000000, 0xf1000000, 0xb1000000},
	[ALU_AND] = {0xea000000, 0, 0},                   /* ands */
	[ALU_OR]  = {0xaa000000, 0, 0},                   /* orr */
	[ALU_XOR] = {0xca000000, 0, 0},                   /* eor */
};
/* clang-format on */

static void alu(struct native_code *c, enum asm_alu how, int to, int from, int by)
{
	op_to(c, alus[how].regs, how == ALU_CMP ? ZERO : to, from, by);
}

static void alu_number(struct native_code *c, enum asm_alu how, int to, int from, int32_t value)
{
	uint32_t imm = alus[how].imm, negative = alus[how].negative;

	if (imm && fits_12(value)) {
		op_to(c, imm | (uint32_t)value << 10, how == ALU_CMP ? ZERO : to, from, 0);
	} else if (negative && fits_12(-(int64_t)value)) {
		op_to(c, negative | -(uint32_t)value << 10, how == ALU_CMP ? ZERO : to, from, 0);
	} else {
		asm_const(c, NUMBER, (uint64_t)(int64_t)value);
		alu(c, how, to, from, NUMBER);
	}
}

void asm_alu(struct native_code *c, enum asm_alu how, int to, int from)
{
	alu(c, how, to, to, from);
}

void asm_alu_imm(struct native_code *c, enum asm_alu how, int to, int32_t value)
{
	alu_number(c, how, to, to, value);
}

void asm_alu_load(struct native_code *c, enum asm_alu how, int to, struct asm_mem m)
{
	access_mem(c, LOAD, 8, NUMBER, m);
	alu(c, how, to, to, NUMBER);
}

/* The address in one register and the old value in the other: only small numbers. */
void asm_alu_mem_imm(struct native_code *c, enum asm_alu how, unsigned size, struct asm_mem m,
		     int32_t value)
{
	c->failed |= !alus[how].imm || !fits_12(value);
	asm_lea(c, ADDRESS, m);
	access_mem(c, size == 4 ? LOAD_SIGNED : LOAD, size, NUMBER, MEM(ADDRESS, 0));
	alu_number(c, how, NUMBER, NUMBER, value);
	if (how != ALU_CMP)
		access_mem(c, STORE, size, NUMBER, MEM(ADDRESS, 0));
}

void asm_add_to(struct native_code *c, struct asm_mem m, int from)
{
	asm_lea(c, ADDRESS, m);
	access_mem(c, LOAD, 8, NUMBER, MEM(ADDRESS, 0));
	alu(c, ALU_ADD, NUMBER, NUMBER, from);
	access_mem(c, STORE, 8, NUMBER, MEM(ADDRESS, 0));
}

void asm_test(struct native_code *c, int a, int b)
{
	op(c, 0xea000000, ZERO, a, b); /* ands */
}

void asm_test_imm(struct native_code *c, int reg, int32_t mask)
{
	asm_const(c, NUMBER, (uint32_t)mask);
	asm_test(c, reg, NUMBER);
}

void asm_mul(struct native_code *c, int to, int from)
{
	op_to(c, 0x9b007c00, to, to, from); /* madd with xzr */
}

void asm_mul_imm(struct native_code *c, int to, int from, int32_t value)
{
	asm_const(c, NUMBER, (uint64_t)(int64_t)value);
	op_to(c, 0x9b007c00, to, from, NUMBER);
}

void asm_shift(struct native_code *c, enum asm_shift how, int to)
{
	op_to(c,
	      how == SHIFT_LEFT	   ? 0x9ac02000 /* lslv */
	      : how == SHIFT_RIGHT ? 0x9ac02400 /* lsrv */
				   : 0x9ac02800 /* asrv */,
	      to, to, TMP);
}

/* ubfm, sbfm */
void asm_shift_imm(struct native_code *c, enum asm_shift how, int to, uint8_t count)
{
	uint32_t n = count & 63;

	if (how == SHIFT_LEFT)
		op_to(c, 0xd3400000 | (-n & 63) << 16 | (63 - n) << 10, to, to, 0);
	else
		op_to(c, (how == SHIFT_RIGHT ? 0xd3400000 : 0x93400000) | n << 16 | 63 << 10, to,
		      to, 0);
}

void asm_unary(struct native_code *c, enum asm_unary how, int reg)
{
	op_to(c, how == UNARY_NOT ? 0xaa200000 : 0xcb000000, reg, ZERO, reg); /* orn, sub */
}

void asm_divide(struct native_code *c, bool is_signed)
{
	op_to(c, is_signed ? 0x9ac00c00 : 0x9ac00800, NUMBER, ACC, TMP); /* sdiv, udiv */
	op_to(c, 0x9b008000 | ACC << 10, AUX, NUMBER, TMP);		 /* msub */
	asm_mov(c, ACC, NUMBER);
}

void asm_scale(struct native_code *c)
{
	op_to(c, 0x9b407c00, NUMBER, ACC, AUX); /* smulh */
	asm_mul(c, ACC, AUX);
	op_to(c, 0x93c00000 | 32 << 10, ACC, NUMBER, ACC); /* extr */
}

void asm_log2(struct native_code *c, int to, int from)
{
	op_to(c, 0xdac01000, NUMBER, from, 0); /* clz */
	asm_const(c, to, 63);
	op_to(c, 0xcb000000, to, to, NUMBER); /* sub */
}

/* ---- conditions */

/* clang-format off */
static const uint8_t conditions[] = {
	[COND_O] = 6,  [COND_NO] = 7, [COND_B] = 3,  [COND_AE] = 2, /* vs vc lo hs */
	[COND_E] = 0,  [COND_NE] = 1, [COND_BE] = 9, [COND_A] = 8,  /* eq ne ls hi */
	[COND_S] = 4,  [COND_NS] = 5, [COND_P] = 14, [COND_NP] = 14, /* mi pl; there is no parity */
	[COND_L] = 11, [COND_GE] = 10, [COND_LE] = 13, [COND_G] = 12, /* lt ge le gt */
};
/* clang-format on */

void asm_set(struct native_code *c, enum asm_cond cond, int to)
{
	op_to(c, 0x9a800400 | (conditions[cond] ^ 1u) << 12, to, ZERO, ZERO); /* csinc */
}

void asm_jump_if(struct native_code *c, enum asm_cond cond, int label)
{
	to_label(c, 0x54000000 | conditions[cond], label); /* b.cond */
}

/* ---- atomically: a loop, since not all of these CPUs have such instructions */

static void try_again(struct native_code *c, int begin)
{
	uint32_t distance = ((uint32_t)begin - (uint32_t)c->bytes.len) / 4;

	word32(c, 0x35000000 | (distance & 0x7ffff) << 5 | ADDRESS); /* cbnz, of 32 bits */
}

void asm_atomic_inc(struct native_code *c, int base)
{
	int begin = (int)c->bytes.len;

	op_to(c, 0xc85f7c00, NUMBER, base, 0); /* ldxr */
	add_number(c, NUMBER, NUMBER, 1);
	op(c, 0xc8007c00, NUMBER, base, ADDRESS); /* stxr */
	writes(c, ADDRESS);
	try_again(c, begin);
}

/* ---- going elsewhere */

void asm_jump(struct native_code *c, int label)
{
	to_label(c, 0x14000000, label); /* b */
}

bool asm_jump_to(struct native_code *c, uint64_t address)
{
	uint32_t word = 0x14000000;

	if (!resolve_bits(&word, (int64_t)(address - (c->address + c->bytes.len)), 26, 0))
		return false;
	word32(c, word);
	return true;
}

bool asm_jump_through(struct native_code *c, int label)
{
	(void)c, (void)label;
	return false;
}

void asm_call(struct native_code *c, uint64_t address)
{
	asm_const(c, NUMBER, address);
	op(c, 0xd63f0000, 0, NUMBER, 0); /* blr */
	c->written |= ASM_CALL_CHANGES;
}

void asm_return(struct native_code *c)
{
	word32(c, 0xd65f03c0); /* ret */
}

/* udf */
void asm_traps(struct native_code *c, size_t count)
{
	for (; count >= 4; count -= 4)
		word32(c, 0);
}

/* ---- the thread */

void asm_save_flags(struct native_code *c)
{
	add_number(c, STACK, STACK, -16);
	asm_store(c, 8, MEM(STACK, 8), ACC);
	word32(c, 0xd53b4200 | ACC); /* mrs nzcv */
	asm_store(c, 8, MEM(STACK, 0), ACC);
	writes(c, ACC);
}

void asm_restore_flags(struct native_code *c)
{
	asm_load(c, 8, false, ACC, MEM(STACK, 0));
	word32(c, 0xd51b4200 | ACC); /* msr nzcv */
	asm_load(c, 8, false, ACC, MEM(STACK, 8));
	add_number(c, STACK, STACK, 16);
}

uint32_t asm_pushed(uint32_t set)
{
	return (8 * (uint32_t)__builtin_popcount(set) + 15) & ~15u;
}

/* Two registers at once, where there are two: stp, ldp. */
static void access_all(struct native_code *c, uint32_t set, unsigned how)
{
	int32_t at = (int32_t)asm_pushed(set);

	while (set) {
		int first = __builtin_ctz(set), second;

		set &= set - 1;
		at -= 8;
		if (!set) {
			access_mem(c, how, 8, first, MEM(STACK, at));
			return;
		}
		second = __builtin_ctz(set);
		set &= set - 1;
		at -= 8;
		op(c,
		   (how == STORE ? 0xa9000000 : 0xa9400000) | ((uint32_t)at / 8) << 15 |
			   (uint32_t)first << 10,
		   second, STACK, 0);
	}
}

void asm_push(struct native_code *c, uint32_t set)
{
	add_number(c, STACK, STACK, -(int32_t)asm_pushed(set));
	access_all(c, set, STORE);
}

void asm_pop(struct native_code *c, uint32_t set)
{
	access_all(c, set, LOAD);
	add_number(c, STACK, STACK, (int32_t)asm_pushed(set));
}

int asm_general(uint8_t id)
{
	return id < ASM_REGS ? id : ASM_NONE;
}

int asm_vector(uint8_t id)
{
	enum { ID_V0 = 64 };

	return id >= ID_V0 && id < ID_V0 + 32 ? id - ID_V0 : ASM_NONE;
}

void asm_from_vector(struct native_code *c, unsigned size, int to, int vector)
{
	op_to(c, size == 8 ? 0x9e660000 : 0x1e260000, to, vector, 0); /* fmov */
}

void asm_thread_pointer(struct native_code *c, int to, bool has_fsgsbase)
{
	(void)has_fsgsbase;
	word32(c, 0xd53bd040 | (uint32_t)to); /* mrs tpidr_el0 */
	writes(c, to);
}

/* Without isb the counter may be read before what comes first. */
void asm_clock(struct native_code *c)
{
	word32(c, 0xd5033fdf);	     /* isb */
	word32(c, 0xd53be040 | ACC); /* mrs cntvct_el0 */
	writes(c, ACC);
	asm_shift_imm(c, SHIFT_LEFT, ACC, COUNTER_SHIFT);
}

void asm_rseq_signature(struct native_code *c)
{
	word32(c, 0xd428bc00); /* brk #0x45e0 */
}

#endif
