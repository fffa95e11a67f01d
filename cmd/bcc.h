/* Probes as bcc's tools have them: "u:pthread:pthread_create (arg1 != 0) \"start %llx\", arg3". */
#ifndef NOPAL_CMD_BCC_H
#define NOPAL_CMD_BCC_H

#include <stdbool.h>

#include "command.h"

/* The pieces of such a word, in the language of scripts. Texts are owned. */
struct bcc_spec {
	char *probe;  /* "usdt:pthread:pthread_create" */
	char *filter; /* "(arg0 != 0)"; NULL: none */
	char *format; /* "\"start %x\", arg2"; NULL: none */
};

/* Is it one? A probe that is followed by a blank, a bracket or a label in the same word, or one of
 * bcc's types. */
bool bcc_is_spec(const char *word);
/* 0, or EXIT_USAGE after a message of `c`. `is_function`: "LIB:NAME" is a function, as in bcc, and
 * not PROVIDER:NAME. */
int bcc_read(const struct command *c, const char *word, bool is_function, struct bcc_spec *out);
/* -C and -H of argdist, "r:c:malloc(size_t n):u64:n:n>10#label": the probe and the filter as above,
 * `format` is the list of expressions. */
int bcc_read_argdist(const struct command *c, const char *word, struct bcc_spec *out);
void bcc_free(struct bcc_spec *s);

#endif
