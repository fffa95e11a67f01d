/* Lines of kallsyms: "ffffffff81000000 T _stext", "ffffffffc0001000 t probe\t[module]". Data is
 * kept too, so that an address behind the last function of a region does not get its name. */
#include "symbols/kernel.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/slurp.h"

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
	struct arena arena;
	struct kernel_symbol *symbols;
	size_t count, cap;
};

static bool take_hex(struct str *line, uint64_t *out)
{
	uint64_t value = 0;
	size_t i;

	for (i = 0; i < line->len && i < 16; i++) {
		const char *digit = memchr("0123456789abcdef", line->ptr[i], 16);

		if (!digit)
			break;
		value = value << 4 | (uint64_t)(digit - &"0123456789abcdef"[0]);
	}
	*line = str_of(line->ptr + i, line->len - i);
	*out = value;
	return i > 0;
}

static int add_line(struct kernel_symbols *k, struct str line)
{
	struct kernel_symbol s = {0};
	int err;

	if (!take_hex(&line, &s.address) || !s.address || line.len < 4)
		return 0;
	s.is_code = strchr("tTwW", line.ptr[1]) != NULL;
	line = str_of(line.ptr + 3, line.len - 3);
	s.name = str_cut(&line, '\t');
	err = arena_grow(&k->arena, (void **)&k->symbols, k->count, &k->cap, sizeof(s));
	if (!err)
		k->symbols[k->count++] = s;
	return err;
}

static int compare(const void *a, const void *b)
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
	err = slurp(path, KALLSYMS_MOST, &k->text);
	rest = buf_as_str(&k->text);
	while (!err && rest.len)
		err = add_line(k, str_cut(&rest, '\n'));
	if (err) {
		kernel_symbols_free(k);
		return err;
	}
	if (k->count)
		qsort(k->symbols, k->count, sizeof(*k->symbols), compare);
	*out = k;
	return 0;
}

void kernel_symbols_free(struct kernel_symbols *k)
{
	if (!k)
		return;
	buf_free(&k->text);
	arena_free(&k->arena);
	free(k);
}

/* The last symbol at or before the address. */
static const struct kernel_symbol *last_before(const struct kernel_symbols *k, uint64_t address)
{
	size_t low = 0, high = k->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (k->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &k->symbols[low - 1] : NULL;
}

bool kernel_symbols_at(const struct kernel_symbols *k, uint64_t address, struct str *name,
		       uint64_t *into)
{
	const struct kernel_symbol *s = last_before(k, address);

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
