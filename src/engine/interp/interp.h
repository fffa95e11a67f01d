/* What only the interpreter has: firing sites with given contexts. The rest is engine_ops:
 * engine_interp runs a program in plain C, needs no privilege, and is the reference that other
 * engines are compared with. */
#ifndef NOPAL_ENGINE_INTERP_INTERP_H
#define NOPAL_ENGINE_INTERP_INTERP_H

#include "engine/engine.h"

/* A piece of the fired process's memory. Areas may touch; what no area holds is unreadable. */
struct area {
	uint64_t address;
	struct str bytes;
};

/* Everything a clause can see when its site is hit. Borrowed for the call. */
struct context {
	uint64_t regs[256]; /* by register id of the site's arch; regs[arch->tls]: thread pointer */
	uint64_t ip;	    /* address of the site in the process */
	const struct area *areas;
	size_t area_count;
	struct str event; /* tracepoint: the bytes its format describes */
	uint32_t pid, tid, uid, gid, cpu, ncpus, rand;
	uint32_t stack_pid; /* pid in the tracer's namespace, as stacks carry it */
	uint64_t nsecs, cgroup;
	uint64_t boot_ahead, tai_ahead; /* CLOCK_BOOTTIME and CLOCK_TAI, of nsecs */
	struct str comm;
	const uint64_t *ustack, *kstack; /* addresses, innermost first */
	unsigned ustack_count, kstack_count;
};

/* Run `clause` as if its attachment `attach` was hit. Clauses are numbered through the program
 * that was built and those it was extended with. 1: it ran; 0: not attached, exit() was called, or
 * another process is traced; -EINVAL: no such attachment; -ENOMEM. */
int interp_fire(struct engine *e, uint32_t clause, uint32_t attach, const struct context *c);
/* Where the maps, faults and records of another engine are kept, for clauses of it that the
 * interpreter runs. Keys, values and records are as in program/type.h and record.h, a map without
 * keys has key NULL; `span` is where a map that is full is counted. All return what the operation
 * of program/ops.h gives. */
struct interp_store {
	void *self; /* passed back to each of: */
	uint64_t (*get)(void *self, uint32_t map, const uint64_t *key);
	void (*copy)(void *self, uint32_t map, const uint64_t *key, uint64_t *out);
	/* All words of an aggregate; false: the key does not exist. */
	bool (*read_aggregate)(void *self, uint32_t map, const uint64_t *key, uint64_t *out);
	void (*set)(void *self, uint32_t map, const uint64_t *key, uint64_t value, uint32_t span);
	void (*put)(void *self, uint32_t map, const uint64_t *key, const uint64_t *value,
		    uint32_t span);
	uint64_t (*add)(void *self, uint32_t map, const uint64_t *key, uint64_t value,
			uint32_t span);
	bool (*del)(void *self, uint32_t map, const uint64_t *key);
	bool (*has)(void *self, uint32_t map, const uint64_t *key);
	int (*each)(void *self, uint32_t map, map_entry_fn *fn, void *arg);
	void (*aggregate)(void *self, uint32_t map, const uint64_t *key, uint64_t value,
			  uint32_t span);
	void (*fault)(void *self, uint32_t span, int kind);
	void (*emit)(void *self, struct str record, bool is_control, bool is_exit);
};

/* From now on use these instead of tables, counts and a queue of its own; `store` is borrowed. */
void interp_use_store(struct engine *e, const struct interp_store *store);

/* What `elapsed` counts from; attach sets it to the time it is called at. */
void interp_set_start(struct engine *e, uint64_t nsecs);

#endif
