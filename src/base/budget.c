/* Counting down. The stop descriptor costs a system call, so it is looked at every few
 * milliseconds of work. */
#include "base/budget.h"

#include <errno.h>
#include <poll.h>

#define WATCH_EVERY 5000000ull /* steps */

struct budget budget_for_file(int stop_fd)
{
	return (struct budget){
		.memory = BUDGET_FILE_MEMORY, .work = BUDGET_FILE_WORK, .stop_fd = stop_fd};
}

bool budget_memory(struct budget *b, uint64_t bytes)
{
	if (!b)
		return true;
	if (b->end)
		return false;
	if (bytes > b->memory) {
		b->end = BUDGET_NO_MEMORY;
		return false;
	}
	b->memory -= bytes;
	return true;
}

void budget_give_back(struct budget *b, uint64_t bytes)
{
	if (b)
		b->memory += bytes;
}

bool budget_work(struct budget *b, uint64_t steps)
{
	if (!b)
		return true;
	if (b->end)
		return false;
	if (steps > b->work) {
		b->end = BUDGET_NO_WORK;
		return false;
	}
	b->work -= steps;
	b->unwatched += steps;
	if (b->unwatched >= WATCH_EVERY) {
		b->unwatched = 0;
		if (b->stop_fd >= 0 && poll(&(struct pollfd){b->stop_fd, POLLIN, 0}, 1, 0) > 0)
			b->end = BUDGET_STOPPED;
	}
	return !b->end;
}

int budget_error(const struct budget *b)
{
	if (!b || b->end == BUDGET_LEFT)
		return 0;
	return b->end == BUDGET_STOPPED ? -EINTR : -E2BIG;
}

const char *budget_limit(const struct budget *b)
{
	static const char *const texts[] = {
		[BUDGET_LEFT] = "less than the limit",
		[BUDGET_NO_MEMORY] = "more than 64 MiB of memory",
		[BUDGET_NO_WORK] = "more than 400 million steps of work",
		[BUDGET_STOPPED] = "longer than the run",
	};

	return texts[b->end];
}
