/* Sites whose nop is soon followed by padding, which nothing runs. Of the jump's offset, the bytes
 * that lie there can be chosen, like those of a nop5; the others stay.
 *
 *	90 | 5d c3 | 0f 1f 80 00 00 00 00	nop; pop %rbp; ret; padding
 *	e9 | 5d c3 | 00 f0 80 00 00 00 00
 *
 * Padding is nops between a ret or a short jump and a boundary where a function or a loop begins.
 * That nothing leads into it is searched for (jumps.c). */
#include "user/patch/jumps.h"

#include <errno.h>

#include "arch/arch.h"
#include "user/patch/plan.h"

#define BOUNDARY   8  /* compilers align the targets of jumps to 8 bytes at least */
#define FUNCTION   16 /* ... and functions to 16, which could begin with a nop */
#define LOOK_BYTES 32

static unsigned length_at(const uint8_t *code, unsigned at, unsigned len)
{
	return instruction_length(arch_host(), str_of((const char *)code + at, len - at));
}

/* A nop as assemblers make them of several bytes; 0: there is none. */
static unsigned nop_at(const uint8_t *code, unsigned at, unsigned len)
{
	unsigned prefix = at;

	while (prefix < len && (code[prefix] == 0x66 || code[prefix] == 0x2e))
		prefix++;
	if (prefix + 1 >= len)
		return 0;
	if (code[prefix] == 0x90 && prefix == at + 1)
		return 2;
	return code[prefix] == 0x0f && code[prefix + 1] == 0x1f ? length_at(code, at, len) : 0;
}

unsigned padding_bytes(const uint8_t *code, unsigned len)
{
	unsigned at = 0, step;

	while (at < len && (step = nop_at(code, at, len)))
		at += step;
	return at;
}

#if !defined(__aarch64__)

/* From the nop to the end of the ret or jump; 0: there is none so near. */
static unsigned live_bytes(const uint8_t code[LOOK_BYTES])
{
	unsigned at = 1, step;

	while (at < JUMP_NEAR - 1) {
		const uint8_t *insn = code + at;

		step = length_at(code, at, LOOK_BYTES);
		if (!step)
			return 0;
		at += step;
		if (*insn == 0xc3 || *insn == 0xeb || (*insn == 0xf3 && insn[1] == 0xc3))
			return at < JUMP_NEAR ? at : 0;
	}
	return 0;
}

/* Are the bytes of the jump after the live ones padding up to a boundary? */
static bool is_padded(const struct inject_site *s, const uint8_t code[LOOK_BYTES], unsigned live)
{
	unsigned at = live, step;

	if ((s->pc + live) % FUNCTION == 0)
		return false;
	while (at < live + FUNCTION && (step = nop_at(code, at, LOOK_BYTES))) {
		at += step;
		if (at >= JUMP_NEAR && (s->pc + at) % BOUNDARY == 0)
			return true;
	}
	return false;
}

/* The last two bytes are chosen, or the last one when the other is live. */
static int choose_landing(struct inject *x, struct inject_site *s, const uint8_t code[LOOK_BYTES],
			  unsigned live)
{
	unsigned first = (unsigned)x->dd << 8 | x->ss, step = live == JUMP_NEAR - 1 ? 256 : 1;
	int done = 0;

	if (step > 1)
		first = (unsigned)x->dd << 8 | code[3];
	for (unsigned i = 0; i < 1u << 16 && !done; i += step) {
		unsigned chosen = (first - i) & 0xffff; /* downwards: heaps grow upwards */

		s->after[3] = (uint8_t)chosen;
		s->after[4] = (uint8_t)(chosen >> 8);
		s->landing = jump_target(s->pc, s->after + 1);
		if (space_has_room(&x->space, s->landing, LANDING_FAR))
			done = plan_settle_pun(x, s, code, s->after, live);
	}
	return done;
}

int try_padded(struct inject *x, struct inject_site *s, const uint8_t near[PLAN_BYTES])
{
	uint8_t code[LOOK_BYTES];
	unsigned live;
	int done;

	if (near[0] != 0x90 || inject_read(x, s->pc, code, sizeof(code)))
		return 0;
	live = live_bytes(code);
	if (!live || !is_padded(s, code, live) ||
	    plan_is_disturbed(x, s->pc, JUMP_NEAR, s->pc, 0) ||
	    jumps_lead_into(x, s->pc + live, s->pc + JUMP_NEAR))
		return 0;
	s->patch = s->pc;
	s->len = JUMP_NEAR;
	s->resume = s->pc + 1;
	memcpy(s->before, code, JUMP_NEAR);
	memcpy(s->after, code, JUMP_NEAR);
	s->after[0] = 0xe9;
	done = choose_landing(x, s, code, live);
	s->form = done == 1 ? INJECT_PADDED : INJECT_NONE;
	return done;
}
#endif
