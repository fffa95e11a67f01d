/* Kernel maps for the programs of a run, with messages when the kernel refuses one. */
#ifndef NOPAL_ENGINE_BPF_KERNEL_MAKE_MAP_H
#define NOPAL_ENGINE_BPF_KERNEL_MAKE_MAP_H

#include "engine/bpf/kernel/bpf_syscall.h"

#define NO_PREALLOC 1u /* a flag: the kernel would allocate max_entries keys and values at once */

/* A kernel map's descriptor, or -errno with a message. */
int map_make(const struct kernel_map *m, struct diag *d);
/* A kernel map of this shape into *fd, -errno after an error. */
int map_make_plain(int *fd, enum bpf_map_type type, uint32_t key, uint32_t value, uint32_t entries,
		   const char *name, struct diag *d);
/* A hash whose entries take memory as they come. */
int map_make_hash(const char *name, uint32_t key, uint32_t value, uint32_t entries, int *fd,
		  struct diag *d);
/* An array of one entry of `bytes` bytes, mapped here too, in whole pages: *mapped bytes. The
 * caller closes *fd and unmaps *memory, after an error what is not -1 and NULL. */
int map_make_memory(const char *name, size_t bytes, int *fd, void **memory, size_t *mapped,
		    struct diag *d);

#endif
