/* The signals that end a run. The first asks it to end: the run detaches, prints what has arrived
 * and ends, and does not wait long for a reader. A second signal ends every wait; one second later
 * the program ends as if it had no handler. */
#ifndef NOPAL_CMD_SIGNALS_H
#define NOPAL_CMD_SIGNALS_H

#include <stdbool.h>

struct nopal_trace;

/* Install the handlers: SIGINT, SIGTERM and SIGHUP ask for the end, SIGUSR1 for the maps. SIGTERM,
 * SIGHUP and SIGUSR1 stay ignored if they are; the programs that are started have what we were
 * started with. */
void signals_catch(void);
/* The run that the signals end, also those that have come already; NULL: none. */
void signals_end(struct nopal_trace *t);
/* How many have asked for the end: 0, 1, 2. Those within a moment of the first are the same wish.
 */
int signals_count(void);
/* Has SIGUSR1 come since this was asked last? */
bool signals_want_maps(void);
/* Milliseconds of a clock that goes on, for waiting. */
long signals_clock(void);

#endif
