/* nopal trace with bcc's words: the lines that bcc's trace prints. */
#ifndef NOPAL_CMD_BCC_TRACE_H
#define NOPAL_CMD_BCC_TRACE_H

#include "options.h"
#include "run.h"
#include "spec.h"

/* Options of bcc's trace. */
struct bcc_columns {
	bool clock, elapsed, unix_time; /* -T, -t, -u */
	bool cpu, address;		/* -C, -a */
	bool kernel_stack, user_stack;	/* -K, -U */
	bool aggregate;			/* -A */
	const char *filter;		/* -f TEXT; NULL: none */
	long text_size;			/* -Z; 0: any */
	bool binary;			/* -B */
	char *headers;			/* -I: lines of the script, which come first; owned */
};

take_fn bcc_take_header; /* char *: one more #include, to be freed */
/* What words of other forms cannot have, and what -A needs: `most` is that of -M. 0, or an exit
 * code after a message. */
int bcc_trace_check(const struct command *c, const struct bcc_columns *b, bool is_bcc, long most);

#define BCC_HEADER 96
/* "TIME     CPU PID     TID     COMM            FUNC             -" and a newline. */
void bcc_trace_header(const struct bcc_columns *b, const struct spec *specs, int count,
		      char out[BCC_HEADER]);
/* The statement that prints an event. */
void bcc_trace_write(struct script_text *t, const struct bcc_columns *b, const struct spec *s);
/* The condition that -f TEXT makes in *out, which is one of *s; NULL: none. 0, or an exit code
 * after a message. */
int bcc_trace_filter(const struct command *c, const struct bcc_columns *b, const struct spec *s,
		     const char **out);

/* -A: print each of the events in a text once, the most frequent first. */
void bcc_print_equal(char *events);

#endif
