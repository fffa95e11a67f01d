/* Builtins of the language: what is known of each is one row. The rows are of the folder builtins/,
 * above all that parses, checks and lowers scripts, so a script is made with a table of them. */
#ifndef NOPAL_SCRIPT_BUILTIN_H
#define NOPAL_SCRIPT_BUILTIN_H

#include "base/str.h"
#include "program/type.h"
#include "script/parse/probe_spec.h"

struct check;
struct expr;
struct lower;

/* ORDER: as --help-script prints them, see help.c. */
enum builtin_group {
	GROUP_VALUE,	   /* may be written without parentheses: pid */
	GROUP_FUNCTION,	   /* is called for its value: str(p) */
	GROUP_STATEMENT,   /* has no value: printf(...) */
	GROUP_AGGREGATION, /* only as the value of a map: @ = count() */
	GROUP_FOREIGN,	   /* bpftrace's, not supported yet: only its name is known */
};

/* What the sites of a clause, or the session, must provide. */
enum builtin_need {
	NEED_ARGUMENT = 1, /* the argument whose number is in the name */
	NEED_ALL_ARGS = 2, /* all arguments, by their names */
	NEED_FUNC = 4,	   /* the function around the site */
	NEED_ARCH = 8,	   /* registers: the sites of a variant are of one architecture */
	NEED_STACKS = 16,  /* processes, remembered while they live */
	NEED_DATA = 32,	   /* data records are sent */
	NEED_UNSAFE = 64,  /* --unsafe */
	NEED_NO_REG = 128, /* `out` may be REG_NO: the value is not wanted */
	NEED_LANG = 512,   /* the language runtimes of processes */
	NEED_RESULT = 256, /* the type of what a function returns */
	NEED_FIELD = 1024, /* the argument or field whose name follows */
};

/* Probe types a builtin can be used in; 0 in a row: all. */
#define IN(type)	  (1u << PROBE_##type)
#define HAVE_BTF_ARGS	  (IN(RAWTRACEPOINT) | IN(FENTRY) | IN(FEXIT))
#define HAVE_ARGUMENTS	  (IN(USDT) | IN(UPROBE) | IN(KPROBE) | HAVE_BTF_ARGS)
#define HAVE_SITES	  (IN(USDT) | IN(UPROBE) | IN(URETPROBE))
#define HAVE_FUNCTION	  (HAVE_SITES | IN(KPROBE) | IN(KRETPROBE) | IN(FENTRY) | IN(FEXIT))
#define HAVE_SAMPLES	  (IN(PROFILE) | IN(SOFTWARE) | IN(HARDWARE) | IN(WATCHPOINT))
#define HAVE_REGISTERS	  (HAVE_SITES | HAVE_SAMPLES | IN(KPROBE) | IN(KRETPROBE))
#define HAVE_RETVAL	  (IN(URETPROBE) | IN(KRETPROBE) | IN(FEXIT))
#define HAVE_NAMED_FIELDS (HAVE_SITES | IN(TRACEPOINT) | IN(ITER) | HAVE_BTF_ARGS)

/* Arguments of a function, one letter each; those after a '[' may be left out:
 *
 *   i  an integer           p  an address             c  a constant integer
 *   s  a string literal     t  any string             e  any value
 *   m  a map without a key  f  a printf format        *  any number of values
 *   x  anything: `check` looks at it */
struct function {
	const char *name;
	const char *args;
	enum builtin_group group;
	unsigned needs;	    /* enum builtin_need */
	unsigned probes;    /* IN(...) */
	struct type result; /* TYPE_NONE: none, or `check` sets it */
	/* What the letters do not say; NULL: nothing. Arguments are typed and fit `args`. */
	void (*check)(struct check *c, struct expr *e);
	/* Code that leaves the value in register or slot `out`, by its type. */
	void (*lower)(struct lower *l, const struct expr *e, uint16_t out);
	int number; /* for the two functions above: BUILTIN_PID, TYPE_SUM, FORMAT_CLEAR */
	const char *help, *example;
};

/* A builtin that is a macro: its name, parameters and block, "(a, b) { a + b }". There may be
 * several of one name, which differ in their parameters. */
struct builtin_macro {
	const char *name, *text;
};

/* All builtins. */
struct builtins {
	const struct function *const
		*tables;		    /* NULL ends them; the name of each last row is NULL */
	const struct builtin_macro *macros; /* the name of the last is NULL */
};

/* NULL when there is none of this name, which may be a foreign one's. "arg7" is the row "argN". */
const struct function *function_find(const struct builtins *b, struct str name);
/* The row of args.x. */
const struct function *function_of_fields(const struct builtins *b);
/* Is this a builtin that is written without parentheses, such as pid? */
bool function_is_value(const struct builtins *b, struct str name);
/* The nearest name to a misspelt one; empty when none is near. */
struct str function_guess(const struct builtins *b, struct str name);
/* "arg7" -> 7, below 128. */
bool arg_number(struct str name, unsigned *out);

#endif
