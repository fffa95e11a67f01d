/* Where the text of a run goes: standard output, or the file of -o. While probes are armed, text
 * that cannot be written yet is kept, in order. Afterwards writing waits for the reader, but after
 * a signal only for a limited time. */
#ifndef NOPAL_CMD_SINK_H
#define NOPAL_CMD_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nopal_trace;

struct sink {
	const char *path; /* NULL: standard output */
	bool full;	  /* collect large blocks */
	int fd;		  /* -1: not open */
	bool detached;	  /* no probe is armed any more: waiting is harmless */
	int err;	  /* why text could not be written; 0: no error so far */
	char *text;	  /* not yet written */
	size_t len, cap;
	uint64_t given_up;	   /* bytes that were not read in time */
	struct nopal_trace *trace; /* stopped when the reader is gone */
};

/* Opens nothing: the first text does. */
void sink_init(struct sink *s, const char *path, bool full);
/* Create or truncate the file. False after a message. */
bool sink_open(struct sink *s);
/* A nopal_output_fn. */
void sink_take(void *sink, const char *text, size_t len);
/* Write the rest and close. False after a message if text was lost; a reader that has
 * closed its end does not count. */
bool sink_close(struct sink *s);
/* Is it a terminal? Also before it is opened. */
bool sink_is_terminal(const struct sink *s);

#endif
