/* What must be known of a process before it is traced. */
#ifndef NOPAL_FIND_PROCESS_H
#define NOPAL_FIND_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct process_state {
	char comm[64]; /* its name; control bytes as they are */
	char state;    /* of its main thread: R, S, D, T, Z, ... */
	pid_t parent;
	unsigned threads; /* that have not ended, and the main one */
	bool is_kernel;	  /* a thread of the kernel */
};

/* -ESRCH, or what opening /proc/PID/stat gave. */
int process_state_read(pid_t pid, struct process_state *out);
/* Has its main thread ended while others go on? */
bool process_main_ended(pid_t pid);
/* The task under whose number /proc shows the process's files and memory: its main thread, or, when
 * that has ended before the others, one of these. */
pid_t process_visible_task(pid_t pid);

#endif
