/* Looking at the code of sites, and for a function's symbol there. */
#include "probe/sites.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "elf/symbols.h"

/* Where such a nop is, and whether a function begins there. */
struct place {
	uint64_t location;
	size_t site; /* its index */
	bool is_entry;
};

struct places {
	const struct image *program;
	struct place *items; /* by location */
	size_t count;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->location < y->location ? -1 : x->location > y->location;
}

static bool is_before(const void *place, const void *address)
{
	return ((const struct place *)place)->location < *(const uint64_t *)address;
}

/* Of several at one place the first is marked. */
static int take_symbol(void *arg, const struct symbol *symbol)
{
	struct places *p = arg;
	size_t i;

	if (symbol->kind != KIND_FUNCTION)
		return 0;
	i = lower_bound(p->items, p->count, sizeof(*p->items), is_before, &symbol->address);
	if (i < p->count && p->items[i].location == symbol->address)
		p->items[i].is_entry = true;
	budget_work(p->program->budget, 20);
	return budget_error(p->program->budget);
}

/* Collect the sites that are a 5-byte nop, by location. */
static int collect(struct places *p, const struct site_list *list)
{
	static const unsigned char nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	unsigned char code[sizeof(nop5)];

	for (size_t i = 0; i < list->count; i++) {
		const struct site *site = &list->sites[i];

		if (!budget_work(p->program->budget, 500)) /* a system call */
			return budget_error(p->program->budget);
		if (!site->problem &&
		    pread(p->program->fd, code, sizeof(code), (off_t)site->offset) ==
			    sizeof(code) &&
		    !memcmp(code, nop5, sizeof(nop5)))
			p->items[p->count++] =
				(struct place){.location = site->location, .site = i};
	}
	if (p->count)
		qsort(p->items, p->count, sizeof(*p->items), compare_places);
	return 0;
}

int sites_find_entries(const struct image *program, struct str path, struct str root,
		       struct site_list *list)
{
	struct arena arena = {.budget = program->budget};
	struct places p = {.program = program};
	int err;

	if (program->machine != EM_X86_64 || program->fd < 0 || !list->count)
		return 0;
	p.items = arena_array(&arena, struct place, list->count);
	err = p.items ? collect(&p, list) : -ENOMEM;
	if (!err && p.count)
		err = symbols_scan(program, path, root, 0, take_symbol, &p);
	for (size_t i = 0; i < p.count && !err; i++) {
		if (i && p.items[i].location == p.items[i - 1].location)
			p.items[i].is_entry = p.items[i - 1].is_entry;
		list->sites[p.items[i].site].is_entry = p.items[i].is_entry;
	}
	arena_free(&arena);
	return err;
}
