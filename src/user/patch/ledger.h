/* The ledger, what `clean` needs. Memory of ours in the process: a head, then one entry for each
 * site and for each piece of memory with code. */
#ifndef NOPAL_USER_PATCH_LEDGER_H
#define NOPAL_USER_PATCH_LEDGER_H

#include "user/patch/site.h"
#include "user/ptrace/tracee_state.h"

#define LEDGER_STEP  (1u << 16) /* its size is a multiple of this */
#define LEDGER_LARGE (1u << 22) /* ... and less than this */
#define LEDGER_MAGIC 0x3373657469736e70u
/* The ledger of version 0.1. */
#define OLD_LEDGER_NAME	 "nopal-sites" /* in /proc/PID/maps: "/memfd:nopal-sites (deleted)" */
#define OLD_LEDGER_SIZE	 (1u << 20)
#define OLD_LEDGER_MAGIC 0x3273657469736e70u

struct ledger_head {
	uint64_t magic;
	uint32_t count;	  /* of entries */
	uint32_t size;	  /* bytes of the ledger; 0 in those of version 0.1 */
	uint64_t tracer;  /* pid */
	uint64_t started; /* when the tracer did: field 22 of /proc/PID/stat */
	uint64_t names;	  /* the pid namespace that it is in, and its number of */
	uint64_t process; /* for which it was made; a child of fork has its parent's number */
};

struct ledger_entry {
	/* len 0: start and end of pages of landings, or with is_whole of bodies; is_raised: they
	   are mapped */
	uint64_t patch, semaphore;
	uint8_t len, is_raised;
	uint8_t before[INJECT_PATCH_MAX], after[INJECT_PATCH_MAX];
	uint8_t is_whole; /* its bytes change in one piece */
	uint8_t unused[3];
};

/* Bytes for the sites that are planned, twice as many that come later, and pages of code. */
uint32_t ledger_size_for(const struct inject *x);
int ledger_start(struct inject *x);
int ledger_end(struct inject *x); /* the session is over */
/* Pages of code that will be mapped, -ENOSPC; they are; they could not be. */
int ledger_add_pages(struct inject *x, const struct range *pages);
int ledger_confirm_last(struct inject *x);
void ledger_drop_last(struct inject *x);
/* Are these pages its tracer's, and not the program's? */
bool ledger_is_confirmed(struct inject *x, const struct ledger_entry *e);
int ledger_forget(struct inject *x, uint64_t ledger, uint64_t number);
bool ledger_is_full(const struct inject *x);
/* Write down the sites before their bytes change. -ENOSPC. */
int ledger_add(struct inject *x, struct inject_site *sites, size_t count);
struct ledger_entry ledger_entry(const struct inject_site *s);
int ledger_mark(struct inject *x, const struct inject_site *s); /* write the site's entry again */
unsigned ledger_find(struct inject *x, uint64_t out[LEDGERS_MOST]); /* addresses; how many */
/* -EPROTO: it is none. */
int ledger_open(struct inject *x, uint64_t ledger, struct ledger_head *out);
uint64_t ledger_size(const struct ledger_head *head); /* bytes */
int ledger_read(struct inject *x, uint64_t ledger, const struct ledger_head *head, uint64_t number,
		struct ledger_entry *out);
/* Is the entry of pages of code that are mapped? */
bool ledger_pages(struct inject *x, const struct ledger_entry *entry, struct range *out);
/* The site's semaphore is not raised any more. */
int ledger_lower(struct inject *x, uint64_t ledger, uint64_t number);
/* Find the ledgers of sessions that are over: how many. -EBUSY with a message, as of
 * ledger_refuse_second(). */
int ledger_find_old(struct inject *x, struct diag *d);
/* ... and use their pages of landings, since jumps may lead to no others. -ENOMEM. */
int ledger_adopt_old(struct inject *x);
/* -EBUSY: there is one of a session that is not over. Sites of two of them would overlap. */
int ledger_refuse_second(struct inject *x, struct diag *d);
bool ledger_tracer_lives(const struct ledger_head *head);
/* Is it of this tracer, or of the process with that number? */
bool ledger_is_of(const struct ledger_head *head, pid_t tracer);

#endif
