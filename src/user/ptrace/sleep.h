/* How long a thread had slept when it was stopped. */
#ifndef NOPAL_USER_PTRACE_SLEEP_H
#define NOPAL_USER_PTRACE_SLEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What the scheduler says of a thread: since when it has or has not a CPU, by a clock of that CPU;
 * how often it came to another CPU, and how often it went to sleep. */
struct turn {
	uint64_t at; /* ns; 0: not known */
	uint64_t moves, sleeps;
};

struct sleep {
	struct turn began;
	uint64_t length, ended; /* ns, at least; when, as clock_now(); 0: not known */
};

/* Calls that a stop ends with EINTR, whose fourth argument is a limit in milliseconds. */
bool sleep_has_limit(uint64_t number);
/* Before a thread is asked to stop. */
void sleep_note(pid_t tid, struct sleep *out);
/* The thread has stopped, and ptrace(2) has been answered since: none of its code runs any more. */
void sleep_end(pid_t tid, struct sleep *s);
/* What is left of a limit, in milliseconds, at least 1. */
int32_t sleep_shorten(const struct sleep *s, int32_t limit);

#endif
