/* A thread that sleeps until a traced thread has loaded a library and waits, and then makes a
 * descriptor readable: poll(2) cannot wait for a word of shared memory. */
#ifndef NOPAL_USER_RUN_LISTENER_H
#define NOPAL_USER_RUN_LISTENER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/inside/layout.h"

struct listener {
	pthread_t thread;
	struct library_waits *waits; /* NULL: it was not started */
	int fd;			     /* an eventfd */
	bool is_over;
};

/* -errno. It must not be moved then. */
int listener_open(struct listener *l, struct library_waits *waits);
/* Until the next thread waits the descriptor is not readable. To be called before `asked` is read.
 */
void listener_clear(const struct listener *l);
void listener_close(struct listener *l); /* also one that was not started */

#endif
