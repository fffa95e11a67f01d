/* Maps of a script: what is known of them, and how expressions use them. */
#ifndef NOPAL_SCRIPT_MAP_H
#define NOPAL_SCRIPT_MAP_H

#include "program/program.h"
#include "script/parse/script_state.h"

struct check;

/* A map, as the script uses it. Types grow until check.c finds nothing new. */
struct map {
	struct str name; /* "@lat" */
	uint32_t index;
	bool has_key, has_value; /* the type is known */
	bool is_fixed;		 /* code of a program uses it: its type can grow no more */
	bool is_read;		 /* by an expression */
	bool is_target;		 /* of an assignment, perhaps of a value that is made of it */
	bool is_never;		 /* assigned: it is 0 */
	bool is_emptied;	 /* by clear() or delete() */
	bool is_taken;		 /* printed and cleared in one step: pair_takes() */
	bool is_fine;		 /* a histogram that pct() reads: it keeps all bits there can be */
	struct type key, value;
	struct mark key_mark, value_mark; /* the use that fixed the type */
	const struct expr *copied;	  /* @m = @count; NULL: there is none */
	bool has_own;			  /* it gets values other than such copies */
	/* Of time series. */
	bool is_assigned, is_hidden;
	struct map_series series;
	struct type series_key; /* of the program's map; `key` is the script's */
	struct map *ring;
	const struct tree_clause *keeper; /* keeps arguments for returns: saved_args.c */
	struct map *next;
};

/* The map of this name, made when it is new; NULL after an error, such as no memory. */
struct map *check_map(struct check *c, struct str name);
/* The keys of @m[...]. */
void check_map_key(struct check *c, struct expr *e);
void check_map_read(struct check *c, struct expr *e); /* @m[key] */
/* Maps that are read but nowhere assigned hold numbers, which are 0. True: there are such. */
bool maps_default(struct script *s);
/* Somewhere the map must be assigned; `use` says what is done to it here. */
void check_filled(struct check *c, const struct expr *map, const char *use);
/* The map's values must not be histograms or statistics. */
void check_is_readable(struct check *c, const struct expr *map);

/* Is it a call of tseries()? */
bool expr_is_series(const struct expr *e);
/* The map `target` was assigned this value: is it a time series, as elsewhere? */
void check_series(struct check *c, struct expr *target, const struct expr *value);
/* A time series cannot be "read". */
void check_no_series(struct check *c, const struct expr *map, const char *use);

#endif
