/* Notes of .note.nopal, decoded: what describe_read.c makes and describe.c looks up. */
#ifndef NOPAL_PROBE_DESCRIBE_NOTE_H
#define NOPAL_PROBE_DESCRIBE_NOTE_H

#include "probe/describe.h"

/* A site, by its address. */
struct site_note {
	uint64_t location;
	uint32_t line, file_len, text_len;
	struct str classes; /* two bytes an argument */
};

/* The source text of sites, by probe, line and lengths. */
struct text_note {
	struct str provider, name;
	uint32_t line, file_len, text_len;
	uint16_t at; /* where in the source text this piece begins */
	struct str file, text;
};

/* What a note says about a probe and not about a site: a declaration, or a line for people. */
struct probe_note {
	struct str provider, name;
	struct str content; /* undecoded */
	bool is_decoded;
	struct ctype_param *params; /* of a declaration, as an array */
	unsigned param_count;
};

/* The orders they are sorted in. Of sites and probes: 0 when both notes say the same. Of texts: 0
 * when they belong to the same line of the source. */
int site_note_compare(const void *pa, const void *pb);
int text_note_compare(const void *pa, const void *pb);
int probe_note_compare(const void *pa, const void *pb);

#endif
