/* Code in a running process: memory and trampolines are put into it by ptrace and /proc/PID/mem,
 * and its probe sites become jumps to them, without a library in the process and without a trap.
 *
 *   inject_open        may this process be traced so, and what does it have mapped?
 *   inject_plan        how one site can become a jump: decided from the bytes in memory
 *   inject_reserve     addresses for code, near a site
 *   inject_map         one thread maps all that was planned and reserved
 *   inject_write       code into it
 *   inject_enable      all threads are stopped for a moment, and the sites' bytes written
 *   inject_disable     the reverse
 *
 * A site keeps its bytes except for the few that its form names, and if anything was interrupted in
 * between (by SIGKILL of the tracer, too) the process runs on. x86-64 and aarch64.
 * doc/user-mode.md has drawings of the bytes. */
#ifndef NOPAL_USER_PATCH_INJECT_H
#define NOPAL_USER_PATCH_INJECT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/diag.h"

struct inject;
struct inject_site;

/* A process that is stopped under the ptrace of the calling thread is not stopped again.
 * -EPERM, -EACCES: not this user's to trace; -EBUSY: traced by another; -ENOTSUP: a 32-bit
 * program, a system call filter, another CPU; -ESRCH. Each with a message. */
int inject_open(pid_t pid, struct inject **out, struct diag *d);
void inject_close(struct inject *x); /* disables nothing; NULL is fine */
/* Try once more to unmap what a thread may return to. 0 or -errno. */
int inject_leave(struct inject *x);
uint64_t inject_kept(const struct inject *x); /* bytes that are mapped still */

/* ---- what others have left in a process */

/* Undo what tracers that were killed left in the process: bytes of sites, semaphores, memory.
 * Number of sites; -ENOENT: nothing was left. Memory that a thread may return to stays, with a
 * warning. */
int inject_clean(pid_t pid, struct diag *d);
/* Is it a child of fork, with sites that this tracer enabled in its parent? */
bool inject_is_inherited(pid_t pid);
/* Undo in a child of fork what it has inherited of this tracer's sites. */
void inject_clean_child(pid_t pid);

/* ---- children of fork */

/* Is this the memory of a child of fork that has what `of` had then, and nothing of its own? Read
 * bytes of it. */
bool inject_is_forked(const struct inject *of, int memory, uint64_t address, void *bytes,
		      size_t len);
/* A child of fork becomes a process of its own, with what it has. Errors are those of
 * inject_open(). */
int inject_inherit(const struct inject *from, pid_t pid, struct inject **out, struct diag *d);
/* A copy of a site of the child's parent: is it enabled in the child, too? If not, it must be
 * planned again. */
bool inject_inherit_site(struct inject *x, struct inject_site *s);
/* Is this memory that was planned and mapped? */
bool inject_has_code(const struct inject *x, uint64_t start, uint64_t end);

/* How code of a process may be written here; kernels since 6.12 choose by
 * proc_mem.force_override. */
enum inject_writes {
	INJECT_WRITES_NONE,   /* not at all: there is no user mode */
	INJECT_WRITES_ALWAYS, /* by /proc/PID/mem */
	INJECT_WRITES_TRACED, /* ... by the thread that has stopped it: "ptrace" */
	INJECT_WRITES_POKED,  /* by PTRACE_POKEDATA alone: "never" */
};

/* Try it on a child. */
enum inject_writes inject_try_writes(void);

#endif
