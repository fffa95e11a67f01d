/* C's specifiers: const unsigned long, struct node { … }, as C11 and gcc spell them. */
#include <errno.h>

#include "base/array.h"
#include "cparse/cparse.h"

/* The words of an arithmetic type, two bits each so that "long long" can be counted. */
enum {
	WORD_VOID = 1 << 0,
	WORD_BOOL = 1 << 2,
	WORD_CHAR = 1 << 4,
	WORD_SHORT = 1 << 6,
	WORD_INT = 1 << 8,
	WORD_LONG = 1 << 10,
	WORD_FLOAT = 1 << 12,
	WORD_DOUBLE = 1 << 14,
	WORD_SIGNED = 1 << 16,
	WORD_UNSIGNED = 1 << 18,
	WORD_INT128 = 1 << 20,
	WORD_COMPLEX = 1 << 22,
	WORD_FLOAT128 = 1 << 24,
};

enum word_kind {
	WORD_TYPE,
	WORD_QUALIFIER,
	WORD_STORAGE,
	WORD_TAG,
	WORD_SKIP,
	WORD_SKIP_ARGS,
	WORD_NAME, /* not in the table: a typedef */
};

/* clang-format off */

/* Words of C that specifiers are made of, and what each is. */
static const struct {
	const char *text;
	enum word_kind kind;
	unsigned value; /* a WORD_, a CTYPE_ qualifier, or the kind of type that a tag makes */
} words[] = {
	{ "void",          WORD_TYPE,      WORD_VOID      },
	{ "_Bool",         WORD_TYPE,      WORD_BOOL      },
	{ "bool",          WORD_TYPE,      WORD_BOOL      },
	{ "char",          WORD_TYPE,      WORD_CHAR      },
	{ "short",         WORD_TYPE,      WORD_SHORT     },
	{ "int",           WORD_TYPE,      WORD_INT       },
	{ "long",          WORD_TYPE,      WORD_LONG      },
	{ "float",         WORD_TYPE,      WORD_FLOAT     },
	{ "double",        WORD_TYPE,      WORD_DOUBLE    },
	{ "signed",        WORD_TYPE,      WORD_SIGNED    },
	{ "__signed",      WORD_TYPE,      WORD_SIGNED    },
	{ "__signed__",    WORD_TYPE,      WORD_SIGNED    },
	{ "unsigned",      WORD_TYPE,      WORD_UNSIGNED  },
	{ "__int128",      WORD_TYPE,      WORD_INT128    },
	{ "_Complex",      WORD_TYPE,      WORD_COMPLEX   },
	{ "__complex__",   WORD_TYPE,      WORD_COMPLEX   },
	{ "__float128",    WORD_TYPE,      WORD_FLOAT128  },
	{ "_Float128",     WORD_TYPE,      WORD_FLOAT128  },
	{ "const",         WORD_QUALIFIER, CTYPE_CONST    },
	{ "__const",       WORD_QUALIFIER, CTYPE_CONST    },
	{ "__const__",     WORD_QUALIFIER, CTYPE_CONST    },
	{ "volatile",      WORD_QUALIFIER, CTYPE_VOLATILE },
	{ "__volatile",    WORD_QUALIFIER, CTYPE_VOLATILE },
	{ "__volatile__",  WORD_QUALIFIER, CTYPE_VOLATILE },
	{ "restrict",      WORD_QUALIFIER, CTYPE_RESTRICT },
	{ "__restrict",    WORD_QUALIFIER, CTYPE_RESTRICT },
	{ "__restrict__",  WORD_QUALIFIER, CTYPE_RESTRICT },
	{ "_Atomic",       WORD_QUALIFIER, CTYPE_ATOMIC   },
	{ "typedef",       WORD_STORAGE,   0              },
	{ "extern",        WORD_STORAGE,   0              },
	{ "static",        WORD_STORAGE,   0              },
	{ "auto",          WORD_STORAGE,   0              },
	{ "_Thread_local", WORD_STORAGE,   0              },
	{ "__thread",      WORD_STORAGE,   0              },
	{ "struct",        WORD_TAG,       CTYPE_STRUCT   },
	{ "union",         WORD_TAG,       CTYPE_UNION    },
	{ "enum",          WORD_TAG,       CTYPE_ENUM     },
	{ "register",      WORD_SKIP,      0              },
	{ "inline",        WORD_SKIP,      0              },
	{ "__inline",      WORD_SKIP,      0              },
	{ "__inline__",    WORD_SKIP,      0              },
	{ "_Noreturn",     WORD_SKIP,      0              },
	{ "__extension__", WORD_SKIP,      0              },
	{ "__attribute__", WORD_SKIP_ARGS, 0              },
	{ "__attribute",   WORD_SKIP_ARGS, 0              },
	{ "_Alignas",      WORD_SKIP_ARGS, 0              },
	{ "__asm__",       WORD_SKIP_ARGS, 0              },
	{ "__asm",         WORD_SKIP_ARGS, 0              },
	{ "asm",           WORD_SKIP_ARGS, 0              },
};

/* What the words of an arithmetic type may add up to, in C's shortest spelling. */
static const struct {
	unsigned sum;
	enum ctype_kind kind;
	const char *name;
} sums[] = {
	{ WORD_VOID,                              CTYPE_VOID,    "void"                 },
	{ WORD_BOOL,                              CTYPE_BOOL,    "_Bool"                },
	{ WORD_CHAR,                              CTYPE_CHAR,    "char"                 },
	{ WORD_CHAR + WORD_SIGNED,                CTYPE_INTEGER, "signed char"          },
	{ WORD_CHAR + WORD_UNSIGNED,              CTYPE_INTEGER, "unsigned char"        },
	{ WORD_SHORT,                             CTYPE_INTEGER, "short"                },
	{ WORD_SHORT + WORD_UNSIGNED,             CTYPE_INTEGER, "unsigned short"       },
	{ WORD_INT,                               CTYPE_INTEGER, "int"                  },
	{ WORD_SIGNED,                            CTYPE_INTEGER, "int"                  },
	{ WORD_UNSIGNED,                          CTYPE_INTEGER, "unsigned int"         },
	{ WORD_LONG,                              CTYPE_INTEGER, "long"                 },
	{ WORD_LONG + WORD_UNSIGNED,              CTYPE_INTEGER, "unsigned long"        },
	{ 2 * WORD_LONG,                          CTYPE_INTEGER, "long long"            },
	{ 2 * WORD_LONG + WORD_UNSIGNED,          CTYPE_INTEGER, "unsigned long long"   },
	{ WORD_INT128,                            CTYPE_INTEGER, "__int128"             },
	{ WORD_INT128 + WORD_UNSIGNED,            CTYPE_INTEGER, "unsigned __int128"    },
	{ WORD_FLOAT,                             CTYPE_FLOAT,   "float"                },
	{ WORD_DOUBLE,                            CTYPE_FLOAT,   "double"               },
	{ WORD_LONG + WORD_DOUBLE,                CTYPE_FLOAT,   "long double"          },
	{ WORD_FLOAT128,                          CTYPE_FLOAT,   "__float128"           },
	{ WORD_COMPLEX + WORD_FLOAT,              CTYPE_FLOAT,   "float _Complex"       },
	{ WORD_COMPLEX + WORD_DOUBLE,             CTYPE_FLOAT,   "double _Complex"      },
	{ WORD_COMPLEX + WORD_LONG + WORD_DOUBLE, CTYPE_FLOAT,   "long double _Complex" },
};

/* clang-format on */

static int find_word(struct str text)
{
	for (size_t i = 0; i < COUNT(words); i++)
		if (str_eq_text(text, words[i].text))
			return (int)i;
	return -1;
}

bool is_specifier_word(struct str text)
{
	return find_word(text) >= 0;
}

const struct ctype *parser_find_typedef(const struct c_parser *p, struct str name)
{
	return p->names.find_typedef ? p->names.find_typedef(p->names.self, name) : NULL;
}

bool parser_at_type(const struct c_parser *p)
{
	return p->tok.kind == C_WORD &&
	       (find_word(p->tok.text) >= 0 || parser_find_typedef(p, p->tok.text));
}

void *parser_new(struct c_parser *p, size_t size)
{
	void *new = arena_alloc(p->arena, size);

	if (new)
		return new;
	parser_stop(p, -ENOMEM);
	memset(&p->spare, 0, sizeof(p->spare));
	return &p->spare;
}

struct ctype *parser_new_type(struct c_parser *p, enum ctype_kind kind, const struct ctype *to)
{
	struct ctype *t = parser_new(p, sizeof(*t));

	t->kind = kind;
	t->to = to;
	return t;
}

void parser_enter(struct c_parser *p)
{
	if (++p->depth > MAX_DEPTH)
		parser_fail(p, p->tok.text, "too-deep", "nested more than %d levels deep",
			    MAX_DEPTH);
}

/* What the words of a type add up to. Some change nothing: signed, except before char; int with
 * short, long, unsigned. */
static void finish_sum(struct c_parser *p, struct specifiers *s, unsigned sum)
{
	unsigned sized = sum & (3 * WORD_SHORT | 3 * WORD_LONG | WORD_SIGNED | WORD_UNSIGNED);

	if (sum & WORD_INT && sized && !(sum & WORD_DOUBLE))
		sum -= WORD_INT;
	if (sum & WORD_SIGNED && sum != WORD_SIGNED &&
	    sum & (WORD_SHORT | 3 * WORD_LONG | WORD_INT128) && !(sum & WORD_UNSIGNED))
		sum -= WORD_SIGNED;
	for (size_t i = 0; i < COUNT(sums); i++) {
		if (sums[i].sum != sum)
			continue;
		s->type->kind = sums[i].kind;
		s->type->name = str_from(sums[i].name);
		return;
	}
	parser_fail(p, s->at, "bad-type", "'%.*s' is not a C type", STR_FMT(s->at));
}

/* "aligned (8)" among the words of an attribute; 0: it is not there. */
static unsigned aligned_in(struct c_parser *p, struct str text)
{
	static const char word[] = "aligned";
	int64_t n = 0;

	for (size_t i = 0; i + sizeof(word) - 1 <= text.len; i++) {
		struct str rest = str_of(text.ptr + i, text.len - i), digits;

		if (!str_starts(rest, STR("aligned")))
			continue;
		rest = str_of(rest.ptr + sizeof(word) - 1, rest.len - (sizeof(word) - 1));
		while (rest.len && strchr(" \t\n_(", rest.ptr[0]))
			rest = str_of(rest.ptr + 1, rest.len - 1);
		digits = str_of(rest.ptr, 0);
		while (digits.len < rest.len && char_is_word(rest.ptr[digits.len]))
			digits.len++;
		if (!digits.len) /* as much as anything can need */
			return 16;
		if (c_number(digits, &n) && n >= 1 && n <= 4096 && !(n & (n - 1)))
			return (unsigned)n;
		parser_fail(p, text, "bad-attribute", "'aligned' takes a power of two");
		return 0;
	}
	return 0;
}

static bool has_text(struct str text, const char *part)
{
	return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

/* Members are laid out only by attributes that are understood. */
static void read_attribute(struct c_parser *p, struct str text, struct c_attributes *out)
{
	static const char *const unknown[] = {"_Alignas", "vector_size", "scalar_storage_order",
					      "ms_struct", "mode"};
	unsigned aligned = aligned_in(p, text);

	for (size_t i = 0; i < COUNT(unknown); i++)
		if (has_text(text, unknown[i]))
			parser_fail(p, text, "bad-attribute", "'%s' is not supported", unknown[i]);
	out->is_packed |= has_text(text, "packed");
	out->aligned = aligned > out->aligned ? aligned : out->aligned;
}

void parser_attributes(struct c_parser *p, struct c_attributes *out)
{
	const char *first;
	int word;

	while (p->tok.kind == C_WORD && (word = find_word(p->tok.text)) >= 0 &&
	       words[word].kind == WORD_SKIP_ARGS) {
		first = p->tok.text.ptr;
		parser_advance(p);
		if (!parser_at(p, "("))
			parser_expected(p, "'('");
		parser_skip_brackets(p);
		if (!p->err && p->names.tag)
			read_attribute(p, parser_taken_since(p, first), out);
	}
}

/* What the tag is known as; a new type when it has no name. */
static struct ctype *tagged_type(struct c_parser *p, enum ctype_kind kind, struct str name)
{
	struct ctype *t =
		name.len ? p->names.tag(p->names.self, kind, name) : parser_new_type(p, kind, NULL);

	if (t)
		return t;
	parser_stop(p, -ENOMEM);
	return parser_new_type(p, kind, NULL);
}

/* tagged = ("struct" | "union" | "enum") [tag] ["{" … "}"] */
static void parse_tagged(struct c_parser *p, enum ctype_kind kind, struct specifiers *s)
{
	struct c_attributes a = {.aligned = 0};
	struct str name = STR("");

	parser_advance(p);
	parser_attributes(p, &a);
	if (p->tok.kind == C_WORD && find_word(p->tok.text) < 0) {
		name = p->tok.text;
		parser_advance(p);
	} else if (!parser_at(p, "{")) {
		parser_expected(p, "a tag or '{'");
	}
	s->is_shared = p->names.tag;
	if (s->is_shared)
		s->type = tagged_type(p, kind, name);
	s->type->kind = kind;
	s->type->name = name;
	if (!parser_at(p, "{"))
		return;
	if (s->is_shared && name.len && !s->type->is_declaration)
		parser_fail(p, name, "redefined", "'%.*s' is defined twice", STR_FMT(name));
	parser_enter(p);
	/* Without an alignment it is being defined: it cannot be inside itself, nor defined there.
	 */
	s->type->is_declaration = false;
	if (kind == CTYPE_ENUM)
		parser_constants(p, s->type, a);
	else
		parser_members(p, s->type, a);
	p->depth--;
	parser_attributes(p, &a);
}

void parser_qualifiers(struct c_parser *p, unsigned *qualifiers)
{
	struct c_attributes ignored = {.aligned = 0};
	int word;

	while (p->tok.kind == C_WORD && (word = find_word(p->tok.text)) >= 0) {
		if (words[word].kind == WORD_SKIP_ARGS) {
			parser_attributes(p, &ignored);
			continue;
		}
		if (words[word].kind != WORD_QUALIFIER)
			break;
		*qualifiers |= words[word].value;
		parser_advance(p);
	}
}

/* The current word. `row` is its row in words, or -1: a typedef's name. */
static void take_specifier(struct c_parser *p, struct specifiers *s, int row, unsigned *sum)
{
	unsigned value = row < 0 ? 0 : words[row].value;

	switch (row < 0 ? WORD_NAME : words[row].kind) {
	case WORD_TAG: parse_tagged(p, (enum ctype_kind)value, s); return;
	case WORD_SKIP_ARGS: parser_attributes(p, &s->attributes); return;
	case WORD_TYPE:
		if (*sum / value % 4 >= (value == WORD_LONG ? 2 : 1))
			parser_fail(p, p->tok.text, "bad-type", "too many '%.*s'",
				    STR_FMT(p->tok.text));
		*sum += value;
		break;
	case WORD_NAME: /* C does not know it: the name of a type, as no type came before it */
		parser_refuse_dollar(p);
		s->type->to = parser_find_typedef(p, p->tok.text);
		s->type->name = p->tok.text;
		if (!s->type->to && parser_at(p, "string") && !p->names.tag) {
			s->type->kind = CTYPE_STRING;
			s->type->name = STR("");
		}
		break;
	case WORD_STORAGE:
		if (str_eq_text(s->storage, "typedef"))
			diag_warn_at(p->lexer.diag, "bad-type", parser_span(&p->lexer, p->tok.text),
				     "'%.*s' has no meaning after 'typedef'", STR_FMT(p->tok.text));
		else if (s->storage.len)
			parser_fail(p, p->tok.text, "bad-type", "'%.*s' after '%.*s'",
				    STR_FMT(p->tok.text), STR_FMT(s->storage));
		else
			s->storage = p->tok.text;
		break;
	case WORD_QUALIFIER:
		if (!s->is_shared)
			s->type->qualifiers |= value;
		break;
	case WORD_SKIP: break;
	}
	parser_advance(p);
}

/* specifiers = { type word | qualifier | storage | tagged | typedef name | attribute } */
struct specifiers parser_specifiers(struct c_parser *p)
{
	struct specifiers out = {.type = parser_new_type(p, CTYPE_NAMED, NULL)};
	const char *first = p->tok.text.ptr;
	unsigned sum = 0;
	bool named = false;

	while (p->tok.kind == C_WORD) {
		int i = find_word(p->tok.text);
		enum word_kind kind = i < 0 ? WORD_TAG : words[i].kind;

		if (i < 0 && (named || sum))
			break;
		if (kind == WORD_TAG && named && str_eq_text(p->last, "}"))
			break; /* the next definition, where a semicolon may be missing */
		if ((kind == WORD_TAG && (named || sum)) || (kind == WORD_TYPE && named)) {
			out.at = parser_taken_since(p, first);
			parser_fail(p, p->tok.text, "bad-type", "unexpected '%.*s' after '%.*s'",
				    STR_FMT(p->tok.text), STR_FMT(out.at));
			return out;
		}
		named |= kind == WORD_TAG;
		take_specifier(p, &out, i, &sum);
	}
	if (!named && !sum)
		parser_expected(p, "a type");
	if (p->err)
		return out;
	out.at = parser_taken_since(p, first);
	if (!named)
		finish_sum(p, &out, sum);
	return out;
}
