/* Opening BTF, and finding types in it by name. */
#include "btf/btf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "btf/inside.h"

#define MAGIC 0xeb9f

/* clang-format off */

/* Bytes that follow the first 12: some for the kind, and some for each member. */
static const struct { uint8_t fixed, each; } rests[BTF_KINDS] = {
	[BTF_INT]      = { 4,  0  },  [BTF_ARRAY]      = { 12, 0  },
	[BTF_STRUCT]   = { 0,  12 },  [BTF_UNION]      = { 0,  12 },
	[BTF_ENUM]     = { 0,  8  },  [BTF_ENUM64]     = { 0,  12 },
	[BTF_VAR]      = { 4,  0  },  [BTF_FUNC_PROTO] = { 0,  8  },
	[BTF_DECL_TAG] = { 4,  0  },  [BTF_DATASEC]    = { 0,  12 },
};

/* clang-format on */

struct str btf_string(const struct btf *b, uint32_t offset)
{
	const char *text, *end;

	while (b->base && offset < b->first_string)
		b = b->base;
	offset -= b->first_string;
	if (offset >= b->strings.len)
		return STR("");
	text = b->strings.ptr + offset;
	end = memchr(text, '\0', b->strings.len - offset);
	return end ? str_of(text, (size_t)(end - text)) : STR("");
}

/* The first words of a type, inside its bytes: a kernel has them by the hundred thousand. */
static uint32_t word_at(const struct btf *b, size_t at)
{
	uint32_t word;

	memcpy(&word, b->types.ptr + at, sizeof(word));
	return b->big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? word
									 : __builtin_bswap32(word);
}

#define HEAD 12

/* The type at `at`, and where the next one is. Its name costs a look at another page: who wants it
 * reads it, at the offset that *name becomes. */
static bool read_type(const struct btf *b, size_t at, struct btf_type *out, uint32_t *name,
		      size_t *next)
{
	uint32_t info;
	size_t len;

	if (at > b->types.len || b->types.len - at < HEAD)
		return false;
	*name = word_at(b, at);
	info = word_at(b, at + 4);
	out->size = out->target = word_at(b, at + 8);
	out->kind = (enum btf_kind)(info >> 24 & 31);
	out->flag = info >> 31;
	out->count = info & 0xffff;
	if (!out->kind || out->kind >= BTF_KINDS)
		return false;
	len = rests[out->kind].fixed + (size_t)rests[out->kind].each * out->count;
	if (b->types.len - at - HEAD < len)
		return false;
	*next = at + HEAD + len;
	return true;
}

bool btf_read(const struct btf *b, uint32_t index, struct btf_type *out)
{
	uint32_t name;
	size_t next;

	if (index >= b->count || !read_type(b, b->offsets[index], out, &name, &next))
		return false;
	out->name = btf_string(b, name);
	out->rest = cursor_of(b->types.ptr + b->offsets[index] + HEAD,
			      next - b->offsets[index] - HEAD, b->big_endian);
	return true;
}

/* ---- Opening ---- */

static int refuse_btf(struct str name, const char *what, struct diag *d)
{
	return diag_error(d, -EBADMSG, "corrupt-btf", "'%.*s' has damaged types: %s", STR_FMT(name),
			  what);
}

/* Where each type begins. */
static int find_types(struct btf *b, struct str name, struct diag *d)
{
	size_t at = 0, next = 0, cap = 0;
	struct btf_type t;
	uint32_t ignored;

	/* About as many as there are. */
	if (array_reserve(b->offsets, cap, b->types.len / 24 + 1))
		return -ENOMEM;
	for (; at < b->types.len; at = next) {
		if (!read_type(b, at, &t, &ignored, &next))
			return refuse_btf(name, "a type is cut off, or of an unknown kind", d);
		if (array_grow(b->offsets, b->count, cap))
			return -ENOMEM;
		b->offsets[b->count++] = (uint32_t)at;
	}
	if (b->count > UINT32_MAX - b->first_id)
		return refuse_btf(name, "too many types", d);
	b->made = calloc(b->count + 1u, sizeof(*b->made));
	return b->made ? 0 : -ENOMEM;
}

/* header = magic 2 | version 1 | flags 1 | length 4 | types: offset 4, length 4 |
 *          strings: offset 4, length 4 | more */
static int read_header(struct btf *b, struct str bytes, struct str name, struct diag *d)
{
	struct cursor c = cursor_of(bytes.ptr, bytes.len, false);
	uint32_t length = 0, words[4] = {0};
	uint16_t magic = 0;
	uint8_t version = 0;

	cursor_u16(&c, &magic);
	if (magic == __builtin_bswap16(MAGIC))
		b->big_endian = c.big_endian = true;
	else if (magic != MAGIC)
		return refuse_btf(name, "it does not begin as BTF does", d);
	cursor_u8(&c, &version);
	cursor_skip(&c, 1);
	cursor_u32(&c, &length);
	for (size_t i = 0; i < 4; i++)
		cursor_u32(&c, &words[i]);
	if (c.failed || version != 1)
		return refuse_btf(name, "its header is cut off, or of an unknown version", d);
	for (size_t i = 0; i < 4; i += 2)
		if ((uint64_t)length + words[i] + words[i + 1] > bytes.len)
			return refuse_btf(name, "a part is outside the file", d);
	b->types = str_of(bytes.ptr + length + words[0], words[1]);
	b->strings = str_of(bytes.ptr + length + words[2], words[3]);
	return 0;
}

static int open_bytes(struct btf *b, struct str bytes, struct str name, struct diag *d)
{
	int err = read_header(b, bytes, name, d);

	b->reader.complete = btf_complete;
	b->first_id = 1;
	if (b->base) {
		if (b->base->strings.len > UINT32_MAX - b->base->first_string)
			return refuse_btf(name, "too many types", d);
		b->first_id = b->base->first_id + b->base->count;
		b->first_string = b->base->first_string + (uint32_t)b->base->strings.len;
	}
	/* BTF does not say of which machine it is: it is that of the kernel we run on. */
	b->machine = (struct ctype_machine){.word = sizeof(long),
					    .is_known = true,
					    .char_is_signed = (char)-1 < 0,
					    .long_double = sizeof(long double),
					    .most_align = 16};
	return err ? err : find_types(b, name, d);
}

int btf_open_memory(const void *bytes, size_t len, struct str name, struct btf *base,
		    struct btf **out, struct diag *d)
{
	struct btf *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	b->base = base;
	err = open_bytes(b, str_of(bytes, len), name, d);
	if (err)
		btf_close(b);
	else
		*out = b;
	return err;
}

/* The bytes of sysfs do not change and can be mapped by newer kernels; others are read, since a
 * file may be truncated while it is mapped. */
static int load_btf(int fd, struct btf *b)
{
	struct buf text = BUF_INIT;
	struct statfs fs;
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_size > BTF_MAX_SIZE)
		return -EFBIG;
	b->len = (size_t)st.st_size;
	if (!fstatfs(fd, &fs) && fs.f_type == SYSFS_MAGIC) {
		b->bytes = mmap(NULL, b->len, PROT_READ, MAP_PRIVATE, fd, 0);
		b->is_mapped = b->bytes != MAP_FAILED;
		if (b->is_mapped)
			return 0;
	}
	err = file_read_all(fd, BTF_MAX_SIZE, &text);
	b->bytes = text.ptr;
	b->len = text.len;
	return err;
}

int btf_open(const char *path, struct btf *base, struct btf **out, struct diag *d)
{
	struct str name = str_from(path);
	struct btf *b = calloc(1, sizeof(*b));
	int fd, err;

	if (!b)
		return -ENOMEM;
	b->base = base;
	fd = file_open_regular(path, 0);
	err = fd < 0 ? fd : load_btf(fd, b);
	if (err && err != -ENOMEM)
		diag_error(d, err, "no-btf", "types of the kernel cannot be read from '%s': %s",
			   path, strerror(-err));
	if (fd >= 0)
		close(fd);
	if (!err)
		err = open_bytes(b, str_of(b->bytes, b->len), name, d);
	if (err)
		btf_close(b);
	else
		*out = b;
	return err;
}

void btf_close(struct btf *b)
{
	if (!b)
		return;
	if (b->is_mapped)
		munmap(b->bytes, b->len);
	else
		free(b->bytes);
	free(b->offsets);
	free(b->made);
	free(b->owners);
	for (unsigned i = 0; i < BTF_SPACES; i++)
		hash_free(&b->names[i]);
	hash_free(&b->constants);
	arena_free(&b->arena);
	free(b);
}

/* ---- Names ---- */

/* The kinds of definitions that have names; CTYPE_VOID: not one. */
static enum ctype_kind kind_of(const struct btf_type *t)
{
	switch (t->kind) {
	case BTF_STRUCT: return CTYPE_STRUCT;
	case BTF_UNION: return CTYPE_UNION;
	case BTF_ENUM:
	case BTF_ENUM64: return t->count ? CTYPE_ENUM : CTYPE_VOID;
	case BTF_INT:
	case BTF_FLOAT:
	case BTF_TYPEDEF: return CTYPE_NAMED;
	case BTF_FUNC: return CTYPE_FUNCTION;
	default: return CTYPE_VOID;
	}
}

static uint64_t hash_name(const struct btf *b, struct str name)
{
	return hash_str((uintptr_t)b, name);
}

/* A kernel has ten times as many others as tags: most of them are functions. */
static enum btf_space space_of(enum ctype_kind kind)
{
	return kind == CTYPE_STRUCT || kind == CTYPE_UNION || kind == CTYPE_ENUM ? BTF_TAGS
										 : BTF_ORDINARY;
}

static int index_names(struct btf *b, enum btf_space space)
{
	int err = hash_reserve(&b->names[space], space == BTF_TAGS ? b->count / 8 : b->count);
	enum ctype_kind kind;
	struct btf_type t;
	uint32_t name;
	size_t next;

	/* Last first, since a look-up begins with the newest. */
	for (uint32_t i = b->count; i-- > 0 && !err;) {
		if (!read_type(b, b->offsets[i], &t, &name, &next) || !name)
			continue;
		kind = kind_of(&t);
		if (kind != CTYPE_VOID && space_of(kind) == space)
			err = hash_add(&b->names[space], hash_name(b, btf_string(b, name)), i);
	}
	b->has_names[space] = !err;
	return err;
}

/* constant = name 4 | value 4, or low 4 | high 4 */
struct str btf_constant(const struct btf *b, const struct btf_type *t, uint32_t n, int64_t *value)
{
	struct cursor c = t->rest;
	uint32_t name = 0, low = 0, high = 0;

	cursor_skip(&c, (size_t)n * (t->kind == BTF_ENUM64 ? 12 : 8));
	cursor_u32(&c, &name);
	cursor_u32(&c, &low);
	if (t->kind == BTF_ENUM64)
		cursor_u32(&c, &high);
	else if (t->flag && low >> 31)
		high = UINT32_MAX;
	*value = (int64_t)((uint64_t)high << 32 | low);
	return btf_string(b, name);
}

static int index_constants(struct btf *b)
{
	struct btf_type t;
	int64_t value;
	int err = 0;

	for (uint32_t i = 0; i < b->count && !err; i++) {
		if (!btf_read(b, i, &t) || kind_of(&t) != CTYPE_ENUM)
			continue;
		for (uint32_t n = 0; n < t.count && !err; n++) {
			struct str name = btf_constant(b, &t, n, &value);

			if (array_grow(b->owners, b->owner_count, b->owner_cap))
				return -ENOMEM;
			b->owners[b->owner_count] = i;
			err = hash_add(&b->constants, hash_name(b, name), b->owner_count++);
		}
	}
	b->has_constants = !err;
	return err;
}

static int find_id_here(struct btf *b, enum ctype_kind kind, struct str name, uint32_t *id)
{
	enum btf_space space = space_of(kind);
	int err = b->has_names[space] ? 0 : index_names(b, space);
	struct btf_type t;

	if (err)
		return err;
	hash_each(i, &b->names[space], hash_name(b, name)) {
		if (!btf_read(b, i, &t) || kind_of(&t) != kind || !str_eq(t.name, name))
			continue;
		*id = b->first_id + i;
		return 0;
	}
	return -ENOENT;
}

static int find_here(struct btf *b, enum ctype_kind kind, struct str name, const struct ctype **out)
{
	uint32_t id;
	int err = find_id_here(b, kind, name, &id);

	return err ? err : btf_make(b, id, out);
}

int btf_find_id(struct btf *b, enum ctype_kind kind, struct str name, uint32_t *id)
{
	int err = -ENOENT;

	for (; b && err == -ENOENT; b = b->base)
		err = find_id_here(b, kind, name, id);
	return err;
}

int btf_find(struct btf *b, enum ctype_kind kind, struct str name, const struct ctype **out)
{
	int err = -ENOENT;

	for (; b && err == -ENOENT; b = b->base) {
		err = find_here(b, kind, name, out);
		if (err == -ENOENT && kind == CTYPE_NAMED)
			err = find_here(b, kind, ctype_compiler_name(name), out);
	}
	return err;
}

int btf_find_constant(struct btf *b, struct str name, const struct ctype **out, int64_t *value)
{
	struct btf_type t;

	for (; b; b = b->base) {
		int err = b->has_constants ? 0 : index_constants(b);

		if (err)
			return err;
		hash_each(i, &b->constants, hash_name(b, name)) {
			if (!btf_read(b, b->owners[i], &t))
				continue;
			for (uint32_t n = 0; n < t.count; n++)
				if (str_eq(btf_constant(b, &t, n, value), name))
					return btf_make(b, b->first_id + b->owners[i], out);
		}
	}
	return -ENOENT;
}

int btf_each(const struct btf *b, btf_fn *fn, void *arg)
{
	struct btf_type t;
	int err = 0;

	for (uint32_t i = 0; i < b->count && !err; i++)
		if (btf_read(b, i, &t) && kind_of(&t) != CTYPE_VOID && t.name.len)
			err = fn(arg, kind_of(&t), t.name);
	return err;
}
