/* Fields of the kernel's structures; see kernel_btf.h. */
#include "engine/bpf/kernel/kernel_btf.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "btf/btf.h"
#include "engine/bpf/kernel/bpf_syscall.h"

#define FIRST_IDS 16 /* the kernel's own description is the first that is made */

/* The bytes of a description into *out, to be freed. */
static int read_object(int fd, char **out, uint32_t *size)
{
	bool of_kernel = false;
	int err = kernel_btf_read(fd, NULL, size, &of_kernel);

	if (!err && (!of_kernel || !*size || *size > BTF_MAX_SIZE))
		err = -ENOENT;
	*out = err ? NULL : malloc(*size);
	if (!err && !*out)
		err = -ENOMEM;
	return err ?: kernel_btf_read(fd, *out, size, &of_kernel);
}

static int find_field(struct btf *b, const char *type, const char *field, uint32_t *offset)
{
	struct ctype_member member;
	const struct ctype *t;
	int err = btf_find(b, CTYPE_STRUCT, str_from(type), &t);

	if (err)
		return err;
	if (!ctype_member(t, str_from(field), &member))
		return -ENOENT;
	*offset = (uint32_t)member.offset;
	return 0;
}

bool kernel_fields_find(struct btf *b, const struct kernel_field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (find_field(b, fields[i].type, fields[i].field, fields[i].out))
			return false;
	return true;
}

int btf_kernel_field(const char *type, const char *field, uint32_t *offset)
{
	struct btf *b = NULL;
	char *bytes = NULL;
	uint32_t size = 0;
	int err = btf_open(BTF_KERNEL, NULL, &b, NULL);

	for (uint32_t id = 1; id <= FIRST_IDS && err; id++) {
		int fd = kernel_btf_open(id);

		if (fd < 0)
			continue;
		free(bytes);
		err = read_object(fd, &bytes, &size)
			      ?: btf_open_memory(bytes, size, STR("vmlinux"), NULL, &b, NULL);
		close(fd);
	}
	err = err ?: find_field(b, type, field, offset);
	btf_close(b);
	free(bytes);
	return err;
}
