/* Probes as bcc's tools have them: "u:pthread:pthread_create (arg1 != 0) \"start %llx\", arg3". */
#ifndef NOPAL_CMD_BCC_WORD_H
#define NOPAL_CMD_BCC_WORD_H

#include <stdbool.h>

#include "command.h"

/* The pieces of such a word, in the language of scripts. Texts are owned. */
struct bcc_spec {
	char *probe;	/* "usdt:pthread:pthread_create" */
	char *filter;	/* "(arg0 != 0)"; NULL: none */
	char *format;	/* "\"start %x\", (uint64)(arg2)"; NULL: none */
	char *function; /* what bcc shows in the column FUNC: "pthread_create" */
	char *contains; /* "strcontains(str(arg0), "x")", of what %s shows; NULL: nothing */
	char type;	/* p r t u; 0: a probe in a form of our own */
};

/* How words are read. */
struct bcc_reading {
	bool is_function;     /* "LIB:NAME" is a function, as in bcc, and not PROVIDER:NAME */
	bool is_trace;	      /* "u:LIB:NAME" alone is one of bcc's words */
	long text_size;	      /* of what %s shows; 0: any */
	bool is_binary;	      /* STRCMP() has bytes, as in -B */
	const char *contains; /* -f TEXT; NULL: none */
};

/* Is it one? A probe that is followed by a blank, a bracket or a label in the same word, or one of
 * bcc's types. */
bool bcc_is_spec(const char *word);
/* 0, or EXIT_USAGE after a message of `c`. */
int bcc_read(const struct command *c, const char *word, const struct bcc_reading *how,
	     struct bcc_spec *out);
void bcc_free(struct bcc_spec *s);

#define BCC_VALUES 8

/* What argdist counts: -C and -H "r:c:malloc(size_t n):u64:n:n>10#label". Texts are owned. */
struct bcc_argdist {
	struct bcc_spec at;	 /* the probe and the filter */
	char *values;		 /* "arg0, str(arg1)"; NULL: calls, or the result */
	char *names[BCC_VALUES]; /* of the values, as they were typed */
	unsigned count;		 /* of these */
	char *kept;		 /* "(nsecs, arg0)", what the start keeps; NULL: nothing */
	const char *label;	 /* in the word; NULL: none */
};

/* `map`: a letter for the names of maps that belong to this spec alone. */
int bcc_read_argdist(const struct command *c, const char *word, const struct bcc_reading *how,
		     char map, struct bcc_argdist *out);
void bcc_argdist_free(struct bcc_argdist *a);

#endif
