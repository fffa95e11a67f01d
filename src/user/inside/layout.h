/* The memory that a traced process and the tracer share: one sealed memfd for each session.
 *
 *	0            struct layout: where everything is. The target reads this copy; the tracer
 *	             keeps its own, since the target can write anything into all of this memory
 *	clock_at     struct shared_clock[CLOCKS]: how the TSC becomes CLOCK_MONOTONIC
 *	missed_at    u64[format_count]: control records that found the rings full
 *	faults_at    u64[span_count][FAULT_KINDS]: by enum of struct run_fault
 *	scratch_at   scratch_count times: struct scratch_head, then a frame of scratch_size bytes
 *	stats_at     struct shared_stats
 *	langs_at     struct lang_area (langs.h), if there is a stack of a script
 *	rings_at     a ring for each CPU, see struct ring_head
 *	shared_at    shared_rings rings for all
 *	maps         for each map, as its struct map_shape says: buckets, free lists, and, when they
 *		     are few, entries and cells
 *	pieces       entries and cells of maps that grow: each has a range of offsets of its own, of
 *		     which a process has mapped the beginning
 *
 * Offsets count from the start of the memfd; it may be mapped at another address in each process.
 * Everything is little words: u64 at multiples of 8, no padding that matters.
 *
 * This header and inside.[ch] are freestanding: they use nothing of Nopal, because inside.c also
 * runs in the traced process. */
#ifndef NOPAL_USER_INSIDE_LAYOUT_H
#define NOPAL_USER_INSIDE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAYOUT_MAGIC UINT64_C(0x3174756f79614c4e) /* "NLayout1" */
#define LAYOUT_PAGE  4096u
#define CACHE_LINE   64u

struct memory_range {
	uint64_t start, end;
};

/* Threads that have loaded a library, and wait until the tracer has looked at it:
 * inside_library_wait().
 */
struct library_waits {
	uint64_t asked;	   /* by this many, since the start; its low half is a futex */
	uint64_t answered; /* up to this one; its low half is a futex, too */
	uint64_t until;	   /* a TSC: later, the tracer may be gone */
	uint64_t given_up; /* by threads that went on without an answer */
};

/* aarch64: a system call keeps 128 bits of each vector register. What a CPU has beyond that is
 * saved around it. */
enum long_vectors {
	VECTORS_SVE = 1,
	VECTORS_SME = 2, /* there is a mode in which there must be no system call */
};

/* Where everything is. Only `is_stopped` and `waits` ever change. */
struct layout {
	uint64_t magic;
	uint64_t size;	     /* bytes of the memfd */
	uint64_t is_stopped; /* the first test of a trampoline: not 0, nothing is done any more */
	uint64_t start;	     /* nsecs that `elapsed` counts from */
	uint64_t clock_at;
	uint64_t missed_at;
	uint64_t faults_at;
	uint64_t scratch_at;
	uint64_t stats_at; /* struct shared_stats */
	uint64_t langs_at; /* struct lang_area; 0: no stack of a script is wanted */
	uint64_t rings_at;
	uint64_t ring_stride; /* from one ring_head to the next */
	uint64_t ring_data;   /* from a ring_head to its records */
	uint64_t ring_size;   /* bytes of records, a power of two */
	uint64_t shared_at;
	uint64_t shared_stride, shared_data, shared_size; /* of the shared rings */
	uint32_t cpus;	       /* possible CPUs: numbers are below this */
	uint32_t shared_rings; /* 1 or more, at most cpus */
	uint32_t format_count;
	uint32_t span_count; /* faults of later spans are counted at the last one */
	uint32_t scratch_count;
	uint32_t scratch_size;
	uint32_t vectors;     /* bits of enum long_vectors */
	uint32_t scratch_own; /* of the frames, the first: one for each CPU */
	/* In a trampoline's copy: memory of the image that the site is in, which cannot vanish
	 * while a thread is there. */
	struct memory_range image;
	struct library_waits waits;
};

/* Before a scratch frame. A frame of a CPU is claimed on that CPU, in a restartable sequence; the
 * others by compare-and-exchange. Both are freed by storing 0. */
struct scratch_head {
	/* 0: free; hit.tid of the run, or SCRATCH_TAKEN when that is not known; while it is being
	 * taken by compare-and-exchange, what inside_hit.c makes of both words. */
	uint64_t thread;
	uint64_t mark; /* on that thread's stack, where the run keeps the address of this head */
	uint64_t unused[6];
};

#define SCRATCH_TAKEN UINT64_MAX

struct shared_stats {
	uint64_t lost_updates; /* map full */
	uint64_t unmapped;     /* ... or the process cannot map more of it */
	uint64_t lost_scratch; /* runs without a frame */
	uint64_t loop_limits;
};

/* ---- time. The tracer writes the copy after the current one, then `current`; so a reader that is
 * interrupted for some seconds still finds its copy as it was.
 *
 *	nsecs = ns + ((tsc - clock.tsc) * mult >> 32)		(128-bit product) */
#define CLOCKS 64u

struct clock_line {
	uint64_t tsc, ns, mult;
	uint64_t unused;
};

struct shared_clock {
	uint64_t current; /* index into lines */
	uint64_t unused[7];
	struct clock_line lines[CLOCKS];
};

/* ---- rings. Rings 0 to cpus-1 belong to one CPU each, and only restartable sequences (rseq) that
 * run on that CPU write them, without atomic instructions. The shared rings after them are written
 * with compare-and-exchange, by any thread on any CPU: each prefers one by the number of its CPU.
 *
 *	ring_at       struct ring_head
 *	+ LAYOUT_PAGE u64 marks[shared_size / GRANULE]    of shared rings
 *	+ ring_data   ring_size bytes: the records        shared_data, shared_size
 *
 * `head` and `tail` count bytes since the start; position p is at data[p & (ring_size - 1)]. A
 * record never wraps: what is left before the end of the data is skipped as a record of RING_PAD.
 *
 * In a ring of a CPU, a record of `size` bytes may be written while head + size <= limit; then
 * storing head + size in `head` is what makes it exist. Else inside_emit() renews `limit`: at most
 * tail + ring_size, at most the end of the data.
 *
 * In the others records start at multiples of GRANULE, and a mark belongs to each granule. A record
 * is claimed by changing the mark of its first granule from one of an earlier lap, so that a thread
 * that comes late cannot claim anything, and its size is known from then on; then any thread moves
 * `head` over it. The mark says when it is complete. */
struct ring_head {
	uint64_t head, limit; /* written by the target */
	uint64_t lost;	      /* data records that found no room */
	uint64_t unused[5];
	uint64_t tail; /* written by the tracer alone */
	uint64_t unused2[7];
};

#define GRANULE 64u

/* u64 mark: lap + 1 << 38 | thread << 16 | granules << 2 | state. The thread is hit.tid of the
 * writer, so that the tracer can see whether it was killed; 0: not known. One of two
 * changes MARK_BUSY: the writer to MARK_DONE, or the tracer to MARK_PAD, and then the record is
 * lost. */
#define MARK_LAP_SHIFT	  38
#define MARK_THREAD_SHIFT 16
#define MARK_GRANULES	  0x3fffu /* records are shorter than that */

enum { MARK_BUSY = 1, MARK_DONE = 2, MARK_PAD = 3 };

/* Before each record; then `struct record_head` (program/record.h) and the fields. */
struct ring_record {
	uint32_t size;	/* of all, a multiple of 8 */
	uint32_t flags; /* rings of CPUs: 0, or RING_PAD; the others: see ring_check() */
	uint64_t tsc;	/* records of all rings are put into this order */
};

#define RING_PAD UINT32_C(1) /* nothing: skip it; it may have only size and flags */

/* A writer that comes back after its record was given up writes where there may be another record
 * by now. Records of shared rings show that: `flags` is the low half of the sum over
 * their words, which begins with their position; the first word is the size alone. */
static inline uint64_t ring_check(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return sum ^ sum >> 32;
}

static inline uint64_t ring_at(const struct layout *l, uint32_t ring)
{
	return ring < l->cpus ? l->rings_at + l->ring_stride * ring
			      : l->shared_at + l->shared_stride * (ring - l->cpus);
}

static inline uint64_t ring_size(const struct layout *l, uint32_t ring)
{
	return ring < l->cpus ? l->ring_size : l->shared_size;
}

static inline uint64_t ring_data(const struct layout *l, uint32_t ring)
{
	return ring_at(l, ring) + (ring < l->cpus ? l->ring_data : l->shared_data);
}

static inline uint32_t ring_count(const struct layout *l)
{
	return l->cpus + l->shared_rings;
}

/* ---- maps.
 *
 *	bucket   u64 version << 26 | first      first entry of a chain, 0: none
 *	entry    u64 link    version << 28 | stays << 27 | dead << 26 | next
 *	         u64 value   when a value is one word; else 0
 *	         u64 number  of this use of the entry: goes up by 1 each time, never 0
 *	         u64 hash
 *	         key         key_words
 *	         value       value_words, when it is not one word and no aggregate
 *	cells    for each chunk, stripe, entry and word of an aggregate: u64 value, u64 number
 *
 * A chunk is a power of two of entries, and their cells. Maps grow by chunks: at first a process
 * has mapped one, then each thread that meets an entry of a later one maps more (inside_grow()), up
 * to the number of chunks that the kept page of the process has for the map. Small maps have one.
 *
 * `link` and `value` are exchanged together (16 bytes), so that a value changes only while its
 * entry lives. A cell counts when its number is that of its entry. Entry 0 does not exist.
 *
 * A map without keys whose value is a word or an aggregate has only entry 1 ("single"), which
 * exists while `dead` is not set, and the number of its cells is its whole link word. */
#define LINK_NEXT    UINT64_C(0x3ffffff)
#define LINK_DEAD    UINT64_C(0x4000000)
#define LINK_STAYS   UINT64_C(0x8000000)  /* in its chain when dead, and may come back to life */
#define LINK_VERSION UINT64_C(0x10000000) /* 1 version */
#define HEAD_VERSION UINT64_C(0x4000000)

struct map_entry {
	uint64_t link, value;
	uint64_t number, hash;
	uint64_t words[];
};

struct map_cell {
	uint64_t value, number;
};

/* How much of a slot, key or value matters. */
enum form {
	FORM_WORDS, /* all of it */
	FORM_TEXT,  /* struct text_head, and the words that its length reaches */
	FORM_STACK, /* struct stack_head, and its frames */
};

/* What code needs of a map; a constant that is made with the session. The target has its
 * own copy, too; the tracer uses only its own. */
struct map_shape {
	uint64_t buckets_at;
	uint64_t free_at;     /* u64[free_lists], CACHE_LINE apart: version << 26 | first */
	uint64_t fresh_at;    /* u64: entries from this one on were never used */
	uint64_t used_at;     /* u64: keys << 36 | on their way in << 18 | on their way out */
	uint64_t rest_at;     /* u64: whether entries may be dead and stay: inside_chain.c */
	uint64_t entries_at;  /* of entry 0 */
	uint64_t cells_at;    /* of entry 0 in stripe 0 */
	uint64_t cell_stride; /* bytes from one stripe to the next, a multiple of 2 * CACHE_LINE */
	uint64_t cell_chunk;  /* bytes from the cells of one chunk to those of the next */
	uint64_t entries_first, cells_first; /* bytes of a piece that every process has mapped */
	uint64_t seed;		/* of hashes, so that keys cannot be chosen to collide */
	int64_t min, max, step; /* lhist */
	uint32_t bucket_count;	/* a power of two */
	uint32_t free_lists;
	uint32_t entry_count; /* entry 0 included */
	uint32_t entry_size;  /* bytes, a multiple of 16 */
	uint32_t max_entries;
	uint32_t chunk_shift; /* a chunk has 1 << chunk_shift entries */
	uint32_t number;      /* of the map */
	uint32_t key_words;
	uint32_t value_words;  /* of all of a value, as program/type.h lays it out */
	uint32_t cell_words;   /* cells that an aggregate has; 0: no aggregate */
	uint32_t rseq_stripes; /* cells of CPUs, written by rseq alone: cpus, or 0 */
	uint32_t stripes;      /* and a power of two after them, written by atomic instructions */
	uint8_t takes;	       /* of an aggregate: enum aggregate_takes, enum aggregate_join */
	uint8_t join;
	uint8_t is_signed;
	uint8_t bits; /* hist */
	uint8_t is_single;
	uint8_t is_word;    /* the value is one word, in map_entry.value */
	uint8_t key_form;   /* enum form */
	uint8_t value_form; /* of a value in map_entry.words */
};

/* Words of a slot, key or value that matter, never more than it has; `head` is the first of them.
 */
static inline uint32_t form_words(enum form form, uint32_t words, uint64_t head)
{
	uint64_t length = (uint32_t)head, used;

	if (form == FORM_WORDS || !words)
		return words;
	used = 1 + (form == FORM_TEXT ? (length + 7) / 8 : length);
	return used < words ? (uint32_t)used : words;
}

static inline uint64_t map_entry_at(const struct map_shape *m, uint64_t entry)
{
	return m->entries_at + entry * m->entry_size;
}

static inline uint64_t map_cell_at(const struct map_shape *m, uint32_t stripe, uint64_t entry)
{
	return m->cells_at + (entry >> m->chunk_shift) * m->cell_chunk + stripe * m->cell_stride +
	       (entry & ((UINT64_C(1) << m->chunk_shift) - 1)) * m->cell_words *
		       sizeof(struct map_cell);
}

static inline uint64_t map_chunks(const struct map_shape *m)
{
	return (((uint64_t)m->entry_count - 1) >> m->chunk_shift) + 1;
}

static inline uint64_t whole_pages(uint64_t bytes, uint64_t least)
{
	bytes = (bytes + LAYOUT_PAGE - 1) & -(uint64_t)LAYOUT_PAGE;
	return bytes < least ? least : bytes;
}

/* Bytes of a growing map's pieces, when a process has mapped `chunks` chunks. */
static inline uint64_t map_entries_size(const struct map_shape *m, uint64_t chunks)
{
	return whole_pages((chunks << m->chunk_shift) * m->entry_size, m->entries_first);
}

static inline uint64_t map_cells_size(const struct map_shape *m, uint64_t chunks)
{
	return whole_pages(chunks * m->cell_chunk, m->cells_first);
}

/* How many chunks come after these. */
static inline uint64_t map_next_chunks(const struct map_shape *m, uint64_t chunks)
{
	uint64_t next = chunks + (chunks / 4 > 1 ? chunks / 4 : 1);

	return next < map_chunks(m) ? next : map_chunks(m);
}

/* ---- one traced process. A private page in its own memory, not in the memfd: the tracer writes it
 * through /proc/PID/mem. It is MADV_WIPEONFORK, so that a child, which inherits the trampolines,
 * finds zeros: no range, pid 0, no waits. */
#define PROCESS_RANGES	4
#define PROCESS_CALLING 16

struct process_page {
	uint64_t pid;	      /* as the tracer sees it; 0: not known, ask the system */
	uint64_t range_count; /* 0: read all memory by system calls */
	uint64_t unused[6];
	/* Sorted, apart from each other: memory that is readable and does not vanish. */
	struct memory_range ranges[PROCESS_RANGES];
	/* Threads that are making system calls here or are about to, by CPU; the tracer does not
	 * write it. One that a signal handler left for good counts for ever. */
	struct {
		uint64_t count;
		uint64_t unused[7];
	} calling[PROCESS_CALLING];
	/* The tracer does not write these either. */
	uint64_t waits;	       /* of threads of this process */
	uint64_t is_unloading; /* not 0: a thread takes libraries away, and loads none */
};

/* The next page: also of this process alone, but children of fork have it as it was. */
#define KEPT_MAPS 1022

struct kept_page {
	/* Not 0: the process has a seccomp filter, or is about to get one, and no system call may
	 * be made: what is in no range is unreadable. It never becomes 0 again. */
	uint64_t no_calls;
	/* How many chunks of each map are mapped, at least; a number never becomes less. */
	uint32_t chunks[KEPT_MAPS];
};

#endif
