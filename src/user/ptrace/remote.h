/* System calls of another process, made by one of its threads. */
#ifndef NOPAL_USER_PTRACE_REMOTE_H
#define NOPAL_USER_PTRACE_REMOTE_H

#include <sys/syscall.h>
#include <sys/types.h>

#include "base/diag.h"

struct inject;
struct inject_world;
struct thread;
struct threads;

#ifndef SYS_mmap
#define SYS_mmap SYS_mmap2 /* 32-bit CPUs, whose processes are refused before any call */
#endif

struct remote;
/* Calls are made by a thread that is stopped; NULL: by one of those that inject_held() has stopped,
 * else one that it stops, and lets go at the end. */
int remote_begin(struct inject *x, const struct thread *stopped, struct remote **out,
		 struct diag *d);
/* What an error means, of remote_call() too: its result is -ESRCH when the process has ended,
 * -ETIME when the thread does not come back from it, -ESTALE when its code was changed. */
const char *remote_error(int err);
/* The error of a process that could not be stopped. */
int remote_refuse(struct inject *x, int err, struct diag *d);
/* The call's result; -errno of the call. */
int64_t remote_call(struct remote *r, long number, const uint64_t args[6]);
pid_t remote_thread(const struct remote *r); /* that makes the calls */
void remote_end(struct remote *r);
void remote_world(struct remote *r, struct inject_world *out); /* rseq and tid */
/* The call, with arguments that are missing 0. */
#define CALL(r, number, ...) remote_call((r), (number), (const uint64_t[6]){__VA_ARGS__})
/* Remove stubs that tracers left that were killed. All threads are stopped. */
void stubs_sweep(struct inject *x, const struct threads *t);

#endif
