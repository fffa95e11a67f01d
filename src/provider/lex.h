/* Words of a provider file. Skips blanks, comments of all kinds (C, C++, and `#` to the end of the
 * line) and preprocessor lines; turns line markers of cpp into positions in the file that the user
 * wrote. Tokens borrow from the text. */
#ifndef NOPAL_PROVIDER_LEX_H
#define NOPAL_PROVIDER_LEX_H

#include "base/diag.h"

enum provider_token_kind {
	TOKEN_END,
	TOKEN_WORD,   /* probe, p$target */
	TOKEN_NUMBER, /* 10, 0x1f, and also 9lives: what C calls a preprocessing number */
	TOKEN_STRING, /* "..." or '...' with its quotes */
	TOKEN_PUNCT,  /* one character, or ... */
	TOKEN_PRAGMA, /* what follows `#pragma D` on its line */
};

struct provider_token {
	enum provider_token_kind kind;
	struct str text; /* in the lexer's text, also when empty */
};

/* `# 12 "file.d"`: from `at` on, lines belong to `path` and count from `line`. */
struct line_marker {
	struct str path;
	size_t at;
	unsigned line;
};

struct provider_lexer {
	struct str path, text;
	size_t at;
	struct arena *arena; /* of the markers */
	struct diag *diag;
	struct line_marker *markers;
	size_t marker_count, marker_cap;
	struct str open_if; /* the first `#if` that nothing evaluated */
	bool warned_if;
};

/* The next token. 0; -EINVAL after a message about what cannot be a token; -ENOMEM. */
int provider_lex(struct provider_lexer *l, struct provider_token *out);

/* The place of a piece of the text, in the file the user wrote. */
struct span provider_span(const struct provider_lexer *l, struct str piece);

#endif
