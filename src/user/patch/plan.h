/* How a site becomes a jump: what the forms of sites share. */
#ifndef NOPAL_USER_PATCH_PLAN_H
#define NOPAL_USER_PATCH_PLAN_H

#include "user/patch/site.h"
#include "user/ptrace/tracee_state.h"

#if defined(__aarch64__)
#define LANDING_FAR 4 /* b */
#define JUMP_NEAR   4
#else
#define LANDING_FAR 14 /* jmp *target(%rip); target: .quad */
#define JUMP_NEAR   5  /* e9 rel32 */
#endif

#define COPY_ROOM  (INJECT_COPY_MAX + JUMP_NEAR)
#define STACK_STEP 5  /* 48 8d 64 24 08: lea 8(%rsp), %rsp, and -8 */
#define PLAN_BYTES 16 /* at a site that are looked at */
/* Bytes at a site's landing: JUMP_NEAR or LANDING_FAR; of a call, STACK_STEP before them. */
unsigned landing_size(const struct inject_site *s);

/* For the table of forms: 1 when it is the site's form, 0 when it is not, with a reason in s->why
 * if it nearly was; -ENOMEM. */
typedef int try_form_fn(struct inject *x, struct inject_site *s, const uint8_t code[PLAN_BYTES]);
try_form_fn try_jump, try_call, try_padded, try_branch;

/* A form that is not in the table of plan.c: take what it needs. */
int plan_settle(struct inject *x, struct inject_site *s, enum inject_form form, unsigned fixed);
/* A site whose jump has instructions in its offset, `live` bytes that are run from the jump's first
 * on: take its landing, and detours where a breakpoint on one of them leads. `code` is what is at
 * the site, `jump` the jump's bytes. 1; 0: they are not free; -ENOMEM. */
int plan_settle_pun(struct inject *x, struct inject_site *s, const uint8_t code[PLAN_BYTES],
		    const uint8_t jump[JUMP_NEAR], unsigned live);
/* A site, or the loader's `ret`, of which only the first byte becomes a jump, with the next four as
 * its offset: all but its form. 1; 0: it cannot, s->why; -ENOMEM. */
int plan_byte(struct inject *x, struct inject_site *s, const uint8_t code[PLAN_BYTES]);
/* A site in the C library, by the instructions that are moved, of 5 bytes or more; and the site in
 * the loader, by its bytes. 0; -ENOENT, -ENOSPC: it cannot be; -ENOMEM. */
int plan_moved(struct inject *x, uint64_t at, const uint8_t *insn, unsigned len,
	       struct inject_site *s);
int plan_returned(struct inject *x, struct inject_site *s, const uint8_t *code);
/* The site has no plan any more: what it took is free. */
void plan_forget(struct inject *x, struct inject_site *s);
/* Is all that the site's jump needs mapped? */
bool plan_is_mapped(const struct inject *x, const struct inject_site *s);
bool plan_is_disturbed(const struct inject *x, uint64_t patch, unsigned len, uint64_t fixed,
		       unsigned fixed_len);

/* Room in a page of landings that a jump at `near` can lead to. -ENOSPC, -ENOMEM. */
int landing_near(struct inject *x, uint64_t near, unsigned size, uint64_t *out);
/* The bytes of the jump at a landing; how many; 0: `to` is too far. */
unsigned landing_bytes(uint64_t at, uint64_t to, unsigned room, uint8_t out[LANDING_FAR]);
/* Where the jump at an address leads, by the bytes after its e9. */
uint64_t jump_target(uint64_t at, const uint8_t offset[4]);
/* Where the direct jump or call at an address leads, of which `len` bytes are known; 0: it is none,
 * or one with a prefix. */
uint64_t direct_target(const uint8_t *insn, size_t len, uint64_t at);
/* Is a breakpoint of somebody else at a site now? */
bool is_breakpoint(const uint8_t *code);
/* Are these bytes in two pages? Then they are not written in one piece when we are killed. */
static inline bool crosses_page(uint64_t at, unsigned len)
{
	return at / LEAST_PAGE != (at + len - 1) / LEAST_PAGE;
}
/* Why the bytes at a site have no form. */
const char *describe_bytes(const uint8_t code[PLAN_BYTES]);

#endif
