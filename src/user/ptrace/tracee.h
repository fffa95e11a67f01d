/* A process that is traced in user mode: its memory, the files that it has mapped, and what of it
 * is known. inject.h says how one is opened. */
#ifndef NOPAL_USER_PTRACE_TRACEE_H
#define NOPAL_USER_PTRACE_TRACEE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/diag.h"

struct inject;

/* What of a process the trampolines need; the same for all its threads. */
struct inject_world {
	uint64_t shared;  /* address of the shared memory; 0: inject_map() has not run */
	uint64_t process; /* a page that is the process's own: a child of fork finds it zeroed */
	uint64_t kept;	  /* another, which a child of fork finds as it was */
	bool is_private;  /* a child of fork does not have the shared memory */
	int32_t rseq;	  /* offset of struct rseq from the thread pointer; 0: not registered */
	int32_t tid;	  /* ... of libc's copy of the thread's number; 0: not found */
};

/* How long the threads of a process were stopped. */
struct inject_pause {
	unsigned threads;
	uint64_t all_ns; /* all of them */
	uint64_t one_ns; /* the one that mapped memory */
};

pid_t inject_pid(const struct inject *x);
const struct inject_world *inject_world(const struct inject *x);
const struct inject_pause *inject_pause(const struct inject *x);
/* `beat` is called again and again in what takes long, from any thread. */
void inject_use_beat(struct inject *x, void (*beat)(void *arg), void *arg);
/* Call `fn` while all threads of the process are stopped, which are then not stopped again for each
 * step: for a process that waits for us. What `fn` returns; -errno with a message. It runs in a
 * thread of its own. */
int inject_held(struct inject *x, int (*fn)(void *arg), void *arg, struct diag *d);

/* Has this thread a seccomp filter? One that has ended has none. */
bool inject_has_filter(pid_t tid);
bool inject_has_ended(struct inject *x); /* it exited, or runs another program */

/* A trampoline makes a system call of the program there. Threads that wait in it do not count as
 * being in code of ours. */
void inject_waits_at(struct inject *x, uint64_t address);

/* ---- memory */

int process_memory(pid_t pid, int access); /* /proc/PID/mem, O_RDWR or O_RDONLY; -errno */
int inject_read(struct inject *x, uint64_t address, void *bytes, size_t len);
int inject_write(struct inject *x, uint64_t address, const void *bytes, size_t len);
/* ... to which nothing leads yet: it is written by inject_enable() where the kernel lets only a
 * tracer that has stopped the process write it. */
int inject_write_code(struct inject *x, uint64_t address, const void *bytes, size_t len);

/* ---- files that it has mapped */

int inject_reread(struct inject *x); /* what the process has mapped by now */
/* Had the process any file mapped when inject_reread() read that? If not, it was about to end. */
bool inject_has_files(const struct inject *x);
/* The file that is mapped as code at an address: its inode; 0: none. */
uint64_t inject_file_at(const struct inject *x, uint64_t address);
/* The addresses at which this byte of a file is mapped as code; at most `most`, returns how many.
 */
unsigned inject_find(struct inject *x, uint64_t inode, uint64_t offset, uint64_t *out,
		     unsigned most);
/* The address at which this byte of a file is mapped as data, writable: a semaphore of the image at
 * `pc`. 0: it is not mapped. */
uint64_t inject_find_data(struct inject *x, uint64_t inode, uint64_t offset, uint64_t pc);

#endif
