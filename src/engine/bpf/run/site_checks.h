/* Sites that must not be probed: where a probe would break the program, or fail in a
 * way that is hard to understand. They are found by reading the bytes there, and are skipped with a
 * warning; a probe that was asked for by its name and has no other site is an error. */
#ifndef NOPAL_ENGINE_BPF_RUN_SITE_CHECKS_H
#define NOPAL_ENGINE_BPF_RUN_SITE_CHECKS_H

#include "engine/bpf/gen/unit.h"

struct features;
struct bpf_engine;
struct loaded;

#define SITES_SHOWN 5 /* warnings with a name; the others are counted */

/* Look at the sites of the units from `first` on. `all` says that these are all there are, so that
 * something must remain. -ENOTSUP when it does not. */
int sites_leave_out(struct bpf_engine *e, struct loaded *first, bool all, struct diag *d);
/* Look at the sites of one unit without clauses, of which something must remain. */
int sites_leave_out_of(struct unit *u, struct features *f, struct diag *d);

#endif
