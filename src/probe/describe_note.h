/* Notes of .note.nopal, decoded: what describe_read.c makes and describe.c looks up. */
#ifndef NOPAL_PROBE_DESCRIBE_NOTE_H
#define NOPAL_PROBE_DESCRIBE_NOTE_H

#include "probe/describe.h"

struct described_place {
	uint64_t location;
	uint32_t line, file_len, text_len;
	struct str classes; /* two bytes an argument */
};

struct described_text {
	struct str provider, name;
	uint32_t line, file_len, text_len;
	uint16_t at; /* where in the source text this piece begins */
	struct str file, text;
};

/* What is told of a probe, wherever its sites are. */
struct told {
	struct str provider, name;
	struct str content; /* undecoded */
};

/* The orders they are sorted in. Places and what is told of probes: 0 when all of it is the same.
 * Texts: 0 when they belong to the same place of the source. */
int compare_described_places(const void *pa, const void *pb);
int compare_described_texts(const struct described_text *a, const struct described_text *b);
int compare_told(const void *pa, const void *pb);

#endif
