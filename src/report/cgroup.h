/* Control groups by number. */
#ifndef NOPAL_REPORT_CGROUP_H
#define NOPAL_REPORT_CGROUP_H

#include "base/buf.h"

/* "unified:/system.slice/sshd.service": the folder of the control group with this number, after the
 * name of its hierarchy, which must match `filter`; several with commas between them, none as "".
 * The hierarchies of cgroup v1 have the names of their mount points, that of v2 is "unified". */
void cgroup_path(uint64_t id, struct str filter, struct buf *out);

#endif
