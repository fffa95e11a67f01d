/* How a site on aarch64 becomes a jump. All instructions have 4 bytes at multiples of 4, and nop
 * and b are among the few that may replace each other while other threads run them (Arm ARM,
 * B2.2.5): a thread runs one or the other. So there is one form:
 *
 *	d503201f	nop
 *	14......	b landing, which is within 128 MiB
 */
#include "user/patch/plan.h"

#if defined(__aarch64__)

#include <errno.h>
#include <string.h>

#define NOP	   0xd503201fu
#define B	   0x14000000u
#define B_MASK	   0xfc000000u
#define BRK	   0xd4200000u
#define BRK_MASK   0xffe0001fu
#define REACH_BITS 28 /* of a distance, its sign included */

static uint32_t word_of(const uint8_t code[4])
{
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	return word;
}

unsigned landing_bytes(uint64_t at, uint64_t to, unsigned room, uint8_t out[LANDING_FAR])
{
	int64_t distance = (int64_t)(to - at), most = INT64_C(1) << (REACH_BITS - 1);
	uint32_t word = B | ((uint32_t)(distance / 4) & ~B_MASK);

	if (distance < -most || distance >= most || distance % 4 || room < sizeof(word))
		return 0;
	memcpy(out, &word, sizeof(word));
	return sizeof(word);
}

bool is_breakpoint(const uint8_t *code)
{
	return (word_of(code) & BRK_MASK) == BRK;
}

const char *describe_bytes(const uint8_t code[PLAN_BYTES])
{
	if (is_breakpoint(code))
		return "a breakpoint is there, of a debugger or a kernel uprobe";
	if ((word_of(code) & B_MASK) == B)
		return "a jump is there: another tracer's, or one that 'nopal clean' removes";
	return "the instruction is not a nop";
}

int try_branch(struct inject *x, struct inject_site *s, const uint8_t code[PLAN_BYTES])
{
	int err;

	if (word_of(code) != NOP || s->pc % 4)
		return 0;
	err = landing_near(x, s->pc, LANDING_FAR, &s->landing);
	if (err == -ENOSPC || (!err && !landing_bytes(s->pc, s->landing, JUMP_NEAR, s->after))) {
		s->why = "there is no free memory within the 128 MiB that a jump reaches";
		return 0;
	}
	if (err)
		return err;
	s->patch = s->pc;
	s->len = JUMP_NEAR;
	memcpy(s->before, code, JUMP_NEAR);
	s->resume = s->pc + JUMP_NEAR;
	err = plan_settle(x, s, INJECT_BRANCH, 0);
	return err ? err : 1;
}

#endif
