/* Sites whose 1-byte nop cannot become a jump, with --displace: the instruction after the nop does.
 * It is run elsewhere, from a copy.
 *
 *	90 | be 01 00 00 00	nop; mov $1, %esi
 *	90 | e9 .. .. .. ..	nop; jmp landing	... trampoline ... copy: mov $1, %esi; jmp
 * back
 *
 * One instruction is replaced by one other that is not longer, so no thread is between two bytes
 * that change, no signal handler returns there, and code that comes to it, by any way, runs it.
 * What is proven of the way is for the counts: that only the nop leads there. The copy does what
 * the instruction does: it names no address of its own, or one that is computed anew, and it cannot
 * fault, so that no signal says where it is. The nop keeps its byte. It is not done unasked because
 * a breakpoint that somebody puts on the instruction itself writes its first byte back from the
 * file when it is removed, and what follows would be run as something else. */
#include "inject/inside.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "base/array.h"

#if !defined(__aarch64__)

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

bool memory_is_sure(const uint8_t *modrm, uint8_t rex)
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

bool can_move(const uint8_t *insn, const uint8_t **relative)
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

/* ---- the form */

/* Bytes of the copy, without the jump back; 0: an address is too far. */
static unsigned copy_instruction(struct inject_site *s, const uint8_t *insn, unsigned len,
				 const uint8_t *relative)
{
	int64_t distance;
	int32_t old, new;

	memcpy(s->copied, insn, len);
	s->copied_len = (uint8_t)len;
	if (!relative)
		return len;
	memcpy(&old, relative, sizeof(old));
	distance = (int64_t)(s->patch - s->copy) + old;
	new = (int32_t)distance;
	memcpy(s->copied + (relative - insn), &new, sizeof(new));
	return new == distance ? len : 0;
}

static int settle(struct inject *x, struct inject_site *s, const uint8_t *code, unsigned len,
		  const uint8_t *relative)
{
	uint8_t jump[LANDING_FAR];
	int err = landing_near(x, s->pc, LANDING_FAR, &s->landing);

	s->patch = s->pc + 1;
	s->len = JUMP_NEAR;
	if (!err)
		err = landing_near(x, s->pc, COPY_ROOM, &s->copy);
	if (!err && (!copy_instruction(s, code + 1, len, relative) ||
		     !landing_bytes(s->patch, s->landing, JUMP_NEAR, jump)))
		err = -ENOSPC;
	if (err)
		return err;
	memcpy(s->before, code + 1, JUMP_NEAR);
	memcpy(s->after, jump, JUMP_NEAR);
	s->resume = s->copy;
	s->copy_end = s->patch + len;
	err = space_take(&x->space, s->copy, COPY_ROOM, false);
	return err ? err : plan_settle(x, s, INJECT_DISPLACED, 0);
}

int try_displaced(struct inject *x, struct inject_site *s, const uint8_t code[PLAN_BYTES])
{
	const uint8_t *relative;
	unsigned len;
	int err;

	if (!x->may_displace || (code[0] != 0x90 && code[0] != 0xcc))
		return 0;
	s->why = "it is a 1-byte nop, and the instruction after it cannot be run from elsewhere";
	len = instruction_length(arch_host(), str_of((const char *)code + 1, PLAN_BYTES - 1));
	if (len < JUMP_NEAR || !can_move(code + 1, &relative) ||
	    plan_is_disturbed(x, s->pc + 1, JUMP_NEAR, s->pc, 1) ||
	    crosses_page(s->pc + 1, JUMP_NEAR))
		return 0;
	if (!only_nop_leads(x, s->pc, s->pc + 2, &s->why))
		return 0;
	err = settle(x, s, code, len, relative);
	return err ? (err == -ENOSPC ? 0 : err) : 1;
}
#endif
