/* C declarations -> C types, one declaration at a time: the parts of a parser for texts that have
 * them, provider files and scripts. lex.c makes tokens and walks over them, specifiers.c,
 * declarator.c and members.c read C; what is around the declarations is up to the caller.
 *
 * Comes in: text. Goes out: types in the caller's arena, which borrow the text. */
#ifndef NOPAL_CPARSE_CPARSE_H
#define NOPAL_CPARSE_CPARSE_H

#include "base/diag.h"
#include "ctype/ctype.h"

/* ---- lex.c: words ----
 *
 * It skips blanks, comments of all kinds (C, C++, and `#` to the end of the line) and preprocessor
 * lines, and turns line markers of cpp into positions in the file that the user wrote. Tokens
 * borrow from the text. */

enum c_token_kind {
	C_END,
	C_WORD,	  /* probe, p$target */
	C_NUMBER, /* 10, 0x1f, and also 9lives: what C calls a preprocessing number */
	C_STRING, /* "..." or '...' with its quotes */
	C_PUNCT,  /* one character, or ... */
	C_PRAGMA, /* what follows `#pragma D` on its line */
};

struct c_token {
	enum c_token_kind kind;
	struct str text; /* in the lexer's text, also when empty */
};

/* `# 12 "file.d"`: from `at` on, lines belong to `path` and count from `line`. */
struct line_marker {
	struct str path;
	size_t at;
	unsigned line;
};

struct c_parser;

struct c_lexer {
	struct str path, text;
	size_t at;
	struct arena *arena; /* of the markers */
	struct diag *diag;
	struct line_marker *markers;
	size_t marker_count, marker_cap;
	struct str open_if; /* the first `#if` that nothing evaluated */
	bool warned_if;
	bool ends_at_hash; /* a line that starts with # is the caller's: the text ends there */
};

/* Where a piece of the text is, in the file that the user wrote. */
struct span parser_span(const struct c_lexer *l, struct str piece);

/* One of a list that ends in NULL? */
bool word_is_one_of(struct str word, const char *const *words);

/* ---- The parser ---- */

/* Types made of more levels, and brackets inside more brackets, are not declarations
 * but attacks. */
#define MAX_DEPTH 64

/* Who knows names: each is called with `self`, and may be NULL. */
struct c_names {
	void *self;
	/* The meaning of a typedef's name; NULL: there is no such typedef. */
	const struct ctype *(*find_typedef)(void *self, struct str name);
	/* The struct, union or enum of this tag, made as a declaration when it is new; NULL: no
	 * memory. Without this function a type has no members, and is a new one each time. */
	struct ctype *(*tag)(void *self, enum ctype_kind kind, struct str name);
	/* The value of a name in a constant expression. */
	bool (*constant)(void *self, struct str name, int64_t *value);
	/* With `tag`: a constant of an enum. -ENOMEM. */
	int (*add_constant)(void *self, struct str name, const struct ctype *type, int64_t value);
	/* The text after "#pragma D". */
	void (*pragma)(struct c_parser *p, struct str text);
};

/* The first mistake stops it: `err` stays, the current token is the end of the file, and whatever
 * is called then does nothing. So a rule of the grammar is read as it is written. */
struct c_parser {
	struct c_lexer lexer;
	struct arena *arena; /* of the types */
	struct c_names names;
	const struct ctype_machine *machine; /* with names.tag: members are laid out for it */
	struct c_token tok, next;	     /* the current token and the one after it */
	struct str last;		     /* the text of the token before */
	unsigned depth;			     /* brackets and braces the parser is inside of */
	int err;			     /* -EINVAL after a message, -ENOMEM; 0: none so far */
	union {
		struct ctype type;
		struct ctype_param param;
		uint64_t bytes[32];
	} spare; /* what parser_new() returns without memory */
};

/* What attributes say of the place of something in memory. */
struct c_attributes {
	bool is_packed;
	unsigned aligned; /* bytes; 0: not given */
};

/* A declared name with its type; the name is empty when there is none. */
struct declarator {
	struct str name;
	const struct ctype *type;
	struct str at; /* all of its text */
	struct c_attributes attributes;
};

/* What comes before a declarator: const unsigned long. */
struct specifiers {
	struct ctype *type;
	bool is_shared;	    /* the type is what names.tag knows: not to be changed */
	struct str storage; /* "typedef", "static", …; empty */
	struct str at;
	struct c_attributes attributes;
};

/* Set the tokens going at lexer.at. */
void parser_start(struct c_parser *p);
void parser_advance(struct c_parser *p);
bool parser_at(const struct c_parser *p, const char *text); /* the current token */
bool parser_next_at(const struct c_parser *p, const char *text);
bool parser_at_any(const struct c_parser *p, const char *characters);
/* Advance if this is the current token. */
bool parser_take(struct c_parser *p, const char *text);
/* ... and stop if it is not. */
void parser_expect(struct c_parser *p, const char *text, const char *why);
/* Stop after "expected …, found …" at the current token. */
void parser_expected(struct c_parser *p, const char *what);
void parser_fail(struct c_parser *p, struct str at, const char *tag, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void parser_stop(struct c_parser *p, int err);
/* Stop if the current word has a dollar sign: D's names may, C's may not. */
void parser_refuse_dollar(struct c_parser *p);
/* From the start of `first` to the end of the last token that was taken. */
struct str parser_taken_since(const struct c_parser *p, const char *first);
/* From the current opening bracket to the token after its partner. */
void parser_skip_brackets(struct c_parser *p);
/* Up to one of the characters `stops` outside of brackets; returns what was skipped. */
struct str parser_skip_to(struct c_parser *p, const char *stops);

/* Is it one of the words of C that specifiers are made of? */
bool is_specifier_word(struct str text);
/* Zeroed, from the file's arena; never NULL. */
void *parser_new(struct c_parser *p, size_t size);
struct ctype *parser_new_type(struct c_parser *p, enum ctype_kind kind, const struct ctype *to);
/* One level deeper; to be undone by p->depth--. */
void parser_enter(struct c_parser *p);
/* { "__attribute__" brackets } and similar; adds to *out. */
void parser_attributes(struct c_parser *p, struct c_attributes *out);
/* { "const" | "volatile" | "restrict" | attribute } */
void parser_qualifiers(struct c_parser *p, unsigned *qualifiers);

/* Does a C declaration start here? */
bool parser_at_type(const struct c_parser *p);
struct specifiers parser_specifiers(struct c_parser *p);
struct declarator parser_declarator(struct c_parser *p, const struct specifiers *s);
/* The typedef of this name, or NULL. */
const struct ctype *parser_find_typedef(const struct c_parser *p, struct str name);
/* members.c: from "{" to "}" of a struct or union, or of an enum */
void parser_members(struct c_parser *p, struct ctype *out, struct c_attributes a);
void parser_constants(struct c_parser *p, struct ctype *out, struct c_attributes a);
/* constant.c: a constant expression; 0 after an error. */
int64_t parser_constant(struct c_parser *p);
/* "0x10UL" -> 16 */
bool c_number(struct str text, int64_t *out);
/* "(" parameters ")": of a probe or a function. */
struct ctype_param *parser_params(struct c_parser *p, bool *variadic);

#endif
