/* The tracer's side of nopal-agent.so: programs that a traced command runs say that they are there,
 * before any code of theirs runs, and wait until they are traced. */
#ifndef NOPAL_WATCH_AGENT_SOCKET_H
#define NOPAL_WATCH_AGENT_SOCKET_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/buf.h"

struct native_agent {
	int fd;		    /* a socket; -1: there is no agent */
	struct buf name;    /* for the command's environment: "NOPAL_AGENT=..." */
	struct buf preload; /* ... "LD_PRELOAD=..." */
	struct buf asan;    /* ... "ASAN_OPTIONS=...": a program with it may load other libraries */
};

/* Find the library and make the socket, at which connections are refused until
 * native_agent_listen(), so that programs go on. -ENOENT: there is no library. Everything in `out`
 * is the caller's, who calls native_agent_close() whatever this returns. */
int native_agent_open(struct native_agent *out);
void native_agent_close(struct native_agent *a);

int native_agent_listen(int fd);
/* May the process load the agent, by its environment? */
bool native_agent_is_expected(pid_t pid);
/* The next process that waits, and the descriptor to close when it may go on; -EAGAIN: none. Any
 * user can connect: ask `who` before anything else is done. */
int native_agent_accept(int fd, struct ucred *who);
/* Who comes from now on is refused, and goes on. */
void native_agent_refuse(int fd);
/* Has it `name`, "NOPAL_AGENT=...", in its environment? Then it descends from the command, though
 * the processes between them may have ended. */
bool native_agent_was_given(pid_t pid, const char *name);
/* Has the process, whose descriptor this is, stopped waiting, or ended? */
bool native_agent_has_left(int one);

#endif
