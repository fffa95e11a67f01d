/* How a site can become a jump: decided from the bytes that are in memory, not those of the file.
 *
 * Nothing is displaced. A form changes the bytes of a nop, or the target of a jump, so the first
 * byte that changes always begins an instruction, and no thread can be between two bytes that
 * change. */
#include "user/patch/plan.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "base/array.h"
#include "user/patch/map.h"

#if defined(__aarch64__)
#define REACH 0x7000000ull /* so that from landings, too, trampolines are in reach */
#else
#define REACH 0x7ff00000ull
#endif
#define NEAR	     0x40000000ull /* from here, trampolines of the site are in reach */
#define NOP10_LENGTH 10

static const char no_memory[] = "no memory";

uint64_t jump_target(uint64_t at, const uint8_t offset[4])
{
	int32_t rel;

	memcpy(&rel, offset, sizeof(rel));
	return at + JUMP_NEAR + (uint64_t)(int64_t)rel;
}

uint64_t direct_target(const uint8_t *insn, size_t len, uint64_t at)
{
	if (len >= JUMP_NEAR && (insn[0] == 0xe8 || insn[0] == 0xe9))
		return jump_target(at, insn + 1);
	if (len > JUMP_NEAR && insn[0] == 0x0f && (insn[1] & 0xf0) == 0x80)
		return jump_target(at + 1, insn + 2);
	if (len >= 2 && (insn[0] == 0xeb || (insn[0] & 0xf0) == 0x70 || (insn[0] & 0xfc) == 0xe0))
		return at + 2 + (uint64_t)(int64_t)(int8_t)insn[1];
	return 0;
}

/* The instruction that jumps: a breakpoint on it, or within its offset, and it leads elsewhere. Of
 * the program's own jump or call only the offset is written. */
bool inject_jumps_across(const struct inject_site *s, uint64_t address)
{
#if defined(__aarch64__)
	return s->form != INJECT_NONE && address == s->pc;
#else
	uint64_t jump = s->patch - (s->form == INJECT_RETARGET);

	return s->form != INJECT_NONE && address >= jump && address < jump + JUMP_NEAR;
#endif
}

unsigned landing_size(const struct inject_site *s)
{
	uint64_t distance = s->landing > s->pc ? s->landing - s->pc : s->pc - s->landing;

	return (distance < NEAR && !s->is_far ? JUMP_NEAR : LANDING_FAR) +
	       (s->is_call ? STACK_STEP : 0);
}

/* ---- sites that are near each other */

/* Bytes that one site changes must not be another's jump offset. */
bool plan_is_disturbed(const struct inject *x, uint64_t patch, unsigned len, uint64_t fixed,
		       unsigned fixed_len)
{
	for (size_t i = 0; i < x->claim_count; i++) {
		const struct claim *c = &x->claims[i];

		if ((patch < c->fixed_end && c->fixed < patch + len) ||
		    (fixed < c->patch_end && c->patch < fixed + fixed_len) ||
		    (patch < c->patch_end && c->patch < patch + len))
			return true;
	}
	return false;
}

static int add_claim(struct inject *x, const struct inject_site *s, unsigned fixed_len)
{
	uint64_t fixed = s->patch + s->len;

	if (array_grow(x->claims, x->claim_count, x->claim_cap))
		return -ENOMEM;
	x->claims[x->claim_count++] = (struct claim){
		.patch = s->patch,
		.patch_end = s->patch + s->len,
		.fixed = fixed,
		.fixed_end = fixed + fixed_len,
	};
	return 0;
}

int plan_settle(struct inject *x, struct inject_site *s, enum inject_form form, unsigned fixed)
{
	int err = space_take(&x->space, s->landing, landing_size(s), false);

	if (!err)
		err = add_claim(x, s, fixed);
	s->form = err ? INJECT_NONE : form;
	return err;
}

/* ---- the forms of x86-64 */

#if !defined(__aarch64__)

/* The bytes of the jump's offset that begin an instruction, a bit for each. */
static unsigned find_starts(const uint8_t code[PLAN_BYTES], unsigned live)
{
	unsigned starts = 0, step = 1;

	for (unsigned at = 1; at < live && step; at += step) {
		starts |= 1u << (at - 1);
		step = instruction_length(arch_host(),
					  str_of((const char *)code + at, PLAN_BYTES - at));
	}
	return starts;
}

/* Where the jump leads with breakpoints on any of these instructions, on one or on several. */
static void find_detours(struct inject_site *s, const uint8_t code[PLAN_BYTES],
			 const uint8_t jump[JUMP_NEAR], unsigned live)
{
	unsigned starts = find_starts(code, live);

	s->detour_count = 0;
	for (unsigned chosen = starts; chosen; chosen = (chosen - 1) & starts) {
		uint8_t offset[4];

		for (unsigned i = 0; i < sizeof(offset); i++)
			offset[i] = chosen >> i & 1 ? 0xcc : jump[i + 1];
		s->detours[s->detour_count++] = jump_target(s->pc, offset);
	}
}

int plan_settle_pun(struct inject *x, struct inject_site *s, const uint8_t code[PLAN_BYTES],
		    const uint8_t jump[JUMP_NEAR], unsigned live)
{
	int err = space_take(&x->space, s->landing, landing_size(s), false);

	find_detours(s, code, jump, live);
	for (unsigned i = 0; i < s->detour_count && !err; i++) {
		if (!space_has_room(&x->space, s->detours[i], JUMP_NEAR)) {
			while (i--)
				space_give_back(&x->space, s->detours[i], JUMP_NEAR);
			space_give_back(&x->space, s->landing, landing_size(s));
			s->detour_count = 0;
			return 0;
		}
		err = space_take(&x->space, s->detours[i], JUMP_NEAR, false);
	}
	if (!err)
		err = add_claim(x, s, JUMP_NEAR - s->len);
	return err ? err : 1;
}

/* 66 2e 0f 1f 84 ..  becomes  e9 2e 0f 1f 84 ..: a jump to 1.94 GiB below */
static int try_nop10(struct inject *x, struct inject_site *s, const uint8_t code[PLAN_BYTES])
{
	static const uint8_t nop10[] = {0x66, 0x2e, 0x0f, 0x1f, 0x84};
	unsigned skip = memcmp(code, nop10, sizeof(nop10)) ? 1 : 0;
	uint64_t at = s->pc + skip;
	int err;

	if (memcmp(code + skip, nop10, sizeof(nop10)) ||
	    (skip && code[0] != 0x90 && code[0] != 0xcc))
		return 0;
	s->landing = jump_target(at, code + skip + 1);
	if (!space_has_room(&x->space, s->landing, landing_size(s)) ||
	    plan_is_disturbed(x, at, 1, at + 1, 4)) {
		s->why = "the address where the jump in its nop leads is not free";
		s->is_taken = !space_has_room(&x->space, s->landing, landing_size(s));
		return 0;
	}
	s->patch = at;
	s->len = 1;
	s->before[0] = 0x66;
	s->after[0] = 0xe9;
	s->resume = at + NOP10_LENGTH;
	err = plan_settle(x, s, INJECT_NOP10, 4);
	return err ? err : 1;
}

/* A landing for the nop5 at `at`, with the ss and dd of the site before if that is free. */
static bool choose_offset(struct inject *x, uint64_t at, uint8_t offset[4])
{
	unsigned first = (unsigned)x->dd << 8 | x->ss;

	for (unsigned i = 0; i < 1u << 16; i++) {
		unsigned chosen = (first - i) & 0xffff; /* downwards: heaps grow upwards */

		offset[2] = (uint8_t)chosen;
		offset[3] = (uint8_t)(chosen >> 8);
		if (!space_has_room(&x->space, jump_target(at, offset), LANDING_FAR))
			continue;
		x->ss = offset[2];
		x->dd = offset[3];
		return true;
	}
	return false;
}

/* 0f 1f 44 ss dd  becomes  e9 1f 44 ss dd */
static int try_nop5(struct inject *x, struct inject_site *s, const uint8_t code[PLAN_BYTES])
{
	static const uint8_t nop5[] = {0x0f, 0x1f, 0x44};
	unsigned skip = memcmp(code, nop5, sizeof(nop5)) ? 1 : 0;
	uint8_t offset[4] = {0x1f, 0x44};
	uint64_t at = s->pc + skip;
	int err;

	if (memcmp(code + skip, nop5, sizeof(nop5)) || (skip && code[0] != 0x90 && code[0] != 0xcc))
		return 0;
	if (plan_is_disturbed(x, at, JUMP_NEAR, at, 0) || !choose_offset(x, at, offset)) {
		s->why = "no address that a jump in its nop can lead to is free";
		return 0;
	}
	s->patch = at;
	s->len = JUMP_NEAR;
	memcpy(s->before, code + skip, JUMP_NEAR);
	s->after[0] = 0xe9;
	memcpy(s->after + 1, offset, sizeof(offset));
	s->landing = jump_target(at, offset);
	s->resume = at + JUMP_NEAR;
	err = plan_settle(x, s, INJECT_NOP5, 0);
	return err ? err : 1;
}

/* Is a byte a breakpoint now that begins an instruction in the 4 bytes after the nop? */
static bool has_breakpoint(const uint8_t code[PLAN_BYTES])
{
	unsigned step;

	for (unsigned at = 1; at < JUMP_NEAR; at += step) {
		step = instruction_length(arch_host(),
					  str_of((const char *)code + at, PLAN_BYTES - at));
		if (code[at] == 0xcc || !step)
			return true;
	}
	return false;
}

/* b w x y z  becomes  e9 w x y z. A breakpoint that somebody puts on one of the instructions in
 * w x y z later changes the offset: where it leads then, a jump to the breakpoint is put, too. */
int plan_byte(struct inject *x, struct inject_site *s, const uint8_t code[PLAN_BYTES])
{
	int done;

	s->why = "it is a 1-byte nop, and the bytes after it do not lead to a free address";
	s->landing = jump_target(s->pc, code + 1);
	if (plan_is_disturbed(x, s->pc, 1, s->pc + 1, 4) || has_breakpoint(code)) {
		s->why = "the bytes after it are another probe's, or a breakpoint";
		return 0;
	}
	s->is_taken = !space_has_room(&x->space, s->landing, landing_size(s));
	if (s->is_taken)
		return 0;
	s->patch = s->pc;
	s->len = 1;
	s->before[0] = code[0];
	s->after[0] = 0xe9;
	s->resume = s->pc + 1;
	done = plan_settle_pun(x, s, code, code, JUMP_NEAR);
	if (!done)
		s->why = "it is a 1-byte nop, and with a breakpoint after it the jump would lead "
			 "to an address that is not free";
	s->is_taken = !done;
	return done;
}

static int try_pun(struct inject *x, struct inject_site *s, const uint8_t code[PLAN_BYTES])
{
	int done = code[0] == 0x90 ? plan_byte(x, s, code) : 0;

	s->form = done == 1 ? INJECT_PUN : INJECT_NONE;
	return done;
}

unsigned landing_bytes(uint64_t at, uint64_t to, unsigned room, uint8_t out[LANDING_FAR])
{
	int64_t distance = (int64_t)(to - (at + JUMP_NEAR));
	int32_t offset = (int32_t)distance;

	if (offset == distance) {
		out[0] = 0xe9;
		memcpy(out + 1, &offset, sizeof(offset));
		return JUMP_NEAR;
	}
	if (room < LANDING_FAR)
		return 0;
	memcpy(out, "\xff\x25\0\0\0\0", 6); /* jmp *0(%rip) */
	memcpy(out + 6, &to, sizeof(to));
	return LANDING_FAR;
}

bool is_breakpoint(const uint8_t *code)
{
	return code[0] == 0xcc || code[0] == 0xe8; /* a kernel uprobe may have become a call */
}

const char *describe_bytes(const uint8_t code[PLAN_BYTES])
{
	if (code[0] == 0xcc)
		return "a breakpoint is there, of a debugger or a kernel uprobe";
	if (code[0] == 0xe8)
		return "a call is there, perhaps of a kernel uprobe";
	if (code[0] == 0xe9)
		return "a jump is there: another tracer's, or one that 'nopal clean' removes";
	return "the instruction is not a nop";
}
#endif

static const struct {
	const char *name;
	try_form_fn *try;
} forms[INJECT_FORMS] = {
/* ORDER: the first that fits is taken */
#if defined(__aarch64__)
	[INJECT_NONE] = {"none", NULL},
	[INJECT_RETURN] = {"return", NULL}, /* loader.c */
	[INJECT_BRANCH] = {"branch", try_branch},
#else
	[INJECT_NONE] = {"none", NULL},		  [INJECT_NOP10] = {"nop10", try_nop10},
	[INJECT_NOP5] = {"nop5", try_nop5},	  [INJECT_PUN] = {"pun", try_pun},
	[INJECT_PADDED] = {"padded", try_padded}, [INJECT_RETARGET] = {"retarget", try_jump},
	[INJECT_DISPLACED] = {"displaced", NULL}, /* when no other fits */
	[INJECT_RETURN] = {"return", NULL},	  /* loader.c */
#endif
};

const char *inject_form_name(enum inject_form form)
{
	return form < COUNT(forms) && forms[form].name ? forms[form].name : "none";
}

/* ---- a site */

/* The claim of a site ends where its own bytes do. */
void plan_forget(struct inject *x, struct inject_site *s)
{
	for (size_t i = 0; i < x->claim_count; i++)
		if (x->claims[i].patch == s->patch) {
			x->claims[i] = x->claims[--x->claim_count];
			break;
		}
	space_give_back(&x->space, s->landing, landing_size(s));
	for (unsigned i = 0; i < s->detour_count; i++)
		space_give_back(&x->space, s->detours[i], JUMP_NEAR);
	if (s->copy)
		space_give_back(&x->space, s->copy, COPY_ROOM);
}

bool plan_is_mapped(const struct inject *x, const struct inject_site *s)
{
	if (!space_is_mapped(&x->space, s->landing, landing_size(s)))
		return false;
	for (unsigned i = 0; i < s->detour_count; i++)
		if (!space_is_mapped(&x->space, s->detours[i], JUMP_NEAR))
			return false;
	return !s->copy || space_is_mapped(&x->space, s->copy, COPY_ROOM);
}

static int plan_bytes(struct inject *x, struct inject_site *s)
{
	uint8_t code[PLAN_BYTES];
	int done = 0;

	if (inject_read(x, s->pc, code, sizeof(code))) {
		s->why = "its memory cannot be read";
		return 0;
	}
	s->why = describe_bytes(code);
	for (size_t i = 0; i < (SPARE_MOST + 1) * COUNT(forms) && !done; i++) {
		x->space.spare = (uint8_t)(i / COUNT(forms));
		if (forms[i % COUNT(forms)].try)
			done = forms[i % COUNT(forms)].try(x, s, code);
	}
	x->space.spare = 0;
	if (done == 1)
		s->why = NULL;
	return done < 0 ? done : 0;
}

int inject_plan(struct inject *x, struct inject_site *s)
{
	*s = (struct inject_site){.pc = s->pc, .semaphore = s->semaphore, .why = no_memory};
	return plan_bytes(x, s);
}

bool inject_is_lost(const struct inject *x, const struct inject_site *s)
{
	if (s->form == INJECT_NONE)
		return s->is_taken;
	return s->stage == SITE_PLANNED && !plan_is_mapped(x, s);
}

static int replan_own(struct inject *x, struct inject_site *s)
{
	struct inject_site old = *s;
	int err;

	plan_forget(x, s);
	if (old.form == INJECT_RETURN && old.len == 1) { /* there is one landing for it */
		*s = (struct inject_site){.pc = old.pc, .why = old.why};
		return 0;
	}
	if (old.form == INJECT_RETURN) {
		*s = (struct inject_site){.pc = old.pc, .body = old.body};
		err = plan_returned(x, s, old.before);
	} else {
		err = plan_moved(x, old.pc, old.copied, old.copied_len, s);
	}
	if (err)
		*s = (struct inject_site){.pc = old.pc, .why = no_memory};
	return err == -ENOMEM ? err : 0;
}

int inject_replan(struct inject *x, struct inject_site *s)
{
	if (s->form == INJECT_RETURN || (s->form == INJECT_DISPLACED && s->patch == s->pc))
		return replan_own(x, s);
	if (s->form != INJECT_NONE)
		plan_forget(x, s);
	return inject_plan(x, s);
}

static uint64_t find_near(const struct inject *x, uint64_t near, size_t size)
{
	uint64_t low = near > REACH / 2 ? near - REACH / 2 : 0;

	return space_find(&x->space, size, low, near + REACH / 2);
}

/* A page is shared by the landings of one neighbourhood. */
int landing_near(struct inject *x, uint64_t near, unsigned size, uint64_t *out)
{
	uint64_t distance = x->shelf > near ? x->shelf - near : near - x->shelf;

	if (x->shelf + size > x->shelf_end || distance > REACH / 2) {
		uint64_t page = find_near(x, near, PAGE);

		if (!page)
			return -ENOSPC;
		x->shelf = page + INJECT_MARGIN;
		x->shelf_end = page + PAGE;
	}
	*out = x->shelf;
	x->shelf += (size + 15) & ~15u;
	return 0;
}

int inject_reserve(struct inject *x, uint64_t near, size_t size, uint64_t *out)
{
	size_t whole = (INJECT_MARGIN + size + PAGE - 1) & ~(size_t)(PAGE - 1);
	uint64_t start = find_near(x, near, whole);
	int err = start ? space_take(&x->space, start, whole, true) : -ENOSPC;

	if (!err)
		*out = start + INJECT_MARGIN;
	return err;
}
