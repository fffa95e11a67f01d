/* Any bytes as BTF: opened, each definition made and printed, members and constants looked up. If
 * the last byte is 'm', the second half is a module's, on top of the first. */
#include <stdlib.h>

#include "btf/btf.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define MOST_TYPES 200

struct looking {
	struct btf *btf;
	unsigned count;
};

static int look_at(void *arg, enum ctype_kind kind, struct str name)
{
	struct ctype_machine m = {.word = 8, .is_known = true, .most_align = 16};
	struct looking *l = arg;
	struct ctype_member member;
	struct buf text = BUF_INIT;
	const struct ctype *t, *owner;
	int64_t value;

	if (!btf_find(l->btf, kind, name, &t)) {
		ctype_complete(t);
		ctype_print_definition(&text, t);
		ctype_member(t, name, &member);
		ctype_layout(t, &m);
		if (!ctype_same(t, t))
			abort();
		for (unsigned i = 0; i < t->member_count; i++)
			if (t->members[i].bit_width &&
			    t->members[i].bit_offset + t->members[i].bit_width > 64)
				abort();
		for (unsigned i = 0; i < t->constant_count && i < 10; i++)
			btf_find_constant(l->btf, t->constants[i].name, &owner, &value);
	}
	buf_free(&text);
	return ++l->count == MOST_TYPES;
}

static void look(struct btf *b)
{
	struct looking l = {.btf = b};

	btf_each(b, look_at, &l);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	size_t half = len && bytes[len - 1] == 'm' ? len / 2 : len;
	struct btf *base = NULL, *module = NULL;

	if (btf_open_memory(bytes, half, STR("fuzz"), NULL, &base, NULL))
		return 0;
	look(base);
	if (half < len &&
	    !btf_open_memory(bytes + half, len - half, STR("module"), base, &module, NULL))
		look(module);
	btf_close(module);
	btf_close(base);
	return 0;
}
