/* Where fields of the kernel's structures are, by its own description of its types (BTF). */
#ifndef NOPAL_ENGINE_BPF_KERNEL_KERNEL_BTF_H
#define NOPAL_ENGINE_BPF_KERNEL_KERNEL_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes from the start of the kernel's `struct type` to its field. From
 * /sys/kernel/btf/vmlinux, or, where /sys is not mounted, from the kernel. -ENOENT: no such
 * description, type or field; -EBADMSG. */
int btf_kernel_field(const char *type, const char *field, uint32_t *offset);

struct btf;
struct kernel_field {
	const char *type, *field;
	uint32_t *out;
};
/* The offset of each field, in the description `b`, into its *out. False: a field is not there. */
bool kernel_fields_find(struct btf *b, const struct kernel_field *fields, size_t count);

#endif
