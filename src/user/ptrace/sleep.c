/* How long a thread had slept in epoll_wait(2) when it was stopped, so that the call keeps its
 * limit when it is made again: event loops spend their lives there.
 *
 * The scheduler notes when a thread gave up its CPU and when it got one again (se.exec_start), by a
 * clock of that CPU. This clock stands still while interrupts or other virtual machines use the
 * CPU, so a sleep may seem shorter than it was, but never longer. Where the thread was woken on
 * another CPU, the two times cannot be compared, and the call has its whole limit again. */
#include "user/ptrace/sleep.h"

#include <sys/syscall.h>

#include "base/clock.h"
#include "base/proc.h"
#include "user/ptrace/cpu.h"
#include "user/ptrace/system_call.h"

#ifdef INJECT_HAS_CPU

#define TEXT_MAX 8192
#define MS_NS	 1000000u

/* A number of /proc/TID/sched; 0: not known. */
static uint64_t find_number(struct str text, const char *name)
{
	uint64_t value;

	return str_to_u64(process_status_line(text, name), &value) ? 0 : value;
}

/* "48379837.569235" milliseconds, in nanoseconds; 0: not known. */
static uint64_t find_ns(struct str text, const char *name)
{
	struct str rest = process_status_line(text, name), whole = str_cut(&rest, '.');
	uint64_t ms, ns;

	if (str_to_u64(whole, &ms) || rest.len != 6 || str_to_u64(rest, &ns))
		return 0;
	return ms * MS_NS + ns;
}

static struct turn read_turn(pid_t tid)
{
	char text[TEXT_MAX];
	struct str all = str_of(text, process_read_start(tid, "sched", text, sizeof(text)));

	return (struct turn){
		.at = find_ns(all, "se.exec_start"),
		.moves = find_number(all, "se.nr_migrations"),
		.sleeps = find_number(all, "nr_voluntary_switches"),
	};
}

/* The limit of the call that it sleeps in; 0: it sleeps in another one, or without a limit. */
static int32_t limit_of(pid_t tid)
{
	struct system_call call = system_call_of(tid);

	return call.number >= 0 && sleep_has_limit((uint64_t)call.number) ? (int32_t)call.args[3]
									  : 0;
}

bool sleep_has_limit(uint64_t number)
{
#ifdef SYS_epoll_wait
	if (number == SYS_epoll_wait)
		return true;
#endif
	return number == SYS_epoll_pwait;
}

void sleep_note(pid_t tid, struct sleep *out)
{
	*out = (struct sleep){0};
	if (limit_of(tid) > 0)
		out->began = read_turn(tid);
}

void sleep_end(pid_t tid, struct sleep *s)
{
	struct turn now;

	s->length = 0;
	if (!s->began.at)
		return;
	now = read_turn(tid);
	/* Once more for the stop; twice would be another call. */
	if (now.at > s->began.at && now.moves == s->began.moves &&
	    now.sleeps == s->began.sleeps + 1) {
		s->length = now.at - s->began.at;
		s->ended = clock_now();
	}
}

int32_t sleep_shorten(const struct sleep *s, int32_t limit)
{
	uint64_t slept;

	if (!s->length || limit <= 0)
		return limit;
	slept = (s->length + clock_now() - s->ended) / MS_NS;
	return slept + 1 < (uint64_t)limit ? limit - (int32_t)slept : 1;
}
#endif
