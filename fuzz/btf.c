/* Any bytes as BTF: opened, each definition made and printed, members and constants looked up. If
 * the last byte is 'm', the second half is a module's, on top of the first. */
#include "btf/btf.h"
#include "use_type.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define MOST_TYPES 200

struct looking {
	struct btf *btf;
	unsigned count;
};

static int look_at(void *arg, enum ctype_kind kind, struct str name)
{
	struct looking *l = arg;
	const struct ctype *t, *owner;
	int64_t value;

	if (!btf_find(l->btf, kind, name, &t)) {
		use_type(t, name);
		for (unsigned i = 0; i < t->constant_count && i < 10; i++)
			btf_find_constant(l->btf, t->constants[i].name, &owner, &value);
	}
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
