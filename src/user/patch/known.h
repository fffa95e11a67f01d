/* What was found in the code of files, so that the next process that has one mapped is not searched
 * again. */
#ifndef NOPAL_USER_PATCH_KNOWN_H
#define NOPAL_USER_PATCH_KNOWN_H

#include <stddef.h>
#include <stdint.h>

struct inject;
struct mapped_file;

/* What several processes of a session have in common, so that it is searched for once: give it to
 * each that was opened. It lives longer than they do. NULL: no memory. */
struct inject_known;
struct inject_known *inject_known_new(void);
void inject_known_free(struct inject_known *known);
void inject_use_known(struct inject *x, struct inject_known *known);
#define MATCH_BYTES 96

/* A pattern of libc.c, with some bytes around it. */
struct code_match {
	uint64_t at; /* of `bytes`, from the start of the code */
	uint8_t pattern;
	uint8_t before, size; /* bytes: before the pattern, and all */
	uint8_t bytes[MATCH_BYTES];
};

/* How many there are, all of them; -ENOSPC: more than `most`. */
typedef int search_code_fn(const uint8_t *code, size_t len, struct code_match *out, unsigned most);
/* All that `fn` finds in the code of the file that is mapped at `m`. -ENOENT: nothing, or the file
 * cannot be read. */
int known_matches(struct inject *x, const struct mapped_file *m, search_code_fn *fn,
		  const struct code_match **out);

#endif
