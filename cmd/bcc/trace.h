/* nopal trace with bcc's words: the lines that bcc's trace prints. */
#ifndef NOPAL_CMD_BCC_TRACE_H
#define NOPAL_CMD_BCC_TRACE_H

#include "options.h"
#include "run.h"
#include "spec.h"

#define BCC_HEADERS 16

/* -I: headers of C that the script includes. */
struct bcc_headers {
	const char *list[BCC_HEADERS];
	unsigned count;
};

/* Options of bcc's trace. */
struct bcc_columns {
	bool clock, elapsed, unix_time; /* -T, -t, -u */
	bool cpu, address;		/* -C, -a */
	bool kernel_stack, user_stack;	/* -K, -U */
	bool aggregate;			/* -A */
	const char *filter;		/* -f TEXT; NULL: none */
	long text_size;			/* -Z; 0: any */
	bool binary;			/* -B */
	struct bcc_headers headers;	/* -I */
};

take_fn bcc_take_header;
/* As lines of a script; they come first. */
void bcc_write_headers(struct script_text *t, const struct bcc_headers *h);
/* What words of other forms cannot have, and what -A needs: `most` is that of -M. 0, or an exit
 * code after a message. */
int bcc_trace_check(const struct command *c, const struct bcc_columns *b, bool is_bcc, long most);

/* "TIME     CPU PID     TID     COMM            FUNC             -" and a newline; the caller frees
 * it. */
char *bcc_trace_header(const struct bcc_columns *b, const struct spec *specs, int count);
/* The statement that prints an event. */
void bcc_trace_write(struct script_text *t, const struct bcc_columns *b, const struct spec *s);
/* The condition that -f TEXT makes in *out, which is one of *s; NULL: none. 0, or an exit code
 * after a message. */
int bcc_trace_filter(const struct command *c, const struct bcc_columns *b, const struct spec *s,
		     const char **out);

/* -A: print each of the events in a text once, the most frequent first. */
void bcc_print_equal(char *events);

#endif
