/* The tracer's side of nopal-agent.so: programs that a traced command runs say that they are there,
 * before any code of theirs runs, and wait until they are traced. */
#ifndef NOPAL_WATCH_AGENT_SOCKET_H
#define NOPAL_WATCH_AGENT_SOCKET_H

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct watch;

struct agent_socket {
	int fd;		    /* 0 or below: there is no agent */
	struct buf name;    /* for the command's environment: "NOPAL_AGENT=..." */
	struct buf preload; /* ... "LD_PRELOAD=..." */
	struct buf asan;    /* ... "ASAN_OPTIONS=...": a program with it may load other libraries */
	uint64_t foreign_since; /* ns: the second in which `foreign` were looked at */
	unsigned foreign;	/* processes of other users that came */
};

/* Find the library and make the socket, at which connections are refused until agent_listen(), so
 * that programs go on. -ENOENT: there is no library. Everything in `out` is the caller's, who calls
 * agent_close() whatever this returns. */
int agent_open(struct agent_socket *out);
void agent_close(struct agent_socket *a);

int agent_listen(struct watch *w);
/* May the process load the agent, by its environment? */
bool agent_is_expected(pid_t pid);
/* The next process that waits, and the descriptor to close when it may go on. Any user may connect:
 * who has nothing to do with the command is sent away before anything is read of it, and does not
 * count. -EAGAIN: no more are there; -EBUSY: there may be. */
int agent_accept(struct watch *w, pid_t *pid);
/* Who comes from now on is refused, and goes on. */
void agent_refuse(struct watch *w);
/* Has it the name of the socket in its environment? Then it descends from the command, though the
 * processes between them may have ended. */
bool agent_was_given(const struct watch *w, pid_t pid);
/* Has the process, whose descriptor this is, stopped waiting, or ended? */
bool agent_has_left(int one);

#endif
