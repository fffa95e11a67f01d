/* The keeper: a child process that raises words in the memory of other processes, and lowers them
 * when it hears no more of us, also after kill -9. */
#ifndef NOPAL_ENGINE_BPF_RUN_KEEPER_H
#define NOPAL_ENGINE_BPF_RUN_KEEPER_H

#include <stdint.h>
#include <sys/types.h>

/* One word in one process. */
struct keeper_word {
	uint64_t address;
	uint64_t device, inode; /* of its file, as /proc/PID/maps has them */
	pid_t pid;
	/* For a word that has several copies, else 0: where a site is that has this one, and the
	 * site's bytes in the file. */
	uint64_t site;
	uint32_t code;
};

struct keeper {
	pid_t pid; /* 0: it has not been needed yet */
	int fd;	   /* closing it ends the keeper */
};

/* Raise the word. 1: it is raised; 0: no need, it is already; -EFAULT: nothing writable is mapped
 * there (yet); -ESRCH; -EPERM; -EPIPE: the keeper was killed. */
int keeper_raise(struct keeper *k, const struct keeper_word *word);
/* Lower all, and wait until it is done. The kernel has been asked to remove its breakpoints. */
void keeper_end(struct keeper *k);

#endif
