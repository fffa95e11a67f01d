/* Records and maps -> text or JSON, to the character as bpftrace prints them. Writes into a buffer
 * that the caller flushes; prints nothing. */
#ifndef NOPAL_REPORT_REPORT_H
#define NOPAL_REPORT_REPORT_H

#include "base/buf.h"
#include "nopal/show.h"
#include "program/record.h"
#include "program/program.h"

struct report;
struct lang_names;
struct symbols; /* report/symbols.h: addresses of processes -> names, remembered while they live */

enum report_style { REPORT_TEXT, REPORT_JSON };

struct report_options {
	enum report_style style;
	bool terminal; /* escape newlines and tabs in traced strings, too */
	bool raw;      /* escape nothing; not with `terminal` */
	int stop_fd;   /* readable when the run is to end: no more commands are run; 0: none */
	struct str trunc_trailer; /* after strings that were cut: ".." */
	struct lang_names *langs; /* functions of scripts; NULL: none are known */
	bool unsafe;		  /* system() may run */
	bool no_warnings;	  /* warnf() says nothing */
	size_t cat_bytes;	  /* of one file that cat() prints; 0: 10240 */
	bool structured;	  /* JSON: an object for each event and each entry of a map */
	bool folded, csv;	  /* text: entries of maps as folded stacks; as rows of CSV */
	/* Draw maps as tables and histograms, the largest first, with short names of probes; NULL:
	 * as bpftrace. The report keeps the pointers. */
	const struct nopal_look *look;
	const char *titles; /* of the keys' columns, separated by commas; NULL: none are known */
	enum nopal_frames frames;
};

/* What the session must do after a record was reported. */
enum report_action { REPORT_DONE, REPORT_EXIT };

/* What the public header calls a histogram. */
struct nopal_histogram {
	struct type type;
	uint64_t *counts; /* type_memory() bytes */
};

int report_new(const struct program *p, const struct report_options *options,
	       struct symbols *symbols, struct report **out);
void report_free(struct report *r);
/* One record as text at the end of `out`. Control records (print, clear, zero) act on `maps`.
 * *action says what follows, *exit_code is exit()'s. -EPROTO for a malformed record, of which
 * nothing is shown. */
int report_record(struct report *r, const struct map_store *maps, struct str bytes, struct buf *out,
		  enum report_action *action, int *exit_code);
/* One map, or all in the order of their names (what is printed at exit). top, div as print(@m, top,
 * div); 0: all, 1. As in bpftrace, the text of a map without entries is one empty line, and two
 * empty lines come before all maps. */
int report_map(struct report *r, const struct map_store *maps, uint32_t map, int64_t top,
	       int64_t div, struct buf *out);
/* Each entry of a map, for programs: key and value as report_map() shows them, and the number when
 * it is one (integers, count, sum, min, max, avg); the value itself. A non-zero result of `fn` ends
 * it and is returned. */
struct report_entry {
	struct str key, text;
	const char *parts; /* of the key, each ends in a NUL */
	unsigned part_count;
	bool is_number;
	int64_t number;
	const struct value *value;
};
typedef int report_entry_fn(void *arg, const struct report_entry *entry);
int report_entries(struct report *r, const struct map_store *maps, uint32_t map,
		   report_entry_fn *fn, void *arg);
int report_all_maps(struct report *r, const struct map_store *maps, struct buf *out);
/* Go on with an extending program (script_extend), whose names and formats continue those of the
 * one before. Records of both may come. -ENOMEM. */
int report_extend(struct report *r, const struct program *more);
/* One fault with its position: "script:1:20: warning: 3 reads failed: bad address". */
void report_fault(struct report *r, const struct run_fault *fault, struct buf *out);
/* END is next: its commands are run even when the run was stopped. */
void report_at_end(struct report *r);
/* How many calls of system() and cat() were not made because of the stop. */
void report_skipped(struct report *r, struct buf *out);
/* Why the last record's cat() or system() gave nothing: "error: cannot read 'x': ...", a line for
 * the user apart from the script's output. Empty: nothing failed. */
struct str report_failure(const struct report *r);
/* "Attached N probes", for JSON only; "Lost N events" and the other losses that are not 0. */
void report_attached(struct report *r, unsigned probes, struct buf *out);
/* `delivered`: records that arrived; `ring_bytes`: the size of the event buffer. */
void report_lost(struct report *r, const struct run_stats *stats, uint64_t delivered,
		 uint64_t ring_bytes, struct buf *out);

#endif
