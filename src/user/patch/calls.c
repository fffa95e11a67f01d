/* Sites whose nop is followed by a call: that gets another target, as a jump does in jumps.c, and
 * the trampoline goes on where it led.
 *
 *	90                             90
 *	e8 rel32                       e8 rel32'
 *
 *	landing: lea 8(%rsp), %rsp	the stack is as at the nop, the return address below
 *		 jmp trampoline		... which ends in: jmp copy
 *	copy:	 lea -8(%rsp), %rsp
 *		 jmp to where the call led
 *
 * The function that is called finds its stack, registers and return address as they would be.
 * Nothing but the nop may lead to the call (reachable.c). */
#include "user/patch/plan.h"

#if !defined(__aarch64__)

#include <errno.h>

#include "user/patch/jumps.h"

#define NEAR_CALL 0xe8

/* The code after the trampoline of a call. */
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
	s->is_call = true;
	s->resume = s->copy_end = jump_target(at, insn + 1);
	err = landing_near(x, at, STACK_STEP + LANDING_FAR, &s->landing);
	if (!err)
		err = place_copy(x, s);
	if (err)
		return err;
	rel = (int32_t)(s->landing - (at + JUMP_NEAR));
	memcpy(s->before, insn + 1, s->len);
	memcpy(s->after, &rel, s->len);
	return plan_settle(x, s, INJECT_RETARGET, 0);
}

int try_call(struct inject *x, struct inject_site *s, const uint8_t code[PLAN_BYTES])
{
	const char *why;
	int err;

	if (x->space.spare || (code[0] != 0x90 && code[0] != 0xcc) || code[1] != NEAR_CALL)
		return 0;
	s->patch = s->pc + 2;
	if (crosses_page(s->patch, 4) || plan_is_disturbed(x, s->patch, 4, s->pc, 2) ||
	    !only_nop_reaches(x, s->pc, s->pc + 1 + JUMP_NEAR, &why))
		return 0;
	err = settle(x, s, code + 1);
	if (err) {
		s->is_call = false;
		s->copy = 0;
		return err == -ENOSPC ? 0 : err;
	}
	s->opcode = NEAR_CALL;
	return 1;
}

#endif
