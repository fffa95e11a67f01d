/* One traced process: the sites of the program that it has mapped, their trampolines, and the
 * memory that these need. */
#ifndef NOPAL_USER_RUN_PROCESS_H
#define NOPAL_USER_RUN_PROCESS_H

#include <sys/types.h>

#include "engine/engine.h"
#include "user/gen/gen.h"
#include "user/memory/store.h"
#include "user/run/remapped.h"

#define NATIVE_MAPPED_MOST 64 /* addresses of one site in one process, at once */

/* What runs at one site, in the order it was added. */
struct native_steps {
	struct native_step *all;
	size_t count, cap;
	size_t done; /* of these the trampoline has */
	struct remapped_site turn;
};

/* Memory for trampolines. */
struct native_area {
	uint64_t start, end;
	uint64_t next;	 /* free from here */
	bool has_inside; /* the functions of inside.h are at its start */
};

struct native_areas {
	struct native_area *all;
	size_t count, cap;
};

/* The files of the process: which attachments have none mapped yet. */
struct native_files {
	bool are_missing;	  /* there are attachments whose files are not mapped yet */
	bool may_come;		  /* one of these may be loaded later, or another one again */
	const struct file *stays; /* of an attachment: it is mapped for good; NULL */
	bool are_read;		  /* its mappings, since the program was extended last */
};

/* The shared memory, as the process has mapped it. */
struct native_shared {
	struct inject_part *parts; /* owned */
	bool is_whole;		   /* since its code cannot map more */
};

/* What the trampolines of the process read without asking. */
struct native_direct {
	struct process_page page;  /* as it was written last */
	unsigned looks, next_look; /* since then; when more memory may be added */
	struct memory_range image; /* of the site that was looked at last */
};

/* The dynamic loader of the process: a thread that has loaded a library waits until the tracer has
 * looked. */
struct native_loader {
	bool waits;	      /* threads that have loaded a library do */
	bool is_unheard;      /* it cannot be made to, though it calls the function */
	bool is_unanswered;   /* of its waits, some were not answered */
	uint64_t heard;	      /* its waits that the tracer has seen */
	uint64_t state;	      /* address of a word that is 0 when the loader is idle */
	uint64_t later_at;    /* when files were seen for which no thread waits; 0: none */
	uint64_t later_waits; /* ... and how many waits there had been by then */
};

/* System calls of trampolines: what forbids them, and where that would be seen. */
struct native_calls {
	bool are_forbidden;   /* it has a seccomp filter: the word of its kept page is 1 */
	bool may_be_filtered; /* ... since it may make one at any moment, unseen */
	bool makes_pages;     /* it has an userfaultfd(2): no calls either */
	bool is_libc_done;    /* its C library was looked at */
	bool lacks_filters;   /* that cannot be changed where it makes filters */
	bool lacks_children;  /* nor where it makes children that share the memory */
};

/* The number of the process among the places of language runtimes (struct lang_place). */
struct native_lang {
	uint64_t number;
	bool is_given;
};

/* Children of fork, which have their parent's sites. */
struct native_forks {
	bool is_child;	   /* it is one, with the process page that it has */
	bool is_over;	   /* it had ended when forked_look() looked ... */
	bool has_children; /* ... and has such children */
};

/* The wait of a program in its agent, until its sites are enabled. */
struct native_wait {
	bool is_waiting;  /* it may be stopped all the time */
	uint64_t late_at; /* when it was found without its agent; 0: that has come */
};

/* What was found while the sites of the process were planned and looked at. */
struct native_found {
	unsigned rereads;  /* of its mappings, as something was where a jump would lead */
	unsigned lost;	   /* sites: native_process_lost(), as far as was reported */
	unsigned shadowed; /* sites with a breakpoint, when they were looked at last */
	bool semaphores;   /* that are not raised yet */
	bool is_crowded;   /* a site is mapped at more than NATIVE_MAPPED_MOST addresses */
};

struct native_process {
	struct inject *x;
	struct inject_site *sites;
	size_t count, cap;
	struct native_steps *steps; /* of each site */
	size_t steps_cap;
	unsigned own; /* of the sites, those that are not of probes */
	struct native_areas areas;
	struct native_files files;
	struct native_shared shared;
	struct native_direct direct;
	struct native_loader loader;
	struct native_calls calls;
	struct native_lang lang;
	struct native_forks forks;
	struct native_found found;
	struct native_wait agent;
	bool is_ready;	 /* its process page is written */
	bool has_execed; /* its number is that of another program by now */
	bool is_shut;	 /* it cannot be looked at any more, only its memory */
};

/* Errors and messages are those of inject_open(). */
int native_process_open(pid_t pid, struct native_process **out, struct diag *d);
/* Has the process room for what a session maps in it? -ENOSPC with a message: it has a limit. */
int native_process_fits(pid_t pid, const struct native_store *s, struct diag *d);
void native_process_close(struct native_process *p); /* NULL is fine; disables nothing */
/* Why no clause can run at the attachment's site here; NULL: it can, or the site is not mapped
 * (yet). */
const char *native_process_problem(struct native_process *p, const struct attach *at);
/* Has it mapped a site of the attachment? */
bool native_process_has(const struct native_process *p, const struct attach *at);
/* The kernel traces it, and with it what cannot be traced beside that. */
void native_process_leave(struct native_process *p, const struct attach *at);
/* May a breakpoint be at `other`, in the same file, while its sites are traced? Not if it has not
 * mapped them yet, since how they will be traced is not known. */
bool native_process_shares(struct native_process *p, const struct attach *at,
			   const struct attach *other);
/* Let the step run at the sites of its attachment that are mapped. The number of sites that can be
 * traced, of `*mapped`; -ENOMEM. */
int native_process_add(struct native_process *p, const struct native_step *step, unsigned *mapped);
/* Map what the jump of a planned site needs, with another plan if the process has mapped something
 * there first. site->form is INJECT_NONE if it is always so. */
int native_process_settle(struct native_process *p, const struct native_store *s,
			  struct inject_site *site, struct diag *d);
/* Sites of clauses that have no form any more, since the process has changed what they need; the
 * step of one of them, and why. */
unsigned native_process_lost(const struct native_process *p, struct native_step *first,
			     const char **why);
/* A site of another kind, which has its trampoline. -ENOMEM. */
int native_process_add_site(struct native_process *p, const struct inject_site *site);
/* Room for code near an address, mapped; *inside: the functions of inside.h near it. */
int native_process_room(struct native_process *p, const struct native_store *s, uint64_t near,
			size_t size, uint64_t *at, uint64_t *inside, struct diag *d);
/* Write code into such room, for which it is not too long, and close it. */
int native_process_write(struct native_process *p, struct native_code *code);
/* How many sites are off, since their image was loaded again, or a breakpoint there is gone?
 * native_process_arm() enables them. */
unsigned native_process_renew(struct native_process *p);
/* Is a site on whose semaphore is not raised? native_process_arm() raises it. */
bool native_process_lacks_semaphores(struct native_process *p);
/* Make the trampolines of what was added, and enable all sites. */
int native_process_arm(struct native_process *p, const struct native_store *s, bool follow,
		       struct diag *d);
/* No site leads to a trampoline any more, and no thread is in one. */
int native_process_disarm(struct native_process *p, struct diag *d);
/* Correct what the trampolines may read directly: at once if some of it was unmapped, after a while
 * if more was mapped. To be called ten times a second. */
int native_process_refresh(struct native_process *p);

/* ---- what process_sites.c and process.c share */

/* A moment, in which what a process is about to do may be done. */
void native_process_pause(void);

#endif
