/* What the files of the interpreter share: an engine, and one run of one clause. */
#ifndef NOPAL_ENGINE_INTERP_STATE_H
#define NOPAL_ENGINE_INTERP_STATE_H

#include "base/hash.h"
#include "engine/interp/interp.h"
#include "program/numbers.h"

/* ---- map_values.c: The interpreter's records on their way to the reader. Data records share a
 * ring of fixed size and are counted when it is full; control records always find room. Both come
 * out in the order they went in. */

struct queued {
	struct queued *next;
	bool control;
	size_t len;
	char bytes[];
};

struct queue {
	struct queued *first, *last;
	size_t data_bytes; /* of the data records that wait */
	size_t capacity;   /* for data records */
	uint64_t lost;
};

/* Take the oldest record; the caller frees it. NULL: none. */
struct queued *queue_take(struct queue *q);
void queue_free(struct queue *q);

/* A map of the interpreter: a hash table from key bytes to value bytes, both of fixed
 * size. */

struct table {
	size_t key_size, value_size;
	uint32_t max_entries;
	bool forgets;
	uint64_t uses;	/* of all its entries, so far */
	char **entries; /* owned: key, value, then `uses` when it was used last */
	size_t count, cap;
	struct hash by_key;
};

void table_init(struct table *t, const struct map_def *map);
void table_free(struct table *t); /* all entries; the table may be used again */

/* ---- replay.c: Recorded events: text with one event a line, which the interpreter plays instead
 * of tracing.
 *
 *	event = site { argument } { name "=" number } | "#" comment
 *	site = the end of a probe's name: tick:word, main
 *	argument = number | float | '"' text '"'
 *
 *	tick:word "hello" 5 pid=12 nsecs=1000
 *
 * Arguments are put where the site's operands say, text into memory that they point to. What is
 * not given is as in replay.c. Lines for sites that the script does not trace are skipped. */

#define REPLAY_ARGS 16

/* One argument of an event. */
struct recorded_arg {
	struct str raw; /* as it is written: "-7", "1.5"; empty for text */
	struct str text;
};

/* One line. */
struct recorded {
	struct str site; /* empty: the line has no event */
	struct recorded_arg args[REPLAY_ARGS];
	unsigned arg_count;
	struct context context; /* without registers and memory */
};

struct replay {
	const char *path;
	struct buf text;
	struct str rest; /* lines that are still to be played */
	unsigned line;
	uint64_t nsecs; /* of the event before */
};

/* Read the file; every line is checked. -errno, -EINVAL, with a message. */
int replay_open(struct replay *r, const char *path, struct diag *d);
void replay_close(struct replay *r);
/* The next line. 0, -ENOMEM, or -EINVAL with a message. Text lives in `a`. */
int replay_next(struct replay *r, struct arena *a, struct recorded *out, struct diag *d);
/* Is this the name of an attachment that the event's site means? */
bool recorded_is_at(const struct recorded *event, struct str name);
/* The context in which the operands of `at` read the event's arguments; memory lives in `a`.
 * -ENOMEM. */
int recorded_fill(const struct recorded *event, const struct attach *at, struct arena *a,
		  struct context *out);

/* ---- the engine */

/* A clause with the memory its runs use, one after the other. */
struct workspace {
	const struct program *p;
	const struct clause *clause;
	uint64_t *regs;
	char *frame;	  /* all slots */
	size_t *slot_at;  /* where in the frame each slot lies */
	uint64_t *rounds; /* of each loop, by instruction: rounds that are left, or entries */
	struct buf *keys; /* of each loop, by instruction: the keys of another engine's map */
};

struct interp {
	struct engine engine; /* first: what others hold */
	struct engine_options options;
	const struct program *program; /* the one that was built: its maps are ours */
	struct workspace *units;
	size_t unit_count;
	size_t units_before;  /* the last extend() */
	struct table *tables; /* one for each map */
	struct queue queue;
	struct replay replay;
	const struct interp_store *store; /* instead of tables, queue and faults; NULL: none */
	struct buf record;		  /* being made */
	struct run_stats stats;
	struct run_fault *faults;
	size_t fault_count, fault_cap;
	uint64_t start; /* nsecs that `elapsed` counts from */
	bool attached;
	bool stopped; /* by exit(): sites are no longer run */
};

struct interp_run {
	struct interp *e;
	const struct workspace *u;
	const struct attach *at;
	const struct context *c;
	uint32_t pc;
	int err; /* out of memory: the run is given up */
};

static inline char *run_slot(const struct interp_run *r, uint16_t slot)
{
	return r->u->frame + r->u->slot_at[slot];
}

static inline const struct type *run_type(const struct interp_run *r, uint16_t slot)
{
	return &r->u->clause->slots[slot].type;
}

/* Count something that went wrong at the instruction of this run. */
void count_fault(struct interp_run *r, int kind);

/* context.c: reading what a context holds. Unreadable is a fault and gives 0 or an empty text. */
uint64_t read_reg(const struct interp_run *r, uint8_t id);
uint64_t operand_address(const struct context *c, const struct arch *arch, const struct operand *o);
uint64_t read_arg(struct interp_run *r, const struct operand *o);
uint64_t read_field(struct interp_run *r, const struct insn *i);
uint64_t read_user(struct interp_run *r, uint64_t address, unsigned size, bool is_signed);
uint64_t read_builtin(const struct interp_run *r, int64_t builtin);
/* Make slot s the text `bytes`, cut to what the slot holds. */
void put_text(struct interp_run *r, uint16_t slot, struct str bytes, uint32_t flags);
void read_str(struct interp_run *r, const struct insn *i);
void read_buf(struct interp_run *r, const struct insn *i);
void read_field_str(struct interp_run *r, const struct insn *i);
void read_stack(struct interp_run *r, const struct insn *i);
void no_path(struct interp_run *r, const struct insn *i);
void no_lang_stack(struct interp_run *r, const struct insn *i);

/* store.c: a map operation, on the maps of another engine. */
void store_run(struct interp_run *r, const struct insn *i);
/* As map_entry(). The keys are those that existed when the loop began. */
bool store_entry(struct interp_run *r, const struct insn *i, uint64_t *left);

/* map_values.c: maps and records. */
uint64_t map_get(struct interp_run *r, const struct insn *i);
void map_copy(struct interp_run *r, const struct insn *i);
void map_set(struct interp_run *r, const struct insn *i);
void map_put(struct interp_run *r, const struct insn *i);
void map_add(struct interp_run *r, const struct insn *i);
void map_del(struct interp_run *r, const struct insn *i);
bool map_has(struct interp_run *r, const struct insn *i);
uint64_t map_percentile(struct interp_run *r, const struct insn *i);
/* The entry before number *left, to the slots and register of an OP_EACH; false: there is none. */
bool map_entry(struct interp_run *r, const struct insn *i, uint64_t *left);
void map_aggregate(struct interp_run *r, const struct insn *i);
void emit_record(struct interp_run *r, const struct insn *i);

/* run.c: all instructions of one clause. */
int run_clause(struct interp *e, const struct workspace *u, const struct attach *at,
	       const struct context *c);

#endif
