/* System calls that a program makes by instructions of its own code, not by functions of the C
 * library that libc.c knows: programs in Go, static programs, and other C libraries do. Those whose
 * number is not known, or that may make a filter, become places like those of libc.c:
 *
 *	48 89 ce	mov %rcx, %rsi		become a jump to code that runs them, and then
 *	48 89 df	mov %rbx, %rdi		inside_filter(), and goes on at the call
 *	0f 05		syscall
 *
 * A jump takes the place of one instruction, or of several that are shorter. These only move what
 * is in registers and memory, no jump of the program leads between them, and no thread is there, or
 * in a signal handler that returns there, when they are changed. The call itself stays as it is:
 * threads may wait in it. */
#include "inject/inside.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "base/array.h"
#include "base/budget.h"

#if !defined(__aarch64__)

#define OWN_MOST   128
#define CALL_BYTES 2	/* of `syscall` */
#define NEAR	   60	/* bytes before a call where decoding is begun, to see whether it is one */
#define FAR	   1000 /* ... and where what it is given is looked for */
#define STEP	   4	/* between two starts of decoding */
#define VOTES	   5	/* of these that must meet at an instruction */
#define PLAIN	   8	/* instructions before a call */
#define JUMPS	   3	/* one after the other, to a call */
#define NO_NUMBER  (-1)
#define NO_REG	   0xff
#define WORK_MOST  1000000000ull /* steps */
#define PRCTL	   157
#define SECCOMP	   317

static bool may_filter(int64_t number)
{
	return number == NO_NUMBER || number == PRCTL || number == SECCOMP;
}

/* ---- instructions */

struct insn {
	const uint8_t *at;
	uint8_t len, opcode, rex;
	bool is_0f;
	uint8_t reg, rm;     /* numbers of registers; rm: NO_REG if it is memory */
	uint8_t which;	     /* reg of ModRM: of some opcodes the operation */
	const uint8_t *rest; /* after the opcode */
};

static void decode(const uint8_t *at, unsigned len, struct insn *i)
{
	const uint8_t *end = at + len;

	*i = (struct insn){.at = at, .len = (uint8_t)len, .rm = NO_REG};
	while (at + 1 < end && (*at == 0x66 || *at == 0xf2 || *at == 0xf3 || *at == 0x2e ||
				*at == 0x3e || *at == 0x64 || *at == 0xf0))
		at++;
	if (at + 1 < end && (*at & 0xf0) == 0x40)
		i->rex = *at++;
	i->is_0f = *at == 0x0f && at + 1 < end;
	at += i->is_0f;
	i->opcode = *at++;
	i->which = at < end ? *at >> 3 & 7 : 0;
	i->reg = (uint8_t)(i->which | (i->rex & 4) << 1);
	if (at < end && *at >> 6 == 3)
		i->rm = (uint8_t)((*at & 7) | (i->rex & 1) << 3);
	i->rest = at;
}

/* Of opcodes with a register in their low bits. */
static unsigned low_reg(const struct insn *i)
{
	return (i->opcode & 7) | (i->rex & 1u) << 3;
}

#define OF_0F 0x100 /* opcodes after 0f */

/* What an instruction may change. Those that are not here may change anything. */
enum changes { ANYTHING, NOTHING, REG, RM, LOW };

/* clang-format off */
static const struct row {
	uint16_t first, last;
	uint8_t operations; /* of ModRM, a bit for each; 0: it has none, or all */
	uint8_t changes;
} rows[] = {
	{0x00, 0x01, 0, RM}, {0x02, 0x03, 0, REG}, {0x08, 0x09, 0, RM}, {0x0a, 0x0b, 0, REG}, /* add or */
	{0x10, 0x11, 0, RM}, {0x12, 0x13, 0, REG}, {0x18, 0x19, 0, RM}, {0x1a, 0x1b, 0, REG}, /* adc sbb */
	{0x20, 0x21, 0, RM}, {0x22, 0x23, 0, REG}, {0x28, 0x29, 0, RM}, {0x2a, 0x2b, 0, REG}, /* and sub */
	{0x30, 0x31, 0, RM}, {0x32, 0x33, 0, REG}, {0x38, 0x3d, 0, NOTHING},		      /* xor cmp */
	{0x50, 0x57, 0, NOTHING}, {0x58, 0x5f, 0, LOW},					      /* push pop */
	{0x63, 0x63, 0, REG}, {0x70, 0x7f, 0, NOTHING},					      /* movslq jcc */
	{0x80, 0x83, 0x80, NOTHING}, {0x80, 0x83, 0, RM}, {0x84, 0x85, 0, NOTHING},	      /* cmp $; others $; test */
	{0x88, 0x89, 0, RM}, {0x8a, 0x8b, 0, REG}, {0x8d, 0x8d, 0, REG},		      /* mov lea */
	{0x90, 0x90, 0, NOTHING}, {0xa8, 0xa9, 0, NOTHING}, {0xb8, 0xbf, 0, LOW},	      /* nop test mov $ */
	{0xc0, 0xc1, 0, RM}, {0xc6, 0xc7, 0, RM}, {0xd0, 0xd3, 0, RM},			      /* shifts mov $ */
	{0xf6, 0xf7, 0x03, NOTHING}, {0xf6, 0xf7, 0x0c, RM}, {0xfe, 0xff, 0x03, RM},	      /* test; not neg; inc dec */
	{OF_0F | 0x10, OF_0F | 0x11, 0, NOTHING}, {OF_0F | 0x1e, OF_0F | 0x1f, 0, NOTHING},   /* movups nop */
	{OF_0F | 0x28, OF_0F | 0x29, 0, NOTHING}, {OF_0F | 0x40, OF_0F | 0x4f, 0, REG},	      /* movaps cmov */
	{OF_0F | 0x57, OF_0F | 0x57, 0, NOTHING}, {OF_0F | 0x6c, OF_0F | 0x6f, 0, NOTHING},   /* xorps, movd .. */
	{OF_0F | 0x7f, OF_0F | 0x8f, 0, NOTHING}, {OF_0F | 0x90, OF_0F | 0x9f, 0, RM},	      /* movdqa jcc setcc */
	{OF_0F | 0xb6, OF_0F | 0xb7, 0, REG}, {OF_0F | 0xbe, OF_0F | 0xbf, 0, REG},	      /* movzx movsx */
	{OF_0F | 0xd6, OF_0F | 0xd6, 0, NOTHING}, {OF_0F | 0xef, OF_0F | 0xef, 0, NOTHING},   /* movq pxor */
};
/* clang-format on */

static enum changes changes_of(const struct insn *i)
{
	unsigned opcode = i->opcode | (i->is_0f ? OF_0F : 0);

	for (size_t k = 0; k < COUNT(rows); k++)
		if (opcode >= rows[k].first && opcode <= rows[k].last &&
		    (!rows[k].operations || rows[k].operations >> i->which & 1))
			return rows[k].changes;
	return ANYTHING;
}

static bool is_call(const struct insn *i)
{
	return !i->is_0f && (i->opcode == 0xe8 || (i->opcode == 0xff && i->which == 2));
}

/* Does it leave the register as it is, surely? A call leaves those that are its caller's. */
static bool keeps(const struct insn *i, unsigned reg)
{
	const uint16_t of_callers = 1 << 3 | 1 << 5 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15;
	const uint16_t of_syscall = 1 << 0 | 1 << 1 | 1 << 11; /* what the kernel changes */

	if (is_call(i))
		return of_callers >> reg & 1;
	if (i->is_0f && i->opcode == 0x05)
		return !(of_syscall >> reg & 1);
	switch (changes_of(i)) {
	case NOTHING: return true;
	case REG: return i->reg != reg;
	case RM: return i->rm != reg;
	case LOW: return low_reg(i) != reg;
	default: return false;
	}
}

/* The constant that it puts into the register; NO_NUMBER: none. */
static int64_t constant_of(const struct insn *i, unsigned reg)
{
	int32_t value;

	if (i->is_0f)
		return NO_NUMBER;
	if ((i->opcode == 0x31 || i->opcode == 0x33) && i->reg == reg && i->rm == reg)
		return 0;
	if ((i->opcode & 0xf8) == 0xb8 && low_reg(i) == reg &&
	    i->at + i->len - i->rest == sizeof(value))
		memcpy(&value, i->rest, sizeof(value));
	else if (i->opcode == 0xc7 && i->rm == reg)
		memcpy(&value, i->rest + 1, sizeof(value));
	else
		return NO_NUMBER;
	return value < 0 ? NO_NUMBER : value;
}

/* The register that it copies into this one; NO_REG: none. */
static unsigned copied_from(const struct insn *i, unsigned reg)
{
	if (i->is_0f || i->rm == NO_REG)
		return NO_REG;
	if (i->opcode == 0x89 && i->rm == reg)
		return i->reg;
	return (i->opcode == 0x8b || i->opcode == 0x63) && i->reg == reg ? i->rm : NO_REG;
}

/* ---- can the instruction be run elsewhere? */

enum kind {
	KIND_NONE,
	KIND_PLAIN,  /* registers and constants by its opcode */
	KIND_MODRM,  /* registers, or memory */
	KIND_FIRST,  /* ... and another instruction unless reg of ModRM is 0 */
	KIND_SECOND, /* ... is 0 or 1 */
	KIND_GROUP,  /* ... is below 6: the others divide */
	KIND_LEA,    /* an address that is not accessed */
	KIND_BRANCH, /* to an address at its end */
};

struct opcodes {
	uint8_t first, last, kind;
};

/* clang-format off */
static const struct opcodes one_byte[] = {
	{0x00, 0x03, KIND_MODRM},  {0x08, 0x0b, KIND_MODRM}, {0x10, 0x13, KIND_MODRM}, /* add or adc */
	{0x18, 0x1b, KIND_MODRM},  {0x20, 0x23, KIND_MODRM}, {0x28, 0x2b, KIND_MODRM}, /* sbb and sub */
	{0x30, 0x33, KIND_MODRM},  {0x38, 0x3b, KIND_MODRM},			       /* xor cmp */
	{0x05, 0x05, KIND_PLAIN},  {0x0d, 0x0d, KIND_PLAIN}, {0x15, 0x15, KIND_PLAIN}, /* ... $, %eax */
	{0x1d, 0x1d, KIND_PLAIN},  {0x25, 0x25, KIND_PLAIN}, {0x2d, 0x2d, KIND_PLAIN},
	{0x35, 0x35, KIND_PLAIN},  {0x3d, 0x3d, KIND_PLAIN}, {0xa9, 0xa9, KIND_PLAIN},
	{0x63, 0x63, KIND_MODRM},  {0x69, 0x69, KIND_MODRM}, {0x6b, 0x6b, KIND_MODRM}, /* movslq imul */
	{0x80, 0x81, KIND_MODRM},  {0x83, 0x85, KIND_MODRM}, {0x88, 0x8b, KIND_MODRM}, /* ... $, test, mov */
	{0x8d, 0x8d, KIND_LEA},	   {0xb8, 0xbf, KIND_PLAIN},			       /* lea; mov $ */
	{0xc0, 0xc1, KIND_MODRM},  {0xc6, 0xc7, KIND_FIRST},			       /* shl ..; mov $ */
	{0xf6, 0xf7, KIND_GROUP},  {0xfe, 0xff, KIND_SECOND},			       /* test not neg mul; inc dec */
};

static const struct opcodes after_0f[] = {
	{0x10, 0x11, KIND_MODRM}, {0x28, 0x29, KIND_MODRM}, {0x40, 0x4f, KIND_MODRM}, /* movups movaps cmov */
	{0x57, 0x57, KIND_MODRM}, {0x6e, 0x6f, KIND_MODRM}, {0x7e, 0x7f, KIND_MODRM}, /* xorps movd movdqa */
	{0x80, 0x8f, KIND_BRANCH}, {0x90, 0x9f, KIND_MODRM}, {0xaf, 0xaf, KIND_MODRM}, /* jcc setcc imul */
	{0xb6, 0xb7, KIND_MODRM}, {0xbe, 0xbf, KIND_MODRM}, {0xef, 0xef, KIND_MODRM}, /* movzx movsx pxor */
};
/* clang-format on */

static enum kind kind_of(const struct opcodes *table, size_t count, uint8_t opcode)
{
	for (size_t i = 0; i < count; i++)
		if (opcode >= table[i].first && opcode <= table[i].last)
			return table[i].kind;
	return KIND_NONE;
}

/* Memory of an instruction that is always mapped: of the image, or of the stack. */
static bool memory_is_sure(const uint8_t *modrm, uint8_t rex)
{
	unsigned mod = modrm[0] >> 6, rm = modrm[0] & 7;

	return (mod == 0 && rm == 5) ||
	       (mod != 3 && rm == 4 && modrm[1] == 0x24 && !(rex & 3)); /* n(%rip), n(%rsp) */
}

/* ... or no memory; *relative: its distance from the instruction, if it has one. */
static bool is_sure(const uint8_t *modrm, uint8_t rex, enum kind kind, const uint8_t **relative)
{
	unsigned mod = modrm[0] >> 6, rm = modrm[0] & 7;

	if (mod == 3)
		return kind != KIND_LEA;
	if (mod == 0 && rm == 5)
		*relative = modrm + 1;
	return kind == KIND_LEA || memory_is_sure(modrm, rex);
}

/* Can an instruction be run elsewhere, without a fault? *relative: its distance to an address, of 4
 * bytes; NULL: it has none. */
static bool can_move(const uint8_t *insn, const uint8_t **relative)
{
	enum kind kind;
	unsigned reg;
	uint8_t rex = 0;

	*relative = NULL;
	insn += *insn == 0x66;
	if ((*insn & 0xf0) == 0x40)
		rex = *insn++;
	if (*insn == 0x0f) {
		insn++;
		kind = kind_of(after_0f, COUNT(after_0f), *insn);
	} else {
		kind = kind_of(one_byte, COUNT(one_byte), *insn);
	}
	insn++;
	reg = *insn >> 3 & 7;
	switch (kind) {
	case KIND_NONE: return false;
	case KIND_PLAIN: return true;
	case KIND_BRANCH: *relative = insn; return true;
	case KIND_FIRST: return !reg && is_sure(insn, rex, kind, relative);
	case KIND_SECOND: return reg < 2 && is_sure(insn, rex, kind, relative);
	case KIND_GROUP: return reg < 6 && is_sure(insn, rex, kind, relative);
	case KIND_MODRM:
	case KIND_LEA: return is_sure(insn, rex, kind, relative);
	}
	return false;
}

/* Can it be run elsewhere? Reading memory may fault, which then has another address; before a
 * system call of a library none does. */
static bool is_movable(const struct insn *i)
{
	const uint8_t *relative;
	bool is_relative = i->rest < i->at + i->len && (*i->rest & 0xc7) == 0x05;

	if (!i->is_0f && i->opcode >= 0x50 && i->opcode <= 0x5f) /* push, pop */
		return true;
	if (!i->is_0f && (i->opcode == 0x8b || i->opcode == 0x63))
		return !is_relative;
	return can_move(i->at, &relative) && !relative;
}

/* ---- what comes before a call */

/* The code is untrusted: where reading it takes too long, calls of the program are not known. */
struct code {
	const uint8_t *bytes;
	size_t len;
	struct budget *work;
};

/* The instructions before a call, the nearest first: how many bytes before it each begins. */
struct before {
	uint16_t back[FAR];
	unsigned count;
};

/* Decode from there to the call. False: it is not met. */
static bool walk(const struct code *c, size_t call, size_t from, struct before *b)
{
	unsigned step = 1, count = 0;
	uint16_t met[FAR];
	size_t at = from;

	if (!budget_work(c->work, 4 * (call - from)))
		return false;
	for (; at < call && step; at += step) {
		met[count++] = (uint16_t)(call - at);
		step = instruction_length(
			arch_host(), str_of((const char *)c->bytes + at, call + CALL_BYTES - at));
	}
	if (at != call || !step)
		return false;
	for (b->count = 0; count; count--)
		b->back[b->count++] = met[count - 1];
	return true;
}

/* Decoding falls into step within a few instructions. False: most decodings do not meet there: the
 * bytes are within another instruction. `b` may be NULL. */
static bool look_before(const struct code *c, size_t call, struct before *b)
{
	struct before near, *out = b ? b : &near;
	unsigned votes = 0, tried = 0;
	size_t back;

	for (back = STEP; back <= NEAR && back <= call; back += STEP, tried++)
		votes += walk(c, call, call - back, out);
	if (votes < VOTES && tried >= VOTES)
		return false;
	back = call < FAR - 1 ? call : FAR - 1;
	while (b && back && !walk(c, call, call - back, b))
		back--;
	return true;
}

static struct insn insn_at(const struct code *c, size_t call, const struct before *b, unsigned n)
{
	struct insn i;

	decode(c->bytes + call - b->back[n], b->back[n] - (n ? b->back[n - 1] : 0u), &i);
	return i;
}

/* jmp, ret, hlt, int3: what comes after is reached by jumps alone. */
static bool is_end(const struct insn *i)
{
	return !i->is_0f &&
	       (i->opcode == 0xe9 || i->opcode == 0xeb || i->opcode == 0xc3 || i->opcode == 0xf4 ||
		i->opcode == 0xcc || (i->opcode == 0xff && i->which == 4));
}

static bool is_nop(const struct insn *i)
{
	return i->is_0f ? i->opcode == 0x1f : i->opcode == 0x90 || i->opcode == 0xcc;
}

/* mov $, %al: the rest is of the instruction before. */
static int64_t low_constant(const struct insn *i, const struct insn *before)
{
	return i->opcode == 0xb0 && !i->is_0f && !(i->rex & 1) && !constant_of(before, 0)
		       ? *i->rest
		       : NO_NUMBER;
}

static int64_t number_before(const struct code *c, size_t at, unsigned reg, unsigned jumps);

/* Do functions find their first arguments in it, or results? A number that is in another one was
 * put there by the function itself, further up. */
static bool is_of_arguments(unsigned reg)
{
	return (1 << 0 | 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7) >> reg & 1;
}

/* test %eax, %eax; je */
static bool is_zero_there(const struct code *c, size_t jump, unsigned reg)
{
	bool is_je =
		c->bytes[jump] == 0x74 || (c->bytes[jump] == 0x0f && c->bytes[jump + 1] == 0x84);
	struct before b;
	struct insn i;

	if (!is_je || !look_before(c, jump, &b) || !b.count)
		return false;
	i = insn_at(c, jump, &b, 0);
	return !i.is_0f && i.opcode == 0x85 && i.reg == reg && i.rm == reg;
}

/* What the register holds where `at` is jumped to, as the code before all these jumps says. Where
 * none leads, or a call, a function begins, and the number is one of its arguments. */
static int64_t number_jumped(const struct code *c, size_t at, unsigned reg, unsigned jumps)
{
	int64_t number = NO_NUMBER;

	if (!budget_work(c->work, c->len))
		return NO_NUMBER;
	for (size_t i = 0; i < c->len; i++) {
		if (direct_target(c->bytes + i, c->len - i, i) != at || !look_before(c, i, NULL))
			continue;
		number = c->bytes[i] == 0xe8 || !jumps ? NO_NUMBER
			 : is_zero_there(c, i, reg)    ? 0
						       : number_before(c, i, reg, jumps - 1);
		if (may_filter(number))
			return NO_NUMBER;
	}
	return number;
}

/* The block that the n-th instruction ends: that after it, and after padding. */
static size_t block_after(const struct code *c, size_t at, const struct before *b, unsigned n)
{
	for (; n; n--) {
		struct insn i = insn_at(c, at, b, n - 1);

		if (!is_nop(&i))
			return at - b->back[n - 1];
	}
	return at;
}

/* The constant that the register holds at `at`, whatever is jumped to in between; NO_NUMBER: it is
 * not known. */
static int64_t number_before(const struct code *c, size_t at, unsigned reg, unsigned jumps)
{
	bool is_beyond = false; /* an end: calls there are on other ways */
	struct before b;

	if (!look_before(c, at, &b))
		return NO_NUMBER;
	for (unsigned n = 0; n < b.count; n++) {
		struct insn i = insn_at(c, at, &b, n);
		int64_t constant = constant_of(&i, reg);
		unsigned from = copied_from(&i, reg);

		if (constant == NO_NUMBER && !reg && n + 1 < b.count) {
			struct insn before = insn_at(c, at, &b, n + 1);

			constant = low_constant(&i, &before);
		}
		if (constant != NO_NUMBER)
			return constant;
		if (is_end(&i) && is_of_arguments(reg))
			return number_jumped(c, block_after(c, at, &b, n), reg, jumps);
		is_beyond |= is_end(&i);
		if (from != NO_REG)
			reg = from;
		else if (!is_end(&i) && !(is_beyond && is_call(&i)) && !keeps(&i, reg))
			return NO_NUMBER;
	}
	return NO_NUMBER;
}

/* Are the instructions before the call such that are known here? */
static bool is_plain_before(const struct code *c, size_t call, const struct before *b)
{
	unsigned n = 0;

	for (; n < b->count && n < PLAIN; n++) {
		struct insn i = insn_at(c, call, b, n);

		if (changes_of(&i) == ANYTHING && !is_end(&i) && !is_call(&i) &&
		    !(i.is_0f && i.opcode == 0x05))
			return false;
	}
	return n == PLAIN || n == b->count;
}

/* Bytes of the instructions before the call that are moved; 0: they cannot be. */
static unsigned movable_before(const struct code *c, size_t call, const struct before *b,
			       bool *is_one)
{
	for (unsigned n = 0; n < b->count && b->back[n] <= INJECT_COPY_MAX; n++) {
		struct insn i = insn_at(c, call, b, n);

		if (!is_movable(&i))
			return 0;
		*is_one = n == 0;
		if (b->back[n] >= JUMP_NEAR)
			return b->back[n];
	}
	return 0;
}

/* ---- jumps that lead there */

/* To which of these bytes does a direct jump or call lead? NULL: no memory. */
static bool *jump_targets(const struct code *c, const bool *asked)
{
	bool *met = calloc(c->len + 1, sizeof(*met));

	for (size_t i = 0; met && i < c->len; i++) {
		uint64_t target = direct_target(c->bytes + i, c->len - i, i);

		if (target && target < c->len && asked[target] && look_before(c, i, NULL))
			met[target] = true;
	}
	return met;
}

/* ---- places */

struct call {
	size_t at;	/* in the code */
	unsigned moved; /* bytes before it; 0: they cannot be moved */
	bool is_one;	/* instruction */
	bool is_plain;	/* what comes before is as compilers write it */
};

/* memchr() is several times as fast as memmem() here. */
const uint8_t *find_syscall(const uint8_t *at, const uint8_t *end)
{
	while (at + 1 < end && (at = memchr(at + 1, 0x05, (size_t)(end - at - 1))))
		if (at[-1] == 0x0f)
			return at - 1;
	return NULL;
}

/* The calls that may make a filter, at most `most`; how many there are. */
static unsigned find_calls(const struct code *c, struct call *out, unsigned most)
{
	const uint8_t *at = c->bytes, *end = c->bytes + c->len;
	unsigned count = 0;

	for (; (at = find_syscall(at, end)); at++) {
		struct call call = {.at = (size_t)(at - c->bytes)};
		struct before before;

		if (c->work->end || count > most)
			break;
		if (!look_before(c, call.at, &before) ||
		    !may_filter(number_before(c, call.at, 0, JUMPS)))
			continue;
		call.moved = movable_before(c, call.at, &before, &call.is_one);
		call.is_plain = is_plain_before(c, call.at, &before);
		if (count < most)
			out[count] = call;
		count++;
	}
	return count;
}

/* A jump to the call itself, or between the instructions before it, would lead past the place. */
static int leave_jumped(const struct code *c, struct call *calls, unsigned count)
{
	bool *asked = calloc(c->len + 1, sizeof(*asked)), *met = NULL;

	for (unsigned i = 0; asked && i < count; i++)
		for (size_t k = calls[i].at - calls[i].moved + 1; k <= calls[i].at; k++)
			asked[k] = true;
	if (asked)
		met = jump_targets(c, asked);
	for (unsigned i = 0; met && i < count; i++)
		for (size_t k = calls[i].at - calls[i].moved + 1; k <= calls[i].at; k++)
			if (met[k])
				calls[i].moved = 0;
	free(asked);
	free(met);
	return met ? 0 : -ENOMEM;
}

/* Bytes of data may look like a call. One is in a function of the image's table, which many images
 * have for their own functions, or it comes after instructions as compilers write them. */
static unsigned leave_data(struct inject *x, uint64_t start, struct call *calls, unsigned count)
{
	unsigned kept = 0;
	uint64_t from, to;

	for (unsigned i = 0; i < count; i++)
		if (calls[i].is_plain || function_bounds(x, start + calls[i].at, &from, &to))
			calls[kept++] = calls[i];
	return kept;
}

/* -ENOENT: it cannot be a place. */
static int plan_call(struct inject *x, uint64_t start, const uint8_t *code, const struct call *c,
		     struct inject_place *out)
{
	size_t from = c->at - c->moved;
	int err =
		c->moved ? plan_moved(x, start + from, code + from, c->moved, &out->site) : -ENOENT;

	out->what = LIBC_OWN;
	out->called = 0;
	out->site.is_several = !c->is_one;
	return err == -ENOSPC ? -ENOENT : err;
}

int own_plan(struct inject *x, uint64_t start, const uint8_t *bytes, size_t len,
	     struct inject_place *out, unsigned most, bool *all)
{
	struct budget work = {.work = WORK_MOST, .stop_fd = -1};
	const struct code code = {bytes, len, &work};
	struct call calls[OWN_MOST];
	unsigned found = find_calls(&code, calls, OWN_MOST), count = 0;
	int err = 0;

	*all = found <= OWN_MOST;
	if (*all)
		found = leave_data(x, start, calls, found);
	if (*all && found)
		err = leave_jumped(&code, calls, found);
	*all &= !work.end;
	for (unsigned i = 0; i < found && !err && *all; i++) {
		err = count < most ? plan_call(x, start, bytes, &calls[i], &out[count]) : -ENOENT;
		count += !err;
		*all = err != -ENOENT;
	}
	return err && err != -ENOENT ? err : (int)count;
}

#else
int own_plan(struct inject *x, uint64_t start, const uint8_t *code, size_t len,
	     struct inject_place *out, unsigned most, bool *all)
{
	(void)x, (void)start, (void)code, (void)len, (void)out, (void)most;
	*all = true;
	return 0;
}
#endif
