/* Sites whose nop is followed by a call, or by a few instructions that only compute and then a call
 * or jump: that gets another target, as in jumps.c, and the trampoline goes on where it led.
 *
 *	90                             90
 *	be 01 00 00 00                 be 01 00 00 00		mov $1, %esi
 *	e8 rel32                       e8 rel32'
 *
 *	landing: lea 8(%rsp), %rsp	the stack is as at the nop, the return address below
 *		 jmp trampoline		... which ends in: jmp copy
 *	copy:	 lea -8(%rsp), %rsp
 *		 jmp to where the call led
 *
 * The function that is called finds its stack, registers and return address as they would be. What
 * comes between nop and call runs first: it cannot fault, changes no memory, and no register that
 * the trampoline reads, so the script sees what it would see at the nop. Nothing but the nop may
 * lead there (leads.c). */
#include "inject/inside.h"

#if !defined(__aarch64__)

#include <errno.h>

#include "arch/arch.h"

#define NEAR_CALL 0xe8
#define NEAR_JUMP 0xe9
#define RSP	  4
#define RBP	  5

/* Which of its operands an instruction changes. */
enum changes {
	CHANGES_NOTHING, /* not known: the way ends here */
	CHANGES_OPCODE,	 /* the register in the low bits of the opcode */
	CHANGES_REG,	 /* reg of ModRM; reads a register or memory */
	CHANGES_ADDRESS, /* ... or computes an address */
	CHANGES_RM,	 /* rm of ModRM, which is a register */
};

static enum changes changes_of(const uint8_t *insn, bool is_0f)
{
	if (is_0f) /* movzbl movzwl movsbl movswl */
		return (*insn & 0xf6) == 0xb6 ? CHANGES_REG : CHANGES_NOTHING;
	switch (*insn) {
	case 0x8b: return CHANGES_REG; /* mov */
	case 0x63: return CHANGES_REG; /* movslq */
	case 0x33: return CHANGES_REG; /* xor */
	case 0x8d: return CHANGES_ADDRESS;
	case 0x89: return CHANGES_RM;						   /* mov */
	case 0x31: return CHANGES_RM;						   /* xor */
	default: return (*insn & 0xf8) == 0xb8 ? CHANGES_OPCODE : CHANGES_NOTHING; /* mov $ */
	}
}

/* The register that an instruction changes, by its number, if that is all that it does. -1. */
static int changed_register(const uint8_t *insn)
{
	uint8_t rex = (*insn & 0xf0) == 0x40 ? *insn++ : 0;
	bool is_0f = *insn == 0x0f, is_register;
	enum changes changes = changes_of(insn += is_0f, is_0f);
	unsigned opcode = *insn++, reg = (*insn >> 3 & 7) | (rex & 4) << 1;

	is_register = *insn >> 6 == 3;
	switch (changes) {
	case CHANGES_OPCODE: return (int)((opcode & 7) | (rex & 1u) << 3);
	case CHANGES_REG: return is_register || memory_is_sure(insn, rex) ? (int)reg : -1;
	case CHANGES_ADDRESS: return is_register ? -1 : (int)reg;
	case CHANGES_RM: return is_register ? (*insn & 7) | (rex & 1) << 3 : -1;
	default: return -1;
	}
}

/* Bytes from the nop to the call or jump; 0: there is none so near that has the same to read. */
static unsigned find_exit(struct inject_site *s, const uint8_t code[AFTER_NOP])
{
	unsigned at = 1, step;

	for (s->changed = 0; at + JUMP_NEAR <= AFTER_NOP; at += step) {
		int reg;

		if (code[at] == NEAR_CALL || code[at] == NEAR_JUMP)
			return at;
		step = instruction_length(arch_host(),
					  str_of((const char *)code + at, AFTER_NOP - at));
		reg = step ? changed_register(code + at) : -1;
		if (reg < 0 || reg == RSP || reg == RBP || s->reads >> reg & 1)
			return 0;
		s->changed |= 1u << reg;
	}
	return 0;
}

/* What comes after the trampoline of a call. */
static int place_copy(struct inject *x, struct inject_site *s)
{
	static const uint8_t down[STACK_STEP] = {0x48, 0x8d, 0x64, 0x24, 0xf8};
	uint8_t jump[LANDING_FAR];
	int err = landing_near(x, s->pc, COPY_ROOM, &s->copy);

	if (err)
		return err;
	if (!landing_bytes(s->copy + STACK_STEP, s->copy_end, JUMP_NEAR, jump))
		return -ENOSPC;
	memcpy(s->copied, down, STACK_STEP);
	s->copied_len = STACK_STEP;
	s->resume = s->copy;
	return space_take(&x->space, s->copy, COPY_ROOM, false);
}

static int settle(struct inject *x, struct inject_site *s, const uint8_t *insn)
{
	uint64_t at = s->patch - 1;
	int32_t rel;
	int err;

	s->len = 4;
	s->is_call = *insn == NEAR_CALL;
	s->resume = s->copy_end = jump_target(at, insn + 1);
	err = landing_near(x, at, STACK_STEP + LANDING_FAR, &s->landing);
	if (!err && s->is_call)
		err = place_copy(x, s);
	if (err)
		return err;
	rel = (int32_t)(s->landing - (at + JUMP_NEAR));
	memcpy(s->before, insn + 1, s->len);
	memcpy(s->after, &rel, s->len);
	return plan_settle(x, s, INJECT_RETARGET, 0);
}

static int settle_at(struct inject *x, struct inject_site *s, const uint8_t code[AFTER_NOP])
{
	unsigned at = find_exit(s, code);
	const char *why;
	int err;

	s->patch = s->pc + at + 1;
	if (!at || crosses_page(s->patch, 4) || plan_is_disturbed(x, s->patch, 4, s->pc, at + 1) ||
	    !only_nop_leads(x, s->pc, s->pc + at + JUMP_NEAR, &why))
		return 0;
	err = settle(x, s, code + at);
	s->lead_len = (uint8_t)at;
	memcpy(s->lead, code + 1, at);
	return err ? (err == -ENOSPC ? 0 : err) : 1;
}

int try_call(struct inject *x, struct inject_site *s, const uint8_t near[PLAN_BYTES])
{
	uint8_t code[AFTER_NOP];
	int done;

	if (x->space.spare || (near[0] != 0x90 && near[0] != 0xcc) ||
	    inject_read(x, s->pc, code, sizeof(code)))
		return 0;
	done = settle_at(x, s, code);
	if (done != 1) {
		s->is_call = false;
		s->lead_len = 0;
		s->changed = 0;
		s->copy = 0;
	}
	return done;
}

#endif
