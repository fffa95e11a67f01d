/* What others may ask the native engine without opening it. */
#ifndef NOPAL_USER_RUN_NATIVE_H
#define NOPAL_USER_RUN_NATIVE_H

#include "base/diag.h"

/* Why there is no user mode on this machine; NULL: there is. It is `experimental` on some. */
const char *native_problem(bool experimental);

/* Warn that the kernel traces a process because user mode cannot; `said` has the reason. */
void native_say_refused(struct diag *d, const struct diag *said);

#endif
