/* Making kernel maps; see make_map.h. */
#include "engine/bpf/kernel/make_map.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/diag.h"
#include "engine/bpf/kernel/rights.h"

#define MAPPABLE (1u << 10) /* BPF_F_MMAPABLE */

int map_make(const struct kernel_map *m, struct diag *d)
{
	int fd = kernel_map_create(m);

	if (fd < 0) /* that of the script's `@` has no name */
		diag_error(d, fd, "map",
			   "cannot create BPF map '%s' (%u entries of %u + %u bytes): %s",
			   *m->name ? m->name : "@", m->max_entries, m->key_size, m->value_size,
			   fd == -EPERM ? rights_denied() : strerror(-fd));
	if (fd == -EMFILE)
		diag_hint(d, "each map and each site needs a file descriptor: raise the limit "
			     "with ulimit -n");
	return fd;
}

int map_make_plain(int *fd, enum bpf_map_type type, uint32_t key, uint32_t value, uint32_t entries,
		   const char *name, struct diag *d)
{
	struct kernel_map m = {.type = type,
			       .key_size = key,
			       .value_size = value,
			       .max_entries = entries,
			       .name = name};

	*fd = map_make(&m, d);
	return *fd < 0 ? *fd : 0;
}

int map_make_hash(const char *name, uint32_t key, uint32_t value, uint32_t entries, int *fd,
		  struct diag *d)
{
	struct kernel_map m = {.type = BPF_MAP_TYPE_HASH,
			       .key_size = key,
			       .value_size = value,
			       .max_entries = entries,
			       .flags = NO_PREALLOC,
			       .name = name};

	*fd = map_make(&m, d);
	return *fd < 0 ? *fd : 0;
}

int map_make_memory(const char *name, size_t bytes, int *fd, void **memory, size_t *mapped,
		    struct diag *d)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct kernel_map m = {.type = BPF_MAP_TYPE_ARRAY,
			       .key_size = 4,
			       .value_size = (uint32_t)bytes,
			       .max_entries = 1,
			       .flags = MAPPABLE,
			       .name = name};

	*fd = map_make(&m, d);
	if (*fd < 0)
		return *fd;
	*mapped = (bytes + page - 1) & ~(page - 1);
	*memory = mmap(NULL, *mapped, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (*memory != MAP_FAILED)
		return 0;
	*memory = NULL;
	return diag_error(d, -errno, "map", "cannot map the memory of BPF map '%s': %s", name,
			  strerror(errno));
}
