/* Sites whose nop is followed by a jump: the jump gets another target, and the trampoline goes on
 * where it led. The site's own byte stays as it is, so a breakpoint can be there, too.
 *
 *	90             90
 *	e9 rel32       e9 rel32'
 *
 * That is the same only if nothing else leads to that jump. Compilers could make a jump table that
 * does, which is not looked for: they make its entries lead to where the jump leads. Direct jumps
 * are: the code of an image is searched for them, once. calls.c has the other instructions that
 * lead away from a site. */
#include "user/patch/jumps.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "base/array.h"
#include "user/patch/plan.h"

#define CODE_MOST (256u << 20) /* of one image; beyond it no jump is changed */
#define BACK	  15	       /* starts of decoding before a byte */
#define VOTES	  5	       /* of these that must meet at an instruction */

/* Decoding from bytes before it falls into step within a few
 * instructions, so most of the starts that are tried meet there if one does. */
bool is_instruction(const uint8_t *code, size_t len, size_t at)
{
	unsigned votes = 0, tried = 0;

	for (size_t back = 1; back <= BACK && 4 * back <= at; back++, tried++) {
		size_t pos = at - 4 * back;
		unsigned step = 1;

		while (pos < at && step) {
			step = instruction_length(arch_host(),
						  str_of((const char *)code + pos, len - pos));
			pos += step;
		}
		votes += pos == at;
	}
	return votes >= VOTES || tried < VOTES;
}

/* Is it soon after a 1-byte nop, where a probe may be, or padding? */
static bool may_be_asked_for(const uint8_t *code, size_t len, uint64_t at)
{
	if (at < 1 || at >= len)
		return false;
	for (uint64_t i = at; i && at - i < AFTER_NOP; i--)
		if (code[i - 1] == 0x90 || code[i - 1] == 0xcc)
			return true;
	return padding_bytes(code + at, len - at < PLAN_BYTES ? (unsigned)(len - at) : PLAN_BYTES) >
	       0;
}

/* Note every such place that bytes lead to which may be a direct jump or call. */
static int search(struct jumps *j, const uint8_t *code, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		uint64_t target = direct_target(code + i, len - i, j->start + i);

		if (!target || !may_be_asked_for(code, len, target - j->start))
			continue;
		if (array_grow(j->all, j->count, j->cap))
			return -ENOMEM;
		j->all[j->count++] = (struct jump){target, j->start + i};
	}
	return 0;
}

static int read_jumps(struct inject *x, const struct range *r, struct jumps *j)
{
	size_t len = (size_t)(r->end - r->start);
	uint8_t *code = malloc(len);
	int err = code ? inject_read(x, r->start, code, len) : -ENOMEM;

	j->start = r->start;
	j->end = r->end;
	if (!err)
		err = search(j, code, len);
	free(code);
	return err;
}

/* The jumps in the mapping at `address`; NULL: it cannot be searched. */
static struct jumps *jumps_of(struct inject *x, uint64_t address)
{
	const struct space *s = &x->space;

	for (size_t i = 0; i < x->jumps_count; i++)
		if (address >= x->jumps[i].start && address < x->jumps[i].end)
			return &x->jumps[i];
	for (size_t i = 0; i < s->file_count; i++) {
		const struct range *r = &s->files[i];

		if (!r->is_code || address < r->start || address >= r->end)
			continue;
		if (r->end - r->start > CODE_MOST ||
		    array_grow(x->jumps, x->jumps_count, x->jumps_cap))
			return NULL;
		x->jumps[x->jumps_count] = (struct jumps){0};
		if (read_jumps(x, r, &x->jumps[x->jumps_count])) {
			free(x->jumps[x->jumps_count].all);
			return NULL;
		}
		return &x->jumps[x->jumps_count++];
	}
	return NULL;
}

/* Or is it in the middle of an instruction? */
static bool is_jump(struct inject *x, const struct jumps *j, uint64_t from)
{
	uint64_t first = from - j->start < 4 * BACK ? j->start : from - 4 * BACK;
	uint64_t end = j->end - from < INSTRUCTION_LONGEST ? j->end : from + INSTRUCTION_LONGEST;
	uint8_t code[4 * BACK + INSTRUCTION_LONGEST];

	return inject_read(x, first, code, (size_t)(end - first)) ||
	       is_instruction(code, (size_t)(end - first), (size_t)(from - first));
}

bool jumps_lead_into(struct inject *x, uint64_t start, uint64_t end)
{
	const struct jumps *j = jumps_of(x, start);

	for (size_t i = 0; j && i < j->count; i++)
		if (j->all[i].target >= start && j->all[i].target < end &&
		    is_jump(x, j, j->all[i].from))
			return true;
	return !j;
}

#if !defined(__aarch64__)
/* 90 e9 rel32: rel32 changes */
int try_jump(struct inject *x, struct inject_site *s, const uint8_t code[PLAN_BYTES])
{
	uint64_t at = s->pc + 1, landing;
	int32_t rel;
	int err;

	if (code[1] != 0xe9)
		return try_call(x, s, code);
	if (code[0] != 0x90 && code[0] != 0xcc)
		return 0;
	if (crosses_page(at + 1, 4)) {
		s->why = "it is a 1-byte nop, and the jump after it is in two pages";
		return 0;
	}
	if (plan_is_disturbed(x, at + 1, 4, at, 1) || jumps_lead_into(x, at, at + JUMP_NEAR)) {
		s->why = "it is a 1-byte nop, and other code leads to the jump after it";
		return 0;
	}
	err = landing_near(x, at, LANDING_FAR, &landing);
	if (err)
		return err == -ENOSPC ? 0 : err;
	s->resume = jump_target(at, code + 2);
	s->landing = landing;
	s->patch = at + 1;
	s->len = 4;
	memcpy(s->before, code + 2, 4);
	s->opcode = code[1];
	rel = (int32_t)(landing - (at + JUMP_NEAR));
	memcpy(s->after, &rel, 4);
	err = plan_settle(x, s, INJECT_RETARGET, 0);
	return err ? err : 1;
}
#endif
