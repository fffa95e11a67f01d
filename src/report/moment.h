/* Points in time as text, for time() and strftime(). */
#ifndef NOPAL_REPORT_MOMENT_H
#define NOPAL_REPORT_MOMENT_H

#include "base/buf.h"

/* strftime(3), with %f for six digits of microseconds. `nsecs` since 1970. `is_utc`: %z is "Z";
 * otherwise it is the local time. */
void moment_format(struct str format, int64_t nsecs, bool is_utc, struct buf *out);
int64_t moment_now(void);

#endif
