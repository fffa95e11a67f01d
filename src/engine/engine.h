/* The few calls every engine answers. An engine runs a checked program: it attaches the clauses to
 * their places, keeps the maps, and hands over records. One engine belongs to one thread. The
 * order of calls:
 *
 *   open, build, attach, any of (drain, run, map calls, extend), stop, any of (drain, run, map
 *   calls), detach, any of (drain, map calls), close */
#ifndef NOPAL_ENGINE_ENGINE_H
#define NOPAL_ENGINE_ENGINE_H

#include <sys/types.h>

#include "base/diag.h"
#include "program/program.h"
#include "program/record.h"

struct engine;

struct engine_options {
	pid_t pid;	   /* trace only this process; 0: every process */
	bool follow_forks; /* ... and the children it has from now on; then every process that runs
			      the same file meets the breakpoints, which the kernel else puts
			      into the traced process alone */
	size_t ring_bytes; /* data ring; 0: the engine's default; rounded up to a power of two */
	bool no_sleep;	   /* never use sleepable programs */
	bool no_multi;	   /* never use uprobe_multi links */
	bool group_maps;   /* reach even a few maps as a script with many reaches them */
	bool data_later;   /* programs that extend the first may send data even if it does not */
	bool detach_later; /* detach() may leave slow closing to a child process */
	bool verbose;	   /* keep the engine's logs for engine_log() */
};

/* What was not delivered, exactly; all numbers since attach. */
struct engine_stats {
	uint64_t lost_records; /* data records that found the ring full */
	uint64_t lost_updates; /* map updates refused: the map was full */
	uint64_t lost_scratch; /* clause runs given up for want of scratch memory; none of their
				  effects happened */
	uint64_t loop_limits;  /* loops cut short */
	bool files_missed;     /* files that the traced process mapped later could not be armed */
	uint64_t children;     /* processes the traced one started, not followed */
};

/* One count of things that went wrong at one place of the script. */
struct engine_fault {
	uint32_t place; /* index into program->places */
	enum { FAULT_READ, FAULT_MAP_FULL, FAULT_LOOP_LIMIT, FAULT_DIVIDE } kind;
	uint64_t count;
};

typedef int record_fn(void *arg, struct str bytes); /* non-zero ends the drain and is returned */
typedef int map_entry_fn(void *arg, struct str key,
			 struct str value); /* full memory layout, CPUs merged */
typedef int fault_fn(void *arg, const struct engine_fault *fault);

struct engine_ops {
	const char *name;
	int (*open)(const struct engine_options *options, struct engine **out, struct diag *d);
	/* Load the program: afterwards it is known to run. The program must outlive the engine. */
	int (*build)(struct engine *e, const struct program *p, struct diag *d);
	int (*attach)(struct engine *e, struct diag *d);
	/* Attach the places of `p`, a program compiled from the same script, in addition: its
	 * formats, names and places of errors continue those of the program before; maps that code
	 * uses have the same types, the others take theirs from `p`. With an error none of its
	 * places is attached. */
	int (*extend)(struct engine *e, const struct program *p, struct diag *d);
	/* Attach the uprobes again if the kernel's filter has lost the traced process. 1: it had,
	 * and events between were missed; 0: no need. NULL: never needed. */
	int (*rearm)(struct engine *e, struct diag *d);
	/* Run clause number `clause` now, for each of its places of this kind: BEGIN, END,
	 * INTERVAL. */
	int (*run)(struct engine *e, enum attach_kind kind, uint32_t clause, struct diag *d);
	/* Hand over every record that is there, in order; wait at most `timeout_ms` for the first.
	 * Number of records, or -errno. -EINTR is 0. */
	int (*drain)(struct engine *e, int timeout_ms, record_fn *fn, void *arg);
	int (*wait_fd)(struct engine *e); /* a fd that polls readable when the watermark is passed;
					     -1: none */
	int (*map_each)(struct engine *e, uint32_t map, map_entry_fn *fn, void *arg);
	int (*map_clear)(struct engine *e, uint32_t map); /* remove all keys */
	int (*map_zero)(struct engine *e, uint32_t map);  /* keep the keys, zero the values */
	void (*stats)(struct engine *e, struct engine_stats *out);
	int (*faults)(struct engine *e, fault_fn *fn, void *arg);
	/* No program does anything any more, and none is running: what is there is all there is. It
	 * may also be detached. Only run() goes on working. */
	void (*stop)(struct engine *e);
	void (*detach)(struct engine *e); /* idempotent; no probe is armed and no semaphore raised
					     afterwards */
	void (*close)(struct engine *e);  /* NULL and half-built are fine; detaches */
	void (*dump)(struct engine *e, struct buf *out); /* --dump=bpf, after build */
};

extern const struct engine_ops engine_bpf;
extern const struct engine_ops engine_interp;

#endif
