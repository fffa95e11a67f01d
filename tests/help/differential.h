/* An engine against the interpreter: random programs, run by both, must send the same records and
 * leave the same maps, losses and faults; one that the engine refuses is a failure like any other.
 * Programs are BEGIN clauses, so nothing is traced. DIFFERENTIAL=N runs N programs,
 * DIFFERENTIAL_SEED=S begins with another one. */
#ifndef NOPAL_TESTS_HELP_DIFFERENTIAL_H
#define NOPAL_TESTS_HELP_DIFFERENTIAL_H

#include "engine/engine.h"

/* Programs with an instruction that is `refused` are left out; NULL: none is. */
typedef const char *insn_fn(const struct program *p, const struct insn *in);
void differential_run(const struct engine_ops *other, uint64_t programs, insn_fn *refused);
/* The same of random scripts (help/random_script.h), with structs, pointers, loops and maps.
 * DIFFERENTIAL_SCRIPTS=N runs N; a clause that an engine finds too complex leaves its script out.
 */
void differential_scripts(const struct engine_ops *other, uint64_t scripts);
/* Small clauses of such scripts, many in each program, for long runs: DIFFERENTIAL_CLAUSES=N runs
 * N, DIFFERENTIAL_BATCH=B of them in a program. */
void differential_clauses(const struct engine_ops *other, uint64_t clauses, insn_fn *refused);

#endif
