/* Semaphores that the kernel cannot raise. It finds the word by its place in the file: in the first
 * writable mapping that has this place. In two cases the program reads another word: where two
 * segments share a page of the file (lld's data that becomes read-only after relocation), and where
 * a process has several copies of a library (dlmopen). Those words we raise in the memory of each
 * process, and lower them at the end.
 *
 * In the words of copies the kernel counts, too, but it may raise one and lower another. Where it
 * would lower 0 it leaves its breakpoint. So each has enough for that while we trace it, and is 0
 * when its site has no breakpoint any more.
 *
 * A child process, the keeper, does both, so that they are lowered after kill -9 of us, too: when
 * it hears no more of us, it lowers what it has raised, and ends. */
#ifndef NOPAL_ENGINE_BPF_RUN_SEMAPHORES_H
#define NOPAL_ENGINE_BPF_RUN_SEMAPHORES_H

#include <sys/types.h>

#include "base/diag.h"
#include "engine/bpf/gen/unit.h"
#include "engine/bpf/run/keeper.h"

struct semaphore {
	const struct file *file;
	uint64_t site; /* offset in the file of a site that has it */
	uint64_t offset;
	int64_t distance; /* in memory, from the site to the word */
	bool is_ours;	  /* the kernel does not count in it */
};

/* A process some of whose words cannot be written yet. */
struct semaphore_wait {
	pid_t pid;
	uint64_t since; /* when it mapped the file, ns */
	bool is_ours;	/* no other raises what is in the file */
};

struct semaphores {
	struct semaphore *items; /* owned */
	size_t count, cap;
	struct semaphore_wait *waits; /* owned */
	size_t wait_count, wait_cap;
	struct keeper keeper;
	bool wants_news;	  /* mappings to come matter: of a file some words of which the
				     kernel does not raise, or of a library, which may have copies */
	uint64_t late, late_most; /* processes that began before their words were raised; ns */
	uint64_t ended;		  /* ... that had ended by then */
	int failed;		  /* why the first word that could not be raised was not; 0: none */
	pid_t failed_in;
	bool is_said; /* ... there was a warning of it */
};

/* Semaphores of these sites, from now on. -ENOMEM. */
int semaphores_add(struct semaphores *s, const struct unit *u);
/* Raise what must be raised in these processes, or in all (count 0). */
void semaphores_raise(struct semaphores *s, const pid_t *pids, size_t count);
/* A process has mapped code: a file with this inode, at this time (ns). */
void semaphores_mapped(struct semaphores *s, pid_t pid, uint64_t inode, uint64_t time);
/* Raise those, also where a file was not wholly mapped the last time; and warn, once, if some could
 * not be raised. */
void semaphores_renew(struct semaphores *s, struct diag *d);
/* Lower all, as keeper_end(); idempotent. */
void semaphores_end(struct semaphores *s);

#endif
