/* A child process of ours that outlives us. */
#ifndef NOPAL_ENGINE_BPF_RUN_HELPER_H
#define NOPAL_ENGINE_BPF_RUN_HELPER_H

#include <stddef.h>

/* After fork, in the child: a process that outlives us, keeps these descriptors, in ascending
 * order, and closes all others: the terminal and the pipes, and what would keep our probes armed.
 */
void bpf_become_helper(const char *name, const int *fds, size_t count);

#endif
