/* One value as text or JSON, as bpftrace writes it. Comes in: a decoded value of a record or a map.
 * Goes out: bytes at the end of a buffer. What could not be read is shown as `(null)` and
 * `(unreadable)`, and a string that was cut ends in the trailer. */
#ifndef NOPAL_REPORT_RENDER_H
#define NOPAL_REPORT_RENDER_H

#include "program/record.h"
#include "report/report.h"

/* How untrusted bytes are shown: unchanged; control characters are escaped, but newlines and
 * tabs stay; these are escaped, too. */
enum escape { ESCAPE_NOTHING, ESCAPE_LINES, ESCAPE_ALL };

struct renderer {
	const struct program *program;
	const struct str *names; /* of the program, or of the newest that extends it */
	uint32_t name_count;
	struct symbols *symbols;  /* NULL: addresses stay numbers */
	struct lang_names *langs; /* functions of scripts; NULL: none are known */
	struct str trunc_trailer;
	enum escape escape;
	bool is_structured;	  /* JSON: keys and stacks are arrays */
	bool is_csv;		  /* text: an entry of a map is a row with commas */
	bool is_folded;		  /* text: a stack is one line, outermost first: "main;run;step" */
	enum nopal_frames frames; /* text */
	const struct nopal_look *look; /* of tables; NULL: as bpftrace */
	const char *titles;
	struct gfp *gfp;     /* of printf's %gr */
	struct buf *headers; /* CSV: the tables whose header line was written, a line each */
	int64_t wall_offset; /* CLOCK_REALTIME - CLOCK_MONOTONIC, nanoseconds */
};

/* Its times are in UTC then. */
static inline bool render_is_for_programs(const struct renderer *r)
{
	return r->is_structured || r->is_csv;
}

/* Blanks before a stack frame: in a map's key, and everywhere else. */
#define INDENT_KEY   4
#define INDENT_VALUE 8

void render_text(const struct renderer *r, const struct value *v, unsigned indent, struct buf *out);
/* A value as a part of a record: strings are in quotes. */
void render_part(const struct renderer *r, const struct value *v, struct buf *out);
void render_json(const struct renderer *r, const struct value *v, unsigned indent, struct buf *out);
/* A value of TYPE_DISPLAY: see display.c. */
void render_display(const struct renderer *r, const struct value *v, struct buf *out);
/* An address as the name of the symbol that contains it; `flags` as of symbols_user(). */
void render_symbol(const struct renderer *r, bool kernel, uint64_t pid, uint64_t address,
		   unsigned flags, struct buf *out);
/* Untrusted bytes, escaped as r->escape says. */
void render_bytes(const struct renderer *r, struct str bytes, struct buf *out);
/* The same for text of several lines: newlines and tabs stay always. */
void render_lines(const struct renderer *r, struct str text, struct buf *out);
/* `bytes` with \xNN for what is not printable ASCII; `all`: for every byte. */
void render_escaped(struct str bytes, bool all, struct buf *out);
/* One JSON string, quotes and all. */
void render_quoted(struct str text, struct buf *out);

/* The elements of a tuple, one after the other. */
struct elements {
	const struct type *type;
	struct record rest;
	unsigned next;
	bool packed;
};

void elements_open(const struct value *tuple, struct elements *e);
/* False at the end, or when the bytes are malformed. */
bool elements_next(struct elements *e, struct value *out);

#endif
