/* The few calls every engine answers. An engine runs a checked program: it attaches the clauses to
 * their sites, keeps the maps, and hands over records. One engine belongs to one thread. The
 * order of calls:
 *
 *   open, build, attach, note ENTERED (if held), any of (note, rearm, drain, run, map calls,
 *   extend), stop, any of (note, drain, run, map calls), detach, any of (note, drain, map
 *   calls), close */
#ifndef NOPAL_ENGINE_ENGINE_H
#define NOPAL_ENGINE_ENGINE_H

#include <sys/types.h>

#include "base/diag.h"
#include "program/program.h"
#include "program/record.h"
#include "watch/event.h"

struct unwind_tables;
struct watch;

struct engine_options {
	pid_t pid;	   /* trace only this process; 0: every process, or ... */
	const pid_t *pids; /* ... these, which live as long as the engine */
	unsigned pid_count;
	struct watch *watch; /* the processes of the run; lives as long as the engine */
	bool is_held;	     /* `pid` has not called exec yet: PROCESS_ENTERED says when */
	bool follow_forks;  /* ... and the children it has from now on; then every process that runs
			       the same file meets the breakpoints, which the kernel else puts
			       into the traced process alone */
	size_t ring_bytes;  /* data ring; 0: the engine's default; rounded up to a power of two */
	bool group_maps;    /* of tests: reach a few maps as a script with many reaches them */
	bool one_hash;	    /* of tests: all stacks that are keys have the same hash */
	bool experimental;  /* native: also where it is that */
	bool may_grow;	    /* extend() may be called */
	bool data_later;    /* programs that extend the first may send data even if it does not */
	bool detach_later;  /* detach() may leave slow closing to a child process */
	bool is_alone;	    /* no other engine can take what this one cannot trace */
	const char *events; /* interp: the file of recorded events to play; NULL: interp_fire() */
	/* For walks over user stacks; the engine may give it memory until it closes.
	 * NULL: none are wanted. */
	struct unwind_tables *unwind;
	void (*await_unwind)(void *await_arg); /* they are not complete before that has returned */
	void *await_arg;
	struct lang_names *langs; /* for stacks of scripts: runtimes of processes come from there,
				     and functions go there; NULL: there are none */
	struct buf *log; /* -v: lines about what was loaded, and how; NULL: none are kept */
};

typedef int record_fn(void *arg, struct str bytes); /* non-zero ends the drain and is returned */

/* What an engine is to the rest: callers use the functions below. `maps` is the engine's own, and
 * may be read until it is closed. */
struct engine {
	const struct engine_ops *ops;
	struct map_store maps;
	bool makes_wait; /* threads of traced processes may wait for it */
	bool wants_news; /* by attach() and extend(): note() must hear of all traced processes, and
			    of a command when it is at its entry point */
	bool is_ended;	 /* by drain(): what is recorded has been played, no event will come */
	bool is_exposed; /* traced processes can write where records come from: these may be
			    anything */
	/* CLOCK_MONOTONIC of the record that drain() hands over, if program->is_stamped; 0: not
	 * known. */
	uint64_t time;
};

/* What an engine is asked to do: to run this clause at this attachment. */
struct engine_task {
	const struct program *program;
	const struct clause *clause;
	const struct attach *at;
	const struct insn *insn; /* only this instruction of it, wherever that runs */
	const struct attach
		*other; /* ... while another engine is here, which is in the same file,
			   at the same site or so near that one instruction is at both */
};

struct engine_ops {
	const char *name;
	/* Why this engine cannot read an operand that operand_problem() has nothing against; NULL:
	 * it can. A NULL function: it can read them all. */
	const char *(*unreadable)(const struct arch *arch, const struct operand *o);
	/* Why it cannot do this; NULL: it can. A NULL function: it can do all. */
	const char *(*refuses)(const struct engine *e, const struct engine_task *task);
	int (*open)(const struct engine_options *options, struct engine **out, struct diag *d);
	/* Load the program: afterwards it is known to run. The program must outlive the engine. */
	int (*build)(struct engine *e, const struct program *p, struct diag *d);
	int (*attach)(struct engine *e, struct diag *d);
	/* Attach the clauses of `p`, too, a program compiled from the same script: its formats,
	 * names and spans continue those of the program before; maps that code uses have the same
	 * types, the others take theirs from `p`. After an error none of its clauses is attached.
	 */
	int (*extend)(struct engine *e, const struct program *p, struct diag *d);
	/* Detach and forget the clauses of the last extend(), which succeeded: another engine of
	 * the same run could not take its part. Only once after each. */
	void (*retract)(struct engine *e);
	/* Something has happened to a process that is traced, or to the tracer; NULL: it is not
	 * interested. 0, except of ENTERED, which comes once if options.is_held: from then on
	 * refuses() knows the process, and extend() may be called. RUNTIMES: options.langs has
	 * more. ASKS: processes that wait until their sites are traced, as one does that has just
	 * loaded a library, are given to watch_wait(). The next rearm() sees to those, so what they
	 * have mapped can be made known by extend() before. */
	int (*note)(struct engine *e, const struct watch_event *event, struct diag *d);
	/* Attach the uprobes again if the kernel's filter has lost the traced process. 1: it had,
	 * and events between were missed; 0: no need. NULL: never needed. */
	int (*rearm)(struct engine *e, struct diag *d);
	/* Run clause number `clause` now, for each of its attachments of this kind, which is BEGIN,
	 * END, SIGNAL or INTERVAL, and period; all but INTERVAL have 0. */
	int (*run)(struct engine *e, enum attach_kind kind, uint64_t period, uint32_t clause,
		   struct diag *d);
	/* Hand over every available record, in order; wait at most `timeout_ms` for the first.
	 * Number of records, or -errno. -EINTR is 0. */
	int (*drain)(struct engine *e, int timeout_ms, record_fn *fn, void *arg);
	int (*wait_fd)(struct engine *e); /* a fd that polls readable when the watermark is passed;
					     -1: none */
	void (*stats)(struct engine *e, struct run_stats *out);
	int (*faults)(struct engine *e, fault_fn *fn, void *arg);
	/* No program has an effect any more, and none is running: the records that exist are all.
	 * It may also be detached. Only run() goes on working. */
	void (*stop)(struct engine *e);
	void (*detach)(struct engine *e); /* idempotent; no probe is armed and no semaphore raised
					     afterwards */
	void (*close)(struct engine *e);  /* NULL and half-built are fine; detaches */
	void (*dump)(struct engine *e, struct buf *out); /* --dump=bpf, after build */
};

/* Possible CPUs: numbers of CPUs are below this. */
unsigned engine_cpus(void);
/* Note an event that has no more to say than its kind. 0; what ENTERED returns, with a message. */
int engine_note_kind(struct engine *e, enum watch_kind kind, struct diag *d);
/* Why the engine cannot do this; NULL: it can. */
const char *engine_refuses(const struct engine *e, struct engine_task task);
/* Why the engine cannot read this operand; NULL: it can. */
const char *engine_unreadable(const struct engine_ops *ops, const struct arch *arch,
			      const struct operand *o);
/* Can the engine run clause `c` of `p` at all of its attachments? 0, or -ENOTSUP with a message at
 * the instruction that it cannot run. */
int engine_can_run(const struct engine *e, const struct program *p, const struct clause *c,
		   struct diag *d);
/* The same, except sites that it cannot reach. */
int engine_understands(const struct engine *e, const struct program *p, const struct clause *c,
		       struct diag *d);
/* Can it run all clauses? */
int engine_can_run_all(const struct engine *e, const struct program *p, struct diag *d);

/* clang-format off */
static inline int engine_build(struct engine *e, const struct program *p, struct diag *d) { return e->ops->build(e, p, d); }
static inline int engine_attach(struct engine *e, struct diag *d) { return e->ops->attach(e, d); }
static inline int engine_extend(struct engine *e, const struct program *p, struct diag *d) { return e->ops->extend(e, p, d); }
static inline int engine_note(struct engine *e, const struct watch_event *event, struct diag *d) { return e->ops->note ? e->ops->note(e, event, d) : 0; }
static inline int engine_rearm(struct engine *e, struct diag *d) { return e->ops->rearm ? e->ops->rearm(e, d) : 0; }
static inline int engine_run(struct engine *e, enum attach_kind kind, uint64_t period, uint32_t clause, struct diag *d) { return e->ops->run(e, kind, period, clause, d); }
static inline int engine_drain(struct engine *e, int timeout_ms, record_fn *fn, void *arg) { return e->ops->drain(e, timeout_ms, fn, arg); }
static inline int engine_wait_fd(struct engine *e) { return e->ops->wait_fd(e); }
static inline void engine_stats(struct engine *e, struct run_stats *out) { e->ops->stats(e, out); }
static inline int engine_faults(struct engine *e, fault_fn *fn, void *arg) { return e->ops->faults(e, fn, arg); }
static inline void engine_stop(struct engine *e) { e->ops->stop(e); }
static inline void engine_detach(struct engine *e) { e->ops->detach(e); }
static inline void engine_dump(struct engine *e, struct buf *out) { e->ops->dump(e, out); }
static inline void engine_close(struct engine *e) { if (e) e->ops->close(e); }

/* Every engine: its folder, which defines its engine_ops, and a row here. */
#define ENGINES(row)                                                                \
	row(bpf,    "eBPF programs in the kernel")                                   \
	row(interp, "an interpreter: recorded events, BEGIN, END and intervals")     \
	row(native, "machine code in the traced process: user mode")
/* clang-format on */

#define DECLARE_ENGINE(name, about) extern const struct engine_ops engine_##name;
ENGINES(DECLARE_ENGINE)
#undef DECLARE_ENGINE

/* Several engines that run one program together look like one. Clauses that share a map stay
 * together; each such group goes to the first engine that can run all of it, so that BEGIN, END and
 * intervals run where their maps are. */
#define ENGINES_MAX 4

/* Open engines of these kinds, in order of preference; one alone is not wrapped. */
int engine_set_open(const struct engine_ops *const *kinds, unsigned count,
		    const struct engine_options *options, struct engine **out, struct diag *d);

#endif
