/* Where the text of a run goes: standard output, or the file of -o. What cannot be written yet is
 * kept, in order, as long as probes are armed; afterwards a reader is waited for, but after a
 * signal only for a while. */
#ifndef NOPAL_CMD_SINK_H
#define NOPAL_CMD_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nopal_trace;

struct sink {
	const char *path; /* NULL: standard output */
	bool full;	  /* collect large pieces */
	int fd;		  /* -1: not open */
	bool detached;	  /* no probe is armed any more: waiting is harmless */
	int err;	  /* why text could not be written; 0: all was, so far */
	char *text;	  /* not yet written */
	size_t len, cap;
	uint64_t given_up;	   /* bytes that were not read in time */
	struct nopal_trace *trace; /* stopped when the reader is gone */
};

/* Nothing is opened yet, and no file is touched: the first text does it. */
void sink_init(struct sink *s, const char *path, bool full);
/* Create or empty the file. False with a message. */
bool sink_open(struct sink *s);
/* A nopal_output_fn. */
void sink_take(void *sink, const char *text, size_t len);
/* Write what is left and close. False with a message when text was lost; a reader who has gone
 * wanted no more. */
bool sink_close(struct sink *s);
/* Is it a terminal, or will the file be one? */
bool sink_is_terminal(const struct sink *s);

#endif
