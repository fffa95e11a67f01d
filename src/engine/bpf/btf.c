/* The kernel's own description of its types (BTF, Documentation/bpf/btf.rst), as far as needed:
 * where a field is. A header, then types one after the other, then their names. */
#include "engine/bpf/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"

#define BTF_FILE   "/sys/kernel/btf/vmlinux"
#define BTF_MAGIC  0xeb9f
#define BTF_MOST   (256u << 20)
#define FIRST_IDS  16 /* the kernel's own description is the first that is made */
#define TYPE_WORDS 3  /* name, info, size or type */

enum { KIND_STRUCT = 4, KIND_COUNT = 20 };

/* What follows the three words of a type: so many bytes once, and for each of its members. */
static const struct {
	unsigned char once, each;
} sizes[KIND_COUNT] = {
	[1] = {4, 0},		 /* int */
	[3] = {12, 0},		 /* array */
	[KIND_STRUCT] = {0, 12}, /* struct */
	[5] = {0, 12},		 /* union */
	[6] = {0, 8},		 /* enum */
	[13] = {0, 8},		 /* function type */
	[14] = {4, 0},		 /* variable */
	[15] = {0, 12},		 /* section */
	[17] = {4, 0},		 /* declaration tag */
	[19] = {0, 12},		 /* 64-bit enum */
};

struct btf {
	struct cursor types;
	struct str names;
};

static bool has_name(const struct btf *b, uint32_t at, const char *name)
{
	size_t len = strlen(name) + 1;

	return at < b->names.len && b->names.len - at >= len &&
	       !memcmp(b->names.ptr + at, name, len);
}

/* { u16 magic; u8 version, flags; u32 length, types, types_length, names, names_length } */
static int open_bytes(struct str bytes, struct btf *out)
{
	bool big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	struct cursor c = cursor_of(bytes.ptr, bytes.len, big_endian), rest;
	uint32_t head, types, types_len, names, names_len;
	struct str part;
	uint16_t magic;

	if (!cursor_u16(&c, &magic) || magic != BTF_MAGIC || !cursor_skip(&c, 2) ||
	    !cursor_u32(&c, &head) || !cursor_u32(&c, &types) || !cursor_u32(&c, &types_len) ||
	    !cursor_u32(&c, &names) || !cursor_u32(&c, &names_len))
		return -EBADMSG;
	rest = cursor_of(bytes.ptr, bytes.len, big_endian);
	if (!cursor_skip(&rest, head))
		return -EBADMSG;
	c = rest;
	if (!cursor_skip(&c, types) || !cursor_bytes(&c, types_len, &part) ||
	    !cursor_skip(&rest, names) || !cursor_bytes(&rest, names_len, &out->names))
		return -EBADMSG;
	out->types = cursor_of(part.ptr, part.len, big_endian);
	return 0;
}

/* Members are { u32 name, type, offset }, the offset in bits; with `kind_flag` its upper byte is
 * the width of a bit field. */
static int find_member(const struct btf *b, struct cursor *c, uint32_t info, const char *field,
		       uint32_t *offset)
{
	bool kind_flag = info >> 31;

	for (uint32_t i = 0; i < (info & 0xffff); i++) {
		uint32_t name, type, at;

		if (!cursor_u32(c, &name) || !cursor_u32(c, &type) || !cursor_u32(c, &at))
			return -EBADMSG;
		if (!has_name(b, name, field))
			continue;
		*offset = (kind_flag ? at & 0xffffff : at) / 8;
		return 0;
	}
	return -ENOENT;
}

static int find_field(struct btf *b, const char *type, const char *field, uint32_t *offset)
{
	struct cursor *c = &b->types;

	while (cursor_left(c)) {
		uint32_t name, info, size, kind;

		if (!cursor_u32(c, &name) || !cursor_u32(c, &info) || !cursor_u32(c, &size))
			return -EBADMSG;
		kind = info >> 24 & 0x1f;
		if (kind >= KIND_COUNT)
			return -EBADMSG;
		if (kind == KIND_STRUCT && has_name(b, name, type))
			return find_member(b, c, info, field, offset);
		if (!cursor_skip(c, sizes[kind].once + sizes[kind].each * (info & 0xffff)))
			return -EBADMSG;
	}
	return -ENOENT;
}

/* ---- getting the bytes, into *out, to be freed */

static int read_file(char **out, size_t *len)
{
	int fd = open(BTF_FILE, O_RDONLY | O_CLOEXEC), err = 0;
	struct stat st;
	ssize_t got;

	if (fd < 0)
		return -errno;
	*len = 0;
	if (fstat(fd, &st) || st.st_size <= 0 || st.st_size > BTF_MOST)
		err = -ENOENT;
	*out = err ? NULL : malloc((size_t)st.st_size);
	if (!err && !*out)
		err = -ENOMEM;
	while (!err && *len < (size_t)st.st_size &&
	       (got = read(fd, *out + *len, (size_t)st.st_size - *len)) > 0)
		*len += (size_t)got;
	close(fd);
	return err;
}

static int read_object(int fd, char **out, size_t *len)
{
	uint32_t size = 0;
	bool of_kernel = false;
	int err = kernel_btf_read(fd, NULL, &size, &of_kernel);

	if (!err && (!of_kernel || !size || size > BTF_MOST))
		err = -ENOENT;
	*out = err ? NULL : malloc(size);
	if (!err && !*out)
		err = -ENOMEM;
	if (!err)
		err = kernel_btf_read(fd, *out, &size, &of_kernel);
	*len = size;
	return err;
}

int btf_kernel_field(const char *type, const char *field, uint32_t *offset)
{
	struct btf b = {0};
	char *bytes = NULL;
	size_t len = 0;
	int err = read_file(&bytes, &len);

	for (uint32_t id = 1; id <= FIRST_IDS && err; id++) {
		int fd = kernel_btf_open(id);

		if (fd < 0)
			continue;
		free(bytes);
		err = read_object(fd, &bytes, &len);
		close(fd);
	}
	err = err ?: open_bytes(str_of(bytes, len), &b) ?: find_field(&b, type, field, offset);
	free(bytes);
	return err;
}
