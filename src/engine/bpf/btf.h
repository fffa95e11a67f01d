/* The kernel's own description of its types (BTF, Documentation/bpf/btf.rst), as far as needed:
 * where a field is. */
#ifndef NOPAL_ENGINE_BPF_BTF_H
#define NOPAL_ENGINE_BPF_BTF_H

#include <stdint.h>

/* Bytes from the start of `struct type` to its field. From /sys/kernel/btf/vmlinux, or, where /sys
 * is not mounted, from the kernel. -ENOENT: no such description, type or field; -EBADMSG. */
int btf_kernel_field(const char *type, const char *field, uint32_t *offset);

#endif
