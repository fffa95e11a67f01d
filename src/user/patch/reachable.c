/* Does all code come to the instructions after a 1-byte nop by way of the nop? Direct jumps and
 * calls of the whole image are known (jumps.c). Indirect ones are not, and any may be a jump table
 * that leads there: so the function is decoded, with the parts of it elsewhere that it jumps into,
 * and if it has an indirect jump, the answer is no. */
#include "user/patch/jumps.h"

#if !defined(__aarch64__)

#include <stdlib.h>

#include "arch/arch.h"
#include "user/patch/eh_frame.h"
#include "user/patch/plan.h"

#define FUNCTION_MOST (1u << 20) /* bytes that are looked through */
#define PARTS_MOST    8		 /* of a function that its compiler has divided */

/* A jump whose target is in a register or in memory, except one through a table of the linker. */
static bool is_indirect(const uint8_t *insn, unsigned len)
{
	unsigned at = 0;

	while (at + 1 < len && (insn[at] == 0x3e || insn[at] == 0xf2 || (insn[at] & 0xf0) == 0x40))
		at++;
	return at + 1 < len && insn[at] == 0xff && (insn[at + 1] & 0x30) == 0x20 &&
	       insn[at + 1] != 0x25;
}

/* Parts of a function: it, and those that it jumps into. */
struct parts {
	uint64_t start[PARTS_MOST], end[PARTS_MOST];
	unsigned count;
};

/* A jump to the start of another function is a call that does not return here. */
static bool add_part(struct inject *x, struct parts *p, uint64_t target, bool is_conditional)
{
	uint64_t start, end;

	for (unsigned i = 0; i < p->count; i++)
		if (target >= p->start[i] && target < p->end[i])
			return true;
	if (!function_bounds(x, target, &start, &end))
		return false;
	if (target == start && !is_conditional)
		return true;
	if (p->count == PARTS_MOST || end - start > FUNCTION_MOST)
		return false;
	p->start[p->count] = start;
	p->end[p->count++] = end;
	return true;
}

/* Every instruction of a part is known, none is an indirect jump, and one begins at `pc` if that is
 * in it. */
static bool look_through(struct inject *x, struct parts *p, unsigned number, uint64_t pc)
{
	uint64_t start = p->start[number], size = p->end[number] - start, at, target;
	uint8_t *code = malloc(size + INSTRUCTION_LONGEST);
	bool is_good = code && !inject_read(x, start, code, size), met = pc - start >= size;
	unsigned len;

	for (at = 0; is_good && at < size; at += len) {
		const uint8_t *insn = code + at;

		met |= start + at == pc;
		len = instruction_length(arch_host(), str_of((const char *)insn, size - at));
		target = insn[0] != 0xe8 ? direct_target(insn, len, start + at) : 0;
		is_good = len && !is_indirect(insn, len) &&
			  (!target || add_part(x, p, target, insn[0] != 0xe9 && insn[0] != 0xeb));
	}
	free(code);
	return is_good && met;
}

bool only_nop_reaches(struct inject *x, uint64_t pc, uint64_t end, const char **why)
{
	struct parts p = {.count = 1};
	uint8_t before;

	/* 66 90 is another nop, to which much leads. */
	*why = "it is a 1-byte nop, and other code leads to the instruction after it";
	if (inject_read(x, pc - 1, &before, 1) || before == 0x66 || jumps_lead_into(x, pc + 1, end))
		return false;
	*why = "it is a 1-byte nop, and a jump table of its function may lead to the instruction "
	       "after it";
	if (!function_bounds(x, pc, &p.start[0], &p.end[0]) ||
	    p.end[0] - p.start[0] > FUNCTION_MOST)
		return false;
	for (unsigned i = 0; i < p.count; i++)
		if (!look_through(x, &p, i, pc))
			return false;
	*why = NULL;
	return true;
}

#endif
