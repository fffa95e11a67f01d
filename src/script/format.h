/* Scripts as `nopal fmt` reads them: what format.c and format_pieces.c share. */
#ifndef NOPAL_SCRIPT_FORMAT_H
#define NOPAL_SCRIPT_FORMAT_H

#include "script/parse/lex.h"

enum piece_kind { PIECE_TOKEN, PIECE_LINE_COMMENT, PIECE_COMMENT };

struct text_piece {
	enum piece_kind kind;
	enum token_kind token;
	struct str text; /* as the source has it */
	unsigned breaks; /* ends of lines before it */
	size_t pair;	 /* of a bracket: the number of the other one */
};

struct formatter {
	struct str source;
	const struct builtins *builtins;
	struct arena arena;
	struct buf *out;
	struct text_piece *pieces;
	size_t count, cap;
	unsigned indent;
	int err;
};

/* format_pieces.c */

/* Blanks from `at` on; *breaks counts their ends of lines. */
size_t format_skip_blanks(struct str s, size_t at, unsigned *breaks);
/* A comment at `at`: where it ends; `at` itself: there is none. */
size_t format_comment_end(struct str s, size_t at, enum piece_kind *kind);
struct str format_trim_end(struct str s);
/* Read the pieces of [from, to) again. */
void format_read_pieces(struct formatter *f, size_t from, size_t to, bool in_predicate);
bool format_is_token(const struct formatter *f, size_t n, enum token_kind kind);
bool format_is_word(const struct formatter *f, size_t n, const char *word);
bool format_needs_blank(const struct formatter *f, size_t n);

#endif
