/* What the work on one untrusted thing may cost, and whether the result is still wanted. The caller
 * who starts the work makes the budget and passes it down; NULL means no limit everywhere.
 *
 *	struct budget b = budget_for_file(stop_fd);
 *	...
 *	if (!budget_work(&b, bytes))
 *		return budget_error(&b);
 *
 * Work is counted, not timed, so that every machine reads or leaves out the same files. */
#ifndef NOPAL_BASE_BUDGET_H
#define NOPAL_BASE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUDGET_FILE_MEMORY (64u << 20)	/* bytes */
#define BUDGET_FILE_WORK   400000000ull /* steps, each about a nanosecond */

enum budget_end {
	BUDGET_LEFT, /* not used up */
	BUDGET_NO_MEMORY,
	BUDGET_NO_WORK,
	BUDGET_STOPPED,
};

struct budget {
	uint64_t memory;     /* bytes that may still be taken */
	uint64_t work;	     /* steps that may still be made */
	uint64_t unwatched;  /* steps since stop_fd was looked at */
	int stop_fd;	     /* readable: give up at once; -1: none */
	enum budget_end end; /* why it is used up */
};

/* The budget of one file: the two numbers above. */
struct budget budget_for_file(int stop_fd);
/* Take bytes or steps. False when fewer are left, or when the work is to stop: from then on `end`
 * says why. */
bool budget_memory(struct budget *b, uint64_t bytes);
bool budget_work(struct budget *b, uint64_t steps);
/* Memory that was released. */
void budget_give_back(struct budget *b, uint64_t bytes);
/* 0 while something is left, -E2BIG, or -EINTR when it was stopped. */
int budget_error(const struct budget *b);
/* "more than 64 MiB of memory", "more than 400 million steps of work": the limit of one file. */
const char *budget_limit(const struct budget *b);

#endif
