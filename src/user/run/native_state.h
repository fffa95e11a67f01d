/* What the files of the native engine share: native.c opens, runs and stops it, arm_sites.c makes
 * sites of the program's attachments, changes.c looks at the traced processes while it runs. */
#ifndef NOPAL_USER_RUN_NATIVE_STATE_H
#define NOPAL_USER_RUN_NATIVE_STATE_H

#include "engine/engine.h"
#include "user/run/listener.h"
#include "user/run/loads.h"
#include "user/run/places.h"
#include "user/run/process.h"
#include "watch/missed.h"
#include "watch/programs.h"

#define AGENTS_AT_ONCE 64

/* A child of fork that has loaded a library. */
struct forked_child {
	struct native_process *parent;
	pid_t pid;
	uint64_t waits; /* that it has made */
};

/* Who was heard and waits: threads that have loaded a library, and programs with the agent. */
struct native_waiting {
	bool any_library;
	uint64_t asked;	      /* the last of them */
	uint64_t asked_heard; /* ... when forked_hear() was called last */
	int64_t missing;      /* waits until then that no process has counted */
	bool are_known;	      /* those whose threads wait: no other need be looked at */
	struct forked_child *forked;
	size_t forked_count, forked_cap;
	unsigned agent_count;
	int agents[AGENTS_AT_ONCE]; /* connections; closing one lets its program go on */
	pid_t pids[AGENTS_AT_ONCE];
};

struct native {
	struct engine engine; /* first: what others hold */
	struct engine_options options;
	struct engine *interp; /* runs clauses of the tracer */
	struct native_store *store;
	struct inject_known *known; /* of the traced processes */
	struct native_loads loads;
	/* The first is the one that was chosen, unless that cannot be traced, or not yet. */
	struct native_process **processes;
	size_t process_count, process_cap;
	struct native_waiting waiting;
	struct listener listener;
	const struct program **parts; /* the program, and its extensions */
	size_t part_count, part_cap;
	int timer_fd;		       /* readable when it is time to look at the rings */
	int wait_fd;		       /* ... or when there is something else to do */
	uint64_t pause;		       /* ns, of that timer */
	uint64_t look_at;	       /* when programs and files are looked at next */
	uint64_t guard_at;	       /* when the sites are looked at next */
	uint64_t clock_at;	       /* when the kernel's clock is */
	bool has_other_clock;	       /* than the TSC: clauses that need a time are refused */
	uint64_t forked_looked_at;     /* when forked_look() did */
	unsigned off;		       /* times that sites were off for a moment */
	struct native_places left_out; /* sites that cannot be traced, as far as was reported */
	unsigned late;		       /* programs that began before they were traced */
	bool has_sites;		       /* the program has attachments in traced processes */
	bool any_reached;	       /* ... and one of them had such a site */
	unsigned unreached;	       /* processes with programs that cannot be traced */
	unsigned crowded;	       /* processes with a file mapped too often */
	unsigned shut;		       /* processes that cannot be looked at any more */
	unsigned unread;	       /* processes that may get a filter unseen */
	unsigned vforking;	       /* ... whose children of vfork() look like their threads */
	unsigned unheard;	       /* ... whose loader does not wait */
	unsigned filtered;	       /* processes that got a filter, where no more can be done */
	uint64_t langs;		       /* numbers of struct lang_place that were given */
	uint64_t langs_taken;	       /* functions before this one are known */
	bool agents_wait;	       /* more programs than were looked at in one turn */
	uint64_t given_up;	       /* times that programs went on before they were looked at */
	pid_t armed_pid;	       /* whose sites could not be restored at the end */
	int armed_err;		       /* ... -errno */
	unsigned disturbed;  /* sites with breakpoints of others at the end, not in a warning */
	unsigned later;	     /* files that were mapped before they were traced */
	bool is_refused;     /* the process that was chosen cannot be traced */
	uint64_t stopped_at; /* ns */
	uint64_t uncleaned;  /* children that were not reached at the end */
	bool is_attached, is_stopped, is_over;
	bool has_left; /* the memory was given back, as far as could be */
};

/* A process with none of the sites yet; the engine closes it. */
int native_open_process(struct native *e, pid_t pid, struct native_process **out, struct diag *d);
/* The command is at its entry point: as engine_ops.note. */
int native_enter(struct native *e, struct diag *d);
/* The tracer goes on, and is not gone: threads may wait for it. */
void native_beat(const struct native *e);
/* May a thread wait for us that has loaded a library? */
bool native_listens(const struct native *e);
/* Once a thread may wait, its wait makes wait_fd readable. */
void native_start_listening(struct native *e);

/* ---- arm_sites.c */

/* Sites of a program, and those that cannot be traced somewhere. */
struct native_left_out {
	struct native_places sites, all;
	struct native_step *steps; /* of each of `sites`: the first clause, and why */
	const char **why;
	size_t step_cap, why_cap;
	bool any_good; /* one can be traced somewhere */
};

/* The sites in a process of all attachments of `p`; 0 or -errno. */
int native_add_clauses(struct native_process *process, const struct program *p);
/* Add the sites of `p`, and those that the process has mapped and that cannot be traced. -ENOMEM.
 */
int native_find_left_out(struct native_process *process, const struct program *p,
			 struct native_left_out *left);
/* Some are left out with a warning; if that is all, there is nothing to trace: -ENOTSUP. */
int native_judge_left_out(struct native *e, const struct native_left_out *left, struct diag *d);
/* ... in files that were mapped later, where others are traced already. Each is reported once.
 * -ENOMEM. */
int native_say_left_out(struct native *e, const struct native_left_out *left, struct diag *d);
void native_left_out_free(struct native_left_out *left);
/* Arm the sites that were added. A process that has ended is all right. */
int native_arm(struct native *e, struct native_process *p, struct diag *d);

/* ---- lang_places.c */

/* A process that is armed for the first time has a place of its own for what follows. */
void native_langs_number(struct native *e, struct native_process *p, struct diag *d);
/* Tell the code in the process where its language runtimes are. */
void native_langs_see(struct native *e, const struct native_process *p);
/* Take the functions that were met. */
void native_langs_take(struct native *e);

/* ---- new_programs.c */

/* The process with this number that runs the same program as when it was opened; NULL. */
struct native_process *native_find_process(const struct native *e, pid_t pid);
/* A process that was met later cannot be traced: a warning, unless it has ended. */
void native_say_untraced(struct native *e, pid_t pid, int err, const struct diag *said,
			 struct diag *d);

/* Programs with the agent, which wait: note them; look at those and let them go on; let all go on,
 * from now on. -ENOMEM. */
void native_accept_agents(struct native *e);
int native_answer_agents(struct native *e, struct diag *d);
void native_stop_agents(struct native *e);
/* Programs that do not wait. */
int native_look_for_programs(struct native *e, struct diag *d);
/* A process that was found without its agent: if that has not come for long, say so. */
void native_judge_late(struct native *e, struct native_process *p, struct diag *d);
void native_say_late(struct native *e, struct native_process *p, struct diag *d);

/* ---- changes.c */

/* Trace the files that are mapped by now; `is_early`: nothing of them has run. */
int native_look_at_files(struct native *e, struct native_process *p, bool is_early, struct diag *d);

/* As engine_ops.note. */
int native_note(struct engine *engine, const struct watch_event *event, struct diag *d);
/* As engine_ops.rearm: what a turn of the loop looks at. */
int native_rearm(struct engine *engine, struct diag *d);
/* Files that were mapped while no thread waited, and of which nothing was said yet. */
unsigned native_count_late(const struct native *e);
/* Sites that others have changed since the last look at them. */
unsigned native_count_disturbed(const struct native *e);

#endif
