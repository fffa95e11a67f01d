/* Messages to the user: collected where the most is known, shown only by cmd/.
 *
 *   script:1:14: error: unknown probe 'mysql:qery__start'     <- where, level, text
 *   usdt:mysql:qery__start { @ = count() }                    <- source line, when there is one
 *        ~~~~~~~~~~~~~~~~~                                    <- span
 *   hint: did you mean 'query__start'?
 *
 * Text is lower case, without a full stop, the subject in quotes. Tags are stable words for tests
 * and for --json. */
#ifndef NOPAL_BASE_DIAG_H
#define NOPAL_BASE_DIAG_H

#include "base/arena.h"
#include "base/buf.h"

enum diag_level { DIAG_ERROR, DIAG_WARNING };

/* A piece of a text: `len` bytes at `at` of `source`, which is the whole text. source.ptr NULL:
 * the message is not about a text. */
struct span {
	struct str path; /* "script.bt", "-e"; empty: none */
	struct str source;
	size_t at;
	size_t len;
	unsigned lines_above; /* lines of the file before `source`, which may be a part of it */
};

struct message {
	enum diag_level level;
	const char *tag; /* "unknown-probe": stable, static */
	struct span span;
	struct str text; /* one line */
	struct str log;	 /* lines of somebody else; empty: none */
	struct str hint; /* empty: none */
	struct message *next;
};

/* A list of messages; beyond DIAG_LIMIT they are counted, but their text is not kept. A warning of
 * a text is kept once. */
#define DIAG_LIMIT 100
struct diag {
	struct arena arena;
	struct message *first, *last;
	unsigned errors, warnings;
	bool is_full; /* the newest message was not kept, or repeats an older one */
};

/* clang-format off */
#define DIAG_INIT {ARENA_INIT, NULL, NULL, 0, 0, false}
/* clang-format on */

void diag_free(struct diag *d);
/* Add one message and return `err`, so that `return diag_error(d, -ENOENT, …)` reads well. d may be
 * NULL. */
#define diag_error(d, err, tag, ...) diag_error_at((d), (err), (tag), (struct span){0}, __VA_ARGS__)
int diag_error_at(struct diag *d, int err, const char *tag, struct span span, const char *format,
		  ...) __attribute__((format(printf, 5, 6)));
#define diag_warn(d, tag, ...) diag_warn_at((d), (tag), (struct span){0}, __VA_ARGS__)
void diag_warn_at(struct diag *d, const char *tag, struct span span, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* No failure is silent: when `err` is one (-ECANCELED is none), and `d` has no error yet, add
 * "cannot WHAT: ...". Returns `err`. */
int diag_ensure(struct diag *d, int err, const char *what);
/* What the newest message quotes, which may have several lines: ": LOG" is shown after its text. */
void diag_log(struct diag *d, struct str log);
/* The hint of the newest message. */
void diag_hint(struct diag *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* After a failure for want of permission (-EACCES, -EPERM): the hint "run as root, or OTHERWISE".
 */
void diag_hint_permission(struct diag *d, int err, const char *otherwise);
/* Errors after `last` (NULL: all) that are not about a text get this place. */
void diag_place(struct diag *d, const struct message *last, struct span span);
/* Add the messages of another list, as they are. */
void diag_add_all(struct diag *d, const struct diag *from);
/* All messages as text, as drawn above; untrusted text is made safe for a terminal. */
void diag_render(const struct diag *d, struct buf *out);
/* 1-based line and column (in bytes) of a span. */
void span_position(struct span span, unsigned *line, unsigned *column);

#endif
