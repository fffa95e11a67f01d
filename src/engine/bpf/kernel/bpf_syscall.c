/* Thin wrappers of bpf(2) and perf_event_open(2); see bpf_syscall.h. */
#include "engine/bpf/kernel/bpf_syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "engine/bpf/kernel/function_types.h"

#define FDS_SPARE 16 /* for what else is opened */

/* BPF_LINK_CREATE as kernels with uprobe_multi (6.6) read it. */
struct link_create {
	uint32_t prog_fd, target_fd, attach_type, flags;
	union {
		struct {
			uint64_t path, offsets, ref_ctr_offsets, cookies;
			uint32_t count, flags, pid;
		} uprobe;
		struct {
			uint64_t cookie;
		} perf;
	};
};

static uint64_t address_of(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static int call_bpf(int command, void *attr, size_t size)
{
	long result = syscall(SYS_bpf, command, attr, size);

	if (result < 0 && errno == EMFILE && file_raise_limit())
		result = syscall(SYS_bpf, command, attr, size);
	return result < 0 ? -errno : (int)result;
}

int kernel_map_create(const struct kernel_map *m)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = m->type;
	attr.key_size = m->key_size;
	attr.value_size = m->value_size;
	attr.max_entries = m->max_entries;
	attr.map_flags = m->flags;
	attr.inner_map_fd = (uint32_t)m->inner_fd;
	strncpy(attr.map_name, m->name ? m->name : "", sizeof(attr.map_name) - 1);
	return call_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
}

static int call_on_element(int command, int fd, const void *key, const void *value, uint64_t flags)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)fd;
	attr.key = address_of(key);
	attr.value = address_of(value);
	attr.flags = flags;
	return call_bpf(command, &attr, sizeof(attr));
}

int kernel_map_lookup(int fd, const void *key, void *value)
{
	return call_on_element(BPF_MAP_LOOKUP_ELEM, fd, key, value, 0);
}

int kernel_map_update(int fd, const void *key, const void *value, uint64_t flags)
{
	return call_on_element(BPF_MAP_UPDATE_ELEM, fd, key, value, flags);
}

int kernel_map_delete(int fd, const void *key)
{
	return call_on_element(BPF_MAP_DELETE_ELEM, fd, key, NULL, 0);
}

int kernel_map_next(int fd, const void *key, void *next)
{
	return call_on_element(BPF_MAP_GET_NEXT_KEY, fd, key, next, 0);
}

int kernel_map_batch(int fd, const void *from, void *next, void *keys, void *values,
		     uint32_t *count)
{
	union bpf_attr attr;
	int err;

	memset(&attr, 0, sizeof(attr));
	attr.batch.in_batch = address_of(from);
	attr.batch.out_batch = address_of(next);
	attr.batch.keys = address_of(keys);
	attr.batch.values = address_of(values);
	attr.batch.count = *count;
	attr.batch.map_fd = (uint32_t)fd;
	err = call_bpf(BPF_MAP_LOOKUP_BATCH, &attr, sizeof(attr));
	*count = attr.batch.count;
	return err;
}

int kernel_btf_load(const void *bytes, uint32_t size)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.btf = address_of(bytes);
	attr.btf_size = size;
	return call_bpf(BPF_BTF_LOAD, &attr, sizeof(attr));
}

#define SIGNALS_MOST 1000 /* during one load */

int kernel_program_load(const struct kernel_program *p)
{
	struct bpf_func_info *info = NULL;
	int types = -1, fd, tries = SIGNALS_MOST;
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = p->type;
	attr.expected_attach_type = p->attach_type;
	attr.prog_flags = p->flags;
	attr.attach_btf_id = p->btf_id;
	attr.insns = address_of(p->insns);
	attr.insn_cnt = (uint32_t)p->count;
	attr.license = address_of("Dual MIT/GPL");
	attr.log_buf = address_of(p->log);
	attr.log_size = p->log ? p->log_size : 0;
	attr.log_level = p->log ? p->log_level : 0;
	strncpy(attr.prog_name, p->name ? p->name : "", sizeof(attr.prog_name) - 1);
	if (p->function_count) {
		types = function_types_load(p->functions, p->function_count, &info);
		if (types < 0)
			return types;
		attr.prog_btf_fd = (uint32_t)types;
		attr.func_info_rec_size = sizeof(*info);
		attr.func_info = address_of(info);
		attr.func_info_cnt = (uint32_t)p->function_count + 1;
	}
	do /* the verifier gives up with EAGAIN when a signal is pending */
		fd = call_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
	while (fd == -EAGAIN && tries-- > 0);
	free(info);
	if (types >= 0)
		close(types);
	return fd;
}

int kernel_program_load_code(struct code *c, struct kernel_program p)
{
	struct bpf_insn *insns = NULL;
	struct code_function *functions = NULL;
	int fd = code_finish(c, &insns, &p.count);

	if (!fd)
		fd = code_functions(c, &functions, &p.function_count);
	p.insns = insns;
	p.functions = functions;
	if (!fd)
		fd = kernel_program_load(&p);
	free(functions);
	free(insns);
	code_free(c);
	return fd;
}

int kernel_program_run(int fd, uint32_t *result)
{
	union bpf_attr attr;
	int err;

	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (uint32_t)fd;
	err = call_bpf(BPF_PROG_TEST_RUN, &attr, sizeof(attr));
	if (!err)
		*result = attr.test.retval;
	return err;
}

int kernel_link_uprobes(int program_fd, const struct kernel_uprobes *u)
{
	struct link_create attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_fd = (uint32_t)program_fd;
	attr.attach_type = KERNEL_ATTACH_UPROBE_MULTI;
	attr.uprobe.path = address_of(u->path);
	attr.uprobe.offsets = address_of(u->offsets);
	attr.uprobe.ref_ctr_offsets = address_of(u->ref_ctrs);
	attr.uprobe.cookies = address_of(u->cookies);
	attr.uprobe.count = u->count;
	attr.uprobe.flags = u->at_return ? KERNEL_UPROBE_RETURN : 0;
	attr.uprobe.pid = (uint32_t)u->pid;
	return call_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
}

int kernel_link_perf(int program_fd, int perf_fd, uint64_t cookie)
{
	struct link_create attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_fd = (uint32_t)program_fd;
	attr.target_fd = (uint32_t)perf_fd;
	attr.attach_type = KERNEL_ATTACH_PERF_EVENT;
	attr.perf.cookie = cookie;
	/* Only what this kernel may know: the rest of the union belongs to newer ones. */
	return call_bpf(BPF_LINK_CREATE, &attr,
			offsetof(struct link_create, perf) + sizeof(attr.perf));
}

int kernel_btf_open(uint32_t id)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.btf_id = id;
	return call_bpf(BPF_BTF_GET_FD_BY_ID, &attr, sizeof(attr));
}

int kernel_btf_read(int fd, void *bytes, uint32_t *size, bool *of_kernel)
{
	union bpf_attr attr;
	struct bpf_btf_info info = {0};
	char name[16] = "";
	int err;

	memset(&attr, 0, sizeof(attr));
	info.btf = address_of(bytes);
	info.btf_size = bytes ? *size : 0;
	info.name = address_of(name);
	info.name_len = sizeof(name);
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = address_of(&info);
	err = call_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));
	if (err)
		return err;
	*size = info.btf_size;
	*of_kernel = info.kernel_btf && !strcmp(name, "vmlinux");
	return 0;
}

int kernel_link_raw(int program_fd, const char *tracepoint)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.name = address_of(tracepoint);
	attr.raw_tracepoint.prog_fd = (uint32_t)program_fd;
	return call_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
}

int kernel_link_function(int program_fd)
{
	return kernel_link_raw(program_fd, NULL);
}

int kernel_link_iter(int program_fd)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (uint32_t)program_fd;
	attr.link_create.attach_type = BPF_TRACE_ITER;
	return call_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
}

int kernel_iter_open(int link_fd)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.iter_create.link_fd = (uint32_t)link_fd;
	return call_bpf(BPF_ITER_CREATE, &attr, sizeof(attr));
}

int kernel_perf_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	long fd;

	attr->size = sizeof(*attr);
	fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 && errno == EMFILE && file_raise_limit())
		fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

void kernel_raise_memlock(void)
{
	struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};

	(void)!setrlimit(RLIMIT_MEMLOCK, &all);
}

int kernel_reserve_fds(unsigned count)
{
	struct rlimit limit;
	/* The lowest that is free: about as many are in use. */
	int next = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	rlim_t need;

	if (next < 0 && errno != EBADF)
		return -errno;
	if (next >= 0)
		close(next);
	need = (rlim_t)(next < 0 ? 0 : next) + count + FDS_SPARE;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
		return 0;
	if (limit.rlim_max < need)
		return -EMFILE;
	return file_raise_limit() ? 0 : -errno;
}
