/* The processes of a run: who is followed, who has ended, what they have mapped. One table, which
 * the session and the engines ask, and three sources: what the kernel reports (reports.h), looks at
 * /proc (polls.c, programs.h), and programs that come to the agent's socket (agent_socket.h). A run
 * of all processes has an empty table: every process is one of its own. */
#ifndef NOPAL_WATCH_WATCH_H
#define NOPAL_WATCH_WATCH_H

#include "watch/agent_socket.h"
#include "watch/event.h"
#include "watch/later.h"
#include "watch/reports.h"

enum watch_state {
	STATE_FOLLOWED,
	STATE_LEFT,   /* there before the run: neither it nor its children are followed */
	STATE_UNSEEN, /* a look found no program of it, but no end is reported: it may call exec */
	STATE_REPORTED, /* the kernel has, of its main thread: the next look decides */
};

/* Has the engine of user mode been given the program that the process runs? */
enum program_state {
	PROGRAM_NEW,
	PROGRAM_EXPECTED, /* not yet: its agent may come to the socket */
	PROGRAM_TAKEN,
};

struct watch_process {
	pid_t pid;
	enum watch_state state;
	enum program_state program_state;
	uint64_t program;   /* where its code begins, which is another address after each exec;
			       0: not known */
	uint64_t since;	    /* when it was first seen to run that, ns */
	uint64_t look;	    /* the last one that found it; 0: none */
	uint64_t files;	    /* a hash of what it had mapped when polled last; 0: it is not polled */
#define FILES_NEW 1	    /* ... it is, from now on */
	bool is_refused;    /* one of its programs could not be traced */
	uint64_t traced_at; /* as far as it had files mapped then, ns */
	uint64_t mapped_at; /* a file with probes, after that; 0: none was */
	struct str mapped;  /* ... its path */
};

/* Which images the script's queries for sites are about; there are some to look at unless it is
 * the first. */
enum images_wanted {
	IMAGES_AT_START, /* those that are mapped when the run starts; no other waits */
	IMAGES_WAITING,	 /* those that wait in `later` */
	IMAGES_ALL,	 /* all there are once more: events of the kernel were lost */
};

struct watch {
	pid_t pid;	   /* the chosen process, the first of the table; 0: every process */
	bool has_children; /* the children that it has from now on are followed, too */
	bool wants_images; /* a probe may be in any file that is mapped */
	bool counts_lost;  /* reports that were lost are worth a warning */
	bool polls;	   /* the kernel's reports may not be opened: look from time to time */
	bool is_looked_at; /* programs.h looks at the table */
	bool had_others;   /* the chosen process has had children that are followed */
	struct reports *reports;   /* NULL: there are none */
	struct agent_socket agent; /* that programs of the command come to */
	struct watch_process *all; /* owned */
	size_t count, cap;
	pid_t *waiting; /* in this turn, until what they have mapped is armed; owned */
	size_t waiting_count, waiting_cap;
	uint64_t missed;	/* processes that ended before their files were traced ... */
	struct str missed_file; /* ... of the first */
	uint64_t look;		/* number of the last one */
	uint64_t polled_at;	/* ns */
	enum images_wanted images;
	struct later later; /* images that were mapped meanwhile */
};

/* The chosen process is in the table from now on. -ENOMEM. */
int watch_choose(struct watch *w, pid_t pid, bool has_children);
void watch_free(struct watch *w);
/* May programs come to the agent's socket? */
bool watch_has_agent(const struct watch *w);

/* The row of a process; NULL. It stays until another is added. */
struct watch_process *watch_find(const struct watch *w, pid_t pid);
/* Is the process of a row followed, as far as the kernel has reported? */
bool watch_is_followed(const struct watch_process *p);
/* ... of any number. Of a run of all processes none is. */
bool watch_follows(const struct watch *w, pid_t pid);
/* It is followed from now on, unless it was left before: one that has ended is another.
 * -ENOMEM. */
int watch_add(struct watch *w, pid_t pid);
void watch_remove(struct watch *w, struct watch_process *p);

/* The process waits in this turn; without memory it is as if it did not. */
void watch_wait(struct watch *w, pid_t pid);
bool watch_waits(const struct watch *w, pid_t pid);
/* All that wait are known: what they have mapped is not armed too late. */
void watch_take_waiting(struct watch *w);

/* Take what the sources have: the table, `later` and `images` are as they say. `fn` gets each
 * event, those of processes that are not followed, too. How many events were lost. */
uint64_t watch_read(struct watch *w, watch_event_fn *fn, void *arg);
/* ---- polls.c: without reports, which an ordinary user may not open */
/* Look for what followed processes have mapped since the last look. */
void watch_poll(struct watch *w);

#endif
