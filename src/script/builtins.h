/* Builtins: each is one row, which contains everything about it. The rows are in the files that
 * check and lower them (values.c, texts.c, maps.c, output.c, printf.c); builtins.c finds them. */
#ifndef NOPAL_SCRIPT_BUILTINS_H
#define NOPAL_SCRIPT_BUILTINS_H

#include "script/check.h"
#include "script/lower.h"

/* ORDER: as --help-script prints them, see builtins.c. */
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
};

/* Probe types a builtin can be used in; 0 in a row: all. */
#define IN(type)	  (1u << PROBE_##type)
#define HAVE_ARGUMENTS	  (IN(USDT) | IN(UPROBE))
#define HAVE_REGISTERS	  (IN(USDT) | IN(UPROBE) | IN(URETPROBE))
#define HAVE_NAMED_FIELDS (IN(USDT) | IN(TRACEPOINT))

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
	int (*check)(struct check *c, struct expr *e);
	/* Code that leaves the value in register or slot `out`, by its type. */
	void (*lower)(struct lower *l, const struct expr *e, uint16_t out);
	int number; /* for the two functions above: BUILTIN_PID, TYPE_SUM, FORMAT_CLEAR */
	const char *help, *example;
};

/* Types of results. */
/* clang-format off */
#define NO_RESULT   {.kind = TYPE_NONE}
#define RESULT_U64  {.kind = TYPE_INT, .size = 8}
#define RESULT_S64  {.kind = TYPE_INT, .size = 8, .is_signed = true}
#define RESULT_NAME {.kind = TYPE_NAME}
/* clang-format on */

/* Tables of rows; the name of the last row is NULL. */
extern const struct function value_rows[], text_rows[], map_rows[], output_rows[], printf_rows[];

/* NULL when there is none of this name, which may be a foreign one's. "arg7" is the row "argN". */
const struct function *function_find(struct str name);
/* The nearest name to a misspelt one; empty when none is near. */
struct str function_guess(struct str name);
/* "arg7" -> 7, below 128. */
bool arg_number(struct str name, unsigned *out);
/* Is the value of this number, in the order of the arguments after the format, to be a float? */
bool printf_wants_float(struct str format, unsigned value);

#endif
