/* What the kernel can do, and the system calls of the engine: bpf(2) and perf_event_open(2), each
 * as one small function. All return a fd (close-on-exec) or 0, or -errno; none of them says
 * anything to the user. The newest parts of the interface are declared here, since the headers a
 * distribution has are often older than its kernel. */
#ifndef NOPAL_ENGINE_BPF_KERNEL_H
#define NOPAL_ENGINE_BPF_KERNEL_H

#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/types.h>

#include "base/buf.h"

#define KERNEL_ATTACH_PERF_EVENT   41 /* BPF_PERF_EVENT */
#define KERNEL_ATTACH_UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI */
#define KERNEL_UPROBE_RETURN	   1u /* BPF_F_UPROBE_MULTI_RETURN */

struct diag;
struct code;

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
	const uint32_t *functions; /* where those begin that helpers call, in order */
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
/* The same of code that is complete but not finished; it is freed. */
int kernel_program_load_code(struct code *c, struct kernel_program p);
int kernel_program_run(int fd, uint32_t *result); /* one test run */
int kernel_link_uprobes(int program_fd, const struct kernel_uprobes *u);
int kernel_link_perf(int program_fd, int perf_fd, uint64_t cookie);
/* A description of types (BTF) by its number: a descriptor, then its bytes: as many as *size
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
/* btf.c: bytes from the start of the kernel's `struct type` to its field. From
 * /sys/kernel/btf/vmlinux, or, where /sys is not mounted, from the kernel. -ENOENT: no such
 * description, type or field; -EBADMSG. */
int btf_kernel_field(const char *type, const char *field, uint32_t *offset);
void kernel_raise_memlock(void);
/* Raise the limit of open descriptors, if it does not allow `count` more, to the highest that this
 * process may have. -EMFILE: that is too low. */
int kernel_reserve_fds(unsigned count); /* failing is harmless */

/* ---- features.c */

/* What this kernel can do, found by trying it: each question is asked once, when the answer is
 * first needed, and by a system call or two. NOPAL_NO_FEATURES=uprobe_multi,sleepable,... makes the
 * answers no, for tests and for kernels that lie. */
enum feature {
	FEATURE_UPROBE,	      /* uprobes by perf_event_open at all */
	FEATURE_UPROBE_MULTI, /* one link for any number of sites */
	FEATURE_PID_FILTER,   /* such a link may be for one process, all of its threads */
	FEATURE_SLEEPABLE,    /* programs that may read pages that are not resident */
	FEATURE_COOKIE,	      /* bpf_get_attach_cookie */
	FEATURE_REF_CTR,      /* semaphores raised by the kernel */
	FEATURE_RING,	      /* BPF ring buffer */
	FEATURE_RUN,	      /* programs run on demand: BEGIN, END, interval */
	FEATURE_BPF_LOOP,     /* loops that are calls of a function */
	FEATURE_MAY_GOTO,     /* loops the verifier need not walk */
	FEATURE_FOR_EACH,     /* loops over maps */
	FEATURE_BTF,	      /* the kernel describes its types */
	FEATURE_LONG_JUMP,    /* jumps over more than 32,767 instructions */
	FEATURE_NOP5_SAFE,    /* a uprobe at a 5-byte nop leaves the stack below sp alone */
	FEATURE_NEWS,	      /* perf events that tell what processes map */
	FEATURE_COUNT_,
};

struct features {
	signed char known[FEATURE_COUNT_]; /* 0: not asked yet, 1: yes, -1: no */
};

void features_init(struct features *f); /* takes NOPAL_NO_FEATURES from the environment */
/* Are all names there names of features? 0, or -EINVAL with a message. */
int features_check(struct diag *d);
/* Say no to a comma-separated list of names; unknown names are ignored. */
void features_deny(struct features *f, struct str names);
bool feature_has(struct features *f, enum feature feature);
/* Learnt on the way: it worked, or it was refused. */
void feature_learn(struct features *f, enum feature feature, bool works);
/* One line each, "uprobe_multi  yes   many probes are attached at once": nopal doctor. `may_load`:
 * this user can load programs; if not, most of it is unknown. */
void features_print(struct features *f, bool may_load, struct buf *out);
/* "features: uprobe_multi, sleepable": those that are known to work, as a run asks only for what it
 * uses. */
void features_log(const struct features *f, struct buf *out);

/* ---- rights.c: What this process may do, as far as tracing needs it: capabilities, and the
 * kernel's lockdown. */

enum lockdown { LOCKDOWN_NONE, LOCKDOWN_INTEGRITY, LOCKDOWN_CONFIDENTIALITY };

struct rights {
	bool bpf, perfmon, ptrace, read_all; /* CAP_BPF ... CAP_DAC_READ_SEARCH */
	bool in_user_namespace;		     /* where the capabilities do not count for tracing */
	enum lockdown lockdown;
};

void rights_read(struct rights *r);
/* May this process trace by the kernel, as far as its rights say? */
bool rights_suffice(void);
/* Why the kernel said "permission denied": one sentence that names the right that is missing. */
const char *rights_denied(void);

#endif
