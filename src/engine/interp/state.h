/* What the files of the interpreter share: an engine, and one run of one clause. */
#ifndef NOPAL_ENGINE_INTERP_STATE_H
#define NOPAL_ENGINE_INTERP_STATE_H

#include "engine/interp/interp.h"
#include "engine/interp/queue.h"
#include "engine/interp/replay.h"
#include "engine/interp/table.h"

/* A clause with the memory its runs use, one after the other. */
struct unit {
	const struct program *p;
	const struct clause *clause;
	uint64_t *regs;
	char *frame;	  /* all slots */
	size_t *slot_at;  /* where in the frame each slot lies */
	uint64_t *rounds; /* of each OP_LOOP, by instruction: rounds that are left */
};

struct interp {
	struct engine engine; /* first: what others hold */
	struct engine_options options;
	const struct program *program; /* the one that was built: its maps are ours */
	struct unit *units;
	size_t unit_count;
	struct table *tables; /* one for each map */
	struct queue queue;
	struct replay replay;
	struct buf record; /* being made */
	struct run_stats stats;
	struct run_fault *faults;
	size_t fault_count;
	uint64_t start; /* nsecs that `elapsed` counts from */
	bool attached;
	bool stopped; /* by exit(): places are not run any more */
};

struct run {
	struct interp *e;
	const struct unit *u;
	const struct attach *at;
	const struct context *c;
	uint32_t pc;
	int err; /* out of memory: the run is given up */
};

static inline char *run_slot(const struct run *r, uint16_t slot)
{
	return r->u->frame + r->u->slot_at[slot];
}

static inline const struct type *run_type(const struct run *r, uint16_t slot)
{
	return &r->u->clause->slots[slot].type;
}

/* Count something that went wrong at the instruction of this run. */
void count_fault(struct run *r, int kind);

/* context.c: reading what a context holds. Unreadable is a fault and gives 0 or an empty text. */
uint64_t extend(uint64_t bits, unsigned size, bool is_signed);
uint64_t read_reg(const struct run *r, uint8_t id);
uint64_t operand_address(const struct context *c, const struct arch *arch, const struct operand *o);
uint64_t read_arg(struct run *r, const struct operand *o);
uint64_t read_field(struct run *r, const struct insn *i);
uint64_t read_user(struct run *r, uint64_t address, unsigned size, bool is_signed);
uint64_t read_builtin(const struct run *r, int64_t builtin);
void read_str(struct run *r, const struct insn *i);
void read_buf(struct run *r, const struct insn *i);
void read_field_str(struct run *r, const struct insn *i);
void read_comm(struct run *r, const struct insn *i);
void read_stack(struct run *r, const struct insn *i);

/* values.c: maps and records. */
uint64_t map_get(struct run *r, const struct insn *i);
void map_copy(struct run *r, const struct insn *i);
void map_set(struct run *r, const struct insn *i);
void map_put(struct run *r, const struct insn *i);
uint64_t map_add(struct run *r, const struct insn *i);
void map_del(struct run *r, const struct insn *i);
bool map_has(struct run *r, const struct insn *i);
void map_aggregate(struct run *r, const struct insn *i);
void emit_record(struct run *r, const struct insn *i);

/* run.c: all instructions of one clause. */
int run_clause(struct interp *e, const struct unit *u, const struct attach *at,
	       const struct context *c);

#endif
