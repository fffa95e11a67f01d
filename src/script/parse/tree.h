/* The tree of a script: what the text says, before its meaning is known. Nodes live in the
 * script's arena and carry the piece of text they came from. Two fields of an expression are filled
 * in later: `shape` and the thing it names (check.c). */
#ifndef NOPAL_SCRIPT_TREE_H
#define NOPAL_SCRIPT_TREE_H

#include "base/arena.h"
#include "base/buf.h"
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

enum stmt_kind {
	STMT_EXPR,   /* f(x);                      value                        */
	STMT_ASSIGN, /* @x += 1;                   target, op, value            */
	STMT_LET,    /* let $x = 1;                target, value or NULL        */
	STMT_IF,     /* if (value) body else other                              */
	STMT_UNROLL, /* unroll (value) body                                     */
	STMT_WHILE,  /* while (value) body                                      */
	STMT_FOR,    /* for target : value..to body; over a map: to is NULL     */
	STMT_BLOCK,  /* { body }                                                */
	STMT_BREAK,
	STMT_CONTINUE,
	STMT_RETURN,
};

struct stmt {
	enum stmt_kind kind;
	enum operator op;
	struct mark mark;
	struct expr *target, *value, *to;
	struct stmt *body, *other;
	struct stmt *next;
	bool leaves_function; /* STMT_RETURN: `target` is what it sets, if there is a value */
	bool is_discard;      /* STMT_EXPR: _ = value */
	bool is_last;  /* STMT_EXPR, _IF, _BLOCK without a semicolon before "}": a block's value */
	uint32_t span; /* as of an expression */
};

/* How a probe type is attached and what its parts mean. ORDER: probe_rows in tree.c. */
enum probe_type {
	PROBE_BEGIN,
	PROBE_END,
	PROBE_INTERVAL,
	PROBE_PROFILE,
	PROBE_USDT,
	PROBE_UPROBE,
	PROBE_URETPROBE,
	PROBE_TRACEPOINT,
	PROBE_SOFTWARE,
	PROBE_HARDWARE,
	PROBE_WATCHPOINT,
	PROBE_RAWTRACEPOINT,
	PROBE_SELF,
	PROBE_KPROBE,
	PROBE_KRETPROBE,
	PROBE_FENTRY,
	PROBE_FEXIT,
	PROBE_ITER,
	PROBE_TEST, /* trials.c */
	PROBE_BENCH,
};

/* One probe of a clause's list. */
struct probe_spec {
	enum probe_type type;
	struct mark mark;
	struct str path;       /* usdt, uprobe; may be a pattern, or empty */
	struct str provider;   /* usdt provider, tracepoint category; empty: any */
	struct str name;       /* usdt name, function, tracepoint event, software event, signal */
	bool is_demangled;     /* uprobe PATH:cpp:FUNC */
	bool has_address;      /* uprobe PATH:0x1234: `offset` is that link-time address */
	uint64_t offset;       /* uprobe FUNC+offset */
	struct str source;     /* uprobe PATH@FILE:LINE:COLUMN ... */
	uint32_t line, column; /* ... LINE from 1; 0: it is not such a probe */
	uint64_t period;       /* interval, profile: ns; software, hardware: events */
	struct str rest;       /* what is after the type, with the values of parameters: "s:5" */
	uint8_t length, mode;  /* watchpoint: bytes at `offset`, enum watch_mode */
	struct probe_spec *next;
	const void **images; /* resolve.c: files whose attachments are known */
	size_t image_count, image_cap;
	size_t attachment_count; /* resolve.c: how many it has found */
	struct str noted, note;	 /* ... a site that fires only under a condition, and which */
	bool is_one_of;		 /* the types that a pattern means: any may have no such probe */
};

struct tree_clause {
	struct mark mark; /* probes, predicate and body */
	struct probe_spec *probes;
	struct expr *predicate; /* NULL: none */
	struct stmt *body;
	struct tree_clause *next;
	struct attachment_list *attachments; /* resolve.c: where it runs */
	struct uses *uses;		     /* uses.c: what it asks of its attachments */
	uint32_t span;			     /* as of an expression */
};

/* name = value, in `config = { ... }`. */
struct setting {
	struct mark mark;
	struct str name;
	struct str value; /* "64", "warn" */
	struct setting *next;
};

#define DEFINE_PARAMS 16

/* #define NAME text, #define NAME(a, b) text */
struct define {
	struct str name;
	struct mark text;
	bool has_params; /* NAME(x), NAME() */
	struct str params[DEFINE_PARAMS];
	unsigned param_count;
	bool is_active; /* its value is being computed: it is not one in its own text */
	struct define *next;
};

/* let @m = hash(entries) */
struct map_size {
	struct mark mark;
	struct str name; /* without @ */
	uint32_t entries;
	bool forgets;	 /* lruhash */
	bool is_per_cpu; /* percpuhash: for what is counted on each CPU */
	struct map_size *next;
};

/* getopt("name", default, "about") */
struct declared_option {
	struct str name, about;
	const struct expr *otherwise; /* NULL: a bool */
	struct declared_option *next;
};

/* Where a file is in the text of a script. */
struct import_part {
	struct str path;
	size_t at, len;
};

struct tree {
	struct setting *settings;
	struct tree_clause *clauses;
	struct c_scope types;
	struct define *defines; /* newest first */
	struct map_size *sizes; /* the same */
	struct declared_option *declared;
	struct mark block_import; /* the first import inside of a block; without length: none */
	struct str includes;	  /* lines of #include, one after the other; empty: none */
};

/* Is it &$v or &@m? */
bool expr_refers(const struct expr *e);
/* "usdt", "BEGIN". */
const char *probe_type_name(enum probe_type type);
/* Type by long or short name: "usdt", "U", "begin". False when there is none. */
bool probe_type_find(struct str name, enum probe_type *out);
/* The next type, from number *i on, that a pattern may mean: "*probe" -> uprobe of files, fentry
 * and kprobe of the kernel. What is at a return is at an entry, too. False: there are no more. */
bool probe_type_match(struct str pattern, bool of_files, size_t *i, enum probe_type *out);
/* Fill in the names of integers that scripts have without a definition: "uint8", "u32". -ENOMEM. */
int tree_open(struct tree *t, struct arena *a);
/* The nearest probe type to a misspelt one; empty when none is near. */
struct str probe_type_guess(struct str name);

struct type type_int(unsigned size, bool is_signed);
/* The text of --dump=tree. */
void tree_print(const struct tree *t, struct buf *out);

#endif
