/* What the kernel can do, and the system calls of the engine: bpf(2) and perf_event_open(2), each
 * as one small function. All return a fd (close-on-exec) or 0, or -errno; none of them says
 * anything to the user. The newest parts of the interface are declared here, since the headers a
 * distribution has are often older than its kernel. */
#ifndef NOPAL_ENGINE_BPF_KERNEL_BPF_SYSCALL_H
#define NOPAL_ENGINE_BPF_KERNEL_BPF_SYSCALL_H

#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/types.h>

#include "base/buf.h"

#define KERNEL_ATTACH_PERF_EVENT   41 /* BPF_PERF_EVENT */
#define KERNEL_ATTACH_UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI */
#define KERNEL_UPROBE_RETURN	   1u /* BPF_F_UPROBE_MULTI_RETURN */

struct diag;
struct code;
struct code_function;

struct kernel_map {
	enum bpf_map_type type;
	uint32_t key_size, value_size, max_entries, flags;
	int inner_fd;	  /* arrays of maps: a map like those it will hold */
	const char *name; /* at most 15 bytes: letters, digits, _ */
};

struct kernel_program {
	enum bpf_prog_type type;
	uint32_t attach_type, flags;
	uint32_t btf_id; /* the function of the kernel that it is for; 0: none */
	const struct bpf_insn *insns;
	size_t count;
	const char *name;
	const struct code_function *functions; /* in order */
	size_t function_count;
	char *log; /* NULL: none */
	uint32_t log_size, log_level;
};

/* One uprobe_multi link: sites of one file. Arrays of `count`; ref_ctrs may be NULL. */
struct kernel_uprobes {
	const char *path;
	const uint64_t *offsets, *ref_ctrs, *cookies;
	uint32_t count;
	pid_t pid; /* 0: every process */
	bool at_return;
};

int kernel_map_create(const struct kernel_map *m);
int kernel_map_lookup(int fd, const void *key, void *value);
int kernel_map_update(int fd, const void *key, const void *value, uint64_t flags);
int kernel_map_delete(int fd, const void *key);
int kernel_map_next(int fd, const void *key, void *next); /* key NULL: the first; -ENOENT: end */
/* Up to *count entries into keys and values; *count becomes how many there were. `from` NULL
 * starts; -ENOENT: these were the last. */
int kernel_map_batch(int fd, const void *from, void *next, void *keys, void *values,
		     uint32_t *count);
int kernel_program_load(const struct kernel_program *p);
/* Load a program whose code is complete but not finished; the code is freed. */
int kernel_program_load_code(struct code *c, struct kernel_program p);
int kernel_program_run(int fd, uint32_t *result); /* one test run */
int kernel_link_uprobes(int program_fd, const struct kernel_uprobes *u);
int kernel_link_perf(int program_fd, int perf_fd, uint64_t cookie);
int kernel_btf_load(const void *bytes, uint32_t size); /* a description of types (BTF) */
/* One by its number: a descriptor, then its bytes: as many as *size
 * allows; *size becomes how many there are. *of_kernel: it is the kernel's own, not that of a
 * module. */
int kernel_btf_open(uint32_t id);
int kernel_btf_read(int fd, void *bytes, uint32_t *size, bool *of_kernel);
/* A program of type TRACING to the function that it was loaded for. */
int kernel_link_function(int program_fd);
/* A program that iterates: a link, and then its file; to read that runs the program. */
int kernel_link_iter(int program_fd);
int kernel_iter_open(int link_fd);
/* A program of type RAW_TRACEPOINT to one of the kernel's tracepoints, by its name alone. */
int kernel_link_raw(int program_fd, const char *tracepoint);
int kernel_perf_open(struct perf_event_attr *attr, pid_t pid, int cpu);
void kernel_raise_memlock(void);
/* Raise the limit of open descriptors, if it does not allow `count` more, to the highest that this
 * process may have. -EMFILE: that is too low. */
int kernel_reserve_fds(unsigned count); /* failing is harmless */

#endif
