/* Sites whose nop is followed by a jump: the jump gets another target, and the trampoline goes on
 * where it led. The site's own byte stays as it is, so a breakpoint can be there, too.
 *
 *	90             90
 *	e9 rel32       e9 rel32'
 *
 * That is the same only if nothing else jumps to that jump. Compilers can make a jump table that
 * does, which is not looked for: they make its entries lead to where the jump leads. Direct jumps
 * are: all code of the image is searched for them. */
#include "inject/inside.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/arch.h"

#define CHUNK	  (1u << 20)
#define OVERLAP	  16
#define JUMP	  5	       /* e9 rel32 */
#define CODE_MOST (256u << 20) /* of one image; beyond it no jump is changed */
#define BACK	  15	       /* starts of decoding before a byte */
#define VOTES	  5	       /* of these that must meet at an instruction */

/* Sites of one mapping whose jump nobody else is known to use. */
struct candidates {
	struct inject *x;
	struct inject_site **sites; /* by pc */
	bool *is_used;		    /* by another jump */
	size_t count;
	uint8_t filter[8192]; /* a bit for the low 16 bits of each jump's address */
};

static bool is_candidate(struct inject *x, const struct inject_site *s)
{
	uint8_t code[2];

	return s->form == INJECT_NONE && !inject_read(x, s->pc, code, sizeof(code)) &&
	       (code[0] == 0x90 || code[0] == 0xcc) && code[1] == 0xe9;
}

static void add_candidate(struct candidates *c, struct inject_site *s)
{
	uint16_t low = (uint16_t)(s->pc + 1);

	c->sites[c->count++] = s;
	c->filter[low >> 3] |= (uint8_t)(1u << (low & 7));
}

static ptrdiff_t find_candidate(const struct candidates *c, uint64_t target)
{
	uint16_t low = (uint16_t)target;

	if (!(c->filter[low >> 3] >> (low & 7) & 1))
		return -1;
	for (size_t i = 0; i < c->count; i++)
		if (c->sites[i]->pc + 1 == target)
			return (ptrdiff_t)i;
	return -1;
}

/* Does an instruction begin at `at`? Decoding from bytes before it falls into step within a few
 * instructions, so most of the starts that are tried meet there if one does. */
static bool is_instruction(const uint8_t *code, size_t len, size_t at)
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

static uint64_t target_of(const uint8_t *code, size_t len, size_t i, uint64_t address)
{
	int32_t rel;

	if ((code[i] == 0xe8 || code[i] == 0xe9) && i + 5 <= len) {
		memcpy(&rel, code + i + 1, 4);
		return address + i + 5 + (uint64_t)(int64_t)rel;
	}
	if (code[i] == 0x0f && i + 6 <= len && (code[i + 1] & 0xf0) == 0x80) {
		memcpy(&rel, code + i + 2, 4);
		return address + i + 6 + (uint64_t)(int64_t)rel;
	}
	if ((code[i] == 0xeb || (code[i] & 0xf0) == 0x70 || (code[i] & 0xfc) == 0xe0) &&
	    i + 2 <= len)
		return address + i + 2 + (uint64_t)(int64_t)(int8_t)code[i + 1];
	return 0;
}

static void search_chunk(struct candidates *c, const uint8_t *code, size_t len, uint64_t address)
{
	for (size_t i = 0; i < len; i++) {
		uint64_t target = target_of(code, len, i, address);
		ptrdiff_t found = target ? find_candidate(c, target) : -1;

		if (found >= 0 && !c->is_used[found] && is_instruction(code, len, i))
			c->is_used[found] = true;
	}
}

static int search(struct candidates *c, const struct range *r)
{
	uint8_t *code = malloc(CHUNK + OVERLAP);
	int err = code ? 0 : -ENOMEM;

	for (uint64_t at = r->start; at < r->end && !err; at += CHUNK) {
		size_t len =
			r->end - at < CHUNK + OVERLAP ? (size_t)(r->end - at) : CHUNK + OVERLAP;

		err = inject_read(c->x, at, code, len);
		if (!err)
			search_chunk(c, code, len, at);
	}
	free(code);
	return err;
}

static int retarget(struct inject *x, struct inject_site *s)
{
	uint8_t jump[JUMP];
	uint64_t at = s->pc + 1, page;
	int32_t rel;
	int err = inject_read(x, at, jump, sizeof(jump));

	if (err || jump[0] != 0xe9 || plan_is_disturbed(x, at + 1, 4, at, 1))
		return 0;
	err = landing_near(x, at, &page);
	if (err)
		return err == -ENOSPC ? 0 : err;
	memcpy(&rel, jump + 1, sizeof(rel));
	s->resume = at + JUMP + (uint64_t)(int64_t)rel;
	s->landing = page;
	s->patch = at + 1;
	s->len = 4;
	memcpy(s->before, jump + 1, 4);
	rel = (int32_t)(s->landing - (at + JUMP));
	memcpy(s->after, &rel, 4);
	err = plan_settle(x, s, INJECT_RETARGET, 0);
	s->why = NULL;
	return err;
}

static int plan_range(struct candidates *c, const struct range *r, struct inject_site *sites,
		      size_t count)
{
	int err = 0;

	c->count = 0;
	memset(c->filter, 0, sizeof(c->filter));
	for (size_t i = 0; i < count; i++)
		if (sites[i].pc >= r->start && sites[i].pc < r->end &&
		    is_candidate(c->x, &sites[i]))
			add_candidate(c, &sites[i]);
	if (!c->count || r->end - r->start > CODE_MOST)
		return 0;
	memset(c->is_used, 0, c->count);
	err = search(c, r);
	for (size_t i = 0; i < c->count && !err; i++) {
		if (c->is_used[i])
			c->sites[i]->why = "it is a 1-byte nop, and other code leads to the jump "
					   "after it";
		else
			err = retarget(c->x, c->sites[i]);
	}
	return err;
}

int inject_plan_jumps(struct inject *x, struct inject_site *sites, size_t count)
{
	struct candidates *c = calloc(1, sizeof(*c));
	int err = 0;

	if (!c)
		return -ENOMEM;
	c->x = x;
	c->sites = calloc(count + 1, sizeof(struct inject_site *));
	c->is_used = calloc(count + 1, 1);
	if (!c->sites || !c->is_used)
		err = -ENOMEM;
	for (size_t i = 0; i < x->space.file_count && !err; i++)
		if (x->space.files[i].is_code)
			err = plan_range(c, &x->space.files[i], sites, count);
	free(c->sites);
	free(c->is_used);
	free(c);
	return err;
}
