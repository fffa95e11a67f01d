/* The tracer's side of the shared memory (layout.h): making it, reading records and maps out of it,
 * keeping its clock. The other side belongs to the traced processes, which can write anything into
 * it at any moment: so sizes and places are taken from the tracer's own copies, never from the
 * shared memory, what is read is checked or copied first, and every loop is bounded. */
#ifndef NOPAL_USER_MEMORY_STORE_H
#define NOPAL_USER_MEMORY_STORE_H

#include "engine/engine.h"
#include "engine/interp/interp.h"
#include "user/inside/inside.h"
#include "user/memory/shared_clock.h"

/* Who sends records with data, which are lost when there is no room. Others, such as those of
 * print() and exit(), are small and few, and are never lost. */
enum native_senders {
	SENDERS_ALL, /* traced processes and the tracer */
	SENDER_TRACER,
	SENDER_NONE,
};

struct native_sizes {
	size_t ring_bytes; /* of one ring; 0: by the CPUs; rounded up to a power of two */
	enum native_senders senders;
	uint32_t cpus;		/* 0: those that are possible here */
	uint32_t scratch_size;	/* bytes of the largest frame that does not fit the stack; or 0 */
	uint32_t scratch_count; /* of them, at most, beside one for each CPU; 0: 64 */
	bool grows;		/* there may be extensions: native_store_extend() */
};

#define RING_LATE 32u /* unfinished records of one ring that are left for later */

/* One ring, as far as it was read. */
struct ring_cursor {
	uint64_t tail;		  /* everything before is read, except what is late */
	uint64_t head;		  /* where the ring ended at the last look */
	uint64_t late[RING_LATE]; /* positions of records that were not finished, in order */
	uint32_t late_count;
	uint32_t taken;	   /* the next record is late[taken]; RING_LATE: it is at the tail */
	struct str record; /* the next record, in the shared memory */
	uint64_t tsc;	   /* of it */
	uint64_t step;	   /* bytes from it to the one after it */
};

/* A part of the memory that a process maps beside the first part, and may grow. */
struct native_piece {
	uint64_t at, size; /* bytes at first; 0: there is none */
	uint64_t most;	   /* bytes that it can have */
	uint64_t made;	   /* bytes from its start that have pages: pages.c */
};

/* The pieces of a map that grows, or that may have other types later. */
struct native_pieces {
	struct native_piece entries, cells;
	bool is_later; /* no clause uses it yet */
};

/* What was given of a map; take.c. */
struct taken {
	bool keeps_key;	 /* by zero(); of a map with keys: it has kept some */
	uint64_t number; /* of a map without keys: of the use of its entry; 0: nothing was given */
	uint64_t *base;	 /* owned: words that do not count any more; NULL: they are gone */
};

struct native_store {
	int fd; /* the memfd; traced processes map it shared, readable and writable */
	char *base;
	struct layout layout;	      /* the tracer's copy */
	struct map_shape *shapes;     /* the tracer's copy, by map */
	uint64_t first_size;	      /* bytes of the part that is before all pieces */
	struct native_pieces *pieces; /* by map */
	struct kept_page kept;	      /* of the tracer, which has all of the memory */
	struct taken *taken;	      /* by map */
	uint64_t shapes_at;	      /* their copy for the target: struct map_shape[map_count] */
	uint64_t spare_at;	      /* memory from here to layout.size is not used yet */
	const struct program *program;
	struct hit hit; /* of the tracer itself, for calls of inside.h */
	struct ring_cursor *rings;
	uint32_t *heap; /* rings with a record, the oldest first; rings.c */
	uint32_t heap_count;
	char *bounce; /* a record, out of reach of the target */
	size_t bounce_size;
	uint64_t time; /* CLOCK_MONOTONIC of the record that is handed over; 0: not known */
	uint64_t
		damaged; /* times a ring had to be given up to its end: what was in it is garbage */
	uint64_t unfinished; /* records whose writer left them or came too late */
	bool is_ending;	     /* what is not finished will not be waited for */
	struct clock_fit clock;
	struct interp_store interp; /* for engine/interp: these maps, faults and records */
};

/* Make the memory for the maps, faults and records of a program, which must outlive it. -ENOTSUP
 * when this machine has no clock to read; -ENOMEM; all with a message. */
int native_store_open(const struct program *p, const struct native_sizes *sizes,
		      struct native_store **out, struct diag *d);
void native_store_close(struct native_store *s); /* NULL is fine */
/* Take over an extension of the program, whose maps may have other types where no code uses them
 * (engine.h); `is_used` says so of a map. */
int native_store_extend(struct native_store *s, const struct program *p,
			bool (*is_used)(void *arg, uint32_t map), void *arg, struct diag *d);
/* The chunks of each map that a process has mapped at first: one, or all of them if its type cannot
 * change. */
void native_store_chunks(const struct native_store *s, bool whole, struct kept_page *out);
/* How much of a key, value or slot of this type matters. */
enum form native_form(const struct type *t);
struct map_store native_store_maps(struct native_store *s);
void native_store_stats(const struct native_store *s, struct run_stats *out);
int native_store_faults(const struct native_store *s, fault_fn *fn, void *arg);
/* No trampoline does anything from now on. */
void native_store_stop(struct native_store *s);
bool native_store_is_stopped(const struct native_store *s);

/* ---- pages.c */

/* Make the pages that most runs need. */
void native_store_make_pages(struct native_store *s);
/* Make those of maps that grow; to be called again and again while they may. */
void native_store_stay_ahead(struct native_store *s);
/* Where the ring of a CPU begins to be written: pages that most runs need, so no probe should meet
 * them for the first time while a probe is hit. *size: 0 if the program sends no records. */
uint64_t native_store_first_pages(const struct native_store *s, uint32_t cpu, size_t *size);

/* ---- rings.c: records. They come out in the order of their time, over all rings. */

/* May a thread, by its number as its process sees it, still finish a record? */
typedef bool is_alive_fn(void *arg, uint32_t tid);

/* Hand over every record that was complete when this was called; their number, or -errno, or what
 * `fn` returned. Records whose writer `is_alive` denies are skipped and counted as lost; NULL: all
 * are alive. So are those that hold up a ring (rings.c). Scratch frames of threads that are not
 * alive become free. */
int native_ring_drain(struct native_store *s, record_fn *fn, void *arg, is_alive_fn *is_alive,
		      void *alive_arg);
/* Nothing more is waited for: from now on each drain counts as lost what is not finished. */
void native_ring_end(struct native_store *s);

#endif
