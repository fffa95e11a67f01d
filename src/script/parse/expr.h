/* Expressions, as they were written; `shape` and what is named are filled in later (check.c). */
#ifndef NOPAL_SCRIPT_EXPR_H
#define NOPAL_SCRIPT_EXPR_H

#include "cparse/scope.h"
#include "program/type.h"

/* A piece of the script's text, in bytes. */
struct mark {
	uint32_t at, len;
};

/* Operators, with the source text they stand for. */
enum operator{
	OPERATOR_NONE,	  /*     */
	OPERATOR_OR,	  /* ||  */
	OPERATOR_AND,	  /* &&  */
	OPERATOR_BOR,	  /* |   */
	OPERATOR_XOR,	  /* ^   */
	OPERATOR_BAND,	  /* &   */
	OPERATOR_EQ,	  /* ==  */
	OPERATOR_NE,	  /* !=  */
	OPERATOR_LT,	  /* <   */
	OPERATOR_LE,	  /* <=  */
	OPERATOR_GT,	  /* >   */
	OPERATOR_GE,	  /* >=  */
	OPERATOR_SHL,	  /* <<  */
	OPERATOR_SHR,	  /* >>  */
	OPERATOR_ADD,	  /* +   */
	OPERATOR_SUB,	  /* -   */
	OPERATOR_MUL,	  /* *   */
	OPERATOR_DIV,	  /* /   */
	OPERATOR_MOD,	  /* %   */
	OPERATOR_NOT,	  /* !   */
	OPERATOR_BNOT,	  /* ~   */
	OPERATOR_NEG,	  /* -x  */
	OPERATOR_LOAD,	  /* *p  */
	OPERATOR_ADDRESS, /* &a  */
	OPERATOR_INC,	  /* ++  */
	OPERATOR_DEC,	  /* --  */
};

/* "+": for messages and dumps. */
const char *operator_text(enum operator op);

/* What an expression yields: how the script computes, keeps and shows it. `type.ctype` is what C
 * calls it: what the traced program declares, or a cast of the script says. */
struct shape {
	struct type type;
};

enum expr_kind {
	EXPR_INT,      /* 42           number                              */
	EXPR_STRING,   /* "text"       text, escapes resolved              */
	EXPR_PARAM,    /* $1           number                              */
	EXPR_PARAMS,   /* $#                                               */
	EXPR_VARIABLE, /* $x           text, variable                      */
	EXPR_MAP,      /* @m[a, b]     text, map, args                     */
	EXPR_NAME,     /* pid          text, function                      */
	EXPR_CALL,     /* str(arg0)    text, args, function                */
	EXPR_UNARY,    /* -a           op, args[0]                         */
	EXPR_STEP,     /* a++          op, args[0], is_postfix             */
	EXPR_BINARY,   /* a + b        op, args[0..1]                      */
	EXPR_TERNARY,  /* a ? b : c    args[0..2]; a ?: c: args[1] is NULL */
	EXPR_CAST,     /* (int32*)a    named, args[0]                      */
	EXPR_TUPLE,    /* (a, b)       args; (x=a, y=b): text is "x y"; named: an array */
	EXPR_ELEMENT,  /* a.0          number, args[0]                     */
	EXPR_FIELD,    /* args.pid     text                                */
	EXPR_INDEX,    /* p[i]         args[0..1]                          */
	EXPR_BLOCK,    /* { a; b }     body, args[0]: the value, if it has one */
	EXPR_MEMBER,   /* p->x, a.x    text, args[0]                       */
	EXPR_SIZEOF,   /* sizeof(T)    named, or args[0]                   */
	EXPR_OFFSETOF, /* offsetof(T, x.y)  text, named or args[0]         */
	EXPR_TYPE,     /* typeof(T)         named, or args[0]: only what a macro is passed */
};

enum macro_kind {
	MACRO_NONE,
	MACRO_OURS, /* of the script, or one of its functions */
	MACRO_STANDARD,
};

struct expr {
	enum expr_kind kind;
	enum operator op;
	bool is_postfix;
	bool is_comptime; /* must be constant; as a condition, only one branch is looked at */
	bool is_part;	  /* of `args`: made by check_whole */
	bool is_function; /* EXPR_BLOCK that `return` leaves */
	bool is_whole;	  /* `args` itself: number and args are its parts */
	uint8_t macro;	  /* EXPR_BLOCK: enum macro_kind of what it is a use of */
	uint16_t depth;	  /* of the tree below, 1 for a leaf */
	uint16_t arg_count;
	struct mark mark;
	struct expr **args;
	uint64_t number;
	struct stmt *body;	   /* EXPR_BLOCK */
	struct str text;	   /* names are without their sigil */
	const struct ctype *named; /* a type that the script spells; of a let: the declared one */
	/* Filled in by check.c. */
	uint32_t span; /* number + 1 among the program's spans; 0: none yet */
	struct shape shape;
	bool is_const;	/* `value` is known */
	bool is_signed; /* the operation is a signed one */
	uint64_t value;
	struct map *map;
	struct variable *variable;
	const struct function *function;
	/* It is in the traced program's memory: *p, p[i], p->x. So it has an address, and a struct
	 * or array has no value before one is asked for (check_settle): its type is NONE. */
	bool is_place;
	const struct ctype_member *member; /* EXPR_MEMBER that is a place */
	uint8_t passed;			   /* EXPR_FIELD that is a place: enum argument_passed */
};

/* Is it &$v or &@m? */
bool expr_refers(const struct expr *e);
struct type type_int(unsigned size, bool is_signed);

#endif
