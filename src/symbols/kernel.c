/* Lines of kallsyms: "ffffffff81000000 T _stext", "ffffffffc0001000 t probe\t[module]". Data is
 * kept too, so that an address after the last function of a region does not get its name. */
#include "symbols/kernel.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/file.h"

#define KALLSYMS_MOST (256u << 20)
/* No function is longer; an address further on belongs to code without a name. */
#define FUNCTION_MOST (1u << 20)

struct kernel_symbol {
	uint64_t address;
	struct str name; /* of the file's text */
	bool is_code;
};

struct kernel_symbols {
	struct buf text;
	struct kernel_symbol *symbols;
	size_t count, cap;
};

static int compare_symbols(const void *a, const void *b)
{
	const struct kernel_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name.ptr < y->name.ptr ? -1 : x->name.ptr > y->name.ptr; /* order of the file */
}

int kernel_symbols_read(const char *path, struct kernel_symbols **out)
{
	struct kernel_symbols *k = calloc(1, sizeof(*k));
	struct str rest;
	int err;

	if (!k)
		return -ENOMEM;
	err = file_slurp(path, KALLSYMS_MOST, &k->text);
	rest = buf_as_str(&k->text);
	while (!err && rest.len) {
		struct str line = str_cut(&rest, '\n');
		struct kernel_symbol s = {0};

		if (!str_take_hex(&line, &s.address) || !s.address || line.len < 4)
			continue;
		s.is_code = strchr("tTwW", line.ptr[1]) != NULL;
		line = str_of(line.ptr + 3, line.len - 3);
		s.name = str_cut(&line, '\t');
		err = array_grow(k->symbols, k->count, k->cap);
		if (!err)
			k->symbols[k->count++] = s;
	}
	if (err) {
		kernel_symbols_free(k);
		return err;
	}
	if (k->count)
		qsort(k->symbols, k->count, sizeof(*k->symbols), compare_symbols);
	*out = k;
	return 0;
}

void kernel_symbols_free(struct kernel_symbols *k)
{
	if (!k)
		return;
	buf_free(&k->text);
	free(k->symbols);
	free(k);
}

static bool is_at_or_before(const void *symbol, const void *address)
{
	return ((const struct kernel_symbol *)symbol)->address <= *(const uint64_t *)address;
}

bool kernel_symbols_at(const struct kernel_symbols *k, uint64_t address, struct str *name,
		       uint64_t *into)
{
	size_t after =
		lower_bound(k->symbols, k->count, sizeof(*k->symbols), is_at_or_before, &address);
	const struct kernel_symbol *s = after ? &k->symbols[after - 1] : NULL;

	if (!s || address - s->address > FUNCTION_MOST)
		return false;
	/* Of several names of one address the first one that is code. */
	while (s > k->symbols && s[-1].address == s->address && s[-1].is_code)
		s--;
	if (!s->is_code)
		return false;
	*name = s->name;
	*into = address - s->address;
	return true;
}

bool kernel_symbols_find(const struct kernel_symbols *k, struct str name, uint64_t *address)
{
	for (size_t i = 0; i < k->count; i++) {
		if (str_eq(k->symbols[i].name, name)) {
			*address = k->symbols[i].address;
			return true;
		}
	}
	return false;
}

bool kernel_symbols_are_hidden(const struct kernel_symbols *k)
{
	return !k->count;
}

bool kernel_symbols_have_data(const struct kernel_symbols *k)
{
	uint64_t address;

	return kernel_symbols_find(k, STR("init_task"), &address);
}
