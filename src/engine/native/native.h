/* What others may ask the native engine without opening it. */
#ifndef NOPAL_ENGINE_NATIVE_NATIVE_H
#define NOPAL_ENGINE_NATIVE_NATIVE_H

#include "base/diag.h"

/* Why there is no user mode on this machine; NULL: there is. It is `experimental` on some. */
const char *native_problem(bool experimental);

#define CLOCK_NAME 32

/* Is the kernel's clock now one that is read by the TSC? `name` becomes that of its clock source,
 * "" where that is not known, which counts as yes. `path`: NULL, or a file like
 * /sys/devices/system/clocksource/clocksource0/current_clocksource. */
bool native_clock_is_tsc(const char *path, char name[CLOCK_NAME]);
/* Warn that the kernel traces a process because user mode cannot; `said` has the reason. */
void native_say_refused(struct diag *d, const struct diag *said);

#endif
