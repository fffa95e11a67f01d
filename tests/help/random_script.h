/* Random scripts as people write them, only larger: nested ifs and loops, variables, maps, texts
 * and printf. Our checker accepts every one; so a kernel that refuses one is a defect of the
 * engine. The same seed makes the same script everywhere. Results do not depend on time, process or
 * machine, so that engines can be compared. */
#ifndef NOPAL_TESTS_HELP_RANDOM_SCRIPT_H
#define NOPAL_TESTS_HELP_RANDOM_SCRIPT_H

#include "base/buf.h"

struct script_maker {
	struct buf out;
	uint64_t state;
	const char *number, *text; /* expressions of the outside world: "arg1", "str(arg0, 40)" */
	const char *address;	   /* of memory: "arg1"; NULL: scripts have no structs */
	bool no_map_loops;	   /* the engine has none */
	unsigned left;		   /* statements still to be made */
	unsigned loops;		   /* around the present statement */
	unsigned counters;	   /* made so far: each loop has a variable of its own */
};

const char *script_pick(struct script_maker *m, const char *const *from, unsigned count);

/* A script of one to a dozen clauses at `probe`, of 0.5 to 10 KB; in m->out. */
void make_script(struct script_maker *m, uint64_t seed, const char *probe);
/* A script of that many small clauses, of up to 14 statements: of the seeds from `seed` on. */
void make_script_of(struct script_maker *m, uint64_t seed, const char *probe, unsigned clauses);

#endif
