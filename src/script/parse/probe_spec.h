/* Probes, as they were written. */
#ifndef NOPAL_SCRIPT_PROBE_SPEC_H
#define NOPAL_SCRIPT_PROBE_SPEC_H

#include "script/parse/expr.h"

enum probe_type {
#define PROBE(type, name, other, brief, also, read, find, kind) PROBE_##type,
#include "script/parse/probe_types.h"
#undef PROBE
	PROBE_TYPES
};

/* One probe of a clause's list. */
struct probe_spec {
	enum probe_type type;
	struct mark mark;
	struct str path;       /* usdt, uprobe; may be a pattern, or empty */
	struct str provider;   /* usdt provider, tracepoint category; empty: any */
	struct str name;       /* usdt name, function, tracepoint event, software event, signal */
	bool is_demangled;     /* uprobe PATH:cpp:FUNC */
	bool has_address;      /* uprobe PATH:0x1234: `offset` is that link-time address */
	uint64_t offset;       /* uprobe FUNC+offset */
	struct str source;     /* uprobe PATH@FILE:LINE:COLUMN ... */
	uint32_t line, column; /* ... LINE from 1; 0: it is not such a probe */
	uint64_t period;       /* interval, profile: ns; software, hardware: events */
	struct str rest;       /* what is after the type, with the values of parameters: "s:5" */
	uint8_t length, mode;  /* watchpoint: bytes at `offset`, enum watch_mode */
	struct probe_spec *next;
	const void **images; /* resolve.c: files whose attachments are known */
	size_t image_count, image_cap;
	size_t attachment_count; /* resolve.c: how many it has found */
	struct str noted, note;	 /* ... a site that fires only under a condition, and which */
	bool has_left_out;	 /* resolve.c: probes of each call or line, and it is reported */
	bool is_one_of;		 /* the types that a pattern means: any may have no such probe */
};

/* "usdt", "BEGIN". */
const char *probe_type_name(enum probe_type type);
/* Type by long or short name: "usdt", "U", "begin". False when there is none. */
bool probe_type_find(struct str name, enum probe_type *out);
/* The next type, from number *i on, that a pattern may mean: "*probe" -> uprobe of files, fentry
 * and kprobe of the kernel. What is at a return is at an entry, too. False: there are no more. */
bool probe_type_match(struct str pattern, bool of_files, size_t *i, enum probe_type *out);
/* The nearest probe type to a misspelt one; empty when none is near. */
struct str probe_type_guess(struct str name);

#endif
