/* One tracing run, from the script's text to the last map: the struct behind struct nopal_trace,
 * and the steps that trace.c strings together. */
#ifndef NOPAL_SESSION_SESSION_H
#define NOPAL_SESSION_SESSION_H

#include <signal.h>

#include "base/public.h"
#include "session/engines.h"
#include "nopal/trace.h"
#include "report/report.h"
#include "symbols/symbols.h"
#include "script/script.h"
#include "session/child.h"
#include "session/clock.h"
#include "session/family.h"
#include "session/images.h"
#include "session/later.h"

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
	struct report *report;

	pid_t pid; /* -p, or the command; 0: everybody */
	struct child child;
	bool images_held; /* the command has none yet: tracepoints must see its exec first */
	struct family family;
	struct image_watch *watch; /* NULL: nothing to watch for */
	struct later later;	   /* images that were mapped meanwhile */
	uint64_t heard_at;	   /* when the watch last had news, ns */
	bool images_changed;	   /* there are some to look at */
	bool extending;		   /* queries are for these ... */
	bool everything;	   /* ... and for all there is: news of some were lost */
	bool children_found;	   /* while looking for followed processes that were not heard of */
	unsigned warned_images;	   /* warnings about later images so far */
	bool told_full;		   /* the user knows that later images cannot be traced */
	int process_fd;		   /* pidfd of `pid`; -1 */
	int stop_fd;		   /* eventfd that nopal_trace_stop() writes to */
	struct clock clock;

	struct buf out;	       /* text not yet given away */
	struct buf log;	       /* -v: what engines say of programs and features, likewise */
	uint64_t records;      /* delivered */
	uint64_t warned_lost;  /* lost events the user has been told of */
	uint64_t last_warning; /* when, ns */
	unsigned batch;	       /* records taken in this drain */
	int idle_ms;	       /* how long the last empty poll waited: grows while nothing comes */
	enum session_state state;
	bool stopped; /* by nopal_trace_stop(): nobody waits for what is not yet known */
	int exit_code;
};

/* A session with a caller's options, checked; nopal_trace_close() ends it, whatever else was done.
 */
int session_new(const struct nopal_trace_options *options, struct nopal_trace **out,
		struct diag *d);
/* All that nopal_trace_open() does. */
int session_open(struct nopal_trace *t, const char *script, struct diag *d);
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
/* Later images matter when a probe may be in any of them; all mappings matter when stacks will be
 * named. */
int session_open_watch(struct nopal_trace *t, struct diag *d);
/* Look for probes in what was mapped lately, and attach them. */
int session_extend(struct nopal_trace *t, struct diag *d);
/* Read the image watch; sets images_changed, keeps family and symbols. */
void session_read_watch(struct nopal_trace *t);
/* exit() was called: records are not shown any more. */
bool session_is_muted(const struct nopal_trace *t);
/* Take every record that is there. 0 or -errno. */
int session_drain(struct nopal_trace *t, struct diag *d);
/* Give the engines' log to the user, apart from the output. */
void session_give_log(struct nopal_trace *t);
/* Give the text to the user. */
void session_flush(struct nopal_trace *t);
/* Tell of lost events and faults; `last` at the end of the run, else at most once a second. */
void session_warn(struct nopal_trace *t, bool last);

#endif
