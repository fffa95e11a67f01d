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
	const struct option *only_bcc;	/* an option that only bcc's words have; NULL: none */
	bool binary;			/* -B */
	struct bcc_headers headers;	/* -I */
};

/* Rows for a struct bcc_columns at `at` of the command's struct. */
/* clang-format off */
#define BCC_TRACE_OPTIONS(at) \
	{"-u", "--unix-timestamp", NULL,    bcc_take_option,   at, NULL}, \
	{"-C", "--print_cpu",      NULL,    bcc_take_option,   at, NULL}, \
	{"-a", "--address",        NULL,    bcc_take_option,   at, NULL}, \
	{"-A", "--aggregate",      NULL,    bcc_take_option,   at, NULL}, \
	{"-Z", "--string-size",    "BYTES", bcc_take_option,   at, NULL}, \
	{"-B", "--bin_cmp",        NULL,    bcc_take_option,   at, NULL}, \
	{"-I", "--include",        "FILE",  bcc_take_header,   at + offsetof(struct bcc_columns, headers), NULL}
/* clang-format on */
take_fn bcc_take_option, bcc_take_header;
/* As lines of a script; they come first. */
void bcc_write_headers(struct script_text *t, const struct bcc_headers *h);
/* What words of other forms cannot have, and what -A needs: `most` is that of -M. 0, or an exit
 * code after a message. */
int bcc_trace_check(const struct command *c, const struct bcc_columns *b, bool is_bcc, long most);

/* Are these all words of bcc's? */
bool bcc_trace_is(const struct spec *specs, int count);
/* "TIME     CPU PID     TID     COMM            FUNC             -" and a newline; the caller frees
 * it. */
char *bcc_trace_header(const struct bcc_columns *b, const struct spec *specs, int count);
/* The statement that prints an event. */
void bcc_trace_write(struct script_text *t, const struct bcc_columns *b, const struct spec *s);
/* -f TEXT as a condition of the script; the caller frees *out, which may be NULL. 0, or an exit
 * code after a message. */
int bcc_trace_filter(const struct command *c, const struct bcc_columns *b, const struct spec *s,
		     char **out);

/* -A: equal events are counted. */
struct bcc_events {
	FILE *out;
	char *text; /* all of them; owned */
	size_t len;
};

bool bcc_events_open(struct bcc_events *e);
/* Print each event once, the most frequent first, to standard output. */
void bcc_events_print(struct bcc_events *e);

#endif
