#include "help/hook.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

static void (*at_hook)(void);
static unsigned hook_every;
static _Thread_local uint64_t hook_random = 88172645463325252;
static _Thread_local unsigned until_hook = 1;

uint64_t next_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

static void wait_again(unsigned most)
{
	until_hook = 1 + (unsigned)(next_random(&hook_random) % most);
}

void hook(void)
{
	if (!at_hook || --until_hook)
		return;
	wait_again(hook_every);
	at_hook();
}

void hook_set(void (*fn)(void), unsigned every)
{
	at_hook = fn;
	hook_every = every;
}

void let_others_run(void)
{
	sched_yield();
}

static void kill_this(void)
{
	kill(getpid(), SIGKILL);
}

void hook_kill(uint64_t seed, unsigned most)
{
	hook_random = seed;
	wait_again(most);
	hook_set(kill_this, 1);
}
