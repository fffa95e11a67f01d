/* Asking the kernel what we may; see bpf_syscall.h. */
#include "engine/bpf/kernel/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_PERFMON /* headers before Linux 5.8 */
#define CAP_PERFMON 38
#define CAP_BPF	    39
#endif

/* The effective ones, a bit each. */
static uint64_t read_capabilities(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {{0}};

	if (syscall(SYS_capget, &head, data))
		return 0;
	return data[0].effective | (uint64_t)data[1].effective << 32;
}

/* The beginning of a small file of the kernel; "" when it is not there. */
static void read_word(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[len > 0 ? len : 0] = '\0';
}

void rights_read(struct rights *r)
{
	uint64_t caps = read_capabilities();
	bool admin = caps >> CAP_SYS_ADMIN & 1;
	char lockdown[100], uids[100]; /* "none [integrity] confidentiality" */
	/* The first namespace maps all numbers to themselves. */
	static const char first[] = "         0          0 4294967295\n";

	read_word("/sys/kernel/security/lockdown", lockdown, sizeof(lockdown));
	read_word("/proc/self/uid_map", uids, sizeof(uids));

	*r = (struct rights){
		.bpf = admin || caps >> CAP_BPF & 1,
		.perfmon = admin || caps >> CAP_PERFMON & 1,
		.ptrace = caps >> CAP_SYS_PTRACE & 1,
		.read_all = (caps >> CAP_DAC_READ_SEARCH | caps >> CAP_DAC_OVERRIDE) & 1,
		.in_user_namespace = *uids && strcmp(uids, first) != 0,
		.lockdown = strstr(lockdown, "[confidentiality]") ? LOCKDOWN_CONFIDENTIALITY
			    : strstr(lockdown, "[integrity]")	  ? LOCKDOWN_INTEGRITY
								  : LOCKDOWN_NONE};
}

bool rights_suffice(void)
{
	struct rights r;

	rights_read(&r);
	return r.bpf && r.perfmon && !r.in_user_namespace && r.lockdown != LOCKDOWN_CONFIDENTIALITY;
}

const char *rights_denied(void)
{
	struct rights r;

	rights_read(&r);
	if (!r.bpf && !r.perfmon)
		return "permission denied: tracing needs root, or CAP_BPF and CAP_PERFMON, and "
		       "this process has neither";
	if (!r.perfmon)
		return "permission denied: this process lacks CAP_PERFMON";
	if (!r.bpf)
		return "permission denied: this process lacks CAP_BPF";
	if (r.in_user_namespace)
		return "permission denied: the capabilities of a user namespace (a rootless "
		       "container) do not count for tracing";
	if (r.lockdown == LOCKDOWN_CONFIDENTIALITY)
		return "permission denied: the kernel is locked down "
		       "(/sys/kernel/security/lockdown)";
	return "permission denied, although this process has CAP_BPF and CAP_PERFMON: a seccomp "
	       "filter or a security module may forbid it";
}
