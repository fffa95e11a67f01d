/* A probe site of a process: how it can become a jump, and whether it is one.
 *
 * A site keeps its bytes except for the few that its form names. doc/user-mode.md has drawings of
 * them. */
#ifndef NOPAL_USER_PATCH_SITE_H
#define NOPAL_USER_PATCH_SITE_H

#include <stdbool.h>

#include "base/diag.h"

struct inject;

/* How a site becomes a jump. */
enum inject_form {
	INJECT_NONE,	  /* it cannot: `why` says why */
	INJECT_NOP10,	  /* 66 2e 0f 1f 84 ..: byte 0 becomes e9, the next four are its offset */
	INJECT_NOP5,	  /* 0f 1f 44 ss dd: ss and dd are chosen, then byte 0 becomes e9 */
	INJECT_PUN,	  /* 90: becomes e9, and the next four bytes, as they are, its offset */
	INJECT_PADDED,	  /* 90 .. c3, then padding: a jump whose last bytes are in the padding */
	INJECT_RETARGET,  /* 90 .. e9 rel32: a jump or call that follows gets another target */
	INJECT_DISPLACED, /* an instruction of 5 bytes or more, which is moved; of the C library
			     only */
	INJECT_RETURN,	  /* c3, then padding: a jump over both, or as a pun; of the loader only */
	INJECT_BRANCH,	  /* aarch64: nop becomes b, in one piece */
	INJECT_FORMS,
};

const char *inject_form_name(
	enum inject_form form); /* "nop10", "nop5", "pun", "padded", "retarget", ... */
#define INJECT_PATCH_MAX 5
#define INJECT_DETOURS	 15 /* breakpoints on some of 4 instructions */
#define INJECT_COPY_MAX	 15

/* Bytes from a site to memory for its code that inject_reserve() has found for another. */
#if defined(__aarch64__)
#define INJECT_REACH 0x4000000u
#else
#define INJECT_REACH 0x30000000u
#endif

/* What was done to the bytes of a site. */
enum site_stage {
	SITE_PLANNED,  /* nothing, or it was given up */
	SITE_ENABLED,  /* they are a jump */
	SITE_DISABLED, /* they were: its image may come and go */
	SITE_STAGES,
};

struct inject_site {
	uint64_t pc;	    /* where its note says it is */
	uint64_t semaphore; /* address of its 16 bits; 0: none */
	enum inject_form form;
	const char *why; /* INJECT_NONE: "its memory cannot be read"; static */
	bool is_taken;	 /* ... or that something is mapped where its jump would lead, now */
	uint64_t patch;	 /* of the bytes that change, the first: the only one for most forms */
	uint8_t len;
	uint8_t before[INJECT_PATCH_MAX], after[INJECT_PATCH_MAX];
	uint8_t opcode;	  /* INJECT_RETARGET: between the nop and `patch`; else 0 */
	uint64_t landing; /* where the jump goes: a second jump is put there, to `body` */
	/* ... and where it goes with a breakpoint on an instruction in its offset */
	uint64_t detours[INJECT_DETOURS];
	uint8_t detour_count;
	bool is_far;	 /* its trampoline may be anywhere */
	bool is_call;	 /* INJECT_RETARGET: the trampoline comes between a call and its target */
	uint64_t resume; /* where the site goes on */
	/* An instruction that is run first then, and where it leads: resume is the former; 0: none.
	 */
	uint64_t copy, copy_end;
	uint8_t copied_len, copied[INJECT_COPY_MAX];
	uint64_t body; /* the trampoline; the caller sets it before inject_enable() */
	enum site_stage stage;
	bool is_raised; /* its semaphore */
	bool is_listed; /* in the ledger of the process, as number ... */
	uint64_t entry;
};

enum inject_state {
	SITE_OFF,
	SITE_ON,
	SITE_SHADOWED, /* a breakpoint is there: events go to its owner */
	SITE_GONE,     /* neither the bytes before nor those written */
};

/* ---- planning */

/* Fill in all from `form` on for the site at site->pc, and reserve what it needs. Always says
 * something: site->form or site->why. -ENOMEM. */
int inject_plan(struct inject *x, struct inject_site *site);
/* Has the process mapped something else where the site's jump leads, before inject_map() could, or
 * just when it was planned? */
bool inject_is_lost(const struct inject *x, const struct inject_site *site);
/* Plan such a site again, by what inject_reread() has found: of any kind, also those of
 * inject_plan_loader() and inject_plan_libc(). -ENOMEM. */
int inject_replan(struct inject *x, struct inject_site *site);
/* Another file is mapped where the site's was: the site has no plan until its file is back, and
 * what it took is free for others. */
int inject_rest(struct inject *x, struct inject_site *site);
/* The site's file is back: plan the site again. site->body is kept if its trampoline is right for
 * the new plan, else 0. -ENOMEM. */
int inject_resume(struct inject *x, struct inject_site *site);
/* Would a breakpoint at the address keep threads from the site's trampoline? */
bool inject_jumps_across(const struct inject_site *site, uint64_t address);

/* ---- writing its bytes */

/* Write the bytes of every site that has a form and a body, and raise its semaphore. Sites whose
 * bytes are no longer those of the plan are left out: `form` becomes INJECT_NONE. */
int inject_enable(struct inject *x, struct inject_site *sites, size_t count, struct diag *d);
int inject_disable(struct inject *x, struct inject_site *sites, size_t count, struct diag *d);
/* The end of a session: disable all its sites, and unmap what was mapped, in one stop. Where a
 * thread is in our code, wait until none is, for at most a second: all that was begun is then
 * complete. */
int inject_disable_all(struct inject *x, struct inject_site *sites, size_t count, struct diag *d);
/* Write bytes while all threads are stopped, and none of them is in code of ours. -EAGAIN: one is.
 */
int inject_write_stopped(struct inject *x, uint64_t address, const void *bytes, size_t len);
enum inject_state inject_look(struct inject *x, const struct inject_site *site);
/* Is a site that was enabled off, because its image was mapped again, or a breakpoint is gone?
 * inject_enable() then enables it again. */
bool inject_renew(struct inject *x, struct inject_site *site);
/* Is the site on, and its semaphore not raised, since its data were mapped later than its code?
 * inject_enable() then raises it. */
bool inject_lacks_semaphore(struct inject *x, struct inject_site *site);

#endif
