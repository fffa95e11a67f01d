/* The signals that end a run. The first asks it to end: the run detaches, prints what has arrived
 * and ends, and does not wait long for a reader. A second signal ends every wait; one second later
 * the program ends as if it had no handler. */
#ifndef NOPAL_CMD_SIGNALS_H
#define NOPAL_CMD_SIGNALS_H

#include <stdbool.h>

struct nopal_trace;

/* Install the handlers: SIGINT, SIGTERM and SIGHUP ask for the end, SIGUSR1 for the maps. SIGTERM,
 * SIGHUP, SIGUSR1 and ^C stay ignored if they were; programs that we start get the original
 * actions.
 */
void signals_catch(void);
/* Set the run that signals end, including signals that came before; NULL: none. */
void signals_end(struct nopal_trace *t);
/* How many signals have asked for the end: 0, 1, 2. Those shortly after the first count as one. */
int signals_count(void);
/* Has SIGUSR1 come since the last call? */
bool signals_want_maps(void);
/* Milliseconds of a monotonic clock. */
long signals_clock(void);

#endif
