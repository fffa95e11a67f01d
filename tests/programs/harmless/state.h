/* What a program of the matrix shares with the driver: a file that both have mapped. The driver
 * asks for rounds; in each, every probe fires, and the result is compared with what the same
 * arithmetic gives without probes. */
#ifndef NOPAL_HARMLESS_STATE_H
#define NOPAL_HARMLESS_STATE_H

#include <stdint.h>

enum order { ORDER_NONE, ORDER_EXIT, ORDER_CORE };

struct state {
	uint64_t ready;	   /* 1: the program is set up and idle */
	uint64_t wanted;   /* rounds that the driver asks for, in all */
	uint64_t done;	   /* rounds that are over */
	uint64_t wrong;	   /* results that were not right, calls that failed */
	uint64_t order;	   /* enum order */
	uint64_t answered; /* orders that were carried out */
	uint64_t threads;  /* that may be at a probe at the same time */
	uint64_t in_round; /* 1: rounds may be run just now */
	struct {
		char name[24];
		uint64_t fired;
	} probes[16];
};

#endif
