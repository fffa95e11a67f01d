/* Probe patterns as text, "usdt:PATH:PROVIDER:NAME": read and written. Scripts and the arguments of
 * commands have one grammar; what the parts mean, their readers know.
 *
 *     pattern = part ( ":" part )*
 *     part    = ( string | plain byte )*
 *
 * In an argument, which is a pattern to its end, every byte but : and " is plain. In a script,
 * blanks and , ; { } / end a pattern. */
#ifndef NOPAL_FIND_PATTERN_H
#define NOPAL_FIND_PATTERN_H

#include "base/diag.h"
#include "find/find.h"

#define PATTERN_MAX_PARTS 6 /* more are not read */

struct pattern {
	struct str part[PATTERN_MAX_PARTS]; /* without quotes and escapes */
	unsigned count;			    /* 1 and more */
	struct str all, first;		    /* in the source: the pattern, its first part */
};

/* What is special to patterns in a script. */
struct pattern_script {
	/* Is the second part of such a pattern a path? In paths a / is plain. */
	bool (*has_path)(struct str type);
	/* Add what plain bytes mean to `out`: "$1" is a parameter of the script. 0 or -errno. */
	int (*plain)(void *arg, struct span bytes, struct buf *out);
	void *arg;
};

/* Read the pattern at `at->at`, which moves to after it; another ':' there is one too many. Parts
 * live in `a`. `script` is NULL for an argument. -EINVAL with a message, -ENOMEM. */
int pattern_read(struct span *at, const struct pattern_script *script, struct arena *a,
		 struct pattern *out, struct diag *d);

/* An argument that names USDT probes -> query; "usdt:" may be left out. Its parts live in `a`.
 * -EINVAL with a message, -ENOMEM. */
int pattern_query(struct str text, struct arena *a, struct find_query *out, struct diag *d);

/* Write a part so that it is read as the same bytes, in quotes if need be. */
void pattern_quote(struct str part, struct buf *out);

#endif
