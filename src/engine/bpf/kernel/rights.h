/* What this process may do, as far as tracing needs it: capabilities, and the kernel's lockdown. */
#ifndef NOPAL_ENGINE_BPF_KERNEL_RIGHTS_H
#define NOPAL_ENGINE_BPF_KERNEL_RIGHTS_H

#include <stdbool.h>

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
