/* One tracing run, from the script's text to the last map: the definition of struct nopal_trace,
 * and the steps that trace.c calls in order. */
#ifndef NOPAL_SESSION_SESSION_H
#define NOPAL_SESSION_SESSION_H

#include <pthread.h>
#include <signal.h>

#include "base/clock.h"
#include "base/public.h"
#include "engine/engine.h"
#include "lang/lang.h"
#include "nopal/trace.h"
#include "report/report.h"
#include "script/script.h"
#include "symbols/symbols.h"
#include "unwind/tables.h"
#include "watch/watch.h"

/* ---- child.c: The command of `-c`: started stopped, let go once everything is attached. It is a
 * child of ours under ptrace only until then. If we die before its exec, so does it; after that it
 * simply runs.
 */

struct child {
	pid_t pid;	  /* 0: none */
	bool stopped;	  /* still ours to release */
	bool is_at_entry; /* of its program, of which nothing has run */
	bool gone;	  /* reaped */
	int status;	  /* of waitpid, once gone */
	int report;	  /* says what became of its exec, which is still to come; -1: it has run */
};

/* Split `command` as a shell would (quotes, $HOME; no command substitution), and start a child that
 * stops before the exec of it, so that this, too, can be traced. `more`: "NAME=TEXT" for its
 * environment, up to a NULL. */
int child_start(const char *command, char *const *more, struct child *out, struct diag *d);
/* Let it call exec, if it has not, and stop it before the program's first instruction. */
int child_exec(struct child *c, const char *command, struct diag *d);
/* After that: let it run to the entry point of its program. Its libraries are mapped then, so that
 * probes in them can be found. Where the host's CPU is not known it stays where it is. */
int child_run_to_entry(struct child *c, struct diag *d);
/* Has it ended? Then its status is known. Does not wait. */
bool child_has_ended(struct child *c);
/* The exit code as a shell shows it: 128 + N for signal N; -1: there is none (yet). */
int child_code(const struct child *c);
int child_release(struct child *c, struct diag *d);
/* Ask it to end (SIGTERM) if it has not yet, and reap it if it does so within a second. */
void child_end(struct child *c);

/* ---- trace.c: The times at which interval clauses are due. */

struct timer {
	uint32_t clause; /* with an interval of this period, or several */
	uint64_t period; /* ns */
	uint64_t due;	 /* CLOCK_MONOTONIC, ns */
};

struct timer_list {
	struct timer *timers; /* in the program's arena */
	size_t count, cap;
};

/* One timer for each period of a clause's intervals. -ENOMEM. */
int clock_init(struct timer_list *c, const struct program *p);

/* The engines that a run may use. */
struct engine_choice {
	const struct engine_ops *kinds[ENGINES_MAX]; /* in order of preference */
	unsigned count;
};

/* ---- stacks.c: What the traced processes map, for walks over their stacks. */

struct stack_watch {
	uint64_t *inodes; /* of the files that the script's probes are in; owned */
	size_t count, cap;
	bool of_all;	   /* stacks of any process may be asked for */
	bool names_of_all; /* a clause runs in any process: it may ask for the name of an address */
	pid_t *stale; /* processes that have mapped something since their maps were read; owned */
	size_t stale_count, stale_cap;
	struct lang_images jvms; /* files of JVMs that were looked at */
	pthread_t reader;	 /* reads what processes map, while the engine is built */
	bool is_reading;
};

/* ---- the session */

/* How far a run is. ORDER: it only goes down this list, and is over from SESSION_OVER on. */
enum session_state {
	SESSION_OPEN,	  /* compiled and loaded; nothing is armed */
	SESSION_ATTACHED, /* events may come */
	SESSION_OVER,	  /* it was stopped, or what was traced has ended */
	SESSION_EXITING,  /* exit() was called: data records that come now are not shown */
	SESSION_ENDING,	  /* the clauses of END run */
	SESSION_FINISHED, /* they have, or they called exit() */
};

struct nopal_trace {
	struct nopal_trace_options options;
	struct arena arena; /* script text, parameters */

	struct finder *finder;
	struct script_source source; /* the finder, asked once for each followed process */
	struct script *script;
	struct script_facts facts;
	struct program *program;

	struct engine_choice engines;
	struct engine *engine;
	struct symbols *symbols;
	struct unwind_tables *unwind; /* NULL: no stacks are walked by them */
	struct stack_watch stacks;
	struct lang_names *langs;     /* NULL: no stack of a script is wanted */
	struct map_store merged;      /* of session_maps() */
	const struct program *newest; /* with the types of its maps; NULL: `program` */
	bool *sets;		      /* of each map: a clause of any program sets its values */
	struct report *report;

	pid_t pid; /* -p, or the command; 0: every process */
	struct child child;
	struct str program_path; /* of the command, when it has called exec; empty: none */
	bool was_attached;	 /* its probes were armed */
	unsigned rearms;	 /* how often the probes were attached again */
	bool images_held;   /* the command has no images yet: probes in the kernel see its exec */
	struct watch watch; /* the processes of the run */
	uint64_t heard_at;  /* when the watch last had events, ns */
	unsigned warned_images; /* warnings about later images so far */
	bool warned_full;	/* the warning that later images cannot be traced was given */
	int *process_fds; /* pidfds of the chosen processes that have not ended; -1: unknown */
	unsigned process_count;
	int stop_fd; /* eventfd that nopal_trace_stop() writes to */
	struct timer_list clock;

	struct buf out;	       /* text for the user, not yet handed over */
	struct buf log;	       /* -v: what engines report of programs and features */
	uint64_t records;      /* delivered */
	uint64_t shown;	       /* ... of these, those that gave text */
	uint64_t spoiled;      /* records that were corrupted: a traced process has changed them */
	uint64_t warned_lost;  /* lost events that were reported */
	uint64_t last_warning; /* when, ns */
	struct fault_counts *faults;   /* -k: faults.c; NULL: none yet */
	uint64_t trial_runs, trial_ns; /* of BEGIN, or of a test or bench probe */
	unsigned batch;		       /* records taken in this drain */
	int idle_ms; /* how long the last empty poll waited: grows while nothing comes */
	enum session_state state;
	bool stopped; /* by nopal_trace_stop(): do not wait for later images */
	int exit_code;
};

/* A session with a caller's options, checked; nopal_trace_close() ends it, whatever else was done.
 */
int session_new(const struct nopal_trace_options *options, struct nopal_trace **out,
		struct diag *d);
/* All that nopal_trace_open() does. */
int session_open(struct nopal_trace *t, const char *script, struct diag *d);
bool session_may_use_native(const struct nopal_trace *t);
/* Parse alone, which needs no machine and no privilege. */
int session_parse(struct nopal_trace *t, const char *script, struct diag *d);
/* Options of the script module; text in the trace's arena. */
void session_script_options(struct nopal_trace *t, struct script_options *out);
/* Parse, resolve, compile; starts the command when there is one. */
int session_compile(struct nopal_trace *t, const char *script, struct diag *d);
/* The script's query for sites: of all the traced processes, or of what was mapped lately. */
int session_sites(void *self, const struct find_query *q, found_fn *fn, void *arg, struct diag *d);
/* The command has called exec: search for probes in its images, attach them, watch for others. */
int session_attach_command(struct nopal_trace *t, struct diag *d);
/* lang.c: Language runtimes of the processes that are traced, for stacks of scripts. All do nothing
 * when the script has none. */
void session_see_langs(struct nopal_trace *t); /* those that there are now */
void session_note_lang(struct nopal_trace *t, const struct watch_event *event);
/* ---- merge.c */
/* The maps of the run, to be shown. Keys that are the same stack of a script are one key, whichever
 * processes they are of. */
const struct map_store *session_maps(struct nopal_trace *t);
/* A program that extends the first: it has the types of its maps from now on. -ENOMEM. */
int session_note_program(struct nopal_trace *t, const struct program *p);

/* Later images matter when a probe may be in any of them; all mappings matter when stacks will be
 * named; in user mode, what a process maps that ends before it is traced. */
void session_open_watch(struct nopal_trace *t, struct diag *d);
/* The engine must look again at what this process has mapped, or (0) all that are traced. */
void session_renew(struct nopal_trace *t, pid_t pid);
/* Look for probes in what was mapped lately, and attach them. */
int session_extend(struct nopal_trace *t, struct diag *d);
/* Which processes wait until their sites are traced? */
void session_hear(struct nopal_trace *t);
/* Read what the sources of the watch have: the engine, stacks and symbols get it, too. */
void session_read_watch(struct nopal_trace *t);
/* exit() was called: records are no longer shown. */
bool session_is_muted(const struct nopal_trace *t);
/* Take every available record. 0 or -errno. */
int session_drain(struct nopal_trace *t, struct diag *d);
/* What reading a record or a map returned: -EPROTO of memory that traced processes can write is
 * counted, and then no reason to end the run: 0. */
int session_take_spoiled(struct nopal_trace *t, int err);
/* Attach the program; the kernel traces it where user mode cannot. */
int session_attach_engines(struct nopal_trace *t, struct diag *d);
/* The size of the event buffer that is wanted; 0: the engine's default. */
size_t session_ring_bytes(const struct nopal_trace *t);
/* Give the engines' log to the user, apart from the output. */
void session_give_log(struct nopal_trace *t);
/* Give the text to the user. */
void session_flush(struct nopal_trace *t);
/* ---- no_events.c: a run that showed nothing */
/* Keep the path of the program that the command of -c runs. */
void session_remember_program(struct nopal_trace *t);
/* Was something armed, and nothing printed or kept in a map? */
bool session_saw_nothing(struct nopal_trace *t);
/* Say what was armed, who has it mapped, and what the probes need to fire. */
void session_explain_no_events(struct nopal_trace *t, struct diag *d);
/* ---- files.c: warn of files that were overwritten or replaced while their probes were armed. */
void session_tell_files(struct nopal_trace *t, struct diag *d);
/* ---- stacks.c */
/* Begin to read the rows of all files that the traced processes map, if the script keeps user
 * stacks: until session_await_stacks() has been called, nobody else uses them, or the symbols. */
int session_open_stacks(struct nopal_trace *t);
void session_await_stacks(void *trace); /* again is fine */
bool session_saw_names(const struct nopal_trace *t);
void session_close_stacks(struct nopal_trace *t);
/* The probes of one more program: which processes matter for their sake. */
int session_stack_files(struct nopal_trace *t, const struct program *p);
void session_see_stacks(struct nopal_trace *t, pid_t pid);
/* ... row `i` of the watch, if it is followed. */
void session_see_followed(struct nopal_trace *t, size_t i);
/* News of a process; what it maps is read by session_renew_stacks(), and what all map when news got
 * lost. */
void session_note_stacks(struct nopal_trace *t, const struct watch_event *event);
void session_renew_stacks(struct nopal_trace *t, bool lost);
/* Report lost events and faults; `last` at the end of the run, else at most once a second. */
void session_warn(struct nopal_trace *t, bool last);
/* faults.c: what went wrong in scripts, as text: with -k what is new, else at the end all of it. */
void session_faults(struct nopal_trace *t, bool last);

#endif
