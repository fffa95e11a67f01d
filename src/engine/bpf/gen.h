/* Code generation: one unit to eBPF. Inside the room only; the families of operations are in
 * gen_*.c, each a handful of functions `gen_x(g, insn)` that append code for one instruction.
 *
 * Registers of the program live in 8-byte homes on the stack (or in the scratch memory when there
 * are many), slots likewise; every operation loads what it needs and stores what it makes. That
 * costs a few loads an event, which is nothing beside the trap, and leaves the verifier nothing to
 * be surprised by. */
#ifndef NOPAL_ENGINE_BPF_GEN_H
#define NOPAL_ENGINE_BPF_GEN_H

#include "engine/bpf/insn.h"
#include "engine/bpf/store.h"
#include "engine/bpf/unit.h"

/* Bytes of the stack with a fixed use, below the frame pointer. */
#define STACK_COOKIE  (-8)  /* of the site */
#define STACK_KEY     (-16) /* key of a store without keys; scratch index */
#define STACK_A	      (-24) /* of the operation being emitted */
#define STACK_B	      (-32)
#define STACK_C	      (-40)
#define STACK_D	      (-48)
#define STACK_CTX     (-56) /* of lean frames: for the functions of loops */
#define STACK_SCRATCH (-64)
#define STACK_HOMES   (-48)  /* what follows is shared out by frame_plan */
#define STACK_END     (-480) /* the kernel needs some for loops */

#define TEXT_SLOP 8 /* bytes behind the text of a slot, so that a read can see it was too long */
#define HEAD_SIZE 8 /* of text_head, stack_head, record_head */

/* Counters and constants all programs share: one array entry of 64-bit words. */
#define SENT_STRIPES 16 /* CPUs that count apart; a power of two */
#define SENT_STRIDE  64 /* bytes from one to the next: a cache line */
enum {
	CONTROL_SENT,	 /* bytes sent by a CPU since it last looked how full the ring is */
	CONTROL_RUNNING, /* programs that run on a CPU, where they are counted; in the same stripes
			  */
	CONTROL_START = SENT_STRIPES * SENT_STRIDE / 8, /* CLOCK_MONOTONIC when the run began */
	CONTROL_STOP,					/* not 0: programs do nothing any more */
	CONTROL_LOST_RECORDS,
	CONTROL_LOST_UPDATES,
	CONTROL_LOST_SCRATCH,
	CONTROL_LOOP_LIMITS,
	CONTROL_CHILDREN,  /* processes the traced one started; see single.h */
	CONTROL_TAKEOVERS, /* execs of a thread that is not its first */
	CONTROL_MAIN_ENDS, /* ends of its first thread */
	CONTROL_FIXED_,	   /* then: control records not sent, by control_number(); then faults, 4 a
			    * place; then keys in maps */
};
#define FAULT_KINDS 4

/* How a loop is written, by what the kernel has. */
enum loops {
	LOOPS_WALKED,	/* as it is: the verifier follows every round, up to its own limits */
	LOOPS_CALLED,	/* bpf_loop calls the body, a function; since 5.17 */
	LOOPS_MAY_GOTO, /* as it is, with a jump that the kernel takes by itself; since 6.9 */
};

/* What the code of every unit refers to. */
struct gen_world {
	const struct store *stores;
	int control_fd;
	int zeros_fd; /* one entry of zeros, as large as the largest copy of them */
	int ring_fd, scratch_fd;
	uint32_t ring_bytes;
	uint32_t control_count; /* control formats that have a counter */
	uint32_t place_count;
	uint32_t scratch_count; /* entries, a power of two */
	uint32_t scratch_size;	/* bytes of one */
	unsigned cpus;
	bool sleepable;
	bool counts_running; /* in CONTROL_RUNNING, because detaching takes long; see stop.c */
	enum loops loops;
	/* Whose events count: */
	pid_t pid;		 /* 0: everybody's */
	int pids_fd;		 /* hash of followed processes, kernel numbers; -1: none */
	uint64_t ns_dev, ns_ino; /* pid namespace when it is not the initial one; 0 */
};

/* Where a piece of clause memory is. */
struct home {
	bool in_scratch;
	int32_t offset; /* from FRAME or SCRATCH */
};

struct frame {
	bool is_lean; /* nothing on the stack; see frame.c */
	struct home *regs, *slots;
	bool *padded;	       /* slots that must be zero behind their text: keys, values, copies */
	struct home *counters; /* of loops, by instruction number of their OP_LOOP */
	int32_t stack;	       /* lowest byte used, negative */
	int32_t scratch;       /* bytes of scratch used; 0: none needed */
	int32_t record;	       /* records are put together here, in scratch; 0: nowhere */
	bool *in_place; /* by instruction number of an OP_EMIT: around its first text instead */
	int32_t key;	/* short keys likewise */
};

/* The body of a loop that bpf_loop calls: instructions [from, to) of a clause. */
struct loop_body {
	uint32_t clause, from, to;
	int label;
};

struct gen {
	struct code *code;
	const struct gen_world *world;
	const struct unit *unit;
	const struct program *program;
	const struct clause *clause;
	uint32_t clause_number;
	const struct frame *frame;
	int *labels;		  /* by instruction of the clause */
	int end;		  /* label: behind the clause */
	struct loop_body *bodies; /* that are functions, and are still to be written */
	uint32_t body_count, body_cap;
	struct diag *diag;
	int err;
};

/* frame.c */
int frame_plan(struct arena *a, const struct program *p, const struct clause *c, enum loops loops,
	       struct frame *out);
bool type_is_text(const struct type *t);
bool type_is_stack(const struct type *t);
/* Bytes of a slot that mean something: its memory, and the zeros behind a text. */
uint32_t slot_used(const struct type *t);

/* gen.c: registers, slots, counters, dispatch */
void gen_get(struct gen *g, int dst, uint16_t reg);
void gen_set(struct gen *g, uint16_t reg, int src);
struct home gen_slot(const struct gen *g, uint16_t slot);
int gen_base(struct home h);
void gen_address(struct gen *g, int dst, struct home h, int32_t more);
const struct type *gen_slot_type(const struct gen *g, uint16_t slot);
void gen_count(struct gen *g, uint32_t word); /* add 1 to a control word; ruins R1, R2 */
void gen_fault(struct gen *g, const struct insn *in, int kind);
void gen_limit(struct gen *g, int reg, int32_t most); /* reg = min(reg, most), for the verifier */
/* Copy `len` constant bytes between clause memories; ruins R0..R5 */
void gen_copy(struct gen *g, struct home to, int32_t to_more, struct home from, int32_t from_more,
	      uint32_t len);
void gen_copy_to(struct gen *g, int to, int32_t offset, struct home from, int32_t from_more,
		 uint32_t len); /* small ones, to a base register */
void gen_zero(struct gen *g, struct home to, int32_t more, uint32_t len);
/* Jump to labels[case] by the case in the cookie. */
void gen_switch(struct gen *g, const int *labels);
/* Instructions [from, to) of the clause. */
void gen_range(struct gen *g, uint32_t from, uint32_t to);
void gen_fail(struct gen *g, int err, const char *tag, const char *text);

/* One unit to code. The world's scratch_size must be at least unit_scratch(). */
int gen_unit(const struct gen_world *w, const struct unit *u, const struct frame *frames,
	     struct code *code, struct diag *d);

/* gen_stop.c: before the first clause of a probe, after the last */
void gen_enter(struct gen *g, int stopped); /* to where gen_leave() follows */
void gen_leave(struct gen *g);
/* gen_number.c */
void gen_number(struct gen *g, const struct insn *in);
void gen_float_to_int(struct gen *g, const struct insn *in);
/* gen_flow.c */
void gen_flow(struct gen *g, const struct insn *in, uint32_t at);
/* gen_loop.c */
void gen_loop_call(struct gen *g, const struct insn *in, uint32_t at);
/* The functions that were called, when all other code is there. */
void gen_loop_bodies(struct gen *g, const struct frame *frames);
/* gen_context.c */
void gen_arg(struct gen *g, const struct insn *in);
void gen_reg(struct gen *g, const struct insn *in);
void gen_field(struct gen *g, const struct insn *in);
void gen_builtin(struct gen *g, const struct insn *in);
void gen_load(struct gen *g, const struct insn *in);
/* R0 = the process, or the thread, as the tracer's pid namespace has it; 0: it is not in that one.
 * Ruins STACK_A. */
void gen_pid(struct gen *g, bool thread);
void gen_pid_filter(struct gen *g, int refuse);
/* gen_memory.c */
void gen_memory(struct gen *g, const struct insn *in);
/* gen_text.c */
void gen_text(struct gen *g, const struct insn *in);
/* gen_compare.c */
void gen_compare(struct gen *g, const struct insn *in);
/* 8 bytes of a literal as this machine would load them; zeros behind its end. */
uint64_t gen_literal_word(struct str text, uint32_t at, uint32_t len);
/* gen_map.c */
void gen_map(struct gen *g, const struct insn *in);
/* gen_aggregate.c; R0 is the value */
void gen_mark_set(struct gen *g, const struct store *s);
void gen_take_in(struct gen *g, const struct insn *in, const struct store *s);
void gen_gather(struct gen *g, const struct type *t);
void gen_conclude(struct gen *g, const struct type *t);
/* gen_emit.c */
/* How many formats before number `format` are control records: its counter. */
uint32_t control_number(const struct program *p, uint32_t format);
void gen_emit(struct gen *g, const struct insn *in);
/* Largest record of a format, and whether all its fields have a fixed size. */
uint32_t record_most(const struct format *f, bool *fixed);
/* The first field of a format that is text or a stack, and where in the record it begins;
 * -1: none. */
int record_first_variable(const struct format *f, uint32_t *before);

#endif
