/* Probes of a script -> attachments: probes are looked up through a script_source. */
#ifndef NOPAL_SCRIPT_RESOLVE_H
#define NOPAL_SCRIPT_RESOLVE_H

#include "script/parse/script_state.h"

struct script_source;

/* trials.c: leave only the probes that are asked for. -errno with a message */
int trials_select(struct script *s, struct diag *d);
/* Look up all probes of the script; again, and only what is new is added. -errno with messages */
int resolve_probes(struct script *s, const struct script_source *source, struct diag *d);
/* Is the probe watched for in images that are mapped later, since it may be in any, or in
 * any of a process that matches a pattern? */
bool probe_may_come_later(const struct script *s, const struct probe_spec *p);

#endif
