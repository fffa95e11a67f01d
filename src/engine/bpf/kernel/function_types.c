/* Types are numbered from 1 in the order in which they are added:
 *
 *	1  int
 *	2  int (void)
 *	3  static "body": 2		the program itself, and what helpers call
 *	4  struct "memory", 1224 bytes	of each function that the program calls, and the first two
 *	5  pointer to 4			once more for its second argument
 *	6  int (5 "memory")
 *	7  global "function": 6
 *
 * The verifier follows a global function once, and a static one at each call. */
#include "engine/bpf/kernel/function_types.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdlib.h>

#include "engine/bpf/kernel/bpf_syscall.h"

enum { TYPE_INT = 1, TYPE_BODY_PROTO, TYPE_BODY, TYPES_FIRST };

/* Places in the strings. */
enum { NAME_INT = 1, NAME_BODY = 5, NAME_MEMORY = 10, NAME_FUNCTION = 17 };
static const char names[] = "\0int\0body\0memory\0function";

static void add_type(struct buf *b, uint32_t name, uint32_t info, uint32_t size_or_type)
{
	const struct btf_type t = {.name_off = name, .info = info, .size = size_or_type};

	buf_add(b, &t, sizeof(t));
}

static void add_bodies(struct buf *b)
{
	const uint32_t encoding = BTF_INT_SIGNED << 24 | 32;

	add_type(b, NAME_INT, BTF_KIND_INT << 24, 4);
	buf_add(b, &encoding, sizeof(encoding));
	add_type(b, 0, BTF_KIND_FUNC_PROTO << 24, TYPE_INT);
	add_type(b, NAME_BODY, BTF_KIND_FUNC << 24, TYPE_BODY_PROTO);
}

/* Types from number `next` on; *next becomes that after them. The result is the function's. */
static uint32_t add_function(struct buf *b, uint32_t *next, const struct code_function *f)
{
	uint32_t first = *next, count = f->bytes[1] ? 2 : 1;
	struct btf_param memory = {.name_off = NAME_MEMORY};

	for (uint32_t i = 0; i < count; i++) {
		add_type(b, NAME_MEMORY, BTF_KIND_STRUCT << 24, f->bytes[i]);
		add_type(b, 0, BTF_KIND_PTR << 24, first + 2 * i);
	}
	add_type(b, 0, BTF_KIND_FUNC_PROTO << 24 | count, TYPE_INT);
	for (uint32_t i = 0; i < count; i++) {
		memory.type = first + 2 * i + 1;
		buf_add(b, &memory, sizeof(memory));
	}
	add_type(b, NAME_FUNCTION, BTF_KIND_FUNC << 24 | BTF_FUNC_GLOBAL, first + 2 * count);
	*next = first + 2 * count + 2;
	return *next - 1;
}

static int load_types(const struct buf *types)
{
	struct btf_header head = {.magic = BTF_MAGIC,
				  .version = BTF_VERSION,
				  .hdr_len = sizeof(head),
				  .type_len = (uint32_t)types->len,
				  .str_off = (uint32_t)types->len,
				  .str_len = sizeof(names)};
	struct buf all = BUF_INIT;
	int fd = -ENOMEM;

	buf_add(&all, &head, sizeof(head));
	buf_add(&all, types->ptr, types->len);
	buf_add(&all, names, sizeof(names));
	if (!types->failed && !all.failed)
		fd = kernel_btf_load(all.ptr, (uint32_t)all.len);
	buf_free(&all);
	return fd;
}

int function_types_load(const struct code_function *functions, size_t count,
			struct bpf_func_info **info)
{
	struct bpf_func_info *all = calloc(count + 1, sizeof(*all));
	struct buf types = BUF_INIT;
	uint32_t next = TYPES_FIRST;
	int fd;

	if (!all)
		return -ENOMEM;
	add_bodies(&types);
	all[0].type_id = TYPE_BODY;
	for (size_t i = 0; i < count; i++) {
		all[i + 1] = (struct bpf_func_info){functions[i].at, TYPE_BODY};
		if (functions[i].bytes[0])
			all[i + 1].type_id = add_function(&types, &next, &functions[i]);
	}
	fd = load_types(&types);
	buf_free(&types);
	if (fd < 0)
		free(all);
	else
		*info = all;
	return fd;
}
