/* Units: which clauses go into which BPF program. All uprobe sites of a script share one program,
 * and so one link: the *case* in a site's cookie says what to do there. Two sites have the same
 * case when the same clauses run there and find what they use in the same registers. Return probes
 * share another program; every other attachment has its own. */
#ifndef NOPAL_ENGINE_BPF_GEN_UNIT_H
#define NOPAL_ENGINE_BPF_GEN_UNIT_H

#include "base/arena.h"
#include "program/program.h"

enum unit_kind {
	UNIT_UPROBE, /* ORDER: it and the next three are shared by many sites; see units_make() */
	UNIT_URETPROBE,
	UNIT_KPROBE,
	UNIT_KRETPROBE,
	UNIT_TRACEPOINT,
	UNIT_SAMPLE, /* profile, counters, watchpoints: events of perf */
	UNIT_RAW,
	UNIT_FENTRY,
	UNIT_FEXIT,
	UNIT_ITER, /* run from here, too */
	UNIT_RUN,  /* BEGIN, END, interval, signal: run from here */
};

/* Clause `clause` at `attach`, one of its attachments that represents all of the case. */
struct unit_step {
	uint32_t clause;
	const struct attach *attach;
};

/* Steps in the order of the clauses. */
struct unit_case {
	const struct unit_step *steps;
	uint32_t step_count;
	uint32_t found; /* its number while sorting */
};

enum site_problem {
	SITE_FINE,
	SITE_NOP10,
	SITE_RED_ZONE,
	SITE_NO_NOP,  /* a USDT site that is not a nop */
	SITE_FOREIGN, /* in a file for another CPU */
	SITE_PREFIX,  /* `lock`, or a segment: no instruction that the kernel can run elsewhere */
	SITE_OPCODE,  /* the kernel knows no way to run it elsewhere */
	SITE_VECTOR,  /* it would run another instruction instead */
	SITE_CUT_OFF, /* the file has no bytes there */
	SITE_TWICE,   /* another site at its place has another semaphore */
	/* ORDER: of uprobes, which --unsafe probes all the same, from here on: */
	SITE_MIDDLE,  /* in the middle of an instruction */
	SITE_UNKNOWN, /* after bytes that are not a known instruction */
	SITE_FAR,     /* too far from its function's start to look */
};

#define SITE_BYTES 15 /* of a site's code that messages show */

struct unit_site {
	const struct attach *attach; /* where; the first of those that share the site */
	uint64_t cookie;
	enum site_problem problem; /* why it must not be probed */
	/* What a message shows: bytes of code, and how far from the function's start they are. */
	unsigned char bytes[SITE_BYTES];
	uint8_t byte_count;
	uint64_t into;
};

struct unit {
	enum unit_kind kind;
	const struct program *program;
	struct unit_case *cases;
	uint32_t case_count;
	struct unit_site *sites; /* sorted by file, offset */
	uint32_t site_count;
	uint32_t from, to; /* clauses that it may have: [from, to) */
	bool is_rest;	   /* other clauses of these sites are in another unit */
};

/* A cookie: case, then the two names that differ from site to site. */
#define COOKIE_CASE_BITS 16
#define COOKIE_NAME_BITS 24
#define COOKIE_CASE_MASK ((1u << COOKIE_CASE_BITS) - 1)
#define COOKIE(number, name, func)                                   \
	((uint64_t)(number) | (uint64_t)(name) << COOKIE_CASE_BITS | \
	 (uint64_t)(func) << (COOKIE_CASE_BITS + COOKIE_NAME_BITS))

/* All units of a program, in the arena. -ENOMEM, -E2BIG. */
int units_make(struct arena *a, const struct program *p, struct unit **out, uint32_t *count,
	       struct diag *d);
bool unit_is_uprobe(const struct unit *u);
bool unit_is_kprobe(const struct unit *u);
/* Does the tracer itself run it, and not an event? */
bool unit_is_own(const struct unit *u);
bool unit_has_clause(const struct unit *u, uint32_t clause);
/* The name of the probe that a site belongs to; "?": none. */
struct str unit_site_name(const struct unit *u, const struct attach *at);
/* The order of two attachments by their files. */
int attach_compare_files(const struct attach *a, const struct attach *b);
/* The order of two attachments by their sites and names, for qsort(). */
int attach_compare(const void *a, const void *b);
/* The unit of the first half of the clauses and that of the second. -ENOENT: it has only one. */
int unit_split(struct arena *a, const struct unit *u, struct unit out[2], struct diag *d);
/* Does its code need the site's cookie, for the case or the names? */
bool unit_needs_cookie(const struct unit *u);
/* Units that need no cookie: one for each case, or for each site. At most site_count. */
int units_apart(struct arena *a, const struct unit *u, struct unit **out, uint32_t *count);
/* The only clause of a unit, or NULL. */
const struct clause *unit_only_clause(const struct unit *u);
/* The index after the last site in the file of site `at`. */
uint32_t unit_file_end(const struct unit *u, uint32_t at);

#endif
